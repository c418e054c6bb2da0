import { knockOutOf } from '../../core/cuts.js';
import { headRows } from '../../core/layer.js';
import { otherOrderOf } from '../../core/shuffle.js';
import { ablateOf } from '../../core/silence.js';
import {
  candidates,
  constants,
  exclusion,
  headOf,
  list,
  meanLoss,
  shuffledIds,
} from '../../programs/calls.js';
import { interventions } from '../../programs/interventions.js';
import { patches } from '../../programs/patches.js';
import { printMatrix } from '../../programs/print.js';
import { cxx, double, js } from '../../programs/writers.js';

/**
 * Programs for the figures of a reader's model. The programs load the model's files from the
 * current folder. Programs for the page's models are
 * functions of the same names.
 * @typedef {import('./ownServer.js').Facts} Facts
 * @typedef {import('../../programs/print.js').Call} Call
 * @typedef {import('../../core/sentence.js').Given} Given
 * @typedef {Given & { pair: import('../../core/sentence.js').Pair }} Paired
 */

/**
 * True if the model has an encoder and a decoder.
 * @template {Pick<Given, 'pair'>} T
 * @param {T} given
 * @returns {given is T & Paired}
 */
const hasPair = (given) => given.pair !== undefined;

/**
 * The words appear in a comment, and a backslash at the comment's end would continue it on the next
 * line.
 * @param {readonly string[]} tokens
 */
const words = (tokens) =>
  tokens.map((token) => (/^[!-[\]-~]+$/.test(token) ? token : '·')).join(' ');

/**
 * @param {string} name
 * @param {string | number} rows
 * @param {string | number} columns
 * @param {Call[]} calls
 */
function printOwn(name, rows, columns, calls) {
  const { javascript, cpp } = printMatrix(name, rows, columns, calls, '{ models: true }');
  return { javascript, cpp };
}

const findFiles = `const { openAsBlob, readdirSync } = await import('node:fs');
const files = {};
for (const name of readdirSync('.')) {
  if (/\\.safetensors(\\.index\\.json)?$|^config\\.json$/.test(name)) files[name] = await openAsBlob(name);
}`;

/**
 * Defines the ids of tokens, and their number.
 * @param {string} name
 * @param {string} length
 * @param {{ ids: readonly number[], tokens: readonly string[] }} of
 * @returns {Call[]}
 */
const defineTokens = (name, length, { ids, tokens }) => [
  { javascript: `\n// ${words(tokens)}`, cpp: `\n// ${words(tokens)}` },
  list(name, ids),
  {
    javascript: `const ${length} = ${name}.length;`,
    cpp: `const std::int64_t ${length} = ${ids.length};`,
  },
];

/**
 * The calls with which each program begins. They define `model`, `ids` and `n`.
 * @param {Pick<Given, 'ids' | 'tokens'>} given
 * @param {'' | 'const '} [fixed] `const ` if the program does not replace the model
 * @returns {Call[]}
 */
const beginning = (given, fixed = 'const ') => [
  {
    javascript: `${findFiles}
const model = await attn.loadModel(files);`,
    cpp: `${fixed}attn::LanguageModel model = attn::load_language_model(".");`,
  },
  ...defineTokens('ids', 'n', given),
];

/**
 * The calls with which each program for a model with an encoder and a decoder begins. They define
 * `model`, `source` and `m`. Unless the program is about the encoder alone, they also define the
 * encoder's output, `memory`, and the target, `ids` and `n`.
 * @param {Paired} given
 * @returns {Call[]}
 */
const beginningOfPair = ({ ids, tokens, pair: { part, source } }) => [
  {
    javascript: `${findFiles}
const model = await attn.loadEncoderDecoder(files);`,
    cpp: 'const attn::EncoderDecoderModel model = attn::load_encoder_decoder(".");',
  },
  ...defineTokens('source', 'm', part === 'encoder' ? { ids, tokens } : source),
  {
    cpp: `std::vector<float> encoded(m * model.d_model());
const attn::Tensor memory(encoded.data(), {m, model.d_model()});`,
  },
  ...(part === 'encoder'
    ? [{ javascript: 'const n = m;', cpp: 'const std::int64_t n = m;' }]
    : [
        {
          javascript: 'const { memory } = model.encode(source);',
          cpp: 'model.encode(attn::IdView(source.data(), {m}), memory);',
        },
        ...defineTokens('ids', 'n', { ids, tokens }),
      ]),
];

/**
 * The calls that store a stage of a layer's attention in the variable `shown`, for the part of the
 * model that figures show.
 * @param {Paired} given
 * @param {string} stage
 * @returns {Call[]}
 */
function captureInPair(given, stage) {
  const { layer, pair } = given;
  const { lines, javascript, cpp } = exclusion(given, given.ids.length);
  const stack = pair.part === 'encoder' ? 'encoder' : 'decoder';
  const attention = pair.part === 'cross' ? 'multihead_attn.' : 'self_attn.';
  const name = `${stack}.layers.${layer}.${stage.replace('self_attn.', attention)}`;
  const [intermediates, shown] = [[`'${name}'`], '&intermediates'];
  const masked = pair.part === 'cross' ? {} : { selfAttention: javascript };
  return [
    ...beginningOfPair(given),
    lines,
    stack === 'encoder'
      ? {
          javascript: js`const { intermediates } = model.encode(source, ${{ intermediates, attention: javascript }});`,
          cpp: cxx`attn::Intermediates intermediates({"${name}"});
model.encode(attn::IdView(source.data(), {m}), memory, ${{ attention: cpp, intermediates: shown }});`,
        }
      : {
          javascript: js`const { intermediates } = model.decode(ids, memory, ${{ needLogits: false, intermediates, ...masked }});`,
          cpp: cxx`attn::Intermediates intermediates({"${name}"});
model.decode(attn::IdView(ids.data(), {n}), memory, {}, ${{ ...(pair.part === 'cross' ? {} : { selfAttention: cpp }), intermediates: shown }});`,
        },
    {
      javascript: `const shown = intermediates['${name}'].data;`,
      cpp: `const float* const shown = intermediates["${name}"].data();`,
    },
  ];
}

/**
 * The options of a forward pass, and the lines that must precede it in the program. The options
 * include token types only if some tokens belong to a second sentence.
 * @param {Given} given
 */
function passing(given) {
  const { ids, types: all = [] } = given;
  const masks = exclusion(given, ids.length);
  const types = all.slice(0, ids.length);
  const has = types.some(Boolean);
  return {
    lines: [masks.lines, ...(has ? [{ cpp: list('types', types).cpp }] : [])],
    javascript: { tokenTypes: has ? types : undefined, attention: masks.javascript },
    cpp: {
      attention: masks.cpp,
      tokenTypes: has ? 'attn::IdView(types.data(), {n})' : undefined,
    },
  };
}

/**
 * The calls that store a stage of a layer in the variable `shown`.
 * @param {Given} given
 * @param {string} stage
 * @param {Call} [change] changes the weights before the pass
 * @returns {Call[]}
 */
function capture(given, stage, change) {
  if (hasPair(given)) return captureInPair(given, stage);
  const { lines, javascript, cpp } = passing(given);
  const name = `encoder.layers.${given.layer}.${stage}`;
  const options = { needLogits: false, intermediates: [`'${name}'`], ...javascript };
  return [
    ...beginning(given, change ? '' : 'const '),
    change ?? {},
    ...lines,
    {
      javascript: js`const { intermediates } = model.forward(ids, ${options});
const shown = intermediates['${name}'].data;`,
      cpp: cxx`attn::Intermediates intermediates({"${name}"});
model.forward(attn::IdView(ids.data(), {n}), {}, ${{ ...cpp, intermediates: '&intermediates' }});
const float* const shown = intermediates["${name}"].data();`,
    },
  ];
}

/**
 * Prints n rows of one head of the captured stage.
 * @param {Call[]} calls
 * @param {Pick<Given, 'head' | 'heads'>} given
 * @param {string} columns
 */
const oneHead = (calls, given, columns) =>
  printOwn('head', 'n', columns, [
    ...calls,
    headOf({ javascript: 'shown', cpp: 'shown' }, columns, given),
  ]);

/** Prints the complete captured stage. @param {Call[]} calls @param {Pick<Facts, 'dModel'>} facts */
const whole = (calls, { dModel: columns }) =>
  printOwn('output', 'n', columns, [
    ...calls,
    {
      javascript: `const output = { data: shown, shape: [n, ${columns}] };`,
      cpp: 'const float* const output = shown;',
    },
  ]);

/** Prints the weights of a head. @param {Given} given */
export const attentionCode = (given) =>
  oneHead(capture(given, 'self_attn.weights'), given, given.pair?.part === 'cross' ? 'm' : 'n');

/**
 * Prints the output of a head before the heads are joined.
 * @param {Given} given
 * @param {Facts} facts
 */
export function stagesCode(given, { description }) {
  const { headDim: depth } = description.layers[given.layer];
  const calls = [...capture(given, 'self_attn.head_output'), constants({ depth })];
  return oneHead(calls, given, 'depth');
}

/** Prints the output of a layer: (n, E). @param {Given} given @param {Facts} facts */
export const encoderBlockCode = (given, facts) => whole(capture(given, 'output'), facts);

/**
 * Prints the output of a layer, computed token by token with a cache.
 * @param {Given} given
 * @param {Facts} facts
 */
export function decoderCacheCode(given, { dModel }) {
  const isPair = hasPair(given);
  const name = `${isPair ? 'decoder' : 'encoder'}.layers.${given.layer}.output`;
  const [make, step, makeInCpp, stepInCpp] = isPair
    ? [
        ...['const state = model.start(memory);', 'model.decode([id], state, {\n    ...{ '],
        ...['attn::TransformerDecoderState state = model.start(memory);'],
        'model.decode(attn::IdView(&id, {1}), {}, {}, {.state = &state, .intermediates = &shown});',
      ]
    : [
        ...['const caches = model.makeCaches();', 'model.forward([id], {\n    ...{ caches, '],
        ...['std::vector<attn::KeyValueCache> caches = model.make_caches();'],
        'model.forward(attn::IdView(&id, {1}), {}, {.caches = caches, .intermediates = &shown});',
      ];
  return printOwn('output', 'n', dModel, [
    ...(isPair ? beginningOfPair(given) : beginning(given)),
    {
      javascript: `
${make}
const output = { data: new Float32Array(n * ${dModel}), shape: [n, ${dModel}] };
ids.forEach((id, i) => {
  const { intermediates } = ${step}needLogits: false, intermediates: ['${name}'] },
  });
  output.data.set(intermediates['${name}'].data, i * ${dModel});
});`,
      cpp: `
${makeInCpp}
std::vector<float> output;
for (const std::int64_t id : ids) {
  attn::Intermediates shown({"${name}"});
  ${stepInCpp}
  const float* const row = shown["${name}"].data();
  output.insert(output.end(), row, row + ${dModel});
}`,
    },
  ]);
}

/**
 * Prints a head's weights after one number in a projection is changed. If the weights do not depend
 * on that number, prints the output of the layer's attention instead.
 * @param {Given & { edit: Record<'row' | 'column' | 'value', number> }} given edit: the change,
 *   within the head's part of the projection
 * @param {Facts} facts
 */
export function editCode(given, { description }) {
  const { editMatrix: which, head } = given;
  const { row, column, value } = given.edit;
  const layer = description.layers[given.layer];
  const { headDim, numHeads, dModel } = layer;
  const rows = which === 'o' ? null : headRows(layer, which, head);
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
    ? oneHead(capture(given, 'self_attn.weights', change), given, 'n')
    : whole(capture(given, 'self_attn.output', change), layer);
}

/**
 * Prints the model's losses for the tokens in order and in another order.
 * @param {Given} given
 * @param {Facts} facts
 */
export const lossCode = (given, { description }) =>
  printOwn('losses', 2, 1, [
    ...beginning(given),
    meanLoss(description.vocabSize),
    {
      javascript: 'const loss = (ids) => meanLoss(model.forward(ids).logits.data, ids);',
      cpp: `const auto loss = [&](const std::vector<std::int64_t>& ids) {
  std::vector<float> logits(n * size);
  model.forward(attn::IdView(ids.data(), {n}), attn::Tensor(logits.data(), {n, size}));
  return mean_loss(logits, ids);
};`,
    },
    shuffledIds(otherOrderOf(given.ids.length, given)),
    {
      javascript:
        'const losses = { data: Float64Array.of(loss(ids), loss(shuffled)), shape: [2, 1] };',
      cpp: 'const std::vector<double> losses{loss(ids), loss(shuffled)};',
    },
  ]);

/**
 * Prints the ten most probable next tokens at one position of the input, each on a line with its id
 * and probability. Some arcs may be cut, and some parts of the model may be silenced.
 * @param {Given & { at?: number, temperature: number, topK: number,
 *   cuts?: readonly import('../../core/cuts.js').Cut[],
 *   silenced?: readonly import('../../core/silence.js').Part[],
 *   silenceBy?: import('../../core/silence.js').Replacement }} given at: the position; by default, the
 *   last one
 * @param {Facts} facts
 */
export function nextWordCode({ at = Infinity, temperature, topK, ...given }, { description }) {
  const { vocabSize, layers } = description;
  const { cuts = [], silenced = [], silenceBy = 'mean' } = given;
  const changes = interventions({
    knockOut: knockOutOf(cuts, layers.length, 'encoder.'),
    ablate: ablateOf(silenced, silenceBy, 'encoder.'),
  });
  const [ids, tokens] = [given.ids.slice(0, at + 1), given.tokens.slice(0, at + 1)];
  const kept = Math.min(topK || vocabSize, vocabSize);
  const shown = Math.min(10, kept);
  if (hasPair(given)) {
    return printOwn('candidates', shown, 2, [
      ...beginningOfPair({ ...given, ids, tokens }),
      {
        javascript: 'const logits = model.decode(ids, memory, { numLogits: 1 }).logits.data;',
        cpp: `std::vector<float> logits(${vocabSize});
model.decode(attn::IdView(ids.data(), {n}), memory, attn::Tensor(logits.data(), {1, ${vocabSize}}));`,
      },
      candidates({ temperature, kept, shown }),
    ]);
  }
  return printOwn('candidates', shown, 2, [
    ...beginning({ ids, tokens }),
    {
      javascript: `
${changes.javascript}const logits = model.forward(ids, { numLogits: 1${changes.javascriptOption} }).logits.data;`,
      cpp: `
${changes.cpp}std::vector<float> logits(${vocabSize});
model.forward(attn::IdView(ids.data(), {n}), attn::Tensor(logits.data(), {1, ${vocabSize}})${changes.cppOption && `, {${changes.cppOption.slice(2)}}`});`,
    },
    candidates({ temperature, kept, shown }),
  ]);
}

/**
 * Patches the rows of one sentence into another, one at a time. For each token, prints a line with
 * the share of the difference that each patch restores.
 * @param {Given & { other: number[], target: number, stage: import('../../core/patching.js').Stage }}
 *   given other: ids of the other sentence; target: the token whose log-probability is followed
 * @param {Facts} facts
 */
export function compareCode({ other, target, stage, head, ...given }, { numLayers, description }) {
  const { columns, call } = patches({ target, stage, head, numLayers, path: 'encoder.' });
  const others = list('other', other);
  return printOwn('shares', 'n', columns, [
    ...beginning(given),
    {
      javascript: `${others.javascript}
const run = (ids, options) => {
  const { logits, intermediates } = model.forward(ids, { numLogits: 1, ...options });
  return { logits: logits.data, intermediates };
};`,
      cpp: `${others.cpp}
const auto run = [&](const std::vector<std::int64_t>& ids, const attn::Interventions& changes,
                     attn::Intermediates* shown) {
  std::vector<float> logits(${description.vocabSize});
  model.forward(attn::IdView(ids.data(), {n}), attn::Tensor(logits.data(), {1, ${description.vocabSize}}),
                {.intermediates = shown, .interventions = &changes});
  return logits;
};`,
    },
    call,
  ]);
}

export const cutCode = nextWordCode;
export const silenceCode = nextWordCode;

/**
 * Conditions in JavaScript, two for each habit, such as attending to the previous token. One
 * condition selects the queries to count. The other selects the keys that a head with this habit
 * attends to.
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
 * @param {Given & { wallOrder: keyof typeof looks | 'layer' }} given
 * @param {Pick<Facts, 'numHeads' | 'numLayers'>} facts
 */
export function wallCode(given, { numHeads: heads, numLayers: layers }) {
  const pattern = given.wallOrder === 'layer' ? 'previousToken' : given.wallOrder;
  const { queries, keys } = looks[pattern];
  const { lines, javascript, cpp } = passing(given);
  const elsewhere = given.causal ? 'j < i' : 'j !== i';
  const inCpp = (/** @type {string} */ text) => text.replace(/([!=]=)=/g, '$1');
  const intermediates = 'stages';
  return printOwn('shares', layers, heads, [
    ...beginning(given),
    ...lines,
    {
      javascript: js`const stage = (layer) => \`encoder.layers.\${layer}.self_attn.weights\`;
const stages = Array.from({ length: ${layers} }, (_, layer) => stage(layer));
const { intermediates } = model.forward(ids, ${{ needLogits: false, intermediates, ...javascript }});
// The other positions of the same token.
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
      cpp: cxx`std::vector<std::string> stages;
for (int layer = 0; layer < ${layers}; ++layer) {
  stages.push_back("encoder.layers." + std::to_string(layer) + ".self_attn.weights");
}
attn::Intermediates shown(stages);
model.forward(attn::IdView(ids.data(), {n}), {}, ${{ ...cpp, intermediates: '&shown' }});
// The other positions of the same token.
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
    },
  ]);
}
