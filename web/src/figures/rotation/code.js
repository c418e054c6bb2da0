import { cppProgram, double, javascriptProgram, pythonProgram } from '../../frame/programs.js';
import { evenWidth } from './rotation.js';

/**
 * Programs for P[i + δ] − M_δ · P[i].
 * @param {{ length: number, width: number, base: number, delta: number }} settings
 */
export function rotationPrograms({ length, width: given, base, delta }) {
  const width = evenWidth(given);
  return {
    python: pythonProgram({
      body: `length, width, base, delta = ${length}, ${width}, ${double(base)}, ${double(delta)}

def encoding(start):
    position = start + torch.arange(length, dtype=torch.float64).reshape(-1, 1)
    angle = position * frequency
    return torch.stack((torch.sin(angle), torch.cos(angle)), dim=2).reshape(length, width)

frequency = base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
c, s = torch.cos(delta * frequency), torch.sin(delta * frequency)
blocks = torch.stack((torch.stack((c, s), dim=1), torch.stack((-s, c), dim=1)), dim=1)
M = torch.block_diag(*blocks)
difference = encoding(delta) - encoding(0) @ M.T`,
      result: 'difference',
    }),
    cpp: cppProgram({
      body: `const std::int64_t length = ${length}, width = ${width};
const double base = ${double(base)}, delta = ${double(delta)};
std::vector<float> P(length * width), shifted(length * width);
const auto view = [&](std::vector<float>& x) { return attn::Tensor(x.data(), {length, width}); };
attn::sinusoidal_encoding(view(P), {.base = base});
attn::sinusoidal_encoding(view(shifted), {.base = base, .start = delta});
attn::apply_shift(view(P), delta, view(P), {.base = base});

std::vector<float> difference(length * width);
for (std::size_t k = 0; k < P.size(); ++k) difference[k] = shifted[k] - P[k];`,
      result: 'difference',
      rows: 'length',
      columns: 'width',
    }),
    javascript: javascriptProgram({
      body: `const [base, delta] = [${base}, ${delta}];
const options = { length: ${length}, dModel: ${width}, base };
const P = attn.sinusoidalEncoding(options);
const shifted = attn.sinusoidalEncoding({ ...options, start: delta });
const turned = attn.applyShift(P, delta, { base });
const difference = {
  data: shifted.data.map((value, k) => value - turned.data[k]),
  shape: P.shape,
};`,
      result: 'difference',
    }),
  };
}
