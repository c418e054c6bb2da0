import assert from 'node:assert/strict';
import test from 'node:test';

import { headStatistics } from './statistics.js';

const tensor = (/** @type {number[]} */ values, /** @type {number[]} */ shape) => ({
  data: Float32Array.from(values),
  shape,
});

test('uniform attention has the entropy of its number of keys', () => {
  const weights = tensor(Array(16).fill(0.25), [1, 4, 4]);
  assert.deepEqual(headStatistics(weights, 0), { entropy: 2, distance: 1.25, largest: 0.25 });
});

test('attention to a single key has entropy 0, and the second head can be selected', () => {
  const weights = tensor([1, 0, 0, 1, 0, 1, 1, 0], [2, 2, 2]);
  assert.deepEqual(headStatistics(weights, 0), { entropy: 0, distance: 0, largest: 1 });
  assert.deepEqual(headStatistics(weights, 1), { entropy: 0, distance: 1, largest: 1 });
});

test('queries that attend to nothing do not count', () => {
  const weights = tensor([0, 0, 0.5, 0.5], [1, 2, 2]);
  assert.deepEqual(headStatistics(weights, 0), { entropy: 1, distance: 0.5, largest: 0.5 });
  assert.equal(headStatistics(tensor([0, 0, 0, 0], [1, 2, 2]), 0).entropy, 0);
});
