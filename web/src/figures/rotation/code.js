import {
  cppProgram,
  double,
  javascriptProgram,
  literal,
  pythonProgram,
} from '../../programs/programs.js';
import { pythonCode } from '../../programs/pythonCode.js';
import { depth } from './rotary.js';
import { evenWidth } from './rotation.js';

/**
 * Programs that compute P[i + δ] − M_δ · P[i].
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

/**
 * Programs that compute the sines of a pair of columns at each position and some positions later. They
 * compute the later sines directly, and from the sine and cosine at the earlier position.
 * @param {{ length: number, width: number, base: number, delta: number }} settings
 * @param {number} pair
 */
export function sinePrograms({ length, width: given, base, delta }, pair) {
  const width = evenWidth(given);
  return {
    python: pythonProgram({
      body: `length, width, base, delta, pair = ${length}, ${width}, ${double(base)}, ${double(delta)}, ${pair}

frequency = base ** (-2 * pair / width)
angle = torch.arange(length, dtype=torch.float64) * frequency
turn = torch.tensor(delta * frequency, dtype=torch.float64)
later = torch.sin(angle + turn)
turned = torch.cos(turn) * torch.sin(angle) + torch.sin(turn) * torch.cos(angle)
sines = torch.stack((torch.sin(angle), later, turned), dim=1)`,
      result: 'sines',
    }),
    cpp: cppProgram({
      body: `const std::int64_t length = ${length}, width = ${width}, pair = ${pair};
const double base = ${double(base)}, delta = ${double(delta)};
std::vector<float> P(length * width), later(length * width), turned(length * width);
const auto view = [&](std::vector<float>& x) { return attn::Tensor(x.data(), {length, width}); };
attn::sinusoidal_encoding(view(P), {.base = base});
attn::sinusoidal_encoding(view(later), {.base = base, .start = delta});
attn::apply_shift(view(P), delta, view(turned), {.base = base});

std::vector<float> sines;
for (std::int64_t row = 0; row < length; ++row) {
  const std::int64_t at = row * width + 2 * pair;
  sines.insert(sines.end(), {P[at], later[at], turned[at]});
}`,
      result: 'sines',
      rows: 'length',
      columns: '3',
    }),
    javascript: javascriptProgram({
      body: `const [length, width, base, delta, pair] = [${length}, ${width}, ${base}, ${delta}, ${pair}];
const options = { length, dModel: width, base };
const P = attn.sinusoidalEncoding(options);
const later = attn.sinusoidalEncoding({ ...options, start: delta });
const turned = attn.applyShift(P, delta, { base });
const sines = { data: new Float32Array(3 * length), shape: [length, 3] };
for (let row = 0; row < length; row++) {
  const at = row * width + 2 * pair;
  sines.data.set([P.data[at], later.data[at], turned.data[at]], 3 * row);
}`,
      result: 'sines',
    }),
  };
}

/**
 * Programs that compute the scores of a query and a key at all positions.
 * @param {[string, string]} words
 * @param {{ length: number, base: number }} settings
 */
export function rotaryPrograms(words, { length, base }) {
  const [query, key] = words.map(literal);
  return {
    python: pythonProgram({
      body: `${pythonCode('embedding')}
length, D, base = ${length}, ${depth}, ${double(base)}

def turned(word):
    x, y = embedding(word, D).double().reshape(-1, 2).T
    frequency = base ** (-torch.arange(0, D, 2, dtype=torch.float64) / D)
    angle = torch.arange(length, dtype=torch.float64)[:, None] * frequency
    c, s = angle.cos(), angle.sin()
    return torch.stack((c * x - s * y, s * x + c * y), dim=2).reshape(length, D)

scores = turned(${query}) @ turned(${key}).T`,
      result: 'scores',
    }),
    cpp: cppProgram({
      body: `const std::int64_t length = ${length}, D = ${depth};
const attn::RotaryEmbedding rope(
    {.rotary_dim = D, .pairing = attn::RotaryPairing::kInterleaved, .base = ${double(base)}});
const auto turned = [&](std::string_view word) {
  std::vector<float> rows(length * D);
  for (std::int64_t place = 0; place < length; ++place) {
    attn::ngram_embedding({&word, 1}, attn::Tensor(rows.data() + place * D, {1, D}));
  }
  const attn::Tensor all(rows.data(), {1, length, D});
  rope.forward(all, all);
  return rows;
};
std::vector<float> queries = turned(${query}), keys = turned(${key});
std::vector<float> scores(length * length), ones(length, 1), unused(length);
const auto rows = [&](std::vector<float>& x, std::int64_t columns) {
  return attn::Tensor(x.data(), {1, 1, length, columns});
};
attn::scaled_dot_product_attention(rows(queries, D), rows(keys, D), rows(ones, 1), rows(unused, 1),
                                   {.scale = 1, .scaled_scores = rows(scores, length)});`,
      result: 'scores',
      rows: 'length',
      columns: 'length',
      includes: ['<string_view>'],
    }),
    javascript: javascriptProgram({
      body: `const [length, dModel] = [${length}, ${depth}];
const rope = new attn.RotaryEmbedding({
  rotaryDim: dModel,
  base: ${base},
  pairing: 'interleaved',
});
const turned = (word) => {
  const words = Array.from({ length }, () => word);
  const { data } = attn.ngramEmbedding(words, { dModel });
  return rope.forward({ data, shape: [1, length, dModel] });
};
const [queries, keys] = [turned(${query}), turned(${key})];
const { scaledScores } = attn.scaledDotProductAttention(queries, keys, keys, {
  scale: 1,
  needScaledScores: true,
});
const scores = { data: scaledScores.data, shape: [length, length] };`,
      result: 'scores',
    }),
  };
}
