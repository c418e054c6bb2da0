import assert from 'node:assert/strict';
import { test } from 'node:test';

import { favouriteOf, halfMasked, selfishOf, unequalPair } from './statistics.js';

const weights = {
  data: Float32Array.of(0.5, 0.3, 0.2, 0.6, 0.4, 0, 0, 0, 0),
  rows: 3,
  columns: 3,
};

test('the favourite of a row is its largest weight, and a masked row has none', () => {
  assert.equal(favouriteOf(weights, 1)?.column, 0);
  assert.equal(favouriteOf(weights, 2), null);
});

test('tokens that attend most to themselves are counted', () => {
  assert.deepEqual(selfishOf(weights), { own: 1, all: 3 });
});

test('the pair with the most different weights for each other is found', () => {
  assert.deepEqual(unequalPair(weights), {
    ...{ one: 1, other: 0 },
    ...{ there: weights.data[3], back: weights.data[1] },
  });
  assert.equal(unequalPair({ data: Float32Array.of(1), rows: 1, columns: 1 }), null);
});

test('the row that loses about half to a mask is reported with its largest weights, with and without the mask', () => {
  const free = { ...weights, data: Float32Array.of(0.5, 0.25, 0.25, 0.5, 0, 0.5, 0.25, 0.25, 0.5) };
  const masked = { ...free, data: Float32Array.of(1, 0, 0, 1, 0, 0, 0.25, 0.25, 0.5) };
  assert.deepEqual(halfMasked(masked, free), {
    row: 0,
    pairs: [
      { column: 0, free: 0.5, masked: 1 },
      { column: 1, free: 0.25, masked: null },
      { column: 2, free: 0.25, masked: null },
    ],
  });
  // A row with two visible keys shows how the mask moves weight.
  const more = Float32Array.of(0.5, 0.5, 0, 0.2, 0.2, 0.6, 0.3, 0.3, 0.4);
  const causal = Float32Array.of(1, 0, 0, 0.5, 0.5, 0, 0.3, 0.3, 0.4);
  const moved = halfMasked({ ...free, data: causal }, { ...free, data: more });
  assert.equal(moved?.row, 1);
  assert.equal(halfMasked({ ...free, rows: 0 }, { ...free, rows: 0 }), null);
});
