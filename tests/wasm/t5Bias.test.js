import assert from 'node:assert/strict';
import { test } from 'node:test';

import { assertClose, assertThrows } from './compare.js';
import { everyVariant } from './everyVariant.js';
import { Random } from './random.js';

/**
 * Returns the bucket of a distance, computed as in Hugging Face's T5.
 * @param {number} distance
 * @param {{ numBuckets: number, maxDistance: number, bidirectional: boolean }} rule
 */
function bucket(distance, { numBuckets, maxDistance, bidirectional }) {
  const half = bidirectional ? numBuckets / 2 : numBuckets;
  const after = bidirectional && distance > 0 ? half : 0;
  const a = bidirectional ? Math.abs(distance) : Math.max(0, -distance);
  const near = Math.floor(half / 2);
  if (a < near) return after + a;
  const far = Math.floor((Math.log(a / near) / Math.log(maxDistance / near)) * (half - near));
  return after + Math.min(half - 1, near + far);
}

await everyVariant('t5Bias', (attn) => {
  const distances = Array.from({ length: 600 }, (_, i) => i - 300);

  test('buckets_match_t5', () => {
    for (const rule of [
      { numBuckets: 32, maxDistance: 128, bidirectional: true },
      { numBuckets: 32, maxDistance: 128, bidirectional: false },
      { numBuckets: 6, maxDistance: 20, bidirectional: true },
    ]) {
      const buckets = attn.t5Buckets(distances, rule);
      assert.ok(buckets instanceof Int32Array);
      assert.deepEqual(
        [...buckets],
        distances.map((distance) => bucket(distance, rule)),
      );
    }
    assert.deepEqual(attn.t5Buckets(Int32Array.of(3)), Int32Array.of(19));
    const matrix = { data: Int32Array.of(3, -1, 0, 9, 70, -40), shape: [2, 3] };
    assert.deepEqual(
      attn.t5Buckets(/** @type {any} */ (matrix)),
      attn.t5Buckets(Array.from(matrix.data)),
    );
  });

  test('bias_contains_the_table_entries_of_the_buckets', () => {
    const table = new Random().tensor(8, 3);
    const rule = { numBuckets: 8, maxDistance: 10, bidirectional: false };
    const expected = [0, 1, 2].flatMap((h) =>
      [0, 1, 2, 3].flatMap((i) =>
        [0, 1, 2, 3, 4].map((j) => table.data[3 * bucket(j - i - 1, rule) + h]),
      ),
    );
    const { maxDistance, bidirectional } = rule;
    const sizes = { numQueries: 4, numKeys: 5, diagonal: 1 };
    const actual = attn.t5Bias(table, { maxDistance, bidirectional, ...sizes });
    assertClose(actual, [3, 4, 5], expected, 0);
  });

  test('errors_name_the_argument', () => {
    assertThrows(
      () => attn.t5Buckets([0.5]),
      'invalid_argument',
      'distances[0]: got 0.5, needs whole numbers between −2^31 and 2^31',
    );
    const table = { data: new Float32Array(6), shape: [3, 2] };
    for (const numQueries of [0, 1]) {
      assertThrows(
        () => attn.t5Bias(table, { numQueries }),
        'invalid_argument',
        /^numBuckets: got 3, needs/,
      );
    }
    assertThrows(
      () => attn.t5Buckets([1], { numBuckets: 3 }),
      'invalid_argument',
      /^numBuckets: got 3, needs/,
    );
  });
});
