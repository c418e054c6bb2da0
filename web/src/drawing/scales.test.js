import assert from 'node:assert/strict';
import test from 'node:test';

import { pathThrough, scaleLinear, scaleLog } from './scales.js';

/** @param {number} actual @param {number} expected */
const close = (actual, expected) =>
  assert.ok(Math.abs(actual - expected) < 1e-9 * Math.abs(expected), `${actual}, not ${expected}`);

test('a linear scale and its inverse agree at the ends and beyond', () => {
  const x = scaleLinear([-1, 3], [10, 50]);
  assert.deepEqual([-1, 0, 3, 5].map(x), [10, 20, 50, 70]);
  assert.equal(x.invert(70), 5);
  const upwards = scaleLinear([0, 4], [100, 20]);
  assert.equal(upwards(1), 80);
  assert.equal(upwards.invert(80), 1);
});

test('a logarithmic scale gives equal ratios equal lengths', () => {
  const x = scaleLog([1e-8, 100], [0, 50]);
  close(x(1e-4), 20);
  close(x(1), 40);
  close(x.invert(30), 0.01);
});

test('an empty domain maps to the middle', () => {
  assert.equal(scaleLinear([2, 2], [0, 10])(2), 5);
  assert.equal(scaleLog([2, 2], [0, 10])(2), 5);
});

test('a path passes through its points', () => {
  const points = /** @type {[number, number][]} */ ([
    [0, 1],
    [2.5, -1 / 3],
  ]);
  assert.equal(pathThrough(points), 'M0,1L2.5,-0.33');
  assert.equal(pathThrough([]), '');
});
