import assert from 'node:assert/strict';
import test from 'node:test';

import { coarse } from './matrix.js';

test('a matrix is drawn by the strongest of each group of cells', () => {
  const data = Float32Array.of(1, -2, 0, 3, 0, 1, -Infinity, 0, 0, 0, 0.5, -0.25);
  assert.deepEqual(coarse({ data, rows: 3, columns: 4 }, 2), {
    data: Float32Array.of(-2, 3, 0, 0.5),
    rows: 2,
    columns: 2,
  });
});

test('one that is small enough is drawn as it is', () => {
  assert.equal(coarse({ data: new Float32Array(6), rows: 2, columns: 3 }, 3), undefined);
});
