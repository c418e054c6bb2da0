import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';

import { AttnError, load } from 'attn';
import { load as loadInWorker } from 'attn/worker';

import { kFunctionsElsewhere } from '../../wasm/js/hints.js';
import { kRoot } from '../../wasm/toolchain/checkout.js';

const attn = await load({ variant: 'simd128' });
const remote = await loadInWorker({ variant: 'simd128' });
after(() => remote.terminate());
const models = await load({ variant: 'simd128', models: true });
const recorded = join(kRoot, 'tests/native/models/recorded/attn_rotary/model.safetensors');
const file = new Uint8Array(readFileSync(recorded));
const model = await models.loadModel(file);
const folder = join(kRoot, 'tests/native/models/recorded/marian');
const pairFiles = Object.fromEntries(
  ['config.json', 'model.safetensors'].map((name) => [
    name,
    new Uint8Array(readFileSync(join(folder, name))),
  ]),
);
const pair = await models.loadEncoderDecoder(pairFiles);
const { memory } = pair.encode([1, 2]);
const hints = {
  ...{ numHeads: 2, activation: 'gelu', normFirst: true, causal: true },
  weightType: 'bfloat16',
};
const loading = { onProgress: undefined, signal: undefined };

const zeros = (/** @type {number[]} */ ...shape) => ({
  data: new Float32Array(shape.reduce((size, length) => size * length, 1)),
  shape,
});
const x = zeros(2, 3, 4);
const row = zeros(2, 1, 4);
const mask = { data: [true], shape: [1] };
const random = { seed: 1, stream: 1 };
const dropout = { probability: 0.5, ...random };
const init = { init: 'zeros', ...random };
const scores = {
  ...{ scale: 1, diagonal: 'topLeft', softcap: 0, alibiSlopes: [1], sinks: [0] },
  ...{ relativeKeys: zeros(3, 4), relativeValues: zeros(3, 4), bias: zeros(1) },
  t5Bias: { table: zeros(4, 1), maxDistance: 8, bidirectional: false },
  ...{ causal: true, window: { left: 1, right: 1 } },
  ...{ validLens: [1, 1], keyLens: [1, 1], mask },
  ...{ cuSeqlens: undefined, cuSeqlensK: undefined },
};
const stages = {
  ...{ needScaledScores: true, needCappedScores: true, needBiasedScores: true },
  ...{ needWeights: true, needLogSumExp: true, needColumnSums: true },
};
const layerAttention = { ...scores, ...stages };
const attention = { ...layerAttention, dropout };
const pooling = { hard: false, mask, validLens: [1, 1], needScores: true, needWeights: true };
const sinusoid = { base: 100, layout: 'interleaved' };
const biasSizes = { numQueries: 2, numKeys: 2, diagonal: 'topLeft' };
const t5Rule = { maxDistance: 8, bidirectional: true };
const rotaryRule = {
  ...{ pairing: 'halfSplit', base: 100 },
  scaling: {
    ...{ type: 'yarn', factor: 2, originalMaxPositionEmbeddings: 8, attentionFactor: 1 },
    ...{ betaFast: 32, betaSlow: 1, mscale: 1, mscaleAllDim: 1, truncate: true },
  },
  frequencies: [1, 1],
  ...{ sections: [1, 1], axes: 'sections' },
};
const positions = {
  rotary: { rotaryDim: 4, ...rotaryRule },
  ...{ alibi: false, t5Bias: { numBuckets: 4, ...t5Rule }, maxRelativeDistance: 1 },
};
const rotaryPositions = { start: 0, positions: [0, 1, 2], sequenceLength: 3, inverse: false };
/** Options of a call to a layer without rotary positions. Such a layer accepts no positions. */
const standing = { positions: undefined };
const sizes = { n: 4, d: 2 };
const sampling = { temperature: 1, topK: 2, ...random };
/** Options for interventions, each an empty list. */
const changes = { ablate: [], patch: [], knockOut: [] };
const ofModels = {
  ...changes,
  attention: Object.fromEntries(Object.keys(scores).map((name) => [name, undefined])),
  ...standing,
  ...{ caches: undefined, tokenTypes: undefined, needLogits: true, numLogits: 1 },
  ...{ needHidden: true, needPooled: false, intermediates: [] },
};
const recurrent = { inputSize: 4, hiddenSize: 4, numLayers: 1, bias: true, ...init };
const norm = { width: 4, eps: 1e-5, elementwiseAffine: true, bias: true };
const rmsNorm = { eps: 1e-5, elementwiseAffine: true, zeroCentredWeight: false };
const ofAttention = {
  ...{ numKvHeads: 1, headDim: 4, qkNorm: rmsNorm, qkNormAllHeads: false, sinks: false },
  ...{ scale: 1, softcap: 0 },
  ...{ window: { left: 1, right: 1 }, positions },
};
const block = {
  ...{ dModel: 4, numHeads: 1, dimFeedforward: 4, activation: 'relu', gatedFeedForward: false },
  ...{ layerNormEps: 1e-5, rmsNorm, normFirst: false, normOutputs: false, bias: true },
  ...{ parallelResidual: false, attentionBias: true, attentionOutputBias: true },
  feedForwardDropout: true,
  ...{ ...ofAttention, ...init },
};
const stack = { ...block, numLayers: 1, finalNorm: false, layers: undefined };
const decoderSizes = { vocabSize: 4, embedSize: 4, numHiddens: 4, numLayers: 1, encoderDim: 4 };

const mha = new attn.MultiHeadAttention({ dModel: 4 });
/** Options that change the form of a layer's results. */
const shown = { outputType: 'float16', intermediates: [] };
const encoderLayer = new attn.TransformerEncoderLayer({ dModel: 4, dimFeedforward: 4 });
const encoder = new attn.TransformerEncoder({ dModel: 4, dimFeedforward: 4 });
const decoderLayer = new attn.TransformerDecoderLayer({ dModel: 4, dimFeedforward: 4 });
const decoder = new attn.TransformerDecoder({ dModel: 4, dimFeedforward: 4 });
const bahdanau = new attn.BahdanauDecoder({ vocabSize: 4, embedSize: 4, numHiddens: 4 });
const additive = new attn.AdditiveAttention({ queryDim: 4, keyDim: 4, numHiddens: 4 });
const rotary = new attn.RotaryEmbedding({ rotaryDim: 4 });
const learned = new attn.LearnedPositionalEncoding({ maxLength: 8, dModel: 4 });
const embedding = new attn.Embedding({ numEmbeddings: 4, embeddingDim: 4 });
const feedForward = new attn.FeedForward({ dModel: 4, dimFeedforward: 4 });
const gated = new attn.GatedFeedForward({ dModel: 4, dimFeedforward: 4 });
const layerNorm = new attn.LayerNorm({ width: 4 });
const addNorm = new attn.AddNorm({ width: 4 });
const gru = new attn.GRU({ inputSize: 4, hiddenSize: 4 });
const state = bahdanau.initState(x, zeros(1, 2, 4));
const tokens = { data: [0, 0], shape: [2, 1] };

/**
 * Everything that takes options: a call, and a value of the right type for each option.
 * @type {[string, (options: any) => unknown, Record<string, any>][]}
 */
const calls = [
  [
    'scaledDotProductAttention',
    (o) => attn.scaledDotProductAttention(x, x, x, o),
    { ...attention, layout: 'bhnd', numHeads: 1, numKvHeads: 1, outputType: 'float16' },
  ],
  ['maskedSoftmax', (o) => attn.maskedSoftmax(x, o), { validLens: [1, 1], mask }],
  [
    'attentionPooling',
    (o) => attn.attentionPooling(x, x, x, o),
    { scoring: 'gaussian', width: 1, ...pooling, scale: 1 },
  ],
  ['alibiBias', (o) => attn.alibiBias(o), { numHeads: 1, ...biasSizes }],
  ['t5Buckets', (o) => attn.t5Buckets([1], o), { numBuckets: 4, ...t5Rule }],
  ['t5Bias', (o) => attn.t5Bias(zeros(4, 1), o), { ...t5Rule, ...biasSizes }],
  ['relativeSkew', (o) => attn.relativeSkew(x, zeros(3, 4), o), { bidirectional: false, scale: 1 }],
  [
    'sinusoidalEncoding',
    (o) => attn.sinusoidalEncoding(o),
    { length: 2, dModel: 4, start: 0, step: 1, ...sinusoid, positions: undefined },
  ],
  [
    'sinusoidalEncodingInFloat32',
    (o) => attn.sinusoidalEncodingInFloat32(o),
    { length: 2, dModel: 4, start: 0, step: 1, ...sinusoid },
  ],
  ['shiftMatrix', (o) => attn.shiftMatrix(o), { dModel: 4, delta: 1, ...sinusoid }],
  ['applyShift', (o) => attn.applyShift(x, 1, o), sinusoid],
  ['positionalEncoding', (o) => attn.positionalEncoding(x, o), { start: 0, dropout, ...sinusoid }],
  [
    'applyRotaryEmbedding',
    (o) => attn.applyRotaryEmbedding(x, zeros(3, 2), zeros(3, 2), o),
    {
      ...{ positionIds: [0, 1, 2], pairing: 'halfSplit', rotaryDim: 4, inverse: false },
      ...{ numHeads: 1, outputType: 'float16' },
    },
  ],
  [
    'ngramEmbedding',
    (o) => attn.ngramEmbedding(['a'], o),
    { dModel: 4, minN: 2, maxN: 4, seed: 1 },
  ],
  ['applyDropout', (o) => attn.applyDropout(x, o), dropout],
  ['randomUniform', (o) => attn.randomUniform(o), { shape: [2], low: 0, high: 1, ...random }],
  ['randomNormal', (o) => attn.randomNormal(o), { shape: [2], mean: 0, deviation: 1, ...random }],
  ['xavierUniform', (o) => attn.xavierUniform(o), { shape: [2, 2], gain: 1, ...random }],
  ['architectureCosts', (o) => attn.architectureCosts.convolution(o), { ...sizes, k: 3 }],
  ['architectureCosts', (o) => attn.architectureCosts.dilatedConvolution(o), { ...sizes, k: 3 }],
  ['architectureCosts', (o) => attn.architectureCosts.recurrent(o), { ...sizes, gates: 1 }],
  [
    'architectureCosts',
    (o) => attn.architectureCosts.selfAttention(o),
    { ...sizes, projections: true },
  ],
  [
    'architectureCosts',
    (o) => attn.architectureCosts.windowAttention(o),
    { ...sizes, left: 1, right: 1, projections: true },
  ],
  [
    'MultiHeadAttention',
    (o) => new attn.MultiHeadAttention(o),
    {
      ...{ dModel: 4, numHeads: 1, keyDim: 4, valueDim: 4, bias: false, outputBias: false },
      ...{ ...ofAttention, ...init },
    },
  ],
  [
    'MultiHeadAttention',
    (o) => mha.forward(x, x, x, o),
    {
      ...{ ...attention, ...standing, keyPositions: undefined, cache: undefined },
      ...{ ...changes, ...shown },
    },
  ],
  [
    'MultiHeadAttention',
    (o) => mha.attend(row, mha.makeCache(2), o),
    { ...stages, scale: 1, ...scoresOfNoKeys(), dropout, ...standing, ...shown },
  ],
  ['MultiHeadAttention', (o) => mha.append(row, row, mha.makeCache(2), o), standing],
  ['MultiHeadAttention', (o) => mha.makeCache(1, o), { capacity: 1, type: 'int8' }],
  ['MultiHeadAttention', (o) => mha.stateDict(o), { prefix: 'a' }],
  [
    'MultiHeadAttention',
    (o) => mha.loadStateDict(mha.stateDict(), o),
    { strict: false, prefix: '' },
  ],
  [
    'AdditiveAttention',
    (o) => new attn.AdditiveAttention(o),
    { queryDim: 4, keyDim: 4, numHiddens: 4, ...init },
  ],
  ['AdditiveAttention', (o) => additive.forward(x, x, x, o), { ...pooling, intermediates: [] }],
  [
    'AdditiveAttention',
    (o) => additive.forwardProjected(x, x, x, o),
    { ...pooling, intermediates: [] },
  ],
  [
    'LearnedPositionalEncoding',
    (o) => new attn.LearnedPositionalEncoding(o),
    { maxLength: 4, dModel: 4, seed: 1, deviation: 1 },
  ],
  ['LearnedPositionalEncoding', (o) => learned.forward(x, o), { start: 0, dropout }],
  ['RotaryEmbedding', (o) => new attn.RotaryEmbedding(o), { rotaryDim: 4, ...rotaryRule }],
  [
    'RotaryEmbedding',
    (o) => rotary.forward(x, o),
    { ...rotaryPositions, numHeads: 1, outputType: 'float16' },
  ],
  ['RotaryEmbedding', (o) => rotary.tables(o), { ...rotaryPositions, length: undefined }],
  [
    'Linear',
    (o) => new attn.Linear(o),
    { inFeatures: 4, outFeatures: 4, bias: true, tiedTo: undefined, ...init },
  ],
  [
    'Embedding',
    (o) => new attn.Embedding(o),
    {
      ...{ numEmbeddings: 4, embeddingDim: 4, paddingIdx: 0, scaleBySqrtDim: false },
      ...{ ...init, deviation: 1 },
    },
  ],
  ['Embedding', (o) => embedding.forward([1], o), { outputType: 'float16' }],
  ['LayerNorm', (o) => new attn.LayerNorm(o), norm],
  ['LayerNorm', (o) => layerNorm.forward(x, o), { outputType: 'float16' }],
  ['LayerNorm', (o) => layerNorm.forwardSum(x, x, o), { outputType: 'float16' }],
  ['AddNorm', (o) => new attn.AddNorm(o), norm],
  ['AddNorm', (o) => addNorm.forward(x, x, o), { dropout, intermediates: [] }],
  [
    'FeedForward',
    (o) => new attn.FeedForward(o),
    { dModel: 4, dimFeedforward: 4, outFeatures: 4, activation: 'relu', bias: true, ...init },
  ],
  ['FeedForward', (o) => feedForward.forward(x, o), { dropout, ...shown }],
  [
    'GatedFeedForward',
    (o) => new attn.GatedFeedForward(o),
    { dModel: 4, dimFeedforward: 4, activation: 'silu', bias: true, ...init },
  ],
  ['GatedFeedForward', (o) => gated.forward(x, o), { dropout, ...shown }],
  ['RMSNorm', (o) => new attn.RMSNorm(o), { width: 4, ...rmsNorm }],
  [
    'KeyValueCache',
    (o) => new attn.KeyValueCache(o),
    { batch: 1, numKvHeads: 1, headDim: 4, valueDim: 4, capacity: 0, type: 'int8' },
  ],
  ['TransformerEncoderLayer', (o) => new attn.TransformerEncoderLayer(o), block],
  [
    'TransformerEncoderLayer',
    (o) => encoderLayer.forward(x, o),
    {
      ...{ attention: layerAttention, ...standing, dropout, cache: undefined },
      ...{ ...changes, ...shown },
    },
  ],
  ['TransformerEncoderLayer', (o) => encoderLayer.makeCache(1, o), { capacity: 1, type: 'int8' }],
  ['TransformerEncoder', (o) => new attn.TransformerEncoder(o), stack],
  [
    'TransformerEncoder',
    (o) => encoder.forward(x, o),
    {
      ...{ attention: scores, ...standing, dropout, needWeights: true, caches: undefined },
      ...{ ...changes, ...shown },
    },
  ],
  ['TransformerEncoder', (o) => encoder.makeCaches(1, o), { capacity: 1, type: 'int8' }],
  ['TransformerDecoderLayer', (o) => new attn.TransformerDecoderLayer(o), block],
  [
    'TransformerDecoderLayer',
    (o) => decoderLayer.forward(x, x, o),
    {
      ...{ selfAttention: layerAttention, crossAttention: layerAttention, ...standing, dropout },
      ...shown,
    },
  ],
  ['TransformerDecoderLayer', (o) => decoderLayer.start(x, o), { capacity: 1, type: 'int8' }],
  ['TransformerDecoder', (o) => new attn.TransformerDecoder(o), stack],
  [
    'TransformerDecoder',
    (o) => decoder.forward(x, x, o),
    {
      selfAttention: scores,
      crossAttention: scores,
      ...standing,
      dropout,
      needWeights: true,
      ...shown,
    },
  ],
  ['GRU', (o) => new attn.GRU(o), recurrent],
  ['GRU', (o) => gru.forward(x, o), { h0: zeros(1, 2, 4), intermediates: [] }],
  ['RNN', (o) => new attn.RNN(o), { ...recurrent, activation: 'tanh' }],
  [
    'Conv1d',
    (o) => new attn.Conv1d(o),
    {
      ...{ inChannels: 4, outChannels: 4, kernelSize: 1, stride: 1, padding: 0, dilation: 1 },
      ...{ bias: true, ...init },
    },
  ],
  ['BahdanauDecoder', (o) => new attn.BahdanauDecoder(o), { ...decoderSizes, ...init }],
  ['BahdanauDecoder', (o) => bahdanau.initState(x, zeros(1, 2, 4), o), { encoderLens: [1, 1] }],
  [
    'BahdanauDecoder',
    (o) => bahdanau.forward(tokens, state, o),
    { needAlignment: true, intermediates: [] },
  ],
  [
    'load',
    (o) => load(o),
    {
      ...{ variant: 'simd128', threads: 1, training: false, models: false },
      ...{ wasmUrl: undefined, wasm: undefined, signal: undefined },
    },
  ],
  [
    'load in a worker',
    (o) => loadInWorker(o),
    {
      variant: 'simd128',
      threads: 1,
      training: false,
      models: false,
      wasmUrl: undefined,
      wasm: undefined,
      signal: undefined,
      worker: undefined,
      startTimeout: 9000,
    },
  ],
  ['loadModel', (o) => models.loadModel(file, o), { ...hints, maxMemory: 1e9, ...loading }],
  ['describeModel', (o) => models.describeModel(file, o), hints],
  ['chooseToken', (o) => models.chooseToken(zeros(4), o), { ...sampling, step: 0 }],
  ['LanguageModel', (o) => model.generate([1], o), { ...sampling, maxNewTokens: 2, stopIds: [1] }],
  ['LanguageModel', (o) => model.makeCaches(1, o), { capacity: 4, type: 'int8' }],
  ...[
    (/** @type {any} */ o) => model.forward([1, 2], o),
    (/** @type {any} */ o) => model.forwardVectors(zeros(2, 16), o),
  ].map((call) => /** @type {[string, typeof call, object]} */ (['LanguageModel', call, ofModels])),
  [
    'loadEncoderDecoder',
    (o) => models.loadEncoderDecoder(pairFiles, o),
    { weightType: 'float32', maxMemory: 1e9, ...loading },
  ],
  [
    'describeEncoderDecoder',
    (o) => models.describeEncoderDecoder(pairFiles, o),
    { weightType: 'float32' },
  ],
  [
    'EncoderDecoderModel',
    (o) => pair.generate([1], o),
    { ...sampling, maxNewTokens: 2, stopIds: [1] },
  ],
  ['EncoderDecoderModel', (o) => pair.start(memory, o), { capacity: 4, type: 'int8' }],
  [
    'EncoderDecoderModel',
    (o) => pair.encode([1, 2], o),
    { attention: ofModels.attention, intermediates: [] },
  ],
  [
    'EncoderDecoderModel',
    (o) => pair.decode([26], memory, o),
    {
      ...{ selfAttention: ofModels.attention, crossAttention: ofModels.attention },
      ...{ needLogits: true, numLogits: 1, needHidden: true, intermediates: [] },
    },
  ],
  ['with', (o) => remote.with(o), { signal: undefined, transfer: [], onProgress: undefined }],
];

/**
 * Score options without values, for an empty cache. The calls check the names of these options, but
 * without keys, no value would have a suitable shape.
 */
function scoresOfNoKeys() {
  return Object.fromEntries(Object.keys(scores).map((name) => [name, undefined]));
}

/** Members that take no options. */
const kOthers = [
  ...[
    'constructor',
    'toJSON',
    'variant',
    'fallback',
    'instructionSet',
    'numThreads',
    'version',
    'memory',
    'tensor',
    ...['zeros', 'ones', 'full', 'arange', 'matmul', 'slice', 'formatTensor'],
  ],
  ...[
    'handles',
    'alibiSlopes',
    'relativeKeysOfSkew',
    'applyActivation',
    'mergeAttention',
    'toSafetensors',
  ],
  ...['Safetensors', 'disposed', 'dispose'],
  // Members of training modules, which have separate tests.
  ...['Tape', 'SGD', 'Adam', 'AdamW', 'crossEntropy', 'mseLoss', 'clipGradNorm'],
];

/**
 * @param {(options: any) => unknown} call
 * @param {any} options
 * @returns {Promise<AttnError>} the error it throws
 */
async function errorOf(call, options) {
  try {
    const result = await call(options);
    if (typeof (/** @type {any} */ (result)?.terminate) === 'function')
      /** @type {any} */ (result).terminate();
  } catch (error) {
    assert.ok(error instanceof AttnError, `${error}`);
    assert.equal(error.code, 'invalid_argument', error.message);
    return error;
  }
  assert.fail(`nothing was thrown for ${JSON.stringify(options)}`);
}

/** @param {any} value */
const isNested = (value) => value?.constructor === Object && !('shape' in value && 'data' in value);

/**
 * Lists every object among the options, including nested ones.
 * @param {Record<string, any>} options
 * @param {string} [path]
 * @returns {[string, Record<string, any>, (part: any) => any][]} path, object, and a function that returns
 *   the options with the object replaced
 */
function partsOf(options, path = 'options') {
  const own = /** @type {[string, any, (part: any) => any]} */ ([path, options, (part) => part]);
  const nested = Object.entries(options)
    .filter(([, value]) => isNested(value))
    .flatMap(([name, value]) =>
      partsOf(value, path === 'options' ? name : `${path}.${name}`).map(
        ([inner, part, put]) =>
          /** @type {[string, any, (part: any) => any]} */ ([
            inner,
            part,
            (other) => ({ ...options, [name]: put(other) }),
          ]),
      ),
    );
  return [own, ...nested];
}

/** @param {any} value */
function wrongFor(value) {
  if (typeof value === 'number') return [null, '2', [], true, {}, NaN];
  if (typeof value === 'boolean') return [null, 'yes', [], NaN, {}];
  if (typeof value === 'string') return [null, [], true, {}];
  // The first list contains wrong values for an object of options. The second list contains wrong
  // values for arrays and tensors, which accept several kinds of values.
  return isNested(value) ? [null, -1, 'x', true, [], new Map()] : [null, 1.5, 'x', true];
}

test('everything_that_takes_options_is_listed_here', () => {
  const listed = new Set([...calls.map(([name]) => name), ...kOthers]);
  const members = [
    ...Object.getOwnPropertyNames(Object.getPrototypeOf(attn)),
    ...Object.keys(attn),
  ];
  for (const name of members.filter((name) => !(name in kFunctionsElsewhere)))
    assert.ok(listed.has(name), name);
});

for (const [name, call, options] of calls) {
  describe(`${name}: ${`${call}`.replaceAll(/\s+/g, ' ')}`, () => {
    test('an_unknown_option_is_an_error_that_suggests_the_nearest_known_one', async () => {
      for (const [path, part, put] of partsOf(options)) {
        const error = await errorOf(call, put({ ...part, qqqqqqqqqqqqqqqqqqqqqqqq: undefined }));
        // Error messages refer to an attention option by its own name, without the parent option,
        // no matter where it was passed.
        assert.ok(path.endsWith(error.argument ?? 'nothing'), error.message);
        const start = `${error.argument}: 'qqqqqqqqqqqqqqqqqqqqqqqq' is not an option; use `;
        assert.ok(error.message.startsWith(start), error.message);
        // The options that the error suggests must be exactly the options in the list above.
        const names = error.message.slice(start.length).replaceAll("'", '');
        const known = names.split(/, | or /).sort();
        assert.deepEqual(known, Object.keys(part).sort());
        for (const key of Object.keys(part).filter((key) => key.length > 2)) {
          const { [key]: value, ...others } = part;
          const misspelt = `${key.slice(0, 2)}${key.slice(1)}`;
          const { message } = await errorOf(call, put({ ...others, [misspelt]: value }));
          assert.ok(
            `${path}: '${misspelt}' is not an option; use '${key}'`.endsWith(message),
            message,
          );
        }
      }
    });

    test('wrong_types_are_errors_that_name_the_option', async () => {
      // A number passed instead of a Dropout is the probability of dropout.
      const number = name === 'applyDropout' ? [] : [3];
      for (const wrong of [null, ...number, 'x', true, [], new Map()]) {
        assert.equal((await errorOf(call, wrong)).argument, 'options');
      }
      for (const [path, part, put] of partsOf(options)) {
        for (const [key, value] of Object.entries(part)) {
          const inside = path === 'options' ? key : `${path}.${key}`;
          const wrongs = value === undefined ? [null] : wrongFor(value);
          for (const wrong of wrongs) {
            const error = await errorOf(call, put({ ...part, [key]: wrong }));
            assert.ok(
              error.argument?.includes(key),
              `${inside} = ${JSON.stringify(wrong)}: ${error.message}`,
            );
          }
        }
      }
    });
  });
}
