// Tests the options of layers, mainly those that current language models use, on variables. Results
// must be bit-identical to the results for tensors, and the gradients of the input and of every
// parameter must match finite differences.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';

import { load } from 'attn';

import { assertInputGradient, assertParameterGradients } from './differences.js';
import { activations } from './reference.js';

/** @import { Activation, MultiHeadAttentionOptions, TransformerOptions, Variable } from 'attn' */

const attn = await load({ training: true, variant: 'simd128' });
after(() => attn.dispose());

const kWidth = 8;
const x = attn.randomNormal({ shape: [2, 5, kWidth], seed: 1 });
const memory = attn.randomNormal({ shape: [2, 3, kWidth], seed: 2 });

/**
 * @param {any} layer
 * @param {(v: Variable) => Variable} record
 * @param {any} expected  the layer's result for tensors
 */
function assertLearns(layer, record, expected) {
  // Norms, biases and tables are initially ones and zeros.
  const tape = new attn.Tape();
  assert.deepEqual(record(tape.variable(x)).value(), expected);
  tape.dispose();
  assertInputGradient(attn, record, x);
  assertParameterGradients(attn, layer, (tape) => record(tape.variable(x)));
}

/** Changes parameters that are initially ones or zeros. @param {any} layer */
function vary(layer) {
  layer.parameterNames().forEach((/** @type {string} */ name, /** @type {number} */ i) => {
    const { data, shape } = layer.parameter(name);
    const noise = attn.randomNormal({ shape, seed: 100 + i }).data;
    layer.setParameter(name, {
      data: data.map(
        (/** @type {number} */ value, /** @type {number} */ j) => value + noise[j] / 5,
      ),
      shape,
    });
  });
  return layer;
}

/** @type {Record<string, Partial<MultiHeadAttentionOptions>>} */
const kAttentions = {
  'headDim and fewer heads of keys': { headDim: 3, numKvHeads: 2 },
  'qkNorm and rotary positions': { qkNorm: { eps: 0.3 }, positions: { rotary: { base: 500 } } },
  'qkNorm with weights around zero': { qkNorm: { eps: 0.3, zeroCentredWeight: true }, scale: 0.3 },
  'qkNorm of all heads': { qkNorm: { eps: 0.3 }, qkNormAllHeads: true, numKvHeads: 2 },
  'qkNorm without weights': { qkNorm: { eps: 0.3, elementwiseAffine: false }, bias: true },
  'sinks, softcap and a window': { sinks: true, softcap: 2, window: { left: 2, right: 1 } },
  'all biases except the last': { bias: true, outputBias: false },
  "Shaw's tables": { positions: { maxRelativeDistance: 2 } },
  "T5's table and ALiBi": { positions: { t5Bias: { numBuckets: 4, maxDistance: 6 }, alibi: true } },
  'rotary positions of part of the head': {
    headDim: 8,
    positions: { rotary: { rotaryDim: 4, pairing: 'interleaved' } },
  },
  'proportional rotary positions': {
    headDim: 8,
    positions: { rotary: { scaling: { type: 'proportional', partialRotaryFactor: 0.5 } } },
  },
  'rotary positions along two axes': {
    headDim: 8,
    positions: { rotary: { sections: [1, 3], axes: 'axial' } },
  },
};

for (const [name, options] of Object.entries(kAttentions)) {
  test(`attention_with_${name}_learns`, () => {
    const layer = vary(new attn.MultiHeadAttention({ dModel: kWidth, numHeads: 4, ...options }));
    const call = { causal: true };
    const record = (/** @type {Variable} */ v) => layer.forward(v, v, v, call);
    assertLearns(layer, record, layer.forward(x, x, x, call).output);
  });
}

const kGated = { activation: /** @type {const} */ ('silu'), gatedFeedForward: true, bias: false };
// With a small eps, finite differences would be inaccurate, because the slope near zero is steep.
const kMild = { eps: 0.3, zeroCentredWeight: true };
const kRms = { rmsNorm: { eps: 0.3 } };
const kBlock = { dModel: kWidth, numHeads: 4, dimFeedforward: 12 };
/** @type {Record<string, Partial<TransformerOptions>>} */
const kBlocks = {
  'GPT-2': { activation: 'geluTanh', normFirst: true },
  Llama: { ...kGated, ...kRms, normFirst: true, numKvHeads: 2, positions: { rotary: {} } },
  'Qwen 2': {
    ...kGated,
    ...kRms,
    normFirst: true,
    attentionBias: true,
    attentionOutputBias: false,
  },
  'Gemma 3': {
    ...{ ...kGated, activation: 'geluTanh', normFirst: true, normOutputs: true },
    ...{ rmsNorm: kMild, qkNorm: kMild },
    ...{ headDim: 4, scale: 0.4, softcap: 3 },
  },
  'OLMo 2': { ...kGated, ...kRms, normOutputs: true, qkNorm: { eps: 0.3 }, qkNormAllHeads: true },
  'gpt-oss': { ...kGated, ...kRms, normFirst: true, sinks: true, window: { left: 2 } },
  'GPT-NeoX': { activation: 'gelu', normFirst: true, parallelResidual: true },
  'norms of outputs after a post-norm': { activation: 'gelu', normOutputs: true },
};

for (const [name, options] of Object.entries(kBlocks)) {
  test(`a_block_like_${name}_learns`, () => {
    const layer = vary(new attn.TransformerEncoderLayer({ ...kBlock, ...options }));
    const call = { attention: { causal: true } };
    const record = (/** @type {Variable} */ v) => layer.forward(v, call);
    assertLearns(layer, record, layer.forward(x, call).output);
  });
}

test('a_stack_with_different_layers_learns', () => {
  const stack = vary(
    new attn.TransformerEncoder({
      ...{ ...kBlock, ...kGated, ...kRms, qkNorm: { eps: 0.3 }, headDim: 4, finalNorm: true },
      ...{ normFirst: true, positions: { rotary: { base: 100 } } },
      layers: [
        { window: { left: 1 } },
        { positions: { rotary: { base: 1e4 } }, numHeads: 2, scale: 0.3 },
        { positions: {}, gatedFeedForward: false, attentionBias: true, softcap: 4 },
      ],
    }),
  );
  const call = { attention: { causal: true } };
  assertLearns(stack, (v) => stack.forward(v, call), stack.forward(x, call).output);
  const names = stack.layers.map((/** @type {any} */ layer) => layer.parameterNames().length);
  assert.deepEqual(names, [9, 9, 10]);
});

test('a_decoder_with_different_layers_learns', () => {
  const stack = vary(
    new attn.TransformerDecoder({
      ...{ ...kBlock, ...kGated, ...kRms, qkNorm: { eps: 0.3 }, numKvHeads: 2, normOutputs: true },
      layers: [
        { sinks: true, window: { left: 2 } },
        { gatedFeedForward: false, headDim: 3 },
      ],
    }),
  );
  const call = { selfAttention: { causal: true } };
  const record = (/** @type {Variable} */ v) => stack.forward(v, v.tape.constant(memory), call);
  assertLearns(stack, record, stack.forward(x, memory, call).output);
});

test('an_embedding_learns_from_the_output_layer_tied_to_it', () => {
  const embedding = new attn.Embedding({
    ...{ numEmbeddings: 7, embeddingDim: kWidth, scaleBySqrtDim: true, deviation: 0.3 },
  });
  const ids = { data: [1, 2, 6, 2, 0, 3], shape: [2, 3] };
  const norm = vary(new attn.RMSNorm({ width: kWidth, eps: 1e-3 }));
  for (const bias of [false, true]) {
    const tied = vary(new attn.Linear({ tiedTo: embedding, bias }));
    const logits = (/** @type {any} */ tape) =>
      tied.forward(norm.forward(embedding.forward(ids, { tape })));
    const tape = new attn.Tape();
    assert.deepEqual(logits(tape).value(), tied.forward(norm.forward(embedding.forward(ids))));
    tape.dispose();
    assertParameterGradients(attn, embedding, logits);
    if (bias) assertParameterGradients(attn, tied, logits);
    // The output layer sees the optimizer's changes to the embedding.
    const model = { embedding, norm, tied };
    const optimizer = new attn.SGD(model, { lr: 0.1 });
    const losses = [0, 1, 2].map(() => {
      const step = new attn.Tape();
      const loss = attn.crossEntropy(logits(step), { data: [2, 6, 2, 0, 3, 1], shape: [2, 3] });
      step.backward(loss);
      optimizer.step(step);
      const item = loss.item();
      step.dispose();
      return item;
    });
    assert.ok(losses[2] < losses[1] && losses[1] < losses[0], `${losses}`);
  }
});

test('feed_forward_networks_and_norms_learn_with_every_option', () => {
  for (const activation of /** @type {Activation[]} */ (Object.keys(activations))) {
    const sizes = { dModel: kWidth, dimFeedforward: 5, activation };
    for (const layer of [
      vary(new attn.GatedFeedForward({ ...sizes, bias: true })),
      vary(new attn.FeedForward({ ...sizes, outFeatures: 3, bias: false })),
    ]) {
      assertLearns(layer, (v) => layer.forward(v), layer.forward(x));
    }
  }
  for (const layer of [
    vary(new attn.RMSNorm({ width: kWidth, eps: 1e-3, zeroCentredWeight: true })),
    new attn.RMSNorm({ width: kWidth, eps: 1e-3, elementwiseAffine: false }),
    vary(new attn.LayerNorm({ width: kWidth, bias: false })),
    new attn.LayerNorm({ width: kWidth, elementwiseAffine: false }),
  ]) {
    assertLearns(layer, (v) => layer.forward(v), layer.forward(x));
  }
});

test('heads_can_be_split_and_joined_manually_for_attention_over_rows_and_columns', () => {
  // As in vision models, each patch has a row and a column.
  const [batch, patches, numHeads, headDim] = [2, 6, 2, 4];
  const width = numHeads * headDim;
  const positions = { data: [0, 0, 0, 1, 1, 1, 0, 1, 2, 0, 1, 2], shape: [2, 1, patches] };
  const rotary = new attn.RotaryEmbedding({ rotaryDim: headDim, sections: [1, 1], axes: 'axial' });
  const project = new attn.Linear({ inFeatures: width, outFeatures: width, seed: 3 });
  const all = Array.from({ length: numHeads }, (_, h) => h);
  const split = (/** @type {Variable} */ v) => {
    const head = (/** @type {number} */ h) => v.slice(2, h * headDim, (h + 1) * headDim);
    const shape = [batch, 1, patches, headDim];
    return attn.concatenate(
      all.map((h) => head(h).reshape(shape)),
      1,
    );
  };
  const join = (/** @type {Variable} */ v) =>
    attn.concatenate(
      all.map((h) => v.select(1, h)),
      2,
    );
  const attend = (/** @type {Variable} */ v) => {
    const q = split(rotary.forward(project.forward(v), { positions, numHeads }));
    return join(attn.scaledDotProductAttention(q, q, split(v)));
  };
  const picture = attn.randomNormal({ shape: [batch, patches, width], seed: 4 });
  const tape = new attn.Tape();
  const v = tape.variable(picture);
  assert.deepEqual(join(split(v)).value(), picture);
  assert.deepEqual(split(v).select(1, 1).value(), v.slice(2, headDim).value());
  tape.dispose();
  assertInputGradient(attn, attend, picture);
});

test('rotary_embeddings_along_several_axes_are_rotated_back', () => {
  const positions = { data: [0, 1, 2, 3, 4, 5, 5, 6, 6, 9], shape: [2, 1, 5] };
  for (const axes of /** @type {const} */ (['sections', 'interleaved', 'axial'])) {
    const rotary = new attn.RotaryEmbedding({ rotaryDim: kWidth, sections: [2, 2], axes });
    assertInputGradient(attn, (v) => rotary.forward(v, { positions }), x);
  }
});
