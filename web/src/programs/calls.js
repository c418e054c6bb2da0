import { uncased } from '../core/sentence.js';
import { cxx, double, float, js, literal, py, snake } from './writers.js';

/** The calls that programs of several figures share. */

/** @typedef {import('./print.js').Call} Call */
/** @typedef {import('./writers.js').Options} Options */

/** Constants that are doubles in C++. */
const real = /^(base|delta|factor|start|step)$/;

/** Defines numeric constants. @param {Record<string, number>} values @returns {Call} */
export function constants(values) {
  const all = Object.entries(values);
  const names = all.map(([name]) => name);
  const write = (/** @type {[string, number]} */ [name, value]) =>
    real.test(name) ? double(value) : `${value}`;
  const define = (/** @type {string} */ type, /** @type {boolean} */ isReal) => {
    const some = all.filter(([name]) => real.test(name) === isReal);
    const each = some.map((one) => `${snake(one[0])} = ${write(one)}`);
    return each.length ? [`const ${type} ${each.join(', ')};`] : [];
  };
  const [left, right] = [names, Object.values(values)].map((each) => each.join(', '));
  return {
    python: `${names.map(snake).join(', ')} = ${all.map(write).join(', ')}`,
    cpp: [...define('std::int64_t', false), ...define('double', true)].join('\n'),
    javascript: all.length > 1 ? `const [${left}] = [${right}];` : `const ${left} = ${right};`,
  };
}

/**
 * Computes sinusoidal encodings, (rows, columns), from the constants `base`, `start` and `step`.
 * @param {string} [to]
 * @param {[string, string]} [shape]
 * @returns {Call}
 */
export function sinusoidalEncoding(to = 'P', [rows, columns] = ['length', 'width']) {
  const width = snake(columns);
  const size = { length: rows, dModel: columns };
  const options = { base: 'base', start: 'start', step: 'step' };
  return {
    python: `position = start + step * torch.arange(${rows}, dtype=torch.float64).reshape(-1, 1)
angle = position / base ** (torch.arange(0, ${width}, 2, dtype=torch.float64) / ${width})
${to} = torch.zeros((${rows}, ${width}), dtype=torch.float64)
${to}[:, 0::2] = torch.sin(angle)
${to}[:, 1::2] = torch.cos(angle[:, : ${width} // 2])`,
    cpp: cxx`std::vector<float> ${to}(${rows} * ${width});
attn::sinusoidal_encoding(attn::Tensor(${to}.data(), {${rows}, ${width}}), ${options});`,
    javascript: js`const ${to} = attn.sinusoidalEncoding(${{ ...size, ...options }});`,
  };
}

/**
 * Computes the unscaled scores of each query with each key.
 * @param {string} to
 * @param {string} queries (length, columns)
 * @param {string} keys
 * @param {string} columns
 * @returns {Call}
 */
export const scores = (to, queries, keys, columns) => ({
  python: `${to} = ${queries} @ ${keys}.T`,
  cpp: `std::vector<float> ${to}(length * length), ones(length, 1), unused(length);
const auto rows = [&](std::vector<float>& x, std::int64_t columns) {
  return attn::Tensor(x.data(), {1, 1, length, columns});
};
attn::scaled_dot_product_attention(rows(${queries}, ${columns}), rows(${keys}, ${columns}),
                                   rows(ones, 1), rows(unused, 1),
                                   {.scale = 1, .scaled_scores = rows(${to}, length)});`,
  javascript: `const { scaledScores: ${to} } = attn.scaledDotProductAttention(${queries}, ${keys}, ${keys}, {
  scale: 1,
  needScaledScores: true,
});`,
});

/**
 * Subtracts one matrix from another, or computes the magnitude of the difference.
 * @param {string} to
 * @param {string} a
 * @param {string} b
 * @param {boolean} [absolute]
 * @returns {Call}
 */
export function difference(to, a, b, absolute = false) {
  const abs = (/** @type {string} */ prefix, /** @type {string} */ x) =>
    absolute ? `${prefix}abs(${x})` : x;
  return {
    python: absolute ? `${to} = (${a} - ${b}).abs()` : `${to} = ${a} - ${b}`,
    cpp: `std::vector<float> ${to}(${a}.size());
for (std::size_t i = 0; i < ${to}.size(); ++i) ${to}[i] = ${abs('std::', `${a}[i] - ${b}[i]`)};`,
    javascript: `const ${to} = {
  data: ${a}.data.map((value, i) => ${abs('Math.', `value - ${b}.data[i]`)}),
  shape: ${a}.shape,
};`,
  };
}

/** Layers whose constructors in C++ take the sizes as arguments before the options. */
const sized = ['AdditiveAttention', 'LearnedPositionalEncoding', 'Linear'];

/**
 * Creates a layer of attn. With `seed` or `init`, the layer draws its weights at random.
 * @param {string} name
 * @param {string} type
 * @param {Options} options as in JavaScript, in the order in which C++ declares them
 * @returns {Call}
 */
export function layer(name, type, options) {
  const { seed, stream, deviation, init, ...own } = options;
  const random = stream === undefined ? seed : { seed, stream };
  const draw =
    init === 'identity'
      ? `\n${name}.initialize_identity();`
      : deviation
        ? cxx`\n${name}.initialize_normal(${random}, ${float(deviation)});`
        : seed !== undefined && cxx`\n${name}.initialize_xavier(${random});`;
  const { numLayers, finalNorm, ...each } = own;
  const isStack = /^Transformer(?:Encoder|Decoder)$/.test(type);
  const values = Object.values(own).map((value) => snake(String(value)));
  const created = sized.includes(type)
    ? `attn::${type} ${name}(${values.join(', ')});`
    : cxx`attn::${type} ${name}(${isStack ? { layer: each, numLayers, finalNorm } : own});`;
  return {
    cpp: `${created}${draw || ''}`,
    javascript: js`const ${name} = new attn.${type}(${options});`,
  };
}

/**
 * Defines `x` (n, E), the embeddings of a sentence. `x` is the input of a layer.
 * @param {{ dModel: number, encoding: string, base: number }} settings
 * @param {string[]} tokens
 * @returns {Call[]}
 */
export function sentence({ dModel, encoding, base }, tokens) {
  const words = uncased(tokens).map(literal).join(', ');
  const isEncoded = encoding === 'sinusoidal';
  return [
    {
      python: `tokens = [${words}]
n, d_model = len(tokens), ${dModel}
x = torch.stack([embedding(token, d_model) for token in tokens])`,
      cpp: `const std::vector<std::string_view> tokens{${words}};
const std::int64_t n = ${tokens.length}, d_model = ${dModel};
std::vector<float> x(n * d_model);
const auto view = [&](std::vector<float>& rows) { return attn::Tensor(rows.data(), {n, d_model}); };
attn::ngram_embedding(tokens, view(x));`,
      javascript: `const tokens = [${words}];
const [n, dModel] = [tokens.length, ${dModel}];
const embedded = attn.ngramEmbedding(tokens, { dModel });
const x = ${isEncoded ? `attn.positionalEncoding(embedded, { base: ${base} })` : 'embedded'};`,
    },
    isEncoded
      ? {
          python: `position = torch.arange(n, dtype=torch.float64)[:, None]
angle = position / ${double(base)} ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
x = (x + torch.stack((angle.sin(), angle.cos()), dim=2).reshape(n, d_model)).float()`,
          cpp: cxx`attn::PositionalEncoding(${{ base }}).forward(view(x), view(x));`,
        }
      : {},
  ];
}

/**
 * Draws a matrix from the normal distribution.
 * @param {string} to
 * @param {[string, string]} shape
 * @param {{ seed: number, stream: number }} random
 * @returns {Call}
 */
export const randomNormal = (to, [rows, columns], { seed, stream }) => ({
  python: `${snake(to)} = normal(${rows}, ${columns}, ${seed}, ${stream})`,
  cpp: cxx`std::vector<float> ${to}(${rows} * ${columns});
attn::fill_normal(attn::Tensor(${to}.data(), {${rows}, ${columns}}), ${{ seed, stream }});`,
  javascript: js`const ${to} = attn.randomNormal(${{ shape: [rows, columns], seed, stream }});`,
});

/**
 * Sets a matrix of a layer to values that the program has defined.
 * @param {string} layer
 * @param {string} name
 * @param {string} from
 * @param {readonly (string | number)[]} shape
 * @returns {Call}
 */
export const setParameter = (layer, name, from, shape) => ({
  cpp: cxx`${layer}.set_parameter("${name}", attn::Tensor(${from}.data(), ${shape}));`,
  javascript: `${layer}.setParameter('${name}', ${from});`,
});

/**
 * Lines and options that apply the masks in the settings to a call with n queries and keys. The
 * lines go before the call and use a variable `n`. In Python, they define `attends` (n, n), which
 * is true where a query may attend.
 * @param {import('../core/exclusion.js').Masks & { causal: boolean }} masks
 * @param {number} length length of the sentence
 * @returns {{ lines: Call, javascript: Options, cpp: Options }}
 */
export function exclusion({ causal: isCausal, window: width, validLen, blocked }, length) {
  const cells = blocked.filter(({ row, column }) => row < length && column < length);
  const keys = Math.min(validLen, length);
  const causal = isCausal || undefined;
  const window = width ? { left: width, right: width } : undefined;
  const given = (/** @type {unknown} */ value, /** @type {string} */ text) => (value ? [text] : []);
  const pairs = cells.map(({ row, column }) => `[${row}, ${column}]`);
  return {
    lines: {
      python: [
        'query, key = torch.arange(n)[:, None], torch.arange(n)[None, :]',
        'attends = torch.ones(n, n, dtype=torch.bool)',
        ...given(causal, 'attends &= key <= query'),
        ...given(window, `attends &= (key - query).abs() <= ${width}`),
        ...given(validLen, `attends &= key < ${keys}`),
        ...pairs.map((pair) => `attends${pair} = False`),
      ].join('\n'),
      ...((cells.length > 0 || validLen > 0) && {
        cpp: [
          ...given(cells.length, 'std::vector<std::uint8_t> mask(n * n, 1);'),
          ...cells.map(({ row, column }) => `mask[${row} * n + ${column}] = 0;`),
          ...given(validLen, `const std::int32_t valid_len = ${keys};`),
        ].join('\n'),
      }),
      ...(cells.length > 0 && {
        javascript: `const mask = { data: new Uint8Array(n * n).fill(1), shape: [n, n] };
for (const [query, key] of [${pairs.join(', ')}]) mask.data[query * n + key] = 0;`,
      }),
    },
    javascript: {
      ...{ causal, window, validLens: validLen ? [keys] : undefined },
      mask: cells.length ? 'mask' : undefined,
    },
    cpp: {
      mask: cells.length ? 'attn::ConstMask(mask.data(), {n, n})' : undefined,
      ...{ causal, window },
      validLens: validLen ? 'attn::ConstLengths(&valid_len, {1})' : undefined,
    },
  };
}

/**
 * Defines a list of numbers.
 * @param {string} to
 * @param {readonly number[]} values
 * @returns {Call}
 */
export const list = (to, values) => ({
  python: py`${to} = ${values}`,
  cpp: cxx`const std::vector<std::int64_t> ${to}${values};`,
  javascript: js`const ${to} = ${values};`,
});

/**
 * Loads the parameters of a layer from the file.
 * @param {string} name
 * @param {string} prefix
 * @returns {Call}
 */
export const loadStateDict = (name, prefix) => ({
  cpp: `attn::load_state_dict(${name}, file, "${prefix}");`,
  javascript: `${name}.loadStateDict(file, { prefix: '${prefix}' });`,
});

/**
 * Defines `head` as one head of a stage that contains all heads, (heads, n, columns).
 * @param {{ javascript: string, cpp: string }} all the data
 * @param {string} columns
 * @param {{ head: number, heads: number }} which
 * @returns {Call}
 */
export const headOf = ({ javascript, cpp }, columns, { head, heads }) => ({
  cpp: `const float* const head = ${cpp} + ${head} * n * ${columns};  // head ${head + 1} of ${heads}`,
  javascript: `// Head ${head + 1} of ${heads}.
const head = {
  data: ${javascript}.subarray(${head} * n * ${columns}, ${head + 1} * n * ${columns}),
  shape: [n, ${columns}],
};`,
});

/**
 * Defines `candidates`, the ids and probabilities of the `shown` most probable tokens according to
 * `logits`.
 * @param {{ temperature: number, kept: number, shown: number }} options kept: number of most
 * probable tokens, whose probabilities add up to 1
 * @returns {Call}
 */
export const candidates = ({ temperature, kept, shown }) => ({
  cpp: `
std::vector<std::int64_t> order(logits.size());
std::iota(order.begin(), order.end(), 0);
std::stable_sort(order.begin(), order.end(),
                 [&](std::int64_t a, std::int64_t b) { return logits[a] > logits[b]; });
order.resize(${kept});
std::vector<double> powers;
for (const std::int64_t id : order) {
  powers.push_back(std::exp((logits[id] - logits[order[0]]) / ${double(temperature)}));
}
const double total = std::accumulate(powers.begin(), powers.end(), 0.0);
std::vector<double> candidates;
for (std::size_t i = 0; i < ${shown}; ++i) {
  candidates.insert(candidates.end(), {static_cast<double>(order[i]), powers[i] / total});
}`,
  javascript: `
const order = Array.from(logits, (_, id) => id)
  .sort((a, b) => logits[b] - logits[a] || a - b)
  .slice(0, ${kept});
const powers = order.map((id) => Math.exp((logits[id] - logits[order[0]]) / ${temperature}));
const total = powers.reduce((sum, power) => sum + power, 0);
const candidates = {
  data: Float64Array.from(order.slice(0, ${shown}).flatMap((id, i) => [id, powers[i] / total])),
  shape: [${shown}, 2],
};`,
});

/**
 * Defines `meanLoss(logits, ids)`, the mean loss of predicting each id from the logits before it.
 * @param {number} vocabularySize
 * @returns {Call}
 */
export const meanLoss = (vocabularySize) => ({
  cpp: `
const std::int64_t size = ${vocabularySize};
const auto mean_loss = [&](const std::vector<float>& logits, const std::vector<std::int64_t>& ids) {
  double sum = 0;
  for (std::int64_t i = 1; i < n; ++i) {
    const float* const row = logits.data() + (i - 1) * size;
    const double largest = *std::max_element(row, row + size);
    double total = 0;
    for (std::int64_t id = 0; id < size; ++id) total += std::exp(row[id] - largest);
    sum += std::log(total) + largest - row[ids[i]];
  }
  return sum / static_cast<double>(n - 1);
};`,
  javascript: `
const size = ${vocabularySize};
const meanLoss = (logits, ids) => {
  let sum = 0;
  for (let i = 1; i < n; i++) {
    const row = logits.subarray((i - 1) * size, i * size);
    const largest = row.reduce((a, b) => Math.max(a, b));
    const total = row.reduce((total, logit) => total + Math.exp(logit - largest), 0);
    sum += Math.log(total) + largest - row[ids[i]];
  }
  return sum / (n - 1);
};`,
});

/**
 * Defines `shuffled`, the ids in another order.
 * @param {readonly number[]} order
 * @returns {Call}
 */
export const shuffledIds = (order) => ({
  cpp: cxx`std::vector<std::int64_t> shuffled${order};
for (std::int64_t& place : shuffled) place = ids[place];`,
  javascript: js`const shuffled = ${order}.map((place) => ids[place]);`,
});
