import assert from 'node:assert/strict';
import { test } from 'node:test';

import { assertClose, assertThrows } from './compare.js';
import { everyVariant } from './everyVariant.js';

/**
 * Computes the slopes as the authors of the ALiBi paper do.
 * @param {number} heads
 * @returns {number[]}
 */
function slopes(heads) {
  const lower = 2 ** Math.floor(Math.log2(heads));
  const ofPower = (/** @type {number} */ n) =>
    Array.from({ length: n }, (_, h) => 2 ** ((-8 * (h + 1)) / n));
  const further = ofPower(2 * lower).filter((_, h) => h % 2 === 0);
  return [...ofPower(lower), ...further.slice(0, heads - lower)];
}

await everyVariant('alibi', (attn) => {
  test('slopes_match_the_authors_recipe', () => {
    for (const heads of [1, 2, 3, 8, 12, 16, 20]) {
      assertClose(attn.alibiSlopes(heads), [heads], slopes(heads), 6e-8);
    }
  });

  test('bias_grows_with_the_distance', () => {
    const expected = slopes(3).flatMap((slope) =>
      [0, 1].flatMap((i) => [0, 1, 2, 3].map((j) => -slope * Math.abs(j - i - 2))),
    );
    const options = { numHeads: 3, numQueries: 2, numKeys: 4 };
    for (const diagonal of /** @type {const} */ (['bottomRight', 2])) {
      assertClose(attn.alibiBias({ ...options, diagonal }), [3, 2, 4], expected, 1e-7);
    }
  });

  test('bias_without_elements_has_the_right_shape', () => {
    for (const [numHeads, numQueries, numKeys] of [
      [2, 0, 3],
      [2, 3, 0],
      [2 ** 30, 0, 0],
    ]) {
      const { data, shape } = attn.alibiBias({ numHeads, numQueries, numKeys });
      assert.deepEqual([data.length, shape], [0, [numHeads, numQueries, numKeys]]);
    }
  });

  test('bias_as_a_handle_has_the_same_numbers', () => {
    const options = { numHeads: 3, numQueries: 2, numKeys: 4 };
    const handle = attn.handles.alibiBias(options);
    assert.deepEqual(handle.toTensor(), attn.alibiBias(options));
    handle.dispose();
  });

  test('errors_name_the_argument', () => {
    assertThrows(
      () => attn.alibiSlopes(-1),
      'invalid_argument',
      'numHeads: got -1, needs a whole number of at least 0',
    );
    assertThrows(
      // @ts-expect-error: the test passes wrong arguments
      () => attn.alibiBias({ numHeads: 2 }),
      'invalid_argument',
      'numQueries: got undefined, needs a whole number of at least 0',
    );
  });
});
