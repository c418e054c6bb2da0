import { exclusionCode } from '../../programs/exclusionCode.js';
import { cppProgram, double, javascriptProgram } from '../../programs/programs.js';
import { rowsOf } from './ownStages.js';

/**
 * Programs for figures of a reader's model, which expect its files next to them.
 * @typedef {import('../../core/exclusion.js').Masks} Masks
 * @typedef {Pick<import('../../core/sentence.js').Given, 'ids' | 'types' | 'tokens' | 'layer' | 'head' |
 *   'heads' | 'causal'> & Partial<Masks>} Given
 * @typedef {{ javascript: string, cpp: string }} Lines
 */

const noMasks = { window: 0, validLen: 0, blocked: [] };

/**
 * The words appear in a comment, and a backslash at its end would continue it on the next line.
 * @param {readonly string[]} tokens
 */
const words = (tokens) =>
  tokens.map((token) => (/^[!-[\]-~]+$/.test(token) ? token : '·')).join(' ');

/** @param {(string | undefined)[]} parts */
const lines = (...parts) => parts.filter(Boolean).join('\n');

/**
 * The first lines of programs, which define `model`, `ids` and `n`.
 * @param {Pick<Given, 'ids' | 'tokens'>} given
 * @param {'' | 'const '} [fixed] `const ` if the program does not replace the model
 * @returns {Lines}
 */
const beginning = ({ ids, tokens }, fixed = 'const ') => ({
  javascript: `const { openAsBlob, readdirSync } = await import('node:fs');
const files = {};
for (const name of readdirSync('.')) {
  if (/\\.safetensors(\\.index\\.json)?$|^config\\.json$/.test(name)) files[name] = await openAsBlob(name);
}
const model = await attn.loadModel(files);

// ${words(tokens)}
const ids = ${JSON.stringify(ids)};
const n = ids.length;`,
  cpp: `${fixed}attn::LanguageModel model = attn::load_language_model(".");

// ${words(tokens)}
const std::vector<std::int64_t> ids{${ids.join(', ')}};
const std::int64_t n = ${ids.length};`,
});

/**
 * The types of tokens and the option that passes them, if some tokens belong to a second sentence.
 * @param {Pick<Given, 'ids' | 'types'>} given
 */
function typesCode({ ids, types: all = [] }) {
  const types = all.slice(0, ids.length);
  const has = types.some(Boolean);
  return {
    javascript: has ? `  tokenTypes: ${JSON.stringify(types)},\n` : '',
    cpp: has
      ? {
          before: `const std::vector<std::int64_t> types{${types.join(', ')}};`,
          option: '.token_types = attn::IdView(types.data(), {n}), ',
        }
      : { before: '', option: '' },
  };
}

/**
 * Adds a pass that captures a stage of a layer as `shown`.
 * @param {Given} given
 * @param {string} stage
 * @param {Lines} [change] a change of the model before the pass
 * @returns {Lines}
 */
function passing(given, stage, change) {
  const start = beginning(given, change ? '' : 'const ');
  const masks = exclusionCode({ ...noMasks, ...given }, given.ids.length);
  const types = typesCode(given);
  const name = `encoder.layers.${given.layer}.${stage}`;
  return {
    javascript: lines(
      start.javascript,
      change?.javascript,
      masks.javascript.before,
      `const { intermediates } = model.forward(ids, {
  ...{ needLogits: false, intermediates: ['${name}'] },
${types.javascript}  attention: { ${masks.javascript.options.join(', ')} },
});
const shown = intermediates['${name}'].data;`,
    ),
    cpp: lines(
      start.cpp,
      change?.cpp,
      masks.cpp.before,
      types.cpp.before,
      `attn::Intermediates intermediates({"${name}"});
model.forward(attn::IdView(ids.data(), {n}), {},
              {.attention = {${masks.cpp.options.join(', ')}}, ${types.cpp.option}.intermediates = &intermediates});
const float* const shown = intermediates["${name}"].data();`,
    ),
  };
}

/**
 * Prints n rows of one head of the captured stage.
 * @param {Lines} start
 * @param {Pick<Given, 'head' | 'heads'>} given
 * @param {string | number} columns
 */
const oneHead = (start, { head, heads }, columns) => ({
  javascript: javascriptProgram({
    models: true,
    body: `${start.javascript}
// Head ${head + 1} of ${heads}.
const width = ${columns};
const head = { data: shown.subarray(${head} * n * width, ${head + 1} * n * width), shape: [n, width] };`,
    result: 'head',
  }),
  cpp: cppProgram({
    body: `${start.cpp}
const std::int64_t width = ${columns};
const float* const head = shown + ${head} * n * width;  // head ${head + 1} of ${heads}`,
    ...{ result: 'head', rows: 'n', columns: 'width' },
  }),
});

/** Prints the complete captured stage. @param {Lines} start @param {number} columns */
const whole = (start, columns) => ({
  javascript: javascriptProgram({
    models: true,
    body: `${start.javascript}
const output = { data: shown, shape: [n, ${columns}] };`,
    result: 'output',
  }),
  cpp: cppProgram({
    body: start.cpp,
    ...{ result: 'shown', rows: 'n', columns: String(columns) },
  }),
});

/** Prints the weights of a head. @param {Given} given */
export const ownAttentionCode = (given) => oneHead(passing(given, 'self_attn.weights'), given, 'n');

/**
 * Prints the output of a head before the heads are joined.
 * @param {Given} given
 * @param {number} depth D
 */
export const ownStagesCode = (given, depth) =>
  oneHead(passing(given, 'self_attn.head_output'), given, depth);

/** Prints the output of a layer: (n, E). @param {Given} given @param {number} dModel */
export const ownBlockCode = (given, dModel) => whole(passing(given, 'output'), dModel);

/**
 * Prints the output of a layer, computed token by token with a cache.
 * @param {Given} given
 * @param {number} dModel
 */
export function ownCacheCode(given, dModel) {
  const start = beginning(given);
  const name = `encoder.layers.${given.layer}.output`;
  return {
    javascript: javascriptProgram({
      models: true,
      body: `${start.javascript}

const caches = model.makeCaches();
const output = { data: new Float32Array(n * ${dModel}), shape: [n, ${dModel}] };
ids.forEach((id, i) => {
  const { intermediates } = model.forward([id], {
    ...{ caches, needLogits: false, intermediates: ['${name}'] },
  });
  output.data.set(intermediates['${name}'].data, i * ${dModel});
});`,
      result: 'output',
    }),
    cpp: cppProgram({
      body: `${start.cpp}

std::vector<attn::KeyValueCache> caches = model.make_caches();
std::vector<float> output;
for (const std::int64_t id : ids) {
  attn::Intermediates shown({"${name}"});
  model.forward(attn::IdView(&id, {1}), {}, {.caches = caches, .intermediates = &shown});
  const float* const row = shown["${name}"].data();
  output.insert(output.end(), row, row + ${dModel});
}`,
      ...{ result: 'output', rows: 'n', columns: String(dModel) },
    }),
  };
}

/**
 * Prints the effect of a changed number in a projection on a head's weights, or on the layer's
 * output if the weights do not depend on it.
 * @param {Given & Pick<import('../../core/sentence.js').Given, 'editMatrix'>} given
 * @param {import('attn').LanguageModelLayer} layer
 * @param {{ row: number, column: number, value: number }} edit the change, within the head's part
 *   of the projection
 */
export function ownEditCode(given, layer, { row, column, value }) {
  const { editMatrix: which, head } = given;
  const { headDim, numHeads, dModel } = layer;
  const rows = which === 'o' ? null : rowsOf(layer, which, head);
  const width = rows ? dModel : numHeads * headDim;
  const at = rows ? (rows.first + row) * width + column : row * width + head * headDim + column;
  const path = `encoder.layers.${given.layer}.self_attn.${rows?.name ?? 'out_proj.weight'}`;
  const change = {
    javascript: `const projection = model.parameter('${path}');
projection.data[${at}] = ${value};
model.setParameter('${path}', projection);`,
    cpp: `const attn::ConstTensor whole = model.parameter("${path}");
const std::vector<std::int64_t> shape(whole.shape().begin(), whole.shape().end());
std::vector<float> projection(shape[0] * shape[1]);
model.read_parameter("${path}", attn::Tensor(projection.data(), shape));
projection[${at}] = static_cast<float>(${double(value)});
model.set_parameter("${path}", attn::Tensor(projection.data(), shape));`,
  };
  return which === 'q' || which === 'k'
    ? oneHead(passing(given, 'self_attn.weights', change), given, 'n')
    : whole(passing(given, 'self_attn.output', change), dModel);
}

/**
 * Prints the losses in order and in another order.
 * @param {Given} given
 * @param {number[]} order
 * @param {number} vocabSize
 */
export function ownLossCode(given, order, vocabSize) {
  const start = beginning(given);
  return {
    javascript: javascriptProgram({
      models: true,
      body: `${start.javascript}

const lossOf = (read) => {
  const { data } = model.forward(read).logits;
  const size = ${vocabSize};
  let sum = 0;
  for (let i = 1; i < n; i++) {
    const row = data.subarray((i - 1) * size, i * size);
    const largest = row.reduce((a, b) => Math.max(a, b));
    const total = row.reduce((total, logit) => total + Math.exp(logit - largest), 0);
    sum += Math.log(total) + largest - row[read[i]];
  }
  return sum / (n - 1);
};
const shuffled = ${JSON.stringify(order)}.map((place) => ids[place]);
const losses = { data: Float64Array.of(lossOf(ids), lossOf(shuffled)), shape: [2, 1] };`,
      result: 'losses',
    }),
    cpp: cppProgram({
      body: `${start.cpp}

const auto loss_of = [&](const std::vector<std::int64_t>& read) {
  const std::int64_t size = ${vocabSize};
  std::vector<float> logits(n * size);
  model.forward(attn::IdView(read.data(), {n}), attn::Tensor(logits.data(), {n, size}));
  double sum = 0;
  for (std::int64_t i = 1; i < n; ++i) {
    const float* const row = logits.data() + (i - 1) * size;
    const double largest = *std::max_element(row, row + size);
    double total = 0;
    for (std::int64_t id = 0; id < size; ++id) total += std::exp(row[id] - largest);
    sum += std::log(total) + largest - row[read[i]];
  }
  return sum / static_cast<double>(n - 1);
};
std::vector<std::int64_t> shuffled{${order.join(', ')}};
for (std::int64_t& place : shuffled) place = ids[place];
const std::vector<double> losses{loss_of(ids), loss_of(shuffled)};`,
      ...{ result: 'losses', rows: '2', columns: '1', includes: ['<algorithm>', '<cmath>'] },
    }),
  };
}

/**
 * Prints the ten most probable tokens after one of them, each on a line with its id and
 * probability.
 * @param {Given} given
 * @param {{ at: number, temperature: number, topK: number, vocabSize: number }} options
 */
export function ownNextCode(given, { at, temperature, topK, vocabSize }) {
  const start = beginning({
    ids: given.ids.slice(0, at + 1),
    tokens: given.tokens.slice(0, at + 1),
  });
  const kept = Math.min(topK || vocabSize, vocabSize);
  const shown = Math.min(10, kept);
  return {
    javascript: javascriptProgram({
      models: true,
      body: `${start.javascript}

const logits = model.forward(ids, { numLogits: 1 }).logits.data;
const order = Array.from(logits, (_, id) => id)
  .sort((a, b) => logits[b] - logits[a] || a - b)
  .slice(0, ${kept});
const powers = order.map((id) => Math.exp((logits[id] - logits[order[0]]) / ${temperature}));
const total = powers.reduce((sum, power) => sum + power, 0);
const candidates = {
  data: Float64Array.from(order.slice(0, ${shown}).flatMap((id, i) => [id, powers[i] / total])),
  shape: [${shown}, 2],
};`,
      result: 'candidates',
    }),
    cpp: cppProgram({
      body: `${start.cpp}

std::vector<float> logits(${vocabSize});
model.forward(attn::IdView(ids.data(), {n}), attn::Tensor(logits.data(), {1, ${vocabSize}}));
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
      ...{ result: 'candidates', rows: String(shown), columns: '2' },
      includes: ['<algorithm>', '<cmath>', '<numeric>'],
    }),
  };
}

/**
 * JavaScript conditions for the queries that count and the keys they attend to, if a head has this
 * habit.
 */
const looks = {
  previousToken: { queries: 'i >= 2', keys: 'j === i - 1' },
  firstToken: { queries: 'i >= 2', keys: 'j === 0' },
  sameToken: { queries: 'again(i)', keys: 'stands(i, j)' },
  induction: { queries: 'again(i)', keys: 'j > 0 && stands(i, j - 1)' },
};

/**
 * Prints how strongly each head shows a habit, with a line for each layer and a column for each
 * head.
 * @param {Given} given
 * @param {{ pattern: keyof typeof looks, heads: number, layers: number }} options
 */
export function ownWallCode(given, { pattern, heads, layers }) {
  const { queries, keys } = looks[pattern];
  const start = beginning(given);
  const masks = exclusionCode({ ...noMasks, ...given }, given.ids.length);
  const types = typesCode(given);
  const elsewhere = given.causal ? 'j < i' : 'j !== i';
  const inCpp = (/** @type {string} */ text) => text.replace(/([!=]=)=/g, '$1');
  return {
    javascript: javascriptProgram({
      models: true,
      body: lines(
        start.javascript,
        masks.javascript.before,
        `const stage = (layer) => \`encoder.layers.\${layer}.self_attn.weights\`;
const { intermediates } = model.forward(ids, {
  ...{ needLogits: false, intermediates: Array.from({ length: ${layers} }, (_, l) => stage(l)) },
${types.javascript}  attention: { ${masks.javascript.options.join(', ')} },
});
// Where else the same token stands.
const stands = (i, j) => ${elsewhere} && ids[j] === ids[i];
const again = (i) => ids.some((_, j) => stands(i, j));
const shares = { data: new Float64Array(${layers * heads}), shape: [${layers}, ${heads}] };
for (let head = 0; head < ${layers * heads}; head++) {
  const { data } = intermediates[stage(Math.floor(head / ${heads}))];
  let [sum, count] = [0, 0];
  for (let i = 0; i < n; i++) {
    if (!(${queries})) continue;
    count += 1;
    const row = data.subarray(((head % ${heads}) * n + i) * n);
    for (let j = 0; j < n; j++) if (${keys}) sum += row[j];
  }
  shares.data[head] = sum / count;
}`,
      ),
      result: 'shares',
    }),
    cpp: cppProgram({
      body: lines(
        start.cpp,
        masks.cpp.before,
        types.cpp.before,
        `std::vector<std::string> stages;
for (int layer = 0; layer < ${layers}; ++layer) {
  stages.push_back("encoder.layers." + std::to_string(layer) + ".self_attn.weights");
}
attn::Intermediates shown(stages);
model.forward(attn::IdView(ids.data(), {n}), {},
              {.attention = {${masks.cpp.options.join(', ')}}, ${types.cpp.option}.intermediates = &shown});
// Where else the same token stands.
[[maybe_unused]] const auto stands = [&](std::int64_t i, std::int64_t j) {
  return ${inCpp(elsewhere)} && ids[j] == ids[i];
};
[[maybe_unused]] const auto again = [&](std::int64_t i) {
  for (std::int64_t j = 0; j < n; ++j) {
    if (stands(i, j)) return true;
  }
  return false;
};
std::vector<double> shares;
for (std::int64_t head = 0; head < ${layers * heads}; ++head) {
  const float* const weights = shown[stages[head / ${heads}]].data() + head % ${heads} * n * n;
  double sum = 0, count = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    if (!(${inCpp(queries)})) continue;
    ++count;
    for (std::int64_t j = 0; j < n; ++j) {
      if (${inCpp(keys)}) sum += weights[i * n + j];
    }
  }
  shares.push_back(sum / count);
}`,
      ),
      ...{ result: 'shares', rows: String(layers), columns: String(heads) },
      includes: ['<string>'],
    }),
  };
}
