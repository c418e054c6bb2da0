import assert from 'node:assert/strict';
import test from 'node:test';

import {
  moved,
  orderEffect,
  orderOf,
  otherOrderOf,
  permuteRows,
  shuffledOrder,
} from './shuffle.js';

test('a shuffled order is a permutation, the same for the same seed', () => {
  for (const length of [0, 1, 2, 11, 128]) {
    const order = shuffledOrder(length, 7);
    assert.deepEqual(
      order.toSorted((a, b) => a - b),
      Array.from({ length }, (_, i) => i),
    );
    assert.deepEqual(shuffledOrder(length, 7), order);
  }
});

test('a shuffled order always moves something', () => {
  for (let seed = 0; seed < 200; seed++) {
    assert.notDeepEqual(shuffledOrder(2, seed), [0, 1]);
    assert.notDeepEqual(shuffledOrder(3, seed), [0, 1, 2]);
  }
});

test('the original order has the seed 0, and a custom order replaces the seed', () => {
  assert.deepEqual(orderOf(4, { order: null, shuffle: 0 }), [0, 1, 2, 3]);
  assert.deepEqual(orderOf(4, { order: null, shuffle: 5 }), shuffledOrder(4, 5));
  assert.deepEqual(orderOf(3, { order: [2, 0, 1], shuffle: 0 }), [2, 0, 1]);
  assert.notDeepEqual(otherOrderOf(4, { order: null, shuffle: 0 }), [0, 1, 2, 3]);
  assert.deepEqual(otherOrderOf(3, { order: [2, 0, 1], shuffle: 0 }), [2, 0, 1]);
});

test('neighbouring seeds give different orders', () => {
  const orders = Array.from({ length: 50 }, (_, seed) => shuffledOrder(11, seed).join());
  assert.equal(new Set(orders).size, 50);
});

test('permuting rows keeps each row intact', () => {
  const matrix = { data: Float32Array.of(1, 2, 3, 4, 5, 6), shape: [3, 2] };
  assert.deepEqual(permuteRows(matrix, [2, 0, 1]), {
    data: Float32Array.of(5, 6, 1, 2, 3, 4),
    shape: [3, 2],
  });
});

test('only functions that see the order are affected by it', () => {
  const x = { data: Float32Array.of(1, 2, 3, 4, 5, 6), shape: [3, 2] };
  const twice = (/** @type {import('attn').Tensor} */ { data, shape }) => ({
    data: data.map((v) => 2 * v),
    shape,
  });
  const { largest, after, before } = orderEffect(twice, x, [2, 0, 1]);
  assert.equal(largest, 0);
  assert.deepEqual(after, before);
  const placed = (/** @type {import('attn').Tensor} */ { data, shape }) => ({
    data: data.map((v, i) => v + i),
    shape,
  });
  const { difference } = orderEffect(placed, x, [2, 0, 1]);
  assert.deepEqual([...difference.data], [4, 4, -2, -2, -2, -2]);
});

test('moving an item shifts the items in between', () => {
  assert.deepEqual(moved([5, 6, 7, 8], 0, 2), [6, 7, 5, 8]);
  assert.deepEqual(moved([5, 6, 7, 8], 3, 0), [8, 5, 6, 7]);
  assert.deepEqual(moved([5, 6, 7, 8], 1, 1), [5, 6, 7, 8]);
});
