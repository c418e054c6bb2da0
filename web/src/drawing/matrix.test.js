import assert from 'node:assert/strict';
import test from 'node:test';

import { coarse, largestMagnitude, magnitudeOf, pixelsOfCell } from './matrix.js';

test('the largest magnitude ignores infinities and NaN', () => {
  assert.equal(largestMagnitude(Float32Array.of(1, NaN, -2, -Infinity)), 2);
  assert.equal(largestMagnitude(Float32Array.of(NaN)), 0);
});

test('a coarse matrix has the strongest cell of each group', () => {
  const data = Float32Array.of(1, -2, 0, 3, 0, 1, -Infinity, 0, 0, 0, 0.5, -0.25);
  assert.deepEqual(coarse({ data, rows: 3, columns: 4 }, 2), {
    data: Float32Array.of(-2, 3, 0, 0.5),
    rows: 2,
    columns: 2,
  });
});

test('cells that are small in only one direction get several pixels in the other direction', () => {
  assert.deepEqual(pixelsOfCell(0.9, 11, 1), { isSmall: true, wide: 1, high: 22 });
  assert.deepEqual(pixelsOfCell(0.9, 11, 2), { isSmall: false, wide: 1, high: 1 });
  assert.deepEqual(pixelsOfCell(0.5, 0.5, 1), { isSmall: true, wide: 1, high: 1 });
});

test('a matrix that is small enough is drawn unchanged', () => {
  assert.equal(coarse({ data: new Float32Array(6), rows: 2, columns: 3 }, 3), undefined);
});

test('the typical magnitude ignores a few values that are far larger than the rest', () => {
  const data = Float32Array.from({ length: 1000 }, (_, i) => (i % 2 ? -1 : 1) * (i < 10 ? 500 : 1));
  assert.equal(magnitudeOf([data.subarray(0, 300), data.subarray(300)], 0.98, 500), 1);
  assert.equal(magnitudeOf([data], 1, 500), 500);
  assert.equal(magnitudeOf([new Float32Array(4)], 0.98, 0), 0);
});
