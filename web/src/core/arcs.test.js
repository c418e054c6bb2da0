import assert from 'node:assert/strict';
import test from 'node:test';

import { strongestArcs } from './arcs.js';

const matrix = (/** @type {number[]} */ values, /** @type {number} */ columns) => ({
  data: Float32Array.from(values),
  rows: values.length / columns,
  columns,
});

test('the strongest connections come last, and there are only as many as can be drawn', () => {
  const weights = matrix([0.5, 0.25, 0.25, 0.125, 0.75, 0.125, 0, 0, 1], 3);
  assert.deepEqual(strongestArcs(weights, null, 2), [
    { query: 1, key: 1, weight: 0.75 },
    { query: 2, key: 2, weight: 1 },
  ]);
  assert.equal(strongestArcs(weights, null, 100).length, 7, 'what is zero is not drawn');
});

test('arcs can be restricted to one query', () => {
  const arcs = strongestArcs(matrix([0.5, 0.5, 0.25, 0.75], 2), 1, 10);
  assert.deepEqual(
    arcs.map(({ query, key }) => [query, key]),
    [
      [1, 0],
      [1, 1],
    ],
  );
});

test('weights that are not numbers have no arcs', () => {
  assert.deepEqual(strongestArcs(matrix([NaN, 0.5, NaN, NaN], 2), null, 10), [
    { query: 0, key: 1, weight: 0.5 },
  ]);
});

test('equal weights and a query that attends to nothing are handled', () => {
  assert.equal(strongestArcs(matrix(Array(10_000).fill(0.01), 100), null, 500).length, 500);
  assert.deepEqual(strongestArcs(matrix([0, 0, 0, 0], 2), 0, 10), []);
});
