import assert from 'node:assert/strict';
import { test } from 'node:test';

import { favouriteOf, selfishOf, unequalPair } from './statistics.js';

const weights = {
  data: Float32Array.of(0.5, 0.3, 0.2, 0.6, 0.4, 0, 0, 0, 0),
  rows: 3,
  columns: 3,
};

test('the favourite of a row is its largest weight, and a masked row has none', () => {
  assert.equal(favouriteOf(weights, 1)?.column, 0);
  assert.equal(favouriteOf(weights, 2), null);
});

test('those who look most at themselves are counted', () => {
  assert.deepEqual(selfishOf(weights), { own: 1, all: 3 });
});

test('the pair is found that gives each other the most different shares', () => {
  assert.deepEqual(unequalPair(weights), {
    ...{ one: 1, other: 0 },
    ...{ there: weights.data[3], back: weights.data[1] },
  });
  assert.equal(unequalPair({ data: Float32Array.of(1), rows: 1, columns: 1 }), null);
});
