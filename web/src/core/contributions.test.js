import assert from 'node:assert/strict';
import test from 'node:test';

import { largestPart, largestParts, partsOf } from './contributions.js';

const contributions = {
  ...{ embedding: 1, bias: -0.25, total: 0 },
  layers: [
    { heads: Float64Array.of(0.5, -2), feedForward: 3 },
    { heads: Float64Array.of(0.125), feedForward: -0.0625 },
  ],
};

test('the parts are in the order of the model, with the biases last', () => {
  const parts = partsOf(contributions);
  assert.deepEqual(
    parts.map(({ kind, layer, head, value }) => [kind, layer, head, value]),
    [
      ['embedding', 0, 0, 1],
      ['head', 0, 0, 0.5],
      ['head', 0, 1, -2],
      ['feedForward', 0, 0, 3],
      ['head', 1, 0, 0.125],
      ['feedForward', 1, 0, -0.0625],
      ['bias', 0, 0, -0.25],
    ],
  );
  assert.deepEqual(largestParts(parts, 7), parts);
});

test('parts that are left out are added up', () => {
  const parts = partsOf(contributions);
  const largest = largestParts(parts, 3);
  assert.deepEqual(
    largest.map(({ value }) => value),
    [1, -2, 3, 0.3125],
  );
  assert.equal(largest[3].kind, 'others');
});

test('the largest part is a part of the model, not a sum of parts', () => {
  const parts = partsOf({ embedding: 3, layers: [], bias: -4, total: -1 });
  assert.deepEqual(largestPart(parts), parts[1]);
});
