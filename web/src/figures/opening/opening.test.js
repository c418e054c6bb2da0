import assert from 'node:assert/strict';
import test from 'node:test';

import { archOf, firstOf, mirrored, strongestKeys, strongestPair, transposed } from './opening.js';

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

test('the strongest pair ignores the weights of tokens for themselves', () => {
  const weights = { data: Float32Array.of(0.75, 0.25, 0.5, 0.5), rows: 2, columns: 2 };
  assert.deepEqual(strongestPair(weights), { query: 1, key: 0, weight: 0.5 });
  assert.equal(strongestPair({ data: Float32Array.of(1), rows: 1, columns: 1 }), null);
});

test('while one token’s arches stand out, all others are faint', () => {
  const [own, other] = [0, 2].map((query) => ({ query, key: 1, weight: 0.5 }));
  const size = { width: 300, height: 100, lit: 0 };
  assert.equal(archOf(own, 3, 0.5, size).alpha, 1);
  assert.ok(archOf(other, 3, 0.5, size).alpha < 0.25);
  assert.equal(archOf(other, 3, 0.5, { ...size, lit: null }).alpha, 1);
});
