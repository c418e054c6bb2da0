// Calls to every function that a module offers, with arguments that a test may replace.

import { Random } from './random.js';

/**
 * Lets a test inspect and replace an argument.
 * @callback Pass
 * @param {any} value
 * @returns {any}
 */

/** @typedef {Record<string, (pass: Pass) => unknown>} Calls */

/**
 * @param {any} object
 * @param {(object: any) => unknown} use
 */
function using(object, use) {
  try {
    return use(object);
  } finally {
    object.dispose();
  }
}

/**
 * Calls that every module supports, by name.
 * @param {any} attn
 * @returns {Calls}
 */
export function callsOf(attn) {
  const random = new Random();
  const x = random.tensor(2, 3, 8);
  const heads = random.tensor(2, 2, 3, 4);
  const mask = { data: [true, false, true], shape: [3] };
  const sizes = { dModel: 8, numHeads: 2 };
  const block = { ...sizes, dimFeedforward: 8 };
  const dropout = { probability: 0.5, seed: 3 };
  const relative = random.tensor(3, 4);
  const [cos, sin] = [random.tensor(3, 2), random.tensor(3, 2)];
  const t5 = random.tensor(8, 2);
  const state = random.tensor(1, 2, 8);
  const h0 = random.tensor(1, 2, 4);
  const square = random.tensor(8, 8);
  const logSumExp = random.tensor(2, 3);
  const file = attn.toSafetensors({ weight: square });
  const each = (/** @type {Pass} */ pass, /** @type {any[]} */ ...values) =>
    /** @type {[any, any, any]} */ (values.map((value) => pass(value)));
  const attention = { causal: true, mask, scale: 0.5, window: { left: 1, right: 0 } };
  return {
    scaledDotProductAttention: (pass) =>
      attn.scaledDotProductAttention(
        ...each(pass, heads, heads, heads),
        pass({
          ...{ causal: true, diagonal: 'bottomRight', validLens: [3, 2], mask, dropout },
          ...{ window: { left: 2 }, t5Bias: { table: t5, maxDistance: 8 }, softcap: 2 },
          ...{ alibiSlopes: [1, 0.5], bias: { data: [0, 1, 2], shape: [3] }, sinks: [1, 2] },
          ...{ relativeKeys: relative, relativeValues: relative, keyLens: [3, 3] },
          ...{ needWeights: true, needLogSumExp: true, needColumnSums: true },
          ...{ outputType: 'float16', scale: 0.5 },
        }),
      ),
    allHeadsTogether: (pass) =>
      attn.scaledDotProductAttention(...each(pass, x, x, x), pass({ numHeads: 2, numKvHeads: 2 })),
    headsApart: (pass) =>
      attn.scaledDotProductAttention(...each(pass, heads, heads, heads), pass({ layout: 'bnhd' })),
    maskedSoftmax: (pass) =>
      attn.maskedSoftmax(
        pass(x),
        pass({ validLens: { data: [8, 3], shape: [2] }, mask: { data: [1], shape: [1] } }),
      ),
    mergeAttention: (pass) => {
      const [a, lseA, b] = each(pass, x, logSumExp, x);
      return attn.mergeAttention(a, lseA, b, pass(logSumExp));
    },
    attentionPooling: (pass) =>
      attn.attentionPooling(
        ...each(pass, x, x, x),
        pass({ scoring: 'gaussian', width: 2, mask, needScores: true, needWeights: true }),
      ),
    alibiSlopes: (pass) => attn.alibiSlopes(pass(3)),
    alibiBias: (pass) => attn.alibiBias(pass({ numHeads: 2, numQueries: 3, diagonal: 1 })),
    t5Buckets: (pass) => attn.t5Buckets(pass([-3, 0, 5]), pass({ numBuckets: 8 })),
    t5Bias: (pass) => attn.t5Bias(pass(t5), pass({ numQueries: 3, bidirectional: false })),
    relativeSkew: (pass) => attn.relativeSkew(pass(x), pass(relative3), pass({ scale: 2 })),
    relativeKeysOfSkew: (pass) => attn.relativeKeysOfSkew(pass(relative)),
    sinusoidalEncoding: (pass) => attn.sinusoidalEncoding(pass({ length: 3, dModel: 4, base: 10 })),
    sinusoidalEncodingAt: (pass) => attn.sinusoidalEncoding(pass({ positions: [1, 5], dModel: 4 })),
    sinusoidalEncodingInFloat32: (pass) =>
      attn.sinusoidalEncodingInFloat32(pass({ length: 3, dModel: 4, start: 2 })),
    shiftMatrix: (pass) => attn.shiftMatrix(pass({ dModel: 4, delta: 2 })),
    applyShift: (pass) => attn.applyShift(pass(x), pass(2), pass({ layout: 'concatenated' })),
    positionalEncoding: (pass) => attn.positionalEncoding(pass(x), pass({ start: 2, dropout })),
    applyRotaryEmbedding: (pass) =>
      attn.applyRotaryEmbedding(
        ...each(pass, x, cos, sin),
        pass({ numHeads: 2, positionIds: { data: [0, 1, 2, 2, 1, 0], shape: [2, 3] } }),
      ),
    ngramEmbedding: (pass) => attn.ngramEmbedding(pass(['a', 'cat']), pass({ dModel: 4, seed: 1 })),
    applyActivation: (pass) => attn.applyActivation(pass(x), pass('gelu')),
    applyDropout: (pass) => attn.applyDropout(pass(x), pass(dropout)),
    randomUniform: (pass) => attn.randomUniform(pass({ shape: [2, 3], low: -1, seed: 4 })),
    randomNormal: (pass) => attn.randomNormal(pass({ shape: [2, 3], deviation: 2 })),
    xavierUniform: (pass) => attn.xavierUniform(pass({ shape: [2, 3], gain: 2 })),
    convolution: (pass) => attn.architectureCosts.convolution(pass({ n: 10, d: 2, k: 3 })),
    dilatedConvolution: (pass) =>
      attn.architectureCosts.dilatedConvolution(pass({ n: 10, d: 2, k: 3 })),
    recurrent: (pass) => attn.architectureCosts.recurrent(pass({ n: 10, d: 2, gates: 3 })),
    selfAttention: (pass) => attn.architectureCosts.selfAttention(pass({ n: 10, d: 2 })),
    windowAttention: (pass) =>
      attn.architectureCosts.windowAttention(pass({ n: 10, d: 2, left: 1, right: 1 })),
    zeros: (pass) => attn.zeros(pass([2, 3])),
    ones: (pass) => attn.ones(pass([2, 3])),
    full: (pass) => attn.full(pass([2, 3]), pass(4)),
    arange: (pass) => attn.arange(pass(1), pass(9), pass(2)),
    matmul: (pass) => attn.matmul(pass(x), pass(square)),
    slice: (pass) => attn.slice(pass(x), pass(-1), pass(1), pass(5)),
    formatTensor: (pass) => attn.formatTensor(pass(x)),
    tensor: (pass) => using(attn.tensor(pass([1, 2, 3]), pass([3])), (handle) => handle.toTensor()),
    handles: (pass) =>
      using(attn.tensor(x.data, x.shape), (handle) =>
        using(handle.reshape(pass([6, 8])), (rows) =>
          using(rows.slice(pass(0), pass(1), pass(5)), (part) =>
            using(part.select(pass(1), pass(2)), (column) => column.data()),
          ),
        ),
      ),
    splitHeads: (pass) =>
      using(attn.tensor(x.data, x.shape), (handle) =>
        using(handle.splitHeads(pass(2)), (part) => [part.toTensor(), part.contiguous]),
      ),
    resultsAsHandles: (pass) =>
      using(attn.handles.positionalEncoding(pass(x), pass({ start: 1 })), (result) =>
        result.view().slice(),
      ),
    toSafetensors: (pass) => attn.toSafetensors(pass({ a: x, b: heads }), pass({ by: 'attn' })),
    Safetensors: (pass) =>
      using(new attn.Safetensors(pass(file)), (opened) => [
        opened.tensors,
        opened.metadata,
        opened.read(pass('weight')),
      ]),
    MultiHeadAttention: (pass) =>
      using(
        new attn.MultiHeadAttention(
          pass({ ...sizes, seed: 1, numKvHeads: 1, positions: { rotary: { rotaryDim: 4 } } }),
        ),
        (layer) => {
          layer.setParameter(pass('out_proj.weight'), pass(square));
          const given = layer.forward(
            ...each(pass, x, x, x),
            pass({ causal: true, needWeights: true, intermediates: ['q'], positions: [0, 1, 2] }),
          );
          return [given, layer.intermediateNames(), layer.parameterNames(), layer.numKvHeads];
        },
      ),
    cacheOfAttention: (pass) =>
      using(new attn.MultiHeadAttention(pass(sizes)), (layer) =>
        using(layer.makeCache(pass(2), pass({ capacity: 4, type: 'float16' })), (cache) => {
          layer.append(...each(pass, x, x, cache), pass({}));
          const attended = layer.attend(pass(x), pass(cache), pass({ needWeights: true }));
          layer.forward(...each(pass, x, x, x), pass({ cache, causal: true }));
          cache.truncate(pass(4));
          return [attended, cache.length, cache.keys(), cache.values(), cache.type];
        }),
      ),
    stateDict: (pass) =>
      using(new attn.Linear(pass({ inFeatures: 8, outFeatures: 8, bias: false })), (layer) => {
        const keys = layer.loadStateDict(pass({ 'a.weight': square }), pass({ prefix: 'a.' }));
        layer.loadStateDict(pass(file), pass({ strict: false }));
        return [keys, layer.stateDict(pass({ prefix: 'b.' })), layer.parameter(pass('weight'))];
      }),
    Linear: (pass) =>
      using(new attn.Embedding({ numEmbeddings: 5, embeddingDim: 8 }), (embedding) =>
        using(new attn.Linear(pass({ tiedTo: embedding })), (layer) =>
          layer.forward(pass(x), pass({ outputType: 'float16' })),
        ),
      ),
    LayerNorm: (pass) =>
      using(new attn.LayerNorm(pass({ width: 8, eps: 1e-5 })), (layer) => [
        layer.forward(pass(x), pass({ outputType: 'float16' })),
        layer.forwardSum(pass(x), pass(x), pass({ outputType: 'bfloat16' })),
      ]),
    AddNorm: (pass) =>
      using(new attn.AddNorm(pass({ width: 8 })), (layer) =>
        layer.forward(pass(x), pass(x), pass({ dropout, intermediates: ['sum'].slice(1) })),
      ),
    RMSNorm: (pass) =>
      using(new attn.RMSNorm(pass({ width: 8 })), (layer) => layer.forward(pass(x), pass({}))),
    GatedFeedForward: (pass) =>
      using(new attn.GatedFeedForward(pass({ dModel: 8, dimFeedforward: 4 })), (layer) =>
        layer.forward(pass(x), pass({ dropout })),
      ),
    LearnedPositionalEncoding: (pass) =>
      using(new attn.LearnedPositionalEncoding(pass({ maxLength: 9, dModel: 8 })), (layer) =>
        layer.forward(pass(x), pass({ start: 3, dropout })),
      ),
    RotaryEmbedding: (pass) =>
      using(
        new attn.RotaryEmbedding(pass({ rotaryDim: 4, scaling: { type: 'linear', factor: 2 } })),
        (layer) => [
          layer.forward(pass(x), pass({ numHeads: 2, positions: [3, 1, 2] })),
          layer.tables(pass({ positions: [1, 2, 3] })),
          layer.frequencies(pass(7)),
        ],
      ),
    rotarySections: (pass) =>
      using(new attn.RotaryEmbedding(pass({ rotaryDim: 4, sections: [1, 1] })), (layer) =>
        layer.tables(pass({ positions: { data: [1, 2, 3, 4], shape: [2, 1, 2] } })),
      ),
    TransformerEncoderLayer: (pass) =>
      using(
        new attn.TransformerEncoderLayer(
          pass({ ...block, positions: { rotary: { rotaryDim: 4 }, maxRelativeDistance: 2 } }),
        ),
        (layer) =>
          using(layer.makeCache(pass(2), pass({ capacity: 2 })), (cache) =>
            layer.forward(pass(x), pass({ attention, dropout, cache, intermediates: [] })),
          ),
      ),
    TransformerEncoder: (pass) =>
      using(
        new attn.TransformerEncoder(
          pass({ ...block, layers: [{ window: { left: 1 } }, { numHeads: 4 }] }),
        ),
        (layer) =>
          using(layer.makeCaches(pass(2), pass({ type: 'int8' })), (caches) => [
            layer.forward(pass(x), pass({ attention: { causal: true }, caches })),
            layer.forward(pass(x), pass({ attention: { mask }, dropout, needWeights: true })),
            layer.layers[0].forward(pass(x), pass({ attention })),
          ]),
      ),
    contributionsOfEncoder: (pass) =>
      using(new attn.TransformerEncoder({ ...block, normFirst: true }), (layer) =>
        layer.contributions(
          pass(new Random(1).tensor(2, 8)),
          pass(new Random(2).tensor(8)),
          pass({ position: 1, attention: { causal: true } }),
        ),
      ),
    TransformerDecoderLayer: (pass) =>
      using(new attn.TransformerDecoderLayer(pass(block)), (layer) =>
        layer.forward(
          pass(x),
          pass(x),
          pass({ selfAttention: attention, crossAttention: { mask } }),
        ),
      ),
    TransformerDecoder: (pass) =>
      using(new attn.TransformerDecoder(pass({ ...block, numLayers: 1 })), (layer) => [
        layer.forward(
          pass(x),
          pass(x),
          pass({ selfAttention: { causal: true }, needWeights: true }),
        ),
        using(layer.start(pass(x), pass({ capacity: 2 })), (started) => [
          [started.batch, started.memoryLength, started.length],
          layer.forward(pass(x), pass(started), pass({ dropout })),
        ]),
      ]),
    BahdanauDecoder: (pass) =>
      using(
        new attn.BahdanauDecoder(pass({ vocabSize: 5, embedSize: 4, numHiddens: 8 })),
        (layer) =>
          using(
            layer.initState(...each(pass, x, state), pass({ encoderLens: [3, 1] })),
            (started) => {
              const tokens = { data: [0, 1, 2, 3], shape: [2, 2] };
              const given = layer.forward(
                pass(tokens),
                pass(started),
                pass({ needAlignment: true }),
              );
              return [given, using(started.clone(), (copy) => copy.hidden())];
            },
          ),
      ),
    Conv1d: (pass) =>
      using(
        new attn.Conv1d(pass({ inChannels: 8, outChannels: 2, kernelSize: 3, padding: 'same' })),
        (layer) => [layer.forward(pass(x)), layer.outputLength(pass(7))],
      ),
    GRU: (pass) =>
      using(new attn.GRU(pass({ inputSize: 8, hiddenSize: 4 })), (layer) =>
        layer.forward(pass(x), pass({ h0 })),
      ),
    RNN: (pass) =>
      using(new attn.RNN(pass({ inputSize: 8, hiddenSize: 4, activation: 'relu' })), (layer) =>
        layer.forward(pass(x), pass({ h0 })),
      ),
    Embedding: (pass) =>
      using(
        new attn.Embedding(pass({ numEmbeddings: 5, embeddingDim: 3, paddingIdx: 1 })),
        (layer) => layer.forward(pass([4, 0, 2]), pass({ outputType: 'bfloat16' })),
      ),
    FeedForward: (pass) =>
      using(new attn.FeedForward(pass({ dModel: 8, dimFeedforward: 4 })), (layer) =>
        layer.forward(pass(x), pass({ dropout })),
      ),
    AdditiveAttention: (pass) =>
      using(
        new attn.AdditiveAttention(pass({ queryDim: 8, keyDim: 8, numHiddens: 4 })),
        (layer) => [
          layer.forward(...each(pass, x, x, x), pass({ validLens: [1, 2], needWeights: true })),
          layer.forwardProjected(...each(pass, x, layer.projectKeys(pass(x)), x), pass({ mask })),
        ],
      ),
    KeyValueCache: (pass) =>
      using(
        new attn.KeyValueCache(pass({ batch: 2, numKvHeads: 2, headDim: 4, type: 'int8' })),
        (cache) => {
          cache.append(pass(heads), pass(heads));
          const given = attn.scaledDotProductAttention(
            pass(heads),
            pass(cache),
            pass({ scale: 2 }),
          );
          cache.clear();
          return [given, cache.capacity];
        },
      ),
  };
}

const relative3 = new Random(4).tensor(5, 8);

/**
 * Calls that only a training module supports, by name.
 * @param {any} attn
 * @returns {Calls}
 */
export function trainingCallsOf(attn) {
  const random = new Random(1);
  const x = random.tensor(2, 3, 8);
  const heads = random.tensor(2, 2, 3, 4);
  const square = random.tensor(8, 8);
  const mask = { data: [true, false, true], shape: [3] };
  const dropout = { probability: 0.5, seed: 3 };
  const block = { dModel: 8, numHeads: 2, dimFeedforward: 8 };
  /** @param {(tape: any) => unknown} use */
  const onTape = (use) => using(new attn.Tape(), use);
  return {
    crossEntropy: (pass) =>
      attn.crossEntropy(
        pass(square),
        pass([0, 1, 2, 3, 4, 5, 6, -100]),
        pass({ needGradient: true }),
      ),
    mseLoss: (pass) =>
      attn.mseLoss(pass(x), pass(x), pass({ reduction: 'sum', needGradient: true })),
    constantLearningRate: (pass) =>
      attn.constantLearningRate(pass(3), pass({ peak: 1, warmupSteps: 5 })),
    cosineLearningRate: (pass) =>
      attn.cosineLearningRate(pass(3), pass({ peak: 1, warmupSteps: 5, totalSteps: 9 })),
    inverseSqrtLearningRate: (pass) =>
      attn.inverseSqrtLearningRate(pass(3), pass({ dModel: 8, warmupSteps: 5 })),
    variables: (pass) =>
      onTape((tape) => {
        const a = tape.variable(pass(x));
        const sum = a
          .add(pass(a))
          .mul(pass(2))
          .mul(pass(tape.constant(pass(x))));
        const part = sum
          .reshape(pass([6, 8]))
          .slice(pass(0), pass(1), pass(3))
          .select(pass(1), pass(0));
        tape.backward(pass(part), pass({ data: [1, 1], shape: [2] }));
        return [part.value(), a.gradient()];
      }),
    functionsOfVariables: (pass) =>
      onTape((tape) => {
        const a = tape.variable(x);
        const b = attn.linear(pass(a), pass(tape.variable(square)), pass(undefined));
        const parts = attn.concatenate(pass([a, b]), pass(1));
        const c = attn.applyDropout(attn.applyActivation(pass(parts), pass('silu')), pass(dropout));
        const d = attn.maskedSoftmax(
          pass(attn.positionalEncoding(pass(c), pass({ start: 1 }))),
          pass({ validLens: [8, 3] }),
        );
        const e = attn.attentionPooling(
          pass(d),
          pass(a),
          pass(a),
          pass({ mask, width: tape.variable({ data: [1], shape: [] }), scoring: 'gaussian' }),
        );
        const loss = attn.mseLoss(
          pass(e),
          pass({ data: new Float32Array(96), shape: [2, 6, 8] }),
          pass({ reduction: 'sum' }),
        );
        tape.backward(pass(loss));
        return [loss.item(), a.gradient()];
      }),
    attentionOfVariables: (pass) =>
      onTape((tape) => {
        const a = tape.variable(heads);
        const bias = tape.variable({ data: [0, 1, 2], shape: [3] });
        const options = {
          bias,
          causal: true,
          mask,
          needWeights: true,
          t5Bias: { table: tape.variable(random8), maxDistance: 8 },
        };
        const { output, weights } = attn.scaledDotProductAttention(
          pass(a),
          pass(a),
          pass(a),
          pass(options),
        );
        return [output.value(), weights.value()];
      }),
    mergeOfVariables: (pass) =>
      onTape((tape) => {
        const [a, lse] = [
          tape.variable(x),
          tape.variable({ data: new Float32Array(6), shape: [2, 3] }),
        ];
        return attn.mergeAttention(pass(a), pass(lse), pass(a), pass(lse)).output.value();
      }),
    optimizers: (pass) =>
      onTape((tape) =>
        using(new attn.Linear({ inFeatures: 8, outFeatures: 8 }), (layer) => {
          const given = [];
          const params = (/** @type {string} */ name) => name.endsWith('bias');
          const groups = [{ params, weightDecay: 0 }];
          for (const name of ['SGD', 'Adam', 'AdamW']) {
            tape.clear(pass({ keepGradients: false }));
            tape.backward(
              attn.crossEntropy(
                layer.forward(pass(tape.constant(square))),
                pass([0, 1, 2, 3, 4, 5, 6, 7]),
                pass({ labelSmoothing: 0.1 }),
              ),
            );
            given.push(
              attn.clipGradNorm(pass(tape), pass(1)),
              tape.gradient(pass(layer), pass('weight')),
            );
            given.push(
              using(
                new attn[name](pass({ layers: [layer] }), pass({ lr: 0.1, groups })),
                (optimizer) => {
                  optimizer.step(pass(tape));
                  optimizer.lr = pass(0.5);
                  optimizer.setGroupLr(pass(0), pass(optimizer.groupLr(pass(0)) / 2));
                  const saved = optimizer.stateDict(pass({ prefix: 'o.' }));
                  return optimizer.loadStateDict(
                    pass(saved),
                    pass({ prefix: 'o.', strict: false }),
                  );
                },
              ),
            );
          }
          return given;
        }),
      ),
    recordedLayers: (pass) =>
      onTape((tape) => {
        const a = tape.variable(x);
        const made = [
          new attn.MultiHeadAttention({ dModel: 8, numHeads: 2 }),
          new attn.TransformerEncoder(block),
          new attn.TransformerDecoder(block),
          new attn.AdditiveAttention({ queryDim: 8, keyDim: 8, numHiddens: 4 }),
          new attn.GRU({ inputSize: 8, hiddenSize: 8 }),
          new attn.RotaryEmbedding({ rotaryDim: 4 }),
          new attn.AddNorm({ width: 8 }),
          new attn.Embedding({ numEmbeddings: 5, embeddingDim: 8 }),
        ];
        const [mha, encoder, decoder, additive, gru, rotary, norm, embedding] = made;
        try {
          tape.watch(pass(mha), pass(['weights']));
          const b = mha.forward(pass(a), pass(a), pass(a), pass({ causal: true, mask }));
          const c = encoder.forward(pass(b), pass({ attention: { validLens: [3, 2] }, dropout }));
          const d = decoder.forward(pass(c), pass(b), pass({ selfAttention: { causal: true } }));
          const e = additive.forward(pass(d), pass(a), pass(a), pass({ validLens: [3, 2] }));
          const { output } = gru.forward(pass(e), pass({}));
          const f = norm.forward(
            rotary.forward(pass(output), pass({ numHeads: 2 })),
            pass(a),
            pass({ dropout }),
          );
          const ids = embedding.forward(pass([1, 2]), pass({ tape }));
          tape.parameter(pass(mha), pass('out_proj.weight'));
          return [f.value(), ids.value(), tape.intermediate(pass(mha), pass('weights')).value()];
        } finally {
          for (const layer of made) layer.dispose();
        }
      }),
    recordedBahdanauDecoder: (pass) =>
      onTape((tape) =>
        using(new attn.BahdanauDecoder({ vocabSize: 5, embedSize: 4, numHiddens: 8 }), (layer) => {
          const hidden = tape.variable({ data: new Float32Array(16), shape: [1, 2, 8] });
          const state = layer.initState(
            pass(tape.variable(x)),
            pass(hidden),
            pass({ encoderLens: [3, 1] }),
          );
          const tokens = { data: [0, 1, 2, 3], shape: [2, 2] };
          return layer.forward(pass(tokens), pass(state), pass({})).logits.value();
        }),
      ),
  };
}

const random8 = new Random(2).tensor(8, 2);

/**
 * Calls to a language model, by name.
 * @param {any} attn
 * @param {any} model
 * @returns {Calls}
 */
export const modelCallsOf = (attn, model) => ({
  forward: (pass) =>
    model.forward(
      pass([1, 2, 3]),
      pass({ needHidden: true, numLogits: 1, attention: { validLens: [3] } }),
    ),
  forwardBatch: (pass) => model.forward(pass({ data: [1, 2, 3, 4], shape: [2, 2] }), pass({})),
  forwardVectors: (pass) =>
    model.forwardVectors(
      pass(new Random(3).tensor(3, model.description.layers[0].dModel)),
      pass({ needLogits: false, needHidden: true }),
    ),
  unembed: (pass) =>
    model.unembed(pass(new Random(4).tensor(3, model.description.layers[0].dModel))),
  contributions: (pass) =>
    model.contributions(
      pass([1, 2, 3]),
      pass(4),
      pass({ position: 1, attention: { validLens: [3] } }),
    ),
  caches: (pass) =>
    using(model.makeCaches(pass(1), pass({ capacity: 2, type: 'int8' })), (caches) => [
      model.forward(pass([1, 2]), pass({ caches, attention: { causal: true } })),
      caches.truncate(pass(1)),
      caches.length,
    ]),
  generate: (pass) =>
    model.generate(pass([1, 2]), pass({ maxNewTokens: 3, stopIds: [5], topK: 2 })),
  rotaryFrequencies: (pass) => model.rotaryFrequencies(pass(0), pass(4)),
  chooseToken: (pass) =>
    attn.chooseToken(pass({ data: [1, 2, 3], shape: [3] }), pass({ temperature: 0.5, seed: 2 })),
});

/**
 * Calls to a language model on a tape, by name.
 * @param {any} attn
 * @param {any} model
 * @returns {Calls}
 */
export const recordedModelCallsOf = (attn, model) => ({
  forward: (pass) =>
    using(new attn.Tape(), (tape) => {
      const options = { tape, attention: { validLens: [3] } };
      const { logits } = model.forward(pass([1, 2, 3]), pass(options));
      tape.backward(attn.crossEntropy(logits, pass([2, 3, 4])));
      return tape.gradient(model, 'embedding.weight');
    }),
  layer: (pass) =>
    using(new attn.Tape(), (tape) => {
      const x = new Random(5).tensor(3, model.description.layers[0].dModel);
      return model.layers[0].forward(tape.variable(pass(x)), pass({})).value();
    }),
});
