import assert from 'node:assert/strict';
import test from 'node:test';

import { difference, maxAbsDifference } from './difference.js';

test('a difference has the shape of its operands and does not modify them', () => {
  const [a, b] = [
    { data: Float32Array.of(3, 2, 1), shape: [1, 3] },
    { data: Float32Array.of(1, 1, 4), shape: [1, 3] },
  ];
  assert.deepEqual(difference(a, b), { data: Float32Array.of(2, 1, -3), shape: [1, 3] });
  assert.deepEqual([...a.data], [3, 2, 1]);
});

test('the largest difference is found, and NaN is preserved', () => {
  assert.equal(maxAbsDifference([1, 2, 3], [1, 4.5, 2]), 2.5);
  assert.equal(maxAbsDifference([NaN, 2], [1, 2]), NaN);
  assert.equal(maxAbsDifference([2, NaN, 2], [1, 2, 9]), NaN);
});
