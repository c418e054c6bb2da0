// Tests creating, multiplying, slicing and printing tensors.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { inspect } from 'node:util';

import { assertClose, assertThrows } from './compare.js';
import { everyVariant } from './everyVariant.js';

/** @import { Attn } from 'attn' */

await everyVariant('creation', (attn) => {
  test('tensors_can_be_filled_with_a_value_or_a_range', () => {
    assert.deepEqual(attn.zeros([2, 3]), { data: new Float32Array(6), shape: [2, 3] });
    assert.deepEqual(attn.ones([2]), { data: Float32Array.of(1, 1), shape: [2] });
    assert.deepEqual(attn.full([], 0.5), { data: Float32Array.of(0.5), shape: [] });
    assert.deepEqual(attn.arange(3), { data: Float32Array.of(0, 1, 2), shape: [3] });
    assert.deepEqual(attn.arange(1, 2, 0.25).data, Float32Array.of(1, 1.25, 1.5, 1.75));
    assert.deepEqual(attn.arange(2, -1, -1).data, Float32Array.of(2, 1, 0));
    assert.deepEqual(attn.arange(2, 1).shape, [0]);
    const handle = attn.handles.full([2, 2], 7);
    assert.deepEqual(handle.data(), Float32Array.of(7, 7, 7, 7));
    handle.dispose();
    const wrong = /** @type {any} */ (attn);
    assertThrows(
      () => wrong.zeros(3),
      'invalid_argument',
      /^shape: got 3, needs an array of sizes$/,
    );
    assertThrows(() => wrong.full([1]), 'invalid_argument', /^value: got undefined/);
    assertThrows(() => attn.arange(1, 2, 0), 'invalid_argument', /^step: got 0/);
    assertThrows(() => attn.arange(NaN), 'invalid_argument', /^end: got NaN/);
    assertThrows(() => attn.arange(1e12), 'size_overflow', /^arange: /);
  });

  test('a_handle_can_be_created_from_data_and_shape_a_tensor_or_arrays', () => {
    const expected = { data: Float32Array.of(1, 2, 3, 4, 5, 6), shape: [2, 3] };
    const rows = [
      [1, 2, 3],
      [4, 5, 6],
    ];
    for (const handle of [
      attn.tensor(expected.data, [2, 3]),
      attn.tensor(expected),
      attn.tensor(rows),
      attn.tensor([Float32Array.of(1, 2, 3), [4, 5, 6]]),
    ]) {
      assert.deepEqual(handle.toTensor(), expected);
      handle.dispose();
    }
    const flat = attn.tensor([1, 2]);
    assert.deepEqual(flat.shape, [2]);
    flat.dispose();
    const ragged = [[1, 2], [3]];
    const message = 'data: got a row of length 1 in dimension 1, needs 2, the length of the first';
    assertThrows(() => attn.tensor(ragged), 'shape_mismatch', message);
    assertThrows(() => attn.tensor(/** @type {any} */ ('x')), 'invalid_argument', /^data: got 'x'/);
  });

  test('products_are_sums_over_rows_and_columns', () => {
    const a = attn.randomNormal({ shape: [2, 3, 5], seed: 1 });
    const b = attn.randomNormal({ shape: [2, 5, 4], seed: 2 });
    const expected = Float32Array.from({ length: 24 }, (_, at) => {
      const [n, i, j] = [Math.floor(at / 12), Math.floor(at / 4) % 3, at % 4];
      let sum = 0;
      for (let k = 0; k < 5; ++k) sum += a.data[(n * 3 + i) * 5 + k] * b.data[(n * 5 + k) * 4 + j];
      return sum;
    });
    assertClose(attn.matmul(a, b), [2, 3, 4], expected, 1e-5);
    const shared = attn.slice(b, 0, 0, 1);
    const first = attn.matmul(a, { data: shared.data, shape: [5, 4] });
    assertClose(attn.slice(first, 0, 0, 1), [1, 3, 4], expected.subarray(0, 12), 1e-5);
    const handle = attn.handles.matmul(a, b);
    assertClose(handle.toTensor(), [2, 3, 4], expected, 1e-5);
    handle.dispose();
    assertThrows(() => attn.matmul(a, attn.ones([4, 2])), 'shape_mismatch', /^b: /);
    assertThrows(() => attn.matmul(a, attn.ones([2])), 'shape_mismatch', /^b: /);
  });

  test('slices_copy_parts', () => {
    const { data, shape } = attn.arange(24);
    assert.deepEqual(shape, [24]);
    const x = { data, shape: [2, 3, 4] };
    assert.deepEqual(attn.slice(x, 1, 1), {
      data: Float32Array.of(4, 5, 6, 7, 8, 9, 10, 11, 16, 17, 18, 19, 20, 21, 22, 23),
      shape: [2, 2, 4],
    });
    assert.deepEqual(attn.slice(x, -1, 1, 2).data, Float32Array.of(1, 5, 9, 13, 17, 21));
    assert.deepEqual(attn.slice(x, 0, 1, 1), { data: new Float32Array(0), shape: [0, 3, 4] });
    assertThrows(() => attn.slice(x, 3, 0), 'invalid_argument', /^slice: dimension: got 3/);
    assertThrows(() => attn.slice(x, 0, 1, 3), 'invalid_argument', /^slice: got \[1, 3\)/);
  });

  test('tensors_print_by_rows_as_in_pytorch', () => {
    const text = (/** @type {number[]} */ data, shape = [data.length]) =>
      attn.formatTensor({ data, shape });
    assert.equal(text([0.5, -1.25, 2, 13], [2, 2]), '[[ 0.5000, -1.2500],\n [ 2.0000, 13.0000]]');
    assert.equal(text([1, -2, 10]), '[ 1., -2., 10.]');
    assert.equal(text([1e-6, 1]), '[1.0000e-06, 1.0000e+00]');
    assert.equal(text([3e9]), '[3.0000e+09]');
    assert.equal(text([NaN, Infinity, -Infinity, 0.5]), '[   nan,    inf,   -inf, 0.5000]');
    assert.equal(
      attn.formatTensor({ data: attn.arange(8).data, shape: [2, 2, 2] }),
      '[[[0., 1.],\n  [2., 3.]],\n\n [[4., 5.],\n  [6., 7.]]]',
    );
    assert.equal(
      attn.formatTensor(attn.arange(1001)),
      '[   0.,    1.,    2., ...,  998.,  999., 1000.]',
    );
    assert.equal(text([], [0, 4]), '[] of shape (0, 4)');
    assert.equal(text([2.5], []), '2.5000');
    const handle = attn.tensor([
      [1, 2],
      [3, 4],
    ]);
    assert.equal(inspect(handle), 'TensorHandle (2, 2)\n[[1., 2.],\n [3., 4.]]');
    assert.equal(`${handle.slice(1, 0, 1)}`, '[[1.],\n [3.]]');
    assert.equal(attn.formatTensor(handle), `${handle}`);
    handle.dispose();
    assert.equal(inspect(handle), 'TensorHandle { disposed: true }');
  });

  describe('calls_under_other_names_suggest_attns_name', () => {
    const any = /** @type {any} */ (attn);
    const linear = /** @type {any} */ (new attn.Linear({ inFeatures: 1, outFeatures: 1 }));
    /** @type {[string, () => unknown, string][]} */
    const calls = [
      ['softmax', () => any.softmax([1]), 'maskedSoftmax(x)'],
      ['relu', () => any.relu([1]), "applyActivation(x, 'relu')"],
      ['DotProductAttention', () => new any.DotProductAttention(0.5), 'scaledDotProductAttention'],
      ['PositionalEncoding', () => new any.PositionalEncoding(8), 'positionalEncoding(x'],
      ['predict', () => linear.predict([1]), 'forward(…)'],
      ['parameters', () => linear.parameters(), 'parameterNames()'],
    ];
    for (const [name, call, instead] of calls) {
      test(name, () => {
        const message = new RegExp(`^${name}: attn has no such function; use `);
        assertThrows(call, 'unsupported', message);
        assert.throws(call, (/** @type {Error} */ { message }) => message.includes(instead));
      });
    }
  });

  test('options_under_other_names_suggest_attns_name', () => {
    const MultiHeadAttention = /** @type {any} */ (attn.MultiHeadAttention);
    const x = attn.zeros([1, 2, 4]);
    const attend = (/** @type {any} */ options) => attn.scaledDotProductAttention(x, x, x, options);
    /** @type {[() => unknown, string, string][]} */
    const cases = [
      [() => new MultiHeadAttention({ numHiddens: 8 }), 'numHiddens', "'dModel'"],
      [() => new MultiHeadAttention({ embed_dim: 8 }), 'embed_dim', "'dModel'"],
      [() => new MultiHeadAttention({ dModel: 8, num_heads: 2 }), 'num_heads', "'numHeads'"],
      [() => new MultiHeadAttention({ dModel: 8, n_heads: 2 }), 'n_heads', "'numHeads'"],
      [() => attend({ is_causal: true }), 'is_causal', "'causal'"],
      [() => attend({ attn_mask: x }), 'attn_mask', "'mask'"],
      [() => attend({ attentionMask: x }), 'attentionMask', "'mask' or 'validLens'"],
      [() => attend({ dropout_p: 0.5 }), 'dropout_p', "'dropout'"],
    ];
    for (const [call, name, needs] of cases) {
      const message = `options: '${name}' is not an option; use ${needs}`;
      assertThrows(call, 'invalid_argument', message);
    }
  });

  test('masks_in_other_forms_explain_the_right_form', () => {
    const x = attn.zeros([1, 2, 4]);
    const attend = (/** @type {any} */ mask) => () =>
      attn.scaledDotProductAttention(x, x, x, { mask });
    assertThrows(
      attend({ data: Float32Array.of(0, -Infinity), shape: [2] }),
      'invalid_argument',
      /^mask\.data: got an instance of Float32Array, needs .*; to add numbers to the scores, use the option bias$/,
    );
    assertThrows(attend('causal'), 'invalid_argument', /^mask: got 'causal', needs a mask/);
  });

  test('dropout_may_be_a_number_and_lengths_an_array', () => {
    const x = attn.randomNormal({ shape: [2, 3, 4] });
    const dropout = { probability: 0.5 };
    assert.deepEqual(attn.applyDropout(x, 0.5), attn.applyDropout(x, dropout));
    assert.deepEqual(
      attn.scaledDotProductAttention(x, x, x, { dropout: 0.5, validLens: [3, 2] }),
      attn.scaledDotProductAttention(x, x, x, { dropout, validLens: Int32Array.of(3, 2) }),
    );
    const feedForward = new attn.FeedForward({ dModel: 4, dimFeedforward: 8 });
    assert.deepEqual(feedForward.forward(x, { dropout: 0.5 }), feedForward.forward(x, { dropout }));
    assertThrows(() => attn.applyDropout(x, 2), 'invalid_argument', /^dropout: got 2, needs/);
    feedForward.dispose();
  });
});
