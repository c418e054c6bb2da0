import assert from 'node:assert/strict';
import { test } from 'node:test';

import { assertClose, assertThrows } from './compare.js';
import { everyVariant } from './everyVariant.js';
import { Random } from './random.js';
import { attention, linear } from './reference.js';

/** @import { MultiHeadAttention, Tensor } from 'attn' */

/**
 * Rearranges (B, N, H·D) to (B, H, N, D).
 * @param {ArrayLike<number>} data
 * @param {number} batch
 * @param {number} heads
 * @param {number} length
 */
function splitHeads(data, batch, heads, length) {
  const width = data.length / (batch * length);
  const headDim = width / heads;
  const result = new Float64Array(data.length);
  for (let b = 0, at = 0; b < batch; ++b) {
    for (let h = 0; h < heads; ++h) {
      for (let i = 0; i < length; ++i) {
        for (let d = 0; d < headDim; ++d) {
          result[at++] = data[(b * length + i) * width + h * headDim + d];
        }
      }
    }
  }
  return /** @type {any} */ ({ data: result, shape: [batch, heads, length, headDim] });
}

/**
 * @typedef {object} LayerCase
 * @property {MultiHeadAttention} mha
 * @property {[query: Tensor, key: Tensor, value: Tensor]} inputs
 * @property {(b: number, h: number, i: number, j: number) => boolean} [attends]
 */

/**
 * @param {LayerCase} layerCase
 * @param {(x: number) => number} round
 */
function forward({ mha, inputs, attends }, round) {
  const { dModel: width, numHeads } = mha;
  const [batch, numQueries] = inputs[0].shape;
  const weight = mha.parameter('in_proj_weight').data;
  const hasBias = mha.parameterNames().includes('in_proj_bias');
  const bias = hasBias ? mha.parameter('in_proj_bias').data : new Float32Array(3 * width);
  const [query, key, value] = inputs.map(({ data, shape }, i) => {
    const w = weight.slice(i * width * width, (i + 1) * width * width);
    const projected = linear(
      data,
      data.length / width,
      w,
      bias.slice(i * width, (i + 1) * width),
      round,
    );
    return splitHeads(projected, batch, numHeads, shape[1]);
  });
  const { output: heads, weights } = attention({ query, key, value, attends, round });
  const headDim = width / numHeads;
  const joined = new Float64Array(heads.length);
  for (let b = 0, at = 0; b < batch; ++b) {
    for (let h = 0; h < numHeads; ++h) {
      for (let i = 0; i < numQueries; ++i) {
        for (let d = 0; d < headDim; ++d) {
          joined[(b * numQueries + i) * width + h * headDim + d] = heads[at++];
        }
      }
    }
  }
  const outWeight = mha.parameter('out_proj.weight').data;
  const outBias = hasBias ? mha.parameter('out_proj.bias').data : undefined;
  return { output: linear(joined, batch * numQueries, outWeight, outBias, round), weights };
}

/**
 * Computes a layer in double precision, and a tolerance for float32 results whose operations may
 * run in a different order. To find the tolerance, the function repeats the computation with every
 * operation rounded to float32. The tolerance is four times the largest error of the repetition.
 * @param {LayerCase} layerCase
 */
function reference(layerCase) {
  const { output, weights } = forward(layerCase, (x) => x);
  const rounded = forward(layerCase, Math.fround);
  const worst = (/** @type {Float64Array} */ a, /** @type {Float64Array} */ b) =>
    a.reduce((most, x, i) => Math.max(most, Math.abs(x - b[i])), 0);
  return {
    output,
    weights,
    outputError: 4 * worst(output, rounded.output),
    weightError: 4 * worst(weights, rounded.weights),
  };
}

await everyVariant('MultiHeadAttention', (attn) => {
  const random = new Random();

  /**
   * @param {number} queries
   * @param {number} keys
   * @param {number[]} validLens
   */
  const checkD2l = (queries, keys, validLens) => {
    const mha = new attn.MultiHeadAttention({ dModel: 100, numHeads: 5 });
    const x = random.tensor(2, queries, 100);
    const y = keys === queries ? x : random.tensor(2, keys, 100);
    const actual = mha.forward(x, y, y, { validLens, needWeights: true });
    const expected = reference({
      mha,
      inputs: [x, y, y],
      attends: (b, h, i, j) => j < validLens[b],
    });
    assertClose(actual.output, [2, queries, 100], expected.output, expected.outputError);
    assert.ok(actual.weights);
    assertClose(actual.weights, [2, 5, queries, keys], expected.weights, expected.weightError);
    mha.dispose();
  };

  test('d2l_example_with_valid_lens_3_and_2_gives_2_4_100', () => checkD2l(4, 4, [3, 2]));
  test('d2l_example_with_six_keys_gives_2_4_100', () => checkD2l(4, 6, [3, 2]));

  test('biases_are_applied', () => {
    const mha = new attn.MultiHeadAttention({ dModel: 12, numHeads: 3, bias: true, seed: 5 });
    assert.deepEqual(mha.parameterNames(), [
      'in_proj_weight',
      'in_proj_bias',
      'out_proj.weight',
      'out_proj.bias',
    ]);
    mha.setParameter('in_proj_bias', random.tensor(36));
    mha.setParameter('out_proj.bias', random.tensor(12));
    const x = random.tensor(2, 7, 12);
    const expected = reference({ mha, inputs: [x, x, x], attends: (b, h, i, j) => j <= i });
    const actual = mha.forward(x, undefined, undefined, { causal: true });
    assertClose(actual.output, [2, 7, 12], expected.output, expected.outputError);
    mha.dispose();
  });

  test('identity_weights_give_each_head_its_slice', () => {
    const mha = new attn.MultiHeadAttention({ dModel: 6, numHeads: 2, init: 'identity' });
    const x = random.tensor(4, 6);
    const { output, weights } = mha.forward(x, x, x, { needWeights: true });
    for (let h = 0; h < 2; ++h) {
      const slice = (/** @type {Float32Array} */ data) =>
        data.filter((_, i) => Math.floor((i % 6) / 3) === h);
      const part = { data: slice(x.data), shape: [4, 3] };
      const expected = attn.scaledDotProductAttention(part, part, part, { needWeights: true });
      assert.deepEqual(slice(output.data), expected.output.data);
      assert.deepEqual(weights.data.slice(16 * h, 16 * (h + 1)), expected.weights?.data);
    }
    assert.deepEqual(weights.shape, [2, 4, 4]);
    mha.dispose();
  });

  test('shuffled_tokens_give_equally_shuffled_outputs_but_not_with_positions', () => {
    const mha = new attn.MultiHeadAttention({ dModel: 32, numHeads: 4, seed: 1 });
    const x = random.tensor(9, 32);
    const order = [3, 8, 0, 1, 7, 2, 6, 5, 4];
    const shuffle = (/** @type {Tensor} */ { data, shape }) => ({
      data: Float32Array.from(data, (_, i) => data[order[Math.floor(i / 32)] * 32 + (i % 32)]),
      shape,
    });
    const difference = (/** @type {Tensor} */ a, /** @type {Tensor} */ b) =>
      a.data.reduce((most, value, i) => Math.max(most, Math.abs(value - b.data[i])), 0);
    const plain = difference(shuffle(mha.forward(x).output), mha.forward(shuffle(x)).output);
    assert.ok(plain < 1e-6, `${plain}`);
    const forward = (/** @type {Tensor} */ tokens) =>
      mha.forward(attn.positionalEncoding(tokens)).output;
    const positioned = difference(shuffle(forward(x)), forward(shuffle(x)));
    assert.ok(positioned > 1e-2, `${positioned}`);
    mha.dispose();
  });

  test('xavier_weights_depend_only_on_the_seed_and_stay_within_their_bound', () => {
    const make = (/** @type {number} */ seed) => {
      const mha = new attn.MultiHeadAttention({ dModel: 24, numHeads: 2, seed });
      const weight = mha.parameter('in_proj_weight');
      mha.dispose();
      return weight;
    };
    const weight = make(3);
    assert.deepEqual(weight.shape, [72, 24]);
    const bound = Math.sqrt(6 / 48);
    assert.ok(weight.data.every((value) => Math.abs(value) <= bound));
    assert.ok(weight.data.some((value) => value > 0.99 * bound));
    assert.deepEqual(make(3), weight);
    assert.notDeepEqual(make(4), weight);
  });

  test('parameters_are_copied_in_and_out', () => {
    const mha = new attn.MultiHeadAttention({ dModel: 4, numHeads: 2 });
    const weight = random.tensor(4, 4);
    mha.setParameter('out_proj.weight', weight);
    const copy = mha.parameter('out_proj.weight');
    assert.deepEqual(copy, weight);
    copy.data.fill(0);
    assert.deepEqual(mha.parameter('out_proj.weight'), weight);
    mha.dispose();
  });

  test('layers_are_independent', () => {
    const a = new attn.MultiHeadAttention({ dModel: 8, numHeads: 2, seed: 1 });
    const b = new attn.MultiHeadAttention({ dModel: 16, numHeads: 4, seed: 2 });
    const x = random.tensor(3, 8);
    const before = a.forward(x);
    b.forward(random.tensor(5, 16));
    b.dispose();
    assert.deepEqual(a.forward(x), before);
    a.dispose();
  });

  test('disposed_layers_say_that_they_are_disposed', () => {
    const mha = new attn.MultiHeadAttention({ dModel: 8, numHeads: 2 });
    mha[Symbol.dispose]();
    mha.dispose();
    const message = 'MultiHeadAttention: used after dispose()';
    assertThrows(() => mha.forward(random.tensor(3, 8)), 'disposed', message);
    assertThrows(() => mha.parameterNames(), 'disposed', message);
    assertThrows(() => mha.parameter('in_proj_weight'), 'disposed', message);
  });

  test('rotary_positions_restart_in_packed_sequences', () => {
    const layer = { dModel: 8, numHeads: 2, positions: { rotary: {} }, seed: 1 };
    const mha = new attn.MultiHeadAttention(layer);
    const encoder = new attn.TransformerEncoderLayer({ ...layer, dimFeedforward: 16 });
    const x = new Random().tensor(1, 7, 8);
    const attention = { cuSeqlens: [0, 3, 7], causal: true };
    const attended = mha.forward(x, x, x, attention).output;
    const encoded = encoder.forward(x, { attention }).output;
    for (const [begin, end] of [
      [0, 3],
      [3, 7],
    ]) {
      const rows = (/** @type {Tensor} */ { data }) => data.slice(8 * begin, 8 * end);
      const own = { data: rows(x), shape: [1, end - begin, 8] };
      const causal = { causal: true };
      assert.deepEqual(rows(attended), mha.forward(own, own, own, causal).output.data);
      assert.deepEqual(rows(encoded), encoder.forward(own, { attention: causal }).output.data);
    }
  });

  test('errors_name_the_argument_what_it_got_and_what_it_needs', () => {
    const mha = new attn.MultiHeadAttention({ dModel: 8, numHeads: 2 });
    const x = random.tensor(3, 8);
    /** @type {[() => unknown, string, string | RegExp][]} */
    const cases = [
      [
        () => new attn.MultiHeadAttention({ dModel: 10, numHeads: 3 }),
        'invalid_argument',
        'numHeads: got 3, needs a divisor of dModel 10',
      ],
      [
        // @ts-expect-error: the test passes wrong arguments
        () => new attn.MultiHeadAttention(),
        'invalid_argument',
        'options: got undefined, needs a plain object',
      ],
      [
        // @ts-expect-error: the test passes wrong arguments
        () => new attn.MultiHeadAttention({ dModel: 8, numHeads: 2, init: 'ones' }),
        'invalid_argument',
        "init: got 'ones', needs 'xavier', 'identity' or 'zeros'",
      ],
      [
        () => mha.forward(random.tensor(3, 7)),
        'shape_mismatch',
        'query: got width 7, needs 8, the dModel of this layer',
      ],
      [
        () => mha.forward(x, random.tensor(2, 8), x),
        'shape_mismatch',
        'key: got length 2, needs 3, the length of value',
      ],
      [
        () => mha.forward(random.tensor(2, 3, 8), random.tensor(1, 3, 8)),
        'shape_mismatch',
        'key: got batch 1, needs 2, the batch of query',
      ],
      [
        () => mha.forward(x, x, x, { mask: { data: [true], shape: [1, 1, 1, 1, 1] } }),
        'shape_mismatch',
        'mask: got shape (1, 1, 1, 1, 1), needs one that broadcasts to (1, 2, 3, 3)',
      ],
      [
        () => mha.parameter('weight'),
        'not_found',
        'name: got "weight", needs one of: in_proj_weight, out_proj.weight',
      ],
      [
        () => mha.setParameter('out_proj.weight', random.tensor(8, 4)),
        'shape_mismatch',
        'out_proj.weight: got shape (8, 4), needs shape (8, 8)',
      ],
    ];
    for (const [wrong, code, message] of cases) assertThrows(wrong, code, message);
    assert.deepEqual(mha.forward(x).output.shape, [3, 8]);
    mha.dispose();
  });
});
