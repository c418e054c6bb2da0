import assert from 'node:assert/strict';
import test from 'node:test';

import { byLayers, neighbour, sortedBy } from './order.js';

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

test('arrow keys lead to the next picture in a line and to the nearest in the next line', () => {
  const boxes = [0, 10, 20].flatMap((left) => [{ left, top: 0 }]).concat([{ left: 4, top: 9 }]);
  assert.equal(neighbour(boxes, 0, 'ArrowRight'), 1);
  assert.equal(neighbour(boxes, 0, 'ArrowLeft'), 0);
  assert.equal(neighbour(boxes, 2, 'ArrowDown'), 3);
  assert.equal(neighbour(boxes, 3, 'ArrowUp'), 0);
  assert.equal(neighbour(boxes, 3, 'ArrowDown'), 3);
  assert.equal(neighbour(boxes, 1, 'End'), 3);
  assert.equal(neighbour(boxes, 1, 'Home'), 0);
  assert.equal(neighbour(boxes, 1, 'x'), null);
});
