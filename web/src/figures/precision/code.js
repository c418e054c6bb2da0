import { constants, difference, sentence, sinusoidalEncoding } from '../../programs/calls.js';
import { printMatrix } from '../../programs/print.js';

/**
 * Programs that compute the errors of the usual float32 code in the encoding of one position.
 * @param {{ width: number, base: number, position: number }} settings
 */
export const errorPrograms = ({ width, base, position: start }) =>
  printMatrix('error', 1, 'width', [
    constants({ width, base, start }),
    {
      python: `
def encoding(dtype):
    angle = torch.tensor([[start]], dtype=dtype) / torch.pow(
        torch.tensor(base, dtype=dtype), torch.arange(0, width, 2, dtype=dtype) / width)
    P = torch.zeros((1, width), dtype=dtype)
    P[:, 0::2] = torch.sin(angle)
    P[:, 1::2] = torch.cos(angle[:, : width // 2])
    return P

error = (encoding(torch.float32).double() - encoding(torch.float64)).abs()`,
      cpp: `std::vector<float> exact(width), error(width);
attn::sinusoidal_encoding(attn::Tensor(exact.data(), {1, width}), {.base = base, .start = start});
for (std::int64_t c = 0; c < width; ++c) {
  const float exponent = static_cast<float>(c - c % 2) / static_cast<float>(width);
  const float angle = static_cast<float>(start) / std::pow(static_cast<float>(base), exponent);
  error[c] = std::abs((c % 2 == 0 ? std::sin(angle) : std::cos(angle)) - exact[c]);
}`,
      javascript: `const options = { length: 1, dModel: width, base, start };
const { error: signed } = attn.sinusoidalEncodingInFloat32(options);
const error = { data: signed.data.map(Math.abs), shape: signed.shape };`,
    },
  ]);

/**
 * Programs that compute the attention weights within a window of encodings that starts at a given
 * position.
 * @param {{ width: number, base: number, start: number }} settings
 */
export const driftPrograms = ({ width, base, start }) =>
  printMatrix('weights', 'length', 'length', [
    constants({ length: 16, width, base, start }),
    {
      python: `
# In float32, as is usual; with dtype=torch.float64 the weights do not depend on start.
dtype = torch.float32
position = start + torch.arange(length, dtype=dtype).reshape(-1, 1)
angle = position / torch.pow(
    torch.tensor(base, dtype=dtype), torch.arange(0, width, 2, dtype=dtype) / width)
P = torch.zeros((length, width), dtype=dtype)
P[:, 0::2] = torch.sin(angle)
P[:, 1::2] = torch.cos(angle[:, : width // 2])
weights = torch.softmax(P @ P.T / width**0.5, dim=-1)`,
      cpp: `std::vector<float> P(length * width), output(length * width), weights(length * length);
attn::sinusoidal_encoding(attn::Tensor(P.data(), {length, width}),
                          {.base = base, .start = start});

const attn::Tensor rows(P.data(), {1, 1, length, width});
attn::scaled_dot_product_attention(
    rows, rows, rows, attn::Tensor(output.data(), {1, 1, length, width}),
    {.weights = attn::Tensor(weights.data(), {1, 1, length, length})});`,
      javascript: `const options = { length, dModel: width, base, start };

// The usual float32 code. With attn.sinusoidalEncoding(options), the weights don't depend on start.
const { encoding: P } = attn.sinusoidalEncodingInFloat32(options);
const { weights } = attn.scaledDotProductAttention(P, P, P, { needWeights: true });`,
    },
  ]);

/** PyTorch code that rounds numbers to each storage type. */
const pythonStorage = {
  float16: 'stored = x.half().float()',
  bfloat16: 'stored = x.bfloat16().float()',
  int8: `scale = x.abs().amax(dim=1, keepdim=True).clamp(min=1e-30) / 127
stored = (x / scale).round() * scale`,
};
const cppTypes = { float16: 'kFloat16', bfloat16: 'kBFloat16', int8: 'kInt8' };

/**
 * Programs that compute the error of the attention weights if keys are stored in a given type. The
 * keys are the embeddings of a sentence or, without `tokens`, positional encodings.
 * @param {{ length: number, width: number, base: number, start: number, step: number, dModel:
 *   number }} settings
 * @param {string[] | null} tokens
 * @param {'float16' | 'bfloat16' | 'int8'} type
 */
export function bytesPrograms({ length, width, base, start, step, dModel }, tokens, type) {
  const rows = tokens
    ? sentence({ dModel, base, encoding: 'sinusoidal' }, tokens)
    : [
        constants({ n: length, dModel: width, base, start, step }),
        sinusoidalEncoding('x', ['n', 'dModel']),
        { python: 'x = x.float()' },
      ];
  return printMatrix('error', 'n', 'n', [
    ...rows,
    {
      python: `
${pythonStorage[type]}

def weights(keys):
    return torch.softmax(x @ keys.T / d_model**0.5, dim=-1)

rounded, exact = weights(stored), weights(x)`,
      cpp: `
const attn::Tensor keys(x.data(), {1, 1, n, d_model});
std::vector<float> exact(n * n), rounded(n * n), unused(n * d_model);
const auto attend = [&](attn::ElementType type, std::vector<float>& weights) {
  attn::KeyValueCache cache(1, 1, d_model, d_model, n, type);
  cache.append(keys, keys);
  attn::scaled_dot_product_attention(
      keys, cache, attn::Tensor(unused.data(), {1, 1, n, d_model}),
      {.weights = attn::Tensor(weights.data(), {1, 1, n, n})});
};
attend(attn::ElementType::kFloat32, exact);
attend(attn::ElementType::${cppTypes[type]}, rounded);`,
      javascript: `
function weights(type) {
  const rows = { data: x.data, shape: [1, 1, n, dModel] };
  const cache = new attn.KeyValueCache({ numKvHeads: 1, headDim: dModel, type });
  cache.append(rows, rows);
  const { data } = attn.scaledDotProductAttention(rows, cache, { needWeights: true }).weights;
  return { data, shape: [n, n] };
}
const [rounded, exact] = [weights('${type}'), weights('float32')];`,
    },
    difference('error', 'rounded', 'exact', true),
  ]);
}
