import { cppProgram, double, javascriptProgram, pythonProgram } from '../../programs/programs.js';

/**
 * Programs that compute the encoding.
 * @param {{ length: number, width: number, base: number, start: number, step: number }} settings
 */
export const encodingPrograms = ({ length, width, base, start, step }) => ({
  python: pythonProgram({
    body: `length, width, base, start, step = ${length}, ${width}, ${double(base)}, ${start}, ${step}

# PositionalEncoding of D2L 11.6, for odd widths too, and in float64: in float32 its angles are
# off by more the further the position.
position = start + step * torch.arange(length, dtype=torch.float64).reshape(-1, 1)
angle = position / base ** (torch.arange(0, width, 2, dtype=torch.float64) / width)
P = torch.zeros((length, width), dtype=torch.float64)
P[:, 0::2] = torch.sin(angle)
P[:, 1::2] = torch.cos(angle[:, : width // 2])`,
    result: 'P',
  }),
  cpp: cppProgram({
    body: `const std::int64_t length = ${length}, width = ${width};
std::vector<float> P(length * width);
attn::sinusoidal_encoding(attn::Tensor(P.data(), {length, width}),
                          {.base = ${double(base)}, .start = ${start}, .step = ${step}});`,
    result: 'P',
    rows: 'length',
    columns: 'width',
  }),
  javascript: javascriptProgram({
    body: `const P = attn.sinusoidalEncoding({
  length: ${length},
  dModel: ${width},
  base: ${base},
  start: ${start},
  step: ${step},
});`,
    result: 'P',
  }),
});
