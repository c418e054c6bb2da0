import { cppProgram, javascriptProgram, pythonProgram } from '../../programs/programs.js';
import { pythonCode } from '../../programs/pythonCode.js';
import { bump, encodingWidth, numHiddens } from './pooling.js';

/** @typedef {import('./pooling.js').Scoring} Scoring */
/** @typedef {import('./pooling.js').PoolingOptions} PoolingOptions */

/** @param {readonly number[]} values written in lines of up to ten */
function list(values) {
  const lines = [];
  for (let i = 0; i < values.length; i += 10) lines.push(values.slice(i, i + 10).join(', '));
  return lines.map((line) => `    ${line},`).join('\n');
}

/** Writes a number as a C++ float. @param {number} value */
const float = (value) => `${Number.isInteger(value) ? value.toFixed(1) : value}F`;

/**
 * Programs that pool these points and print one value per query.
 * @param {Scoring} scoring
 * @param {import('./pooling.js').Point[]} points ascending in x
 * @param {PoolingOptions} options
 */
export function poolingPrograms(scoring, points, options) {
  const data = { x: list(points.map(({ x }) => x)), y: list(points.map(({ y }) => y)) };
  return {
    python: pythonProgram({
      body: `sigma = ${options.kernelWidth}
x = torch.tensor([
${data.x}
])
y = torch.tensor([
${data.y}
])
queries = torch.arange(50) / 10

${pythonWeights(scoring, options)}`,
      result: '(weights @ y.reshape(-1, 1))',
    }),
    cpp: cppProgram({
      body: `std::vector<float> x = {
${data.x}
};
std::vector<float> y = {
${data.y}
};
const std::int64_t num_queries = 50, num_keys = ${points.length};
std::vector<float> pooled(num_queries);
${cppPooling(scoring, options)}`,
      result: 'pooled',
      rows: 'num_queries',
      columns: '1',
    }),
    javascript: javascriptProgram({
      body: `const x = [
${data.x}
];
const y = [
${data.y}
];
const queries = Array.from({ length: 50 }, (_, i) => i / 10);
const column = (values) => ({ data: values, shape: [values.length, 1] });

${javascriptPooling(scoring, options)}`,
      result: 'output',
    }),
  };
}

/** @param {Scoring} scoring @param {PoolingOptions} options */
function pythonWeights(scoring, { dotInput, additiveWeights, additiveSeed }) {
  const difference = '(queries[:, None] - x[None, :])';
  const shares = 'weights = torch.nan_to_num(scores / scores.sum(1, keepdim=True))';
  switch (scoring) {
    case 'gaussian':
      return `weights = torch.softmax(-${difference}**2 / (2 * sigma**2), dim=1)`;
    case 'hard':
      return `nearest = ${difference}.abs().argmin(dim=1)
weights = torch.nn.functional.one_hot(nearest, len(x)).float()`;
    case 'boxcar':
      return `scores = (${difference}.abs() < sigma).float()\n${shares}`;
    case 'epanechnikov':
      return `scores = (1 - ${difference}.abs() / sigma).clamp(min=0)\n${shares}`;
    case 'average':
      return 'weights = torch.full((len(queries), len(x)), 1 / len(x))';
    case 'scaledDot':
      return dotInput === 'number'
        ? 'weights = torch.softmax(queries[:, None] * x[None, :], dim=1)'
        : `def encode(positions, d=${encodingWidth}):
    angles = positions[:, None] / 10000 ** (torch.arange(0, d, 2) / d)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)

q, k = encode(queries / sigma), encode(x / sigma)
weights = torch.softmax(q @ k.T / q.shape[1] ** 0.5, dim=1)`;
    default:
      return `${
        additiveWeights === 'byHand'
          ? `W_q = torch.tensor([[1 / sigma, 1], [1 / sigma, -1]])
W_k = torch.tensor([[-1 / sigma, 0], [-1 / sigma, 0]])
w_v = torch.tensor([4.0, -4.0])`
          : `${pythonCode('xavier')}
W_k, W_q = (xavier(${numHiddens}, 2, ${additiveSeed}, stream) for stream in (0, 1))
w_v = xavier(1, ${numHiddens}, ${additiveSeed}, 2)[0]`
      }
q = torch.stack([queries, torch.ones_like(queries)], dim=1)  # a 1 beside each number
k = torch.stack([x, torch.ones_like(x)], dim=1)
weights = torch.softmax(torch.tanh((q @ W_q.T)[:, None] + (k @ W_k.T)[None]) @ w_v, dim=1)`;
  }
}

/** @param {Scoring} scoring @param {PoolingOptions} options */
function cppPooling(scoring, { kernelWidth, dotInput, additiveWeights, additiveSeed }) {
  const tensors = (/** @type {string} */ d) =>
    `attn::Tensor(query.data(), {num_queries, ${d}}), attn::Tensor(key.data(), {num_keys, ${d}}),
    attn::Tensor(y.data(), {num_keys, 1}), attn::Tensor(pooled.data(), {num_queries, 1})`;
  const numbers = `std::vector<float> query(num_queries), key = x;
for (std::int64_t i = 0; i < num_queries; ++i) query[i] = 0.1F * i;
`;
  const width = float(kernelWidth);
  const pooling = (/** @type {string} */ d, /** @type {string} */ last) =>
    `attn::attention_pooling(
    ${tensors(d)},
    attn::ScoringFunction::${last});`;
  switch (scoring) {
    case 'gaussian':
    case 'boxcar':
    case 'epanechnikov':
      return numbers + pooling('1', `${scoring}(${width})`);
    case 'hard':
      return numbers + pooling('1', `gaussian(${width}), {.hard = true}`);
    case 'average':
      return numbers + pooling('1', 'average()');
    case 'scaledDot':
      if (dotInput === 'number') return numbers + pooling('1', 'scaled_dot()');
      return `const std::int64_t d = ${encodingWidth};
std::vector<float> query(num_queries * d), key(num_keys * d);
const auto encode = [&](double position, float* row) {
  attn::sinusoidal_encoding(attn::Tensor(row, {1, d}), {.start = position});
};
for (std::int64_t i = 0; i < num_queries; ++i) encode(0.1 * i / ${kernelWidth}, &query[i * d]);
for (std::int64_t i = 0; i < num_keys; ++i) encode(x[i] / ${kernelWidth}, &key[i * d]);
${pooling('d', 'scaled_dot()')}`;
    default:
      return `std::vector<float> query(num_queries * 2, 1), key(num_keys * 2, 1);
for (std::int64_t i = 0; i < num_queries; ++i) query[2 * i] = 0.1F * i;
for (std::int64_t i = 0; i < num_keys; ++i) key[2 * i] = x[i];  // a 1 beside each number
${
  additiveWeights === 'byHand'
    ? `attn::AdditiveAttention layer(2, 2, 2);
${Object.entries(bump(kernelWidth))
  .map(([name, { data, shape }]) => {
    const variable = name.slice(0, 3);
    const values = data.map((value) => float(Math.fround(value))).join(', ');
    return `std::vector<float> ${variable} = {${values}};
layer.set_parameter("${name}", attn::ConstTensor(${variable}.data(), {${shape.join(', ')}}));`;
  })
  .join('\n')}`
    : `attn::AdditiveAttention layer(2, 2, ${numHiddens});
layer.initialize_xavier({.seed = ${additiveSeed}});`
}
layer.forward(
    ${tensors('2')});`;
  }
}

/** @param {Scoring} scoring @param {PoolingOptions} options */
function javascriptPooling(scoring, { kernelWidth, dotInput, additiveWeights, additiveSeed }) {
  const pooling = (/** @type {string} */ options) =>
    `const { output } = attn.attentionPooling(column(queries), column(x), column(y), ${options});`;
  switch (scoring) {
    case 'gaussian':
    case 'boxcar':
    case 'epanechnikov':
      return pooling(`{
  scoring: '${scoring}',
  width: ${kernelWidth},
}`);
    case 'hard':
      return pooling(`{
  scoring: 'gaussian',
  width: ${kernelWidth},
  hard: true,
}`);
    case 'average':
      return pooling(`{ scoring: 'average' }`);
    case 'scaledDot':
      return dotInput === 'number'
        ? pooling(`{ scoring: 'scaledDot' }`)
        : `const encode = (xs) =>
  attn.sinusoidalEncoding({ positions: xs.map((x) => x / ${kernelWidth}), dModel: ${encodingWidth} });
const { output } = attn.attentionPooling(encode(queries), encode(x), column(y), {
  scoring: 'scaledDot',
});`;
    default:
      return `// A 1 beside each number.
const withOne = (xs) => ({ data: xs.flatMap((x) => [x, 1]), shape: [xs.length, 2] });
const layer = new attn.AdditiveAttention({
  queryDim: 2,
  keyDim: 2,
  numHiddens: ${additiveWeights === 'byHand' ? 2 : numHiddens},
  seed: ${additiveSeed},
});
${
  additiveWeights === 'byHand'
    ? `${Object.entries(bump(kernelWidth))
        .map(
          ([name, { data, shape }]) =>
            `layer.setParameter('${name}', { data: [${data.join(', ')}], shape: [${shape.join(', ')}] });`,
        )
        .join('\n')}\n`
    : ''
}const { output } = layer.forward(withOne(queries), withOne(x), column(y));`;
  }
}
