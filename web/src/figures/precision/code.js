import { cppProgram, double, javascriptProgram, pythonProgram } from '../../frame/programs.js';

/**
 * Programs for one row of the errors: those of the usual float32 code at a position.
 * @param {{ width: number, base: number, position: number }} settings
 */
export const errorPrograms = ({ width, base, position }) => ({
  python: pythonProgram({
    body: `position, width, base = ${position}, ${width}, ${double(base)}

def encoding(dtype):
    angle = torch.tensor([[position]], dtype=dtype) / torch.pow(
        torch.tensor(base, dtype=dtype), torch.arange(0, width, 2, dtype=dtype) / width)
    P = torch.zeros((1, width), dtype=dtype)
    P[:, 0::2] = torch.sin(angle)
    P[:, 1::2] = torch.cos(angle[:, : width // 2])
    return P

error = (encoding(torch.float32).double() - encoding(torch.float64)).abs()`,
    result: 'error',
  }),
  cpp: cppProgram({
    includes: ['<cmath>'],
    body: `const std::int64_t width = ${width};
const float position = ${position}, base = ${double(base)};
std::vector<float> exact(width), error(width);
attn::sinusoidal_encoding(attn::Tensor(exact.data(), {1, width}),
                          {.base = ${double(base)}, .start = ${position}});
for (std::int64_t c = 0; c < width; ++c) {
  const float exponent = static_cast<float>(c - c % 2) / static_cast<float>(width);
  const float angle = position / std::pow(base, exponent);
  error[c] = std::abs((c % 2 == 0 ? std::sin(angle) : std::cos(angle)) - exact[c]);
}`,
    result: 'error',
    rows: '1',
    columns: 'width',
  }),
  javascript: javascriptProgram({
    body: `const { error: signed } = attn.sinusoidalEncodingInFloat32({
  length: 1,
  dModel: ${width},
  base: ${base},
  start: ${position},
});
const error = { data: signed.data.map(Math.abs), shape: signed.shape };`,
    result: 'error',
  }),
});

/**
 * Programs for the weights of a window of encodings that starts at a position.
 * @param {{ width: number, base: number, start: number }} settings
 */
export const driftPrograms = ({ width, base, start }) => ({
  python: pythonProgram({
    body: `width, base, start, length = ${width}, ${double(base)}, ${start}, 16

# In float32, as is usual; with dtype=torch.float64 the weights do not depend on start.
dtype = torch.float32
position = start + torch.arange(length, dtype=dtype).reshape(-1, 1)
angle = position / torch.pow(
    torch.tensor(base, dtype=dtype), torch.arange(0, width, 2, dtype=dtype) / width)
P = torch.zeros((length, width), dtype=dtype)
P[:, 0::2] = torch.sin(angle)
P[:, 1::2] = torch.cos(angle[:, : width // 2])
weights = torch.softmax(P @ P.T / width**0.5, dim=-1)`,
    result: 'weights',
  }),
  cpp: cppProgram({
    body: `const std::int64_t width = ${width}, length = 16;
std::vector<float> P(length * width), output(length * width), weights(length * length);
attn::sinusoidal_encoding(attn::Tensor(P.data(), {length, width}),
                          {.base = ${double(base)}, .start = ${start}});

const attn::Tensor rows(P.data(), {1, 1, length, width});
attn::scaled_dot_product_attention(
    rows, rows, rows, attn::Tensor(output.data(), {1, 1, length, width}),
    {.weights = attn::Tensor(weights.data(), {1, 1, length, length})});`,
    result: 'weights',
    rows: 'length',
    columns: 'length',
  }),
  javascript: javascriptProgram({
    body: `const options = { length: 16, dModel: ${width}, base: ${base}, start: ${start} };

// The usual float32 code; attn.sinusoidalEncoding(options) has weights that do not depend on start.
const { encoding: P } = attn.sinusoidalEncodingInFloat32(options);
const { weights } = attn.scaledDotProductAttention(P, P, P, { needWeights: true });`,
    result: 'weights',
  }),
});
