import assert from 'node:assert/strict';
import test from 'node:test';

import { byLayers, sortedBy, sortedByEffect } from './order.js';

const layers = [
  { shares: [{ a: 0.2 }, { a: 0.9 }] },
  undefined,
  { shares: [{ a: null }, { a: 0.5 }] },
];

test('heads are ordered by layer or by descending share', () => {
  assert.deepEqual(byLayers(layers), [
    [
      { layer: 0, head: 0 },
      { layer: 0, head: 1 },
    ],
    [],
    [
      { layer: 2, head: 0 },
      { layer: 2, head: 1 },
    ],
  ]);
  assert.deepEqual(
    sortedBy(layers, 'a').map(({ layer, head }) => `${layer}.${head}`),
    ['0.1', '2.1', '0.0', '2.0'],
  );
});

test('heads are ordered by the size of a change, and heads without a known change come last', () => {
  const effects = [
    { layer: 0, head: 0, change: 0.5 },
    { layer: 0, head: 1, change: NaN },
    { layer: 2, head: 1, change: -2 },
  ];
  assert.deepEqual(
    sortedByEffect(layers, effects).map(({ layer, head }) => `${layer}.${head}`),
    ['2.1', '0.0', '0.1', '2.0'],
  );
});
