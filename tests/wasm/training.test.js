// Tests training: compares gradients with finite differences and optimizers with their equations.
// Also tests the errors that tapes throw.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { inspect } from 'node:util';
import { Worker } from 'node:worker_threads';

import { AttnError, load } from 'attn';
import { load as loadInWorker } from 'attn/worker';

import { assertInputGradient, dot } from './differences.js';
import { variants } from './everyVariant.js';
import { kLayers } from './layerClasses.js';

/** @import { TrainingAttn, Tensor, Variable } from 'attn' */
/** @import { RemoteAttn } from 'attn/worker' */
/** @import { tasks } from './tasks.js' */

const attn = await load({ training: true, variant: 'simd128' });
after(() => attn.dispose());

/** @param {number[]} shape @param {number} seed */
const random = (shape, seed) => attn.randomNormal({ shape, seed });

/** @param {string} code @param {RegExp} message */
const error = (code, message) => (/** @type {unknown} */ thrown) => {
  assert.ok(thrown instanceof AttnError, `${thrown}`);
  assert.equal(thrown.code, code, thrown.message);
  assert.match(thrown.message, message);
  return true;
};

/** @param {(x: Variable) => Variable} f @param {Tensor} x */
const assertGradient = (f, x) => assertInputGradient(attn, f, x);

const kWidth = 8;
const block = { dModel: kWidth, numHeads: 2, dimFeedforward: 12, seed: 4 };
const x = random([2, 5, kWidth], 1);
const memory = random([2, 3, kWidth], 2);
const causal = { causal: true };
const linear = new attn.Linear({ inFeatures: kWidth, outFeatures: 6, seed: 5 });
const norm = new attn.LayerNorm({ width: kWidth });
const addNorm = new attn.AddNorm({ width: kWidth });
const positions = new attn.LearnedPositionalEncoding({
  maxLength: 7,
  dModel: kWidth,
  deviation: 1,
});
const feedForward = new attn.FeedForward({
  dModel: kWidth,
  dimFeedforward: 12,
  activation: 'gelu',
});
const attention = new attn.MultiHeadAttention({ dModel: kWidth, numHeads: 2, bias: true });
const rmsNorm = new attn.RMSNorm({ width: kWidth, eps: 1e-3 });
const gated = new attn.GatedFeedForward({ dModel: kWidth, dimFeedforward: 12 });
const rotary = new attn.RotaryEmbedding({ rotaryDim: 4 });
const additive = new attn.AdditiveAttention({ queryDim: kWidth, keyDim: kWidth, numHiddens: 6 });
const conv = new attn.Conv1d({
  inChannels: kWidth,
  outChannels: 6,
  kernelSize: 3,
  padding: 'same',
});
const gru = new attn.GRU({ inputSize: kWidth, hiddenSize: 6, numLayers: 2 });
const rnn = new attn.RNN({ inputSize: kWidth, hiddenSize: 6 });
const h0 = random([2, 2, 6], 21);
const words = { data: [1, 2, 3, 4, 0, 5], shape: [2, 3] };
const sizes = { vocabSize: 7, embedSize: 4, numHiddens: 6, numLayers: 2, encoderDim: kWidth };
const bahdanau = new attn.BahdanauDecoder(sizes);
const pooled = { mask: { data: [true, true, false, true, true], shape: [5] }, validLens: [3, 5] };
const rotated = { numHeads: 2, start: 3 };
const encoderLayer = new attn.TransformerEncoderLayer({ ...block, normFirst: true });
const encoder = new attn.TransformerEncoder({ ...block, numLayers: 2, activation: 'gelu' });
const decoderLayer = new attn.TransformerDecoderLayer({ ...block, activation: 'gelu' });
const decoder = new attn.TransformerDecoder({ ...block, numLayers: 2, activation: 'geluTanh' });

/** @param {Variable} v */
const remember = (v) => v.tape.constant(memory);

/**
 * Calls of each layer, on variables and on tensors.
 * @type {Record<string, [(v: Variable) => Variable, (x: Tensor) => Tensor]>}
 */
const kForwards = {
  Linear: [(v) => linear.forward(v), (x) => linear.forward(x)],
  LayerNorm: [(v) => norm.forward(v), (x) => norm.forward(x)],
  'LayerNorm of a sum': [(v) => norm.forwardSum(v, v), (x) => norm.forwardSum(x, x)],
  AddNorm: [(v) => addNorm.forward(v, v), (x) => addNorm.forward(x, x)],
  LearnedPositionalEncoding: [
    (v) => positions.forward(v, { start: 1 }),
    (x) => positions.forward(x, { start: 1 }),
  ],
  FeedForward: [(v) => feedForward.forward(v), (x) => feedForward.forward(x)],
  RMSNorm: [(v) => rmsNorm.forward(v), (x) => rmsNorm.forward(x)],
  GatedFeedForward: [
    (v) => gated.forward(v, { dropout: { probability: 0.3, seed: 2 } }),
    (x) => gated.forward(x, { dropout: { probability: 0.3, seed: 2 } }),
  ],
  RotaryEmbedding: [(v) => rotary.forward(v, rotated), (x) => rotary.forward(x, rotated)],
  'RotaryEmbedding of one head': [
    (v) => rotary.forward(v, { positions: [0, 2, 4, 8, 16], inverse: true }),
    (x) => rotary.forward(x, { positions: [0, 2, 4, 8, 16], inverse: true }),
  ],
  Conv1d: [(v) => conv.forward(v), (x) => conv.forward(x)],
  GRU: [(v) => gru.forward(v).output, (x) => gru.forward(x).output],
  'GRU, last states': [
    (v) => gru.forward(v, { h0: v.tape.constant(h0) }).hN,
    (x) => gru.forward(x, { h0 }).hN,
  ],
  RNN: [(v) => rnn.forward(v).output, (x) => rnn.forward(x).output],
  BahdanauDecoder: [
    (v) => {
      const state = bahdanau.initState(v, v.tape.constant(h0), { encoderLens: [5, 2] });
      const { logits } = bahdanau.forward(words, state);
      return attn.concatenate([logits, bahdanau.forward(words, state).logits], 1);
    },
    (x) => {
      const state = bahdanau.initState(x, h0, { encoderLens: [5, 2] });
      const data = [1, 2, 3, 1, 2, 3, 4, 0, 5, 4, 0, 5];
      return bahdanau.forward({ data, shape: [2, 6] }, state).logits;
    },
  ],
  AdditiveAttention: [
    (v) => additive.forward(v, v, v, pooled),
    (x) => additive.forward(x, x, x, pooled).output,
  ],
  'AdditiveAttention of projected keys': [
    (v) => additive.forwardProjected(v, additive.projectKeys(v), v),
    (x) => additive.forwardProjected(x, additive.projectKeys(x), x).output,
  ],
  attentionPooling: [
    (v) => attn.attentionPooling(v, v, v, { scoring: 'gaussian', width: 2, ...pooled }),
    (x) => attn.attentionPooling(x, x, x, { scoring: 'gaussian', width: 2, ...pooled }).output,
  ],
  'attentionPooling of scaled dots': [
    (v) => attn.attentionPooling(v, v, v, { scale: 0.5 }),
    (x) => attn.attentionPooling(x, x, x, { scale: 0.5 }).output,
  ],
  maskedSoftmax: [
    (v) => attn.maskedSoftmax(v, { validLens: [3, 7] }),
    (x) => attn.maskedSoftmax(x, { validLens: [3, 7] }),
  ],
  MultiHeadAttention: [
    (v) => attention.forward(v, v, v, { causal: true, dropout: { probability: 0.2, seed: 3 } }),
    (x) =>
      attention.forward(x, x, x, { causal: true, dropout: { probability: 0.2, seed: 3 } }).output,
  ],
  'MultiHeadAttention of one variable': [
    (v) => attention.forward(v),
    (x) => attention.forward(x).output,
  ],
  TransformerEncoderLayer: [
    (v) => encoderLayer.forward(v, { attention: causal }),
    (x) => encoderLayer.forward(x, { attention: causal }).output,
  ],
  TransformerEncoder: [
    (v) => encoder.forward(v, { attention: { validLens: [3, 5] } }),
    (x) => encoder.forward(x, { attention: { validLens: [3, 5] } }).output,
  ],
  TransformerDecoderLayer: [
    (v) => decoderLayer.forward(v, remember(v), { selfAttention: causal }),
    (x) => decoderLayer.forward(x, memory, { selfAttention: causal }).output,
  ],
  TransformerDecoder: [
    (v) => decoder.forward(v, remember(v), { dropout: { probability: 0.1 } }),
    (x) => decoder.forward(x, memory, { dropout: { probability: 0.1 } }).output,
  ],
  positionalEncoding: [(v) => attn.positionalEncoding(v), (x) => attn.positionalEncoding(x)],
  applyActivation: [(v) => attn.applyActivation(v, 'gelu'), (x) => attn.applyActivation(x, 'gelu')],
  applyDropout: [
    (v) => attn.applyDropout(v, { probability: 0.5, seed: 7 }),
    (x) => attn.applyDropout(x, { probability: 0.5, seed: 7 }),
  ],
  scaledDotProductAttention: [
    (v) => attn.scaledDotProductAttention(v, v, v, { causal: true, softcap: 5 }),
    (x) => attn.scaledDotProductAttention(x, x, x, { causal: true, softcap: 5 }).output,
  ],
};

test('every_layer_that_takes_a_variable_is_listed_here', () => {
  for (const [name] of kLayers) {
    // Embedding takes token ids.
    if (name !== 'Embedding') assert.ok(name in kForwards, name);
  }
});

for (const [name, [record, compute]] of Object.entries(kForwards)) {
  test(`${name}_has_the_bits_of_tensors_and_gradients_that_match_differences`, () => {
    const tape = new attn.Tape();
    assert.deepEqual(record(tape.variable(x)).value(), compute(x));
    tape.dispose();
    assertGradient(record, x);
  });
}

test('functions_of_variables_have_gradients_that_match_differences', () => {
  assertGradient((v) => v.mul(v).mul(0.5).add(v), x);
  assertGradient((v) => v.reshape([2, -1]).slice(1, 3, 20).select(0, 1), x);
  assertGradient((v) => attn.linear(v, v.tape.parameter(linear, 'weight')), x);
  assertGradient(
    (v) => attn.crossEntropy(v, { data: [1, 2, -100, 0, 7, 3, 3, 1, 0, 5], shape: [2, 5] }),
    x,
  );
  assertGradient((v) => attn.mseLoss(v, memory, { reduction: 'sum' }), random(memory.shape, 6));
});

const heads = random([1, 2, 5, 4], 11);
const terms = {
  bias: random([2, 5, 5], 12),
  alibiSlopes: random([2], 13),
  relativeKeys: random([5, 4], 14),
  relativeValues: random([2, 5, 4], 15),
  sinks: random([2], 16),
};

for (const [name, value] of Object.entries(terms)) {
  test(`${name}_of_attention_have_the_bits_of_tensors_and_gradients_that_match_differences`, () => {
    const f = (/** @type {Variable} */ v) => {
      const x = v.tape.constant(heads);
      return attn.scaledDotProductAttention(x, x, x, { ...terms, causal: true, [name]: v });
    };
    const tape = new attn.Tape();
    const options = { ...terms, causal: true };
    const { output } = attn.scaledDotProductAttention(heads, heads, heads, options);
    assert.deepEqual(f(tape.variable(value)).value(), output);
    tape.dispose();
    assertGradient(f, value);
  });
}

test('a_t5_table_and_a_kernel_width_have_gradients_that_match_differences', () => {
  const table = random([4, 2], 17);
  assertGradient((v) => {
    const x = v.tape.variable(heads);
    return attn.scaledDotProductAttention(x, x, x, { t5Bias: { table: v, maxDistance: 4 } });
  }, table);
  for (const scoring of /** @type {const} */ (['gaussian', 'epanechnikov'])) {
    assertGradient(
      (v) => {
        const [q, k] = [v.tape.constant(x), v.tape.constant(memory)];
        return attn.attentionPooling(q, k, k, { scoring, width: v });
      },
      { data: Float32Array.of(5), shape: [1] },
    );
  }
});

/** @param {TrainingAttn} attn @param {number} [steps] */
function train(attn, steps = 8) {
  const model = {
    tokens: new attn.Embedding({ numEmbeddings: 11, embeddingDim: kWidth }),
    blocks: [new attn.TransformerEncoder({ ...block, numLayers: 2, normFirst: true })],
    unembed: new attn.Linear({ inFeatures: kWidth, outFeatures: 11 }),
  };
  const optimizer = new attn.AdamW(model, { lr: 1e-2 });
  const tape = new attn.Tape();
  const losses = [];
  const ids = { data: Array.from({ length: 4 * 33 }, (_, i) => (7 * i * i) % 11), shape: [4, 33] };
  for (let step = 1; step <= steps; ++step) {
    tape.clear();
    optimizer.lr = attn.cosineLearningRate(step, { peak: 1e-2, warmupSteps: 3, totalSteps: 20 });
    const h = model.blocks[0].forward(model.tokens.forward(ids, { tape }), { attention: causal });
    const loss = attn.crossEntropy(model.unembed.forward(h), ids, { labelSmoothing: 0.1 });
    tape.backward(loss);
    losses.push(loss.item(), attn.clipGradNorm(tape, 0.5));
    optimizer.step(tape);
  }
  return { losses, state: optimizer.stateDict(), weights: model.blocks[0].stateDict() };
}

test('repeating_a_run_gives_the_same_bits', () => {
  const run = train(attn);
  assert.deepEqual(train(attn), run);
  assert.ok(run.losses[14] < run.losses[0] - 0.2, `${run.losses}`);
  assert.deepEqual(Object.keys(run.state).slice(0, 2), [
    'exp_avg.tokens.weight',
    'exp_avg_sq.tokens.weight',
  ]);
});

for (const variant of variants.filter((name) => name.endsWith('-threads'))) {
  test(`a_run_has_the_same_bits_for_any_number_of_threads_in_${variant}`, async (t) => {
    const runs = [];
    for (const threads of [1, 3]) {
      const other = await load({ training: true, variant, threads }).catch((error) => {
        if (!/lacks/.test(error.message)) throw error;
      });
      if (!other) return t.skip('this engine lacks it');
      runs.push(train(other));
      other.dispose();
    }
    assert.deepEqual(runs[1], runs[0]);
    if (variant.startsWith('simd128')) assert.deepEqual(runs[0], train(attn));
  });
}

test('a_steady_loop_takes_no_additional_memory', () => {
  const tape = new attn.Tape();
  const optimizer = new attn.Adam(encoder, { lr: 0 });
  const step = () => {
    tape.clear();
    tape.backward(encoder.forward(tape.variable(x)), x);
    optimizer.step(tape);
    return attn.memory().bytesInUse;
  };
  for (let i = 0; i < 3; ++i) step();
  const bytes = step();
  for (let i = 0; i < 5; ++i) assert.equal(step(), bytes);
  tape.dispose();
  optimizer.dispose();
});

test('optimizers_follow_their_equations', () => {
  /** @type {[(layer: any) => any, (p: number, g: number) => number][]} */
  const cases = [
    [(layer) => new attn.SGD(layer, { lr: 0.1 }), (p, g) => p - 0.1 * g],
    [
      (layer) =>
        new attn.SGD({ layer }, { lr: 0.1, momentum: 0.9, nesterov: true, weightDecay: 0.5 }),
      (p, g) => p - 0.1 * 1.9 * (g + 0.5 * p),
    ],
    [(layer) => new attn.Adam([layer], { lr: 0.1 }), (p, g) => p - 0.1 * Math.sign(g)],
    [
      (layer) => new attn.AdamW(layer, { lr: 0.1, weightDecay: 0.5 }),
      (p, g) => p - 0.1 * 0.5 * p - 0.1 * Math.sign(g),
    ],
  ];
  for (const [make, expected] of cases) {
    const layer = new attn.Linear({ inFeatures: 3, outFeatures: 2 });
    const before = layer.parameter('weight').data;
    const optimizer = make(layer);
    const tape = new attn.Tape();
    tape.backward(layer.forward(tape.constant(random([4, 3], 8))), random([4, 2], 9));
    const gradient = tape.gradient(layer, 'weight')?.data ?? assert.fail();
    optimizer.step(tape);
    const now = layer.parameter('weight').data;
    now.forEach((value, i) => assert.ok(Math.abs(value - expected(before[i], gradient[i])) < 1e-6));
  }
});

test('a_run_resumed_from_files_has_the_same_bits', () => {
  const make = () => {
    const layer = new attn.Linear({ inFeatures: kWidth, outFeatures: 6, seed: 5 });
    return { layer, optimizer: new attn.Adam(layer, { lr: 0.1 }) };
  };
  const tape = new attn.Tape();
  /** @param {ReturnType<typeof make>} run */
  const step = ({ layer, optimizer }) => {
    tape.clear();
    tape.backward(attn.crossEntropy(layer.forward(tape.constant(x)), new Int32Array(10)));
    optimizer.step(tape);
  };
  const [whole, stopped, next] = [make(), make(), make()];
  for (const run of [whole, whole, stopped]) step(run);
  next.layer.loadStateDict(attn.toSafetensors(stopped.layer.stateDict()));
  const file = attn.toSafetensors(stopped.optimizer.stateDict({ prefix: 'adam.' }));
  assert.deepEqual(next.optimizer.loadStateDict(file, { prefix: 'adam.' }), {
    missingKeys: [],
    unexpectedKeys: [],
  });
  step(next);
  assert.deepEqual(next.layer.stateDict(), whole.layer.stateDict());
  assert.throws(() => next.optimizer.loadStateDict({}), error('not_found', /exp_avg/));
});

test('gradients_and_weights_of_attention_are_returned', () => {
  const tape = new attn.Tape();
  const shown = attention.forward(x, x, x, { needWeights: true });
  tape.watch(attention, ['weights']);
  tape.backward(attention.forward(tape.variable(x)), x);
  const weights = tape.intermediate(attention, 'weights');
  assert.deepEqual(weights.value(), shown.weights);
  assert.deepEqual(weights.gradient()?.shape, [2, 2, 5, 5]);
  assert.deepEqual(tape.gradient(attention, 'in_proj_weight')?.shape, [3 * kWidth, kWidth]);
  assert.equal(tape.gradient(linear, 'weight'), undefined);
  assert.throws(() => tape.intermediate(attention, 'output'), error('not_found', /output/));
});

test('attention_over_variables_returns_scores_and_weights_with_their_gradients', () => {
  const dropout = { probability: 0.3, seed: 8 };
  for (const options of [{ causal: true }, { causal: true, softcap: 2, dropout }]) {
    const tape = new attn.Tape();
    const [q, k] = [tape.variable(heads), tape.variable(random([1, 1, 5, 4], 18))];
    const needs = /** @type {const} */ ({ needBiasedScores: true, needWeights: true });
    const all = attn.scaledDotProductAttention(q, k, k, { ...options, ...needs });
    const [queries, keys] = [q.value(), k.value()];
    const plain = attn.scaledDotProductAttention(queries, keys, keys, { ...options, ...needs });
    assert.deepEqual(all.output.value(), plain.output);
    assert.deepEqual(all.biasedScores.value(), plain.biasedScores);
    assert.deepEqual(all.weights.value(), plain.weights);
    const along = random([1, 2, 5, 4], 19);
    tape.backward(all.output, along);
    const gradients = [all.biasedScores, all.weights].map((shown) => shown.gradient());
    // The gradient of a weight before dropout is kept(i) · (output gradient · value). The gradient
    // of its score follows from the softmax.
    const kept = (/** @type {number} */ i) =>
      options.dropout ? (plain.weights.data[i] === 0 ? 0 : 1 / 0.7) : 1;
    const before = attn.maskedSoftmax({ data: plain.biasedScores.data, shape: [1, 2, 5, 5] });
    for (let row = 0; row < 10; ++row) {
      const terms = Array.from({ length: 5 }, (_, j) => {
        const [g, v] = [along.data.slice(4 * row, 4 * row + 4), keys.data.slice(4 * j, 4 * j + 4)];
        const excluded = j > row % 5;
        const weight = excluded ? 0 : before.data[5 * row + j];
        return { weight, slope: excluded ? 0 : kept(5 * row + j) * dot(g, v) };
      });
      const mean = terms.reduce((sum, { weight, slope }) => sum + weight * slope, 0);
      terms.forEach(({ weight, slope }, j) => {
        const [ofScore, ofWeight] = gradients.map((gradient) => gradient?.data[5 * row + j]);
        assert.ok(Math.abs(Number(ofWeight) - slope) < 1e-5, `${ofWeight}, not ${slope}`);
        const expected = weight * (slope - mean);
        assert.ok(Math.abs(Number(ofScore) - expected) < 1e-5, `${ofScore}, not ${expected}`);
      });
    }
    tape.clear();
    const one = attn.scaledDotProductAttention(
      tape.variable(x),
      tape.variable(x),
      tape.variable(x),
      {
        needWeights: true,
      },
    );
    assert.deepEqual(Object.keys(one), ['output', 'weights']);
    assert.deepEqual(one.weights.shape, [2, 1, 5, 5]);
    tape.dispose();
  }
});

test('merging_parts_of_attention_has_the_gradients_of_the_whole', () => {
  const [query, key] = [random([1, 2, 5, 4], 21), random([1, 2, 7, 4], 22)];
  const along = random([1, 2, 5, 4], 23);
  const needs = /** @type {const} */ ({ needLogSumExp: true });
  const [whole, parts] = [true, false].map((atOnce) => {
    const tape = new attn.Tape();
    const [q, k] = [tape.variable(query), tape.variable(key)];
    const attend = (/** @type {number} */ from, /** @type {number} */ to) => {
      const some = k.slice(2, from, to);
      return attn.scaledDotProductAttention(q, some, some, needs);
    };
    const [a, b] = [attend(0, 3), attend(3, 7)];
    const { output } = atOnce
      ? attend(0, 7)
      : attn.mergeAttention(a.output, a.logSumExp, b.output, b.logSumExp);
    tape.backward(output, along);
    const results = [output.value(), q.gradient(), k.gradient()];
    tape.dispose();
    return results;
  });
  whole.forEach((expected, i) => {
    expected?.data.forEach((x, j) => {
      assert.ok(Math.abs(x - Number(parts[i]?.data[j])) < 2e-6, `result ${i}, element ${j}`);
    });
  });
});

test('invalid_arguments_are_errors_and_the_module_stays_usable', () => {
  const tape = new attn.Tape();
  const other = new attn.Tape();
  const v = tape.variable(x);
  assert.throws(() => v.gradient(), error('invalid_argument', /before backward/));
  assert.throws(
    () => tape.gradient(linear, 'weight'),
    error('invalid_argument', /before backward/),
  );
  assert.throws(() => tape.gradient(linear, 'bios'), error('not_found', /bios/));
  assert.throws(() => v.add(other.variable(x)), error('invalid_argument', /other: .*another tape/));
  assert.throws(() => v.add(v.select(0, 0)), error('shape_mismatch', /shape/));
  assert.throws(() => v.item(), error('shape_mismatch', /one element/));
  assert.throws(() => v.slice(1, 4, 6), error('invalid_argument', /6/));
  assert.throws(() => tape.backward(v), error('shape_mismatch', /loss/));
  assert.throws(() => tape.backward(v, memory), error('shape_mismatch', /gradient/));
  assert.throws(
    () => attn.crossEntropy(v, new Int32Array(10).fill(8)),
    error('invalid_argument', /targets.* 8/),
  );
  assert.throws(() => attn.crossEntropy(v, [0.5]), error('invalid_argument', /0\.5/));
  assert.throws(
    () => attention.forward(v, v, v, /** @type {any} */ ({ needWeights: true })),
    error('invalid_argument', /needWeights/),
  );
  const mixed = /** @type {any} */ (memory);
  assert.throws(
    () => attention.forward(v, mixed, mixed),
    error('invalid_argument', /key.*Variable/),
  );
  for (const name of ['needWeights', 'needLogSumExp']) {
    const asked = /** @type {any} */ ({ [name]: 1 });
    assert.throws(
      () => attn.scaledDotProductAttention(v, v, v, asked),
      error('invalid_argument', new RegExp(name)),
    );
  }
  assert.throws(
    () => attn.attentionPooling(v, v, v, /** @type {any} */ ({ needWeights: true })),
    error('invalid_argument', /needWeights/),
  );
  assert.throws(
    () => attn.attentionPooling(v, v, v, { scoring: 'average', width: v.select(0, 0) }),
    error('shape_mismatch', /width/),
  );
  assert.throws(
    () => attn.scaledDotProductAttention(v, v, v, { bias: other.variable(x) }),
    error('invalid_argument', /bias.*another tape/),
  );
  assert.throws(
    () => attn.scaledDotProductAttention(v, v, v, { relativeKeys: v }),
    error('shape_mismatch', /relativeKeys/),
  );
  assert.throws(() => attn.concatenate([], 0), error('invalid_argument', /parts/));
  for (const dimension of [2 ** 32, 3, -4, 0.5]) {
    assert.throws(() => v.select(dimension, 0), error('invalid_argument', /select: dimension/));
    assert.throws(() => v.slice(dimension, 0, 1), error('invalid_argument', /slice: dimension/));
    assert.throws(
      () => attn.concatenate([v, v], dimension),
      error('invalid_argument', /concatenate: dimension/),
    );
  }
  assert.throws(() => attn.concatenate([v, v.select(0, 0)], 1), error('shape_mismatch', /parts/));
  assert.throws(
    () => bahdanau.initState(v, v),
    error('shape_mismatch', /hidden: got shape \(2, 5, 8\), needs \(2, 2, 6\)/),
  );
  assert.throws(
    () => bahdanau.initState(v, /** @type {any} */ (h0)),
    error('invalid_argument', /hidden/),
  );
  assert.throws(
    () => rotary.forward(v, { numHeads: 3 }),
    error('shape_mismatch', /3, the number of heads/),
  );
  assert.throws(
    () => attn.maskedSoftmax(v.select(0, 0).select(0, 0)),
    error('shape_mismatch', /x/),
  );
  assert.throws(() => new attn.Adam(linear, { lr: NaN }), error('invalid_argument', /lr.*NaN/));
  assert.throws(() => new attn.Adam(linear, { lr: -1 }), error('invalid_argument', /-1/));
  assert.throws(
    () => new attn.SGD(/** @type {any} */ ({ a: 1 })),
    error('invalid_argument', /a: got 1/),
  );
  const optimizer = new attn.SGD(linear);
  assert.throws(() => optimizer.step(tape), error('invalid_argument', /backward/));
  const passing = new attn.Linear({ inFeatures: kWidth, outFeatures: 6 });
  const loss = attn.crossEntropy(passing.forward(v), new Int32Array(10));
  passing.dispose();
  assert.throws(() => tape.backward(loss), error('disposed', /Linear/));
  tape.clear();
  assert.throws(() => v.value(), error('invalid_argument', /cleared/));
  const bad = { data: x.data.map(() => NaN), shape: x.shape };
  const lost = attn.crossEntropy(linear.forward(tape.variable(bad)), new Int32Array(10));
  assert.throws(() => tape.backward(lost), error('invalid_argument', /NaN/));
  tape.clear();
  tape.backward(attn.crossEntropy(linear.forward(tape.variable(x)), new Int32Array(10)));
  optimizer.step(tape);
});

/**
 * A model that consists of several modules, its tape, and an optimizer that knows the modules'
 * names.
 */
function parts() {
  const model = {
    tokens: new attn.Embedding({ numEmbeddings: 5, embeddingDim: kWidth }),
    blocks: [1, 2].map(
      (seed) => new attn.MultiHeadAttention({ dModel: kWidth, numHeads: 2, seed }),
    ),
    out: new attn.Linear({ inFeatures: kWidth, outFeatures: 5 }),
  };
  const tape = new attn.Tape();
  const optimizer = new attn.SGD(model, { lr: 0.1 });
  const ids = { data: [1, 2, 3, 4, 0, 2], shape: [2, 3] };
  const logits = () => {
    tape.clear();
    let x = model.tokens.forward(ids, { tape });
    for (const block of model.blocks) x = x.add(block.forward(x, x, x, { causal: true }));
    return model.out.forward(x);
  };
  const loss = (/** @type {number[]} */ targets = ids.data) => attn.crossEntropy(logits(), targets);
  return { model, tape, optimizer, logits, loss };
}

test('a_nan_loss_names_the_step_and_the_layer_whose_output_had_the_first_nan', () => {
  const { model, tape, optimizer, loss } = parts();
  const fill = (/** @type {any} */ layer, /** @type {number} */ value) => {
    const before = layer.parameter('out_proj.weight');
    layer.setParameter('out_proj.weight', { ...before, data: before.data.map(() => value) });
    return before;
  };
  tape.backward(loss());
  optimizer.step(tape);
  const before = fill(model.blocks[1], NaN);
  const lost = loss();
  assert.throws(
    () => tape.backward(lost),
    error(
      'invalid_argument',
      /^loss: got nan in step 2 \(the first NaN is in parameter "blocks\.1\.out_proj\.weight"\)/,
    ),
  );
  assert.throws(() => lost.gradient(), error('invalid_argument', /before backward/));
  fill(model.blocks[1], 3e38);
  const late = loss();
  assert.throws(
    () => tape.backward(late),
    error(
      'invalid_argument',
      /step 3 \(the first NaN is in the output of \S+ "\S+", and an infinity is in the output of MultiHeadAttention "blocks\.1"\)/,
    ),
  );
  model.blocks[1].setParameter('out_proj.weight', before);
  // After the error, the tape and the model are still usable.
  const found = loss();
  tape.backward(found);
  assert.ok(Number.isFinite(found.item()));
  // The error for a gradient that overflows names the parameter.
  const x = random([1, kWidth], 3);
  tape.clear();
  const y = model.out.forward(tape.constant(x));
  tape.backward(y, { data: new Float32Array(5).fill(Infinity), shape: [1, 5] });
  assert.throws(
    () => attn.clipGradNorm(tape, 1),
    error('invalid_argument', /"out\.(weight|bias)"/),
  );
});

test('each_bad_input_of_a_step_is_named_and_everything_stays_usable', () => {
  const { model, tape, optimizer, logits, loss } = parts();
  const before = model.out.stateDict();
  for (const [targets, message] of /** @type {[any, RegExp][]} */ ([
    [
      [0, 1, 2, 3, 4, 5],
      /^targets: got 5 at \(1, 2\), needs an index below 5 \(the number of classes in logits\)/,
    ],
    [[0, 1, 2, 3, 4, -1], /^targets: got -1 at \(1, 2\)/],
    [[0, 1, 2, 3, 4, NaN], /^targets\[5\]: got NaN, needs a whole number/],
    [new Array(6).fill(-100), /^targets: got no target to average over, needs at least one/],
    [undefined, /^targets: got undefined/],
  ])) {
    assert.throws(() => attn.crossEntropy(logits(), targets), error('invalid_argument', message));
  }
  assert.throws(() => loss([0, 1]), error('shape_mismatch', /^targets: got 2, needs 6/));
  assert.equal(
    attn.crossEntropy(logits(), new Array(6).fill(-100), { reduction: 'sum' }).item(),
    0,
  );
  const wrong = /** @type {any} */ (optimizer);
  for (const lr of [NaN, -1, Infinity, '1', undefined]) {
    assert.throws(
      () => (wrong.lr = lr),
      error('invalid_argument', /^lr: got .*, needs a finite number/),
    );
    if (lr === undefined) continue;
    assert.throws(
      () => new attn.AdamW(model, { lr: /** @type {any} */ (lr) }),
      error('invalid_argument', /^lr: got/),
    );
  }
  assert.equal(optimizer.lr, 0.1);

  const early = error('invalid_argument', /^gradient: got a call before backward\(\)/);
  for (const forward of [() => tape.clear(), () => void loss()]) {
    forward();
    assert.throws(() => tape.gradient(model.out, 'weight'), early);
    assert.throws(() => optimizer.step(tape), early);
    assert.throws(() => attn.clipGradNorm(tape, 1), early);
  }
  const twice = loss();
  tape.backward(twice);
  const gradient = tape.gradient(model.out, 'weight');
  assert.throws(
    () => tape.backward(twice),
    error('invalid_argument', /^backward: got a second call/),
  );
  assert.throws(
    () => twice.add(twice),
    error('invalid_argument', /^tape: got a call after backward/),
  );
  assert.throws(() => attn.clipGradNorm(tape, NaN), error('invalid_argument', /^maxNorm: got NaN/));
  assert.deepEqual(tape.gradient(model.out, 'weight'), gradient);

  const changed = loss();
  model.blocks[0].setParameter('in_proj_weight', model.blocks[0].parameter('in_proj_weight'));
  assert.throws(
    () => tape.backward(changed),
    error(
      'invalid_argument',
      /^blocks\.0\.in_proj_weight: got a change between the forward pass and/,
    ),
  );
  const v = logits();
  assert.throws(
    () => v.add(v.select(1, 0)),
    error('shape_mismatch', /^other: got shape \(2, 5\), needs \(2, 3, 5\)/),
  );
  assert.throws(
    () => v.mul(v.select(1, 0)),
    error('shape_mismatch', /^factor: got shape \(2, 5\)/),
  );
  assert.throws(
    () => v.reshape([1, 1, 1, 1, 1, 2, 15]),
    error('invalid_argument', /^shape: got an array, needs an array of at most 6 sizes/),
  );
  assert.deepEqual(model.out.stateDict(), before);
});

test('training_recovers_the_width_of_a_kernel', () => {
  // D2L's parametric regression. Training starts from a width that is far too large, and must find
  // the width that generated the targets.
  const count = 40;
  const at = { data: Float32Array.from({ length: count }, (_, i) => i / 8), shape: [1, count, 1] };
  const noise = random([1, count, 1], 31);
  const mask = Array.from({ length: count ** 2 }, (_, i) => Math.floor(i / count) !== i % count);
  const options = /** @type {const} */ ({
    scoring: 'gaussian',
    mask: { data: mask, shape: [1, count, count] },
  });
  const targets = attn.attentionPooling(at, at, noise, { ...options, width: 0.4 }).output;
  const width = new attn.Embedding({ numEmbeddings: 1, embeddingDim: 1 });
  width.setParameter('weight', { data: [1.5], shape: [1, 1] });
  const optimizer = new attn.Adam(width, { lr: 0.05 });
  const tape = new attn.Tape();
  for (let step = 0; step < 200; ++step) {
    tape.clear();
    const [x, y] = [tape.constant(at), tape.constant(noise)];
    const learned = tape.parameter(width, 'weight');
    const loss = attn.mseLoss(
      attn.attentionPooling(x, x, y, { ...options, width: learned }),
      targets,
    );
    tape.backward(loss);
    optimizer.step(tape);
  }
  const [found] = width.parameter('weight').data;
  assert.ok(Math.abs(found - 0.4) < 0.01, `${found}`);
});

test('layers_of_a_stack_accept_variables_and_modules_without_training_are_rejected', async () => {
  const tape = new attn.Tape();
  assert.deepEqual(encoder.layers[0].forward(x).output, encoder.layers[0].forward(x).output);
  assert.deepEqual(
    /** @type {any} */ (encoder.layers[0]).forward(tape.variable(x)).value(),
    encoder.layers[0].forward(x).output,
  );
  const plain = /** @type {any} */ (await load({ variant: 'simd128' }));
  const needsTraining = error('unsupported', /without training.*load\(\{ training: true \}\)/);
  for (const name of ['Tape', 'SGD', 'Adam', 'AdamW']) {
    assert.throws(() => new plain[name](), needsTraining);
  }
  for (const name of ['crossEntropy', 'mseLoss', 'clipGradNorm']) {
    assert.throws(() => plain[name](), needsTraining);
  }
  const foreign = new plain.Linear({ inFeatures: 2, outFeatures: 2 });
  assert.throws(
    () => new attn.Adam(foreign),
    error('invalid_argument', /belongs to another module/),
  );
  plain.dispose();
});

test('a_training_task_in_a_worker_stops_between_two_steps', async () => {
  const worker = /** @type {any} */ (new Worker(new URL('./tasks.js', import.meta.url)));
  /** @type {RemoteAttn<typeof tasks>} */
  const remote = await loadInWorker({ worker, training: true, variant: 'simd128' });
  /** @type {{ step: number, loss: number }[]} */
  const progress = [];
  const onProgress = (/** @type {any} */ report) => progress.push(report);
  const weights = await remote.with({ onProgress }).run('train', 5);
  assert.equal(progress.length, 5);
  assert.ok(progress[4].loss < progress[0].loss);
  for (const { parameter, weights: attended } of /** @type {any[]} */ (progress)) {
    assert.deepEqual(parameter.shape, [2, 2]);
    assert.deepEqual(attended.shape, [1, 1, 2, 2]);
    assert.ok(Math.abs(attended.data[0] + attended.data[1] - 1) < 1e-6);
  }
  assert.notDeepEqual(
    /** @type {any} */ (progress[4]).weights,
    /** @type {any} */ (progress[0]).weights,
  );

  const controller = new AbortController();
  const stopped = remote.with({
    signal: controller.signal,
    onProgress: (/** @type {any} */ { step }) => step === 3 && controller.abort(),
  });
  await assert.rejects(stopped.run('train', 1e9), { name: 'AbortError' });
  assert.deepEqual(await remote.run('train', 5), weights);

  // Training by individual remote calls is not supported.
  const tape = await new /** @type {any} */ (remote).Tape();
  await assert.rejects(
    tape.variable(x),
    error(
      'unsupported',
      /^result: a Variable cannot leave the worker; return its value\(\).*train in a task$/,
    ),
  );
  await remote.dispose();
});

test('groups_have_separate_learning_rates_and_weight_decay', () => {
  // Computes one step of AdamW with the paper's equations. With zero gradients, only the decay
  // remains.
  const model = { block: new attn.TransformerEncoderLayer(block) };
  const optimizer = new attn.AdamW(model, {
    lr: 0.01,
    weightDecay: 0.1,
    groups: [
      { params: (name, shape) => shape.length < 2, weightDecay: 0 },
      { params: (name) => name.startsWith('block.linear1.'), lr: 0.5 },
    ],
  });
  const before = model.block.stateDict();
  const tape = new attn.Tape();
  tape.backward(model.block.forward(tape.constant(x)), attn.zeros(x.shape));
  optimizer.step(tape);
  for (const [name, { data, shape }] of Object.entries(model.block.stateDict())) {
    const rate = name === 'linear1.weight' ? 0.5 : 0.01;
    const decay = shape.length < 2 ? 0 : 0.1;
    data.forEach((value, i) => {
      const expected = before[name].data[i] * (1 - rate * decay);
      assert.ok(Math.abs(value - expected) <= 1e-6 * Math.abs(expected), name);
    });
  }
  assert.equal(optimizer.groupLr(0), 0.01);
  assert.equal(optimizer.groupLr(1), 0.5);
  optimizer.lr = 0.02;
  optimizer.setGroupLr(1, 0.25);
  assert.deepEqual([optimizer.lr, optimizer.groupLr(0), optimizer.groupLr(1)], [0.02, 0.02, 0.25]);
  assert.throws(() => optimizer.groupLr(2), error('invalid_argument', /^group: got 2/));

  const made = (/** @type {any} */ groups) => () => new attn.AdamW(model, { groups });
  const params = () => true;
  assert.throws(made(1), error('invalid_argument', /^groups: got 1, needs an array/));
  assert.throws(
    made([{ params: ['a'] }]),
    error('invalid_argument', /^groups\[0\]\.params: got an array/),
  );
  assert.throws(
    made([{ params, rate: 1 }]),
    error('invalid_argument', /^groups\[0\]: '\w+' is not an option/),
  );
  assert.throws(made([{ params, lr: -1 }]), error('invalid_argument', /^groups\[0\]\.lr: got -1/));
  assert.throws(
    made([{ params: () => false }]),
    error('invalid_argument', /^groups: got group 0 without/),
  );
});

test('accumulated_gradients_equal_the_gradients_of_all_tokens_together', () => {
  const tape = new attn.Tape();
  const all = random([112, kWidth], 31);
  const targets = Array.from({ length: 112 }, (_, i) => i % 6);
  const backward = (/** @type {number} */ begin, /** @type {number} */ end) => {
    const logits = linear.forward(tape.constant(attn.slice(all, 0, begin, end)));
    tape.backward(attn.crossEntropy(logits, targets.slice(begin, end), { reduction: 'sum' }));
  };
  backward(0, 112);
  const expected = tape.gradient(linear, 'weight') ?? assert.fail();
  tape.clear();
  backward(0, 11);
  tape.clear({ keepGradients: true });
  backward(11, 112);
  const got = tape.gradient(linear, 'weight') ?? assert.fail();
  got.data.forEach((value, i) => assert.ok(Math.abs(value - expected.data[i]) < 1e-4, `${i}`));
  tape.clear({ keepGradients: true });
  assert.deepEqual(tape.gradient(linear, 'weight'), got);
  tape.clear();
  assert.throws(
    () => tape.gradient(linear, 'weight'),
    error('invalid_argument', /before backward/),
  );
  const wrong = /** @type {any} */ ({ keepGradient: true });
  assert.throws(() => tape.clear(wrong), error('invalid_argument', /use 'keepGradients'/));
  tape.dispose();
});

test('names_from_other_libraries_suggest_attns_names', () => {
  const tape = new attn.Tape();
  const loss = /** @type {any} */ (tape.variable(attn.ones([1, 2])));
  const optimizer = /** @type {any} */ (new attn.SGD(linear));
  assert.throws(() => loss.backward(), error('unsupported', /use tape\.backward\(variable\)$/));
  assert.throws(() => loss.numpy(), error('unsupported', /use value\(\)\.data$/));
  assert.throws(() => optimizer.zero_grad(), error('unsupported', /use tape\.clear\(\)$/));
  assert.equal(inspect(loss), 'Variable (1, 2)\n[[1., 1.]]');
  tape.clear();
  assert.equal(inspect(loss), 'Variable { shape: [ 1, 2 ] }');
  tape.dispose();
});
