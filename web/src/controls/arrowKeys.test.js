import assert from 'node:assert/strict';
import test from 'node:test';

import { neighbour } from './arrowKeys.js';

test('arrow keys move to the next box in a line and to the nearest box in the next line', () => {
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
