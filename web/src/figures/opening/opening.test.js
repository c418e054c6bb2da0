import assert from 'node:assert/strict';
import test from 'node:test';

import { firstOf, largestBetween, mirrored, strongestKeys, transposed } from './opening.js';

const matrix = { data: Float32Array.of(1, 2, 3, 4, 5, 6), rows: 2, columns: 3 };

test('a part of a matrix contains its first rows and columns', () => {
  assert.deepEqual(firstOf(matrix, 2, 2), {
    ...{ data: Float32Array.of(1, 2, 4, 5), rows: 2, columns: 2 },
  });
  assert.deepEqual(firstOf(matrix, 9, 9), matrix);
});

test('transposing turns rows into columns', () => {
  const turned = transposed(matrix);
  assert.deepEqual(turned, { data: Float32Array.of(1, 4, 2, 5, 3, 6), rows: 3, columns: 2 });
  assert.deepEqual(transposed(turned), matrix);
});

test('mirroring reverses the columns', () => {
  assert.deepEqual(mirrored(matrix).data, Float32Array.of(3, 2, 1, 6, 5, 4));
  assert.deepEqual(mirrored(mirrored(matrix)), matrix);
});

test('the strongest keys of a query are sorted by descending weight', () => {
  const weights = { data: Float32Array.of(0.25, 0.75, 0, 0.5, 0, 0.5), rows: 2, columns: 3 };
  assert.deepEqual(strongestKeys(weights, 0, 3), [
    { key: 1, weight: 0.75 },
    { key: 0, weight: 0.25 },
  ]);
  assert.deepEqual(
    strongestKeys(weights, 1, 1).map(({ key }) => key),
    [0],
  );
});

test('the largest weight between two tokens ignores the weights of tokens for themselves', () => {
  const weights = { data: Float32Array.of(0.75, 0.25, 0.5, 0.5), rows: 2, columns: 2 };
  assert.equal(largestBetween(weights), 0.5);
  assert.equal(largestBetween({ data: Float32Array.of(1), rows: 1, columns: 1 }), 0);
});
