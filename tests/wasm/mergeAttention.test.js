import assert from 'node:assert/strict';
import { test } from 'node:test';

import { assertClose, assertThrows } from './compare.js';
import { everyVariant } from './everyVariant.js';
import { Random } from './random.js';

await everyVariant('mergeAttention', (attn) => {
  const random = new Random();
  const needs = /** @type {const} */ ({ needLogSumExp: true });

  test('merged_parts_of_the_keys_equal_the_whole', () => {
    const [query, key, value] = [5, 9, 9].map((length) => random.tensor(2, 3, length, 8));
    /** @param {{ data: Float32Array, shape: readonly number[] }} x @param {number} from @param {number} to */
    const keys = (x, from, to) => ({
      data: Float32Array.from({ length: 6 * (to - from) * 8 }, (_, i) => {
        const head = Math.floor(i / ((to - from) * 8));
        return x.data[head * 72 + from * 8 + (i % ((to - from) * 8))];
      }),
      shape: [2, 3, to - from, 8],
    });
    /** @param {number} from @param {number} to */
    const attend = (from, to) =>
      attn.scaledDotProductAttention(query, keys(key, from, to), keys(value, from, to), {
        ...needs,
        causal: true,
        diagonal: 2 - from,
      });
    const whole = attend(0, 9);
    const [a, b, c] = [attend(0, 4), attend(4, 5), attend(5, 9)];
    const ab = attn.mergeAttention(a.output, a.logSumExp, b.output, b.logSumExp);
    const merged = attn.mergeAttention(ab.output, ab.logSumExp, c.output, c.logSumExp);
    assertClose(merged.output, [2, 3, 5, 8], whole.output.data, 2e-6);
    assertClose(merged.logSumExp, [2, 3, 5], whole.logSumExp.data, 2e-6);
  });

  test('a_part_with_nothing_to_attend_to_is_not_read', () => {
    const some = { data: [1, 2, 3, 4], shape: [2, 2] };
    const none = { data: [NaN, NaN, NaN, NaN], shape: [2, 2] };
    const sums = [
      { data: [5, -6], shape: [2] },
      { data: [-Infinity, -Infinity], shape: [2] },
    ];
    const { output, logSumExp } = attn.mergeAttention(none, sums[1], some, sums[0]);
    assert.deepEqual([...output.data], some.data);
    assert.deepEqual([...logSumExp.data], sums[0].data);
  });

  test('mismatched_shapes_are_errors', () => {
    const [x, sum] = [random.tensor(2, 3, 4), random.tensor(2, 3)];
    assertThrows(
      () => attn.mergeAttention(x, x, x, sum),
      'shape_mismatch',
      /^logSumExpA: got shape \(2, 3, 4\)/,
    );
    assertThrows(
      () => attn.mergeAttention(x, sum, random.tensor(2, 3, 5), sum),
      'shape_mismatch',
      /^outputB: got shape \(2, 3, 5\), needs shape \(2, 3, 4\)/,
    );
  });
});
