import { constants, difference, scores } from '../../programs/calls.js';
import { printMatrix } from '../../programs/print.js';
import { literal } from '../../programs/writers.js';
import { depth } from './rotary.js';
import { evenWidth } from './rotation.js';

/** @typedef {{ length: number, width: number, base: number, delta: number }} Settings */

/**
 * The encodings P, the encodings `shifted` at positions that are later by `delta`, and P multiplied
 * by the shift matrix.
 */
const shifted = {
  cpp: `std::vector<float> P(length * width), shifted(length * width), turned(length * width);
const auto view = [&](std::vector<float>& x) { return attn::Tensor(x.data(), {length, width}); };
attn::sinusoidal_encoding(view(P), {.base = base});
attn::sinusoidal_encoding(view(shifted), {.base = base, .start = delta});
attn::apply_shift(view(P), delta, view(turned), {.base = base});`,
  javascript: `const options = { length, dModel: width, base };
const P = attn.sinusoidalEncoding(options);
const shifted = attn.sinusoidalEncoding({ ...options, start: delta });
const turned = attn.applyShift(P, delta, { base });`,
};

/**
 * Programs that compute P[i + δ] − M_δ · P[i].
 * @param {Settings} settings
 */
export const rotationPrograms = ({ length, width, base, delta }) =>
  printMatrix('difference', 'length', 'width', [
    constants({ length, width: evenWidth(width), base, delta }),
    {
      ...shifted,
      python: `
def encoding(start):
    position = start + torch.arange(length, dtype=torch.float64).reshape(-1, 1)
    angle = position * frequency
    return torch.stack((torch.sin(angle), torch.cos(angle)), dim=2).reshape(length, width)

frequency = base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
c, s = torch.cos(delta * frequency), torch.sin(delta * frequency)
blocks = torch.stack((torch.stack((c, s), dim=1), torch.stack((-s, c), dim=1)), dim=1)
M = torch.block_diag(*blocks)
shifted, turned = encoding(delta), encoding(0) @ M.T`,
    },
    difference('difference', 'shifted', 'turned'),
  ]);

/**
 * Programs that compute the sines of a pair of columns at each position and at a fixed distance
 * after it. The programs compute the later sines twice: directly, and from the sine and cosine at
 * the earlier position.
 * @param {Settings} settings
 * @param {number} pair
 */
export const sinePrograms = ({ length, width, base, delta }, pair) =>
  printMatrix('sines', 'length', 3, [
    constants({ length, width: evenWidth(width), base, delta, pair }),
    shifted,
    {
      python: `
frequency = base ** (-2 * pair / width)
angle = torch.arange(length, dtype=torch.float64) * frequency
turn = torch.tensor(delta * frequency, dtype=torch.float64)
shifted = torch.sin(angle + turn)
turned = torch.cos(turn) * torch.sin(angle) + torch.sin(turn) * torch.cos(angle)
sines = torch.stack((torch.sin(angle), shifted, turned), dim=1)`,
      cpp: `
std::vector<float> sines;
for (std::int64_t row = 0; row < length; ++row) {
  const std::int64_t at = row * width + 2 * pair;
  sines.insert(sines.end(), {P[at], shifted[at], turned[at]});
}`,
      javascript: `const sines = { data: new Float32Array(3 * length), shape: [length, 3] };
for (let row = 0; row < length; row++) {
  const at = row * width + 2 * pair;
  sines.data.set([P.data[at], shifted.data[at], turned.data[at]], 3 * row);
}`,
    },
  ]);

/**
 * Programs that compute the scores of a query and a key at all positions.
 * @param {[string, string]} words
 * @param {{ length: number, base: number }} settings
 */
export function rotaryPrograms(words, { length, base }) {
  const [query, key] = words.map(literal);
  return printMatrix('scores', 'length', 'length', [
    constants({ length, D: depth, base }),
    {
      python: `
def turned(word):
    x, y = embedding(word, D).double().reshape(-1, 2).T
    frequency = base ** (-torch.arange(0, D, 2, dtype=torch.float64) / D)
    angle = torch.arange(length, dtype=torch.float64)[:, None] * frequency
    c, s = angle.cos(), angle.sin()
    return torch.stack((c * x - s * y, s * x + c * y), dim=2).reshape(length, D)

queries, keys = turned(${query}), turned(${key})`,
      cpp: `const attn::RotaryEmbedding rope(
    {.rotary_dim = D, .pairing = attn::RotaryPairing::kInterleaved, .base = base});
const auto turned = [&](std::string_view word) {
  std::vector<float> rows(length * D);
  for (std::int64_t place = 0; place < length; ++place) {
    attn::ngram_embedding({&word, 1}, attn::Tensor(rows.data() + place * D, {1, D}));
  }
  const attn::Tensor all(rows.data(), {1, length, D});
  rope.forward(all, all);
  return rows;
};
std::vector<float> queries = turned(${query}), keys = turned(${key});`,
      javascript: `const rope = new attn.RotaryEmbedding({ rotaryDim: D, base, pairing: 'interleaved' });
const turned = (word) => {
  const words = Array.from({ length }, () => word);
  const { data } = attn.ngramEmbedding(words, { dModel: D });
  return { data: rope.forward({ data, shape: [1, length, D] }).data, shape: [length, D] };
};
const [queries, keys] = [turned(${query}), turned(${key})];`,
    },
    scores('scores', 'queries', 'keys', 'D'),
  ]);
}
