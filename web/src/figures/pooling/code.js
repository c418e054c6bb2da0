import { layer, setParameter } from '../../programs/calls.js';
import { printMatrix } from '../../programs/print.js';
import { float, js } from '../../programs/writers.js';
import { bump, encodingWidth, numHiddens } from './pooling.js';

/** @typedef {import('../../programs/print.js').Call} Call */
/** @typedef {import('./pooling.js').Scoring} Scoring */
/** @typedef {import('./pooling.js').PoolingOptions} PoolingOptions */

/** @param {readonly number[]} values written in lines of up to ten values */
function list(values) {
  const lines = [];
  for (let i = 0; i < values.length; i += 10) lines.push(values.slice(i, i + 10).join(', '));
  return lines.map((line) => `    ${line},`).join('\n');
}

/**
 * Programs that pool the points and print one value per query.
 * @param {Scoring} scoring
 * @param {import('./pooling.js').Point[]} points ascending in x
 * @param {PoolingOptions} options
 */
export function poolingPrograms(scoring, points, options) {
  const data = { x: list(points.map(({ x }) => x)), y: list(points.map(({ y }) => y)) };
  return printMatrix('pooled', 'num_queries', 1, [
    { python: `sigma = ${options.kernelWidth}` },
    .../** @type {const} */ (['x', 'y']).map((name) => ({
      python: `${name} = torch.tensor([\n${data[name]}\n])`,
      cpp: `std::vector<float> ${name} = {\n${data[name]}\n};`,
      javascript: `const ${name} = [\n${data[name]}\n];`,
    })),
    {
      python: 'queries = torch.arange(50) / 10\n',
      cpp: `const std::int64_t num_queries = 50, num_keys = ${points.length};
std::vector<float> pooled(num_queries);`,
      javascript: `const queries = Array.from({ length: 50 }, (_, i) => i / 10);
const column = (values) => ({ data: values, shape: [values.length, 1] });
`,
    },
    ...poolingOf(scoring, options),
    { python: 'pooled = weights @ y.reshape(-1, 1)' },
  ]);
}

/** The tensors of a call in C++. @param {string} d */
const tensors = (d) =>
  `attn::Tensor(query.data(), {num_queries, ${d}}), attn::Tensor(key.data(), {num_keys, ${d}}),
    attn::Tensor(y.data(), {num_keys, 1}), attn::Tensor(pooled.data(), {num_queries, 1})`;

/** @param {Scoring} scoring @param {PoolingOptions} options @returns {Call[]} */
function poolingOf(scoring, { kernelWidth: width, dotInput, additiveWeights, additiveSeed }) {
  if (scoring === 'additive') return additive(width, additiveWeights === 'byHand', additiveSeed);
  if (scoring === 'scaledDot' && dotInput === 'encoding') return ofEncodings(width);
  const difference = '(queries[:, None] - x[None, :])';
  const shares = '\nweights = torch.nan_to_num(scores / scores.sum(1, keepdim=True))';
  const kernel = { cpp: `${scoring}(${float(width)})`, options: { scoring, width } };
  const { python, cpp, options } = {
    gaussian: {
      ...kernel,
      python: `weights = torch.softmax(-${difference}**2 / (2 * sigma**2), dim=1)`,
    },
    hard: {
      python: `nearest = ${difference}.abs().argmin(dim=1)
weights = torch.nn.functional.one_hot(nearest, len(x)).float()`,
      cpp: `gaussian(${float(width)}), {.hard = true}`,
      options: { scoring: 'gaussian', width, hard: true },
    },
    boxcar: { ...kernel, python: `scores = (${difference}.abs() < sigma).float()${shares}` },
    epanechnikov: {
      ...kernel,
      python: `scores = (1 - ${difference}.abs() / sigma).clamp(min=0)${shares}`,
    },
    average: {
      python: 'weights = torch.full((len(queries), len(x)), 1 / len(x))',
      ...{ cpp: 'average()', options: { scoring } },
    },
    scaledDot: {
      python: 'weights = torch.softmax(queries[:, None] * x[None, :], dim=1)',
      ...{ cpp: 'scaled_dot()', options: { scoring } },
    },
  }[scoring];
  return [
    {
      python,
      cpp: `std::vector<float> query(num_queries), key = x;
for (std::int64_t i = 0; i < num_queries; ++i) query[i] = 0.1F * i;
attn::attention_pooling(
    ${tensors('1')},
    attn::ScoringFunction::${cpp});`,
      javascript: js`const { output: pooled } = attn.attentionPooling(column(queries), column(x), column(y), ${options});`,
    },
  ];
}

/** @param {number} width @returns {Call[]} */
const ofEncodings = (width) => [
  {
    python: `def encode(positions, d=${encodingWidth}):
    angles = positions[:, None] / 10000 ** (torch.arange(0, d, 2) / d)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)

q, k = encode(queries / sigma), encode(x / sigma)
weights = torch.softmax(q @ k.T / q.shape[1] ** 0.5, dim=1)`,
    cpp: `const std::int64_t d = ${encodingWidth};
std::vector<float> query(num_queries * d), key(num_keys * d);
const auto encode = [&](double position, float* row) {
  attn::sinusoidal_encoding(attn::Tensor(row, {1, d}), {.start = position});
};
for (std::int64_t i = 0; i < num_queries; ++i) encode(0.1 * i / ${width}, &query[i * d]);
for (std::int64_t i = 0; i < num_keys; ++i) encode(x[i] / ${width}, &key[i * d]);
attn::attention_pooling(
    ${tensors('d')},
    attn::ScoringFunction::scaled_dot());`,
    javascript: `const encode = (xs) =>
  attn.sinusoidalEncoding({ positions: xs.map((x) => x / ${width}), dModel: ${encodingWidth} });
const { output: pooled } = attn.attentionPooling(encode(queries), encode(x), column(y), {
  scoring: 'scaledDot',
});`,
  },
];

/** @param {number} width @param {boolean} byHand @param {number} seed @returns {Call[]} */
const additive = (width, byHand, seed) => [
  {
    python: byHand
      ? `W_q = torch.tensor([[1 / sigma, 1], [1 / sigma, -1]])
W_k = torch.tensor([[-1 / sigma, 0], [-1 / sigma, 0]])
w_v = torch.tensor([4.0, -4.0])`
      : `W_k, W_q = (xavier(${numHiddens}, 2, ${seed}, stream) for stream in (0, 1))
w_v = xavier(1, ${numHiddens}, ${seed}, 2)[0]`,
  },
  {
    python: `q = torch.stack([queries, torch.ones_like(queries)], dim=1)  # a 1 after each number
k = torch.stack([x, torch.ones_like(x)], dim=1)
weights = torch.softmax(torch.tanh((q @ W_q.T)[:, None] + (k @ W_k.T)[None]) @ w_v, dim=1)`,
    cpp: `std::vector<float> query(num_queries * 2, 1), key(num_keys * 2, 1);
for (std::int64_t i = 0; i < num_queries; ++i) query[2 * i] = 0.1F * i;
for (std::int64_t i = 0; i < num_keys; ++i) key[2 * i] = x[i];  // a 1 after each number`,
    javascript: `// Appends a 1 to each number.
const withOne = (xs) => ({ data: xs.flatMap((x) => [x, 1]), shape: [xs.length, 2] });`,
  },
  layer('layer', 'AdditiveAttention', {
    ...{ queryDim: 2, keyDim: 2 },
    ...(byHand ? { numHiddens: 2 } : { numHiddens, seed }),
  }),
  ...Object.entries(byHand ? bump(width) : {}).flatMap(([name, { data, shape }]) => {
    const from = name.slice(0, 3);
    return [
      {
        cpp: `std::vector<float> ${from} = {${data.map((value) => float(Math.fround(value))).join(', ')}};`,
        javascript: js`const ${from} = ${{ data, shape }};`,
      },
      setParameter('layer', name, from, shape),
    ];
  }),
  {
    cpp: `layer.forward(
    ${tensors('2')});`,
    javascript:
      'const { output: pooled } = layer.forward(withOne(queries), withOne(x), column(y));',
  },
];
