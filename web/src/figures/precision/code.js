import { inputCode } from '../../programs/inputCode.js';
import { cppProgram, double, javascriptProgram, pythonProgram } from '../../programs/programs.js';

/**
 * Programs that compute one row of the errors of the usual float32 code, at a position.
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
 * Programs that compute the weights of a window of encodings starting at a position.
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

/** PyTorch code that stores numbers as a type. */
const pythonStorage = {
  float16: 'stored = x.half().float()',
  bfloat16: 'stored = x.bfloat16().float()',
  int8: `scale = x.abs().amax(dim=1, keepdim=True).clamp(min=1e-30) / 127
stored = (x / scale).round() * scale`,
};
const cppTypes = { float16: 'kFloat16', bfloat16: 'kBFloat16', int8: 'kInt8' };

/**
 * Rows to be stored: the encoding's, as `x` (n, d_model).
 * @param {{ length: number, width: number, base: number, start: number, step: number }} settings
 */
const encodingCode = ({ length, width, base, start, step }) => ({
  python: `n, d_model = ${length}, ${width}
position = ${start} + ${step} * torch.arange(n, dtype=torch.float64)[:, None]
angle = position / ${double(base)} ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
x = torch.zeros((n, d_model))
x[:, 0::2] = angle.sin()
x[:, 1::2] = angle.cos()[:, : d_model // 2]`,
  cpp: `const std::int64_t n = ${length}, d_model = ${width};
std::vector<float> x(n * d_model);
attn::sinusoidal_encoding(attn::Tensor(x.data(), {n, d_model}),
                          {.base = ${double(base)}, .start = ${start}, .step = ${step}});`,
  javascript: `const [n, dModel] = [${length}, ${width}];
const x = attn.sinusoidalEncoding({ length: n, dModel, base: ${base}, start: ${start}, step: ${step} });`,
});

/**
 * Programs that compute the loss of the weights when keys are stored as a type. The keys are
 * positions or a sentence.
 * @param {{ length: number, width: number, base: number, start: number, step: number, dModel:
 *   number }} settings
 * @param {string[] | null} tokens
 * @param {'float16' | 'bfloat16' | 'int8'} type
 */
export function bytesPrograms(settings, tokens, type) {
  const { dModel, base } = settings;
  const rows = tokens
    ? inputCode({ dModel, base, encoding: 'sinusoidal' }, tokens)
    : encodingCode(settings);
  return {
    python: pythonProgram({
      body: `${rows.python}

${pythonStorage[type]}

def weights(keys):
    return torch.softmax(x @ keys.T / d_model**0.5, dim=-1)

error = (weights(stored) - weights(x)).abs()`,
      result: 'error',
    }),
    cpp: cppProgram({
      includes: ['<cmath>', ...(tokens ? ['<string_view>'] : [])],
      body: `${rows.cpp}

const attn::Tensor keys(x.data(), {1, 1, n, d_model});
std::vector<float> exact(n * n), error(n * n), unused(n * d_model);
const auto attend = [&](attn::ElementType type, std::vector<float>& weights) {
  attn::KeyValueCache cache(1, 1, d_model, d_model, n, type);
  cache.append(keys, keys);
  attn::scaled_dot_product_attention(
      keys, cache, attn::Tensor(unused.data(), {1, 1, n, d_model}),
      {.weights = attn::Tensor(weights.data(), {1, 1, n, n})});
};
attend(attn::ElementType::kFloat32, exact);
attend(attn::ElementType::${cppTypes[type]}, error);
for (std::int64_t i = 0; i < n * n; ++i) error[i] = std::abs(error[i] - exact[i]);`,
      result: 'error',
      rows: 'n',
      columns: 'n',
    }),
    javascript: javascriptProgram({
      body: `${rows.javascript}

function weights(type) {
  const rows = { data: x.data, shape: [1, 1, n, dModel] };
  const cache = new attn.KeyValueCache({ numKvHeads: 1, headDim: dModel, type });
  cache.append(rows, rows);
  return attn.scaledDotProductAttention(rows, cache, { needWeights: true }).weights;
}
const exact = weights('float32');
const data = weights('${type}').data.map((weight, i) => Math.abs(weight - exact.data[i]));
const error = { data, shape: [n, n] };`,
      result: 'error',
    }),
  };
}
