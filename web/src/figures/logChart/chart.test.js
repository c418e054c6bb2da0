import assert from 'node:assert/strict';
import test from 'node:test';

import { domainOf, timeLabel, nearest, powersOfTen, spread } from './chart.js';

/** @param {number[]} ys */
const series = (ys) => ({
  id: 'a',
  name: 'a',
  points: ys.map((y, i) => ({ x: 2 ** i, y })),
  law: null,
});

test('axes extend from one power of ten to another', () => {
  assert.deepEqual(domainOf([series([0.002, 0.03])], [1, 10]), [0.001, 0.1]);
  assert.deepEqual(domainOf([series([0.01])], [1, 10]), [0.01, 0.1]);
  assert.deepEqual(domainOf([series([])], [1e-3, 1]), [1e-3, 1]);
  assert.deepEqual(powersOfTen([1e-3, 10]), [1e-3, 1e-2, 0.1, 1, 10]);
});

test('labels stay apart and inside the chart', () => {
  const places = spread([50, 52, 10, 99, 100], 12, 100);
  const sorted = places.toSorted((a, b) => a - b);
  sorted.slice(1).forEach((place, i) => assert.ok(place - sorted[i] >= 12 - 1e-9));
  assert.ok(sorted[0] >= 0 && sorted[4] <= 100);
  assert.deepEqual(spread([10, 40, 80], 12, 100), [10, 40, 80]);
});

test('durations have suitable units', () => {
  assert.equal(timeLabel(0.0000831), '83.1 µs');
  assert.equal(timeLabel(0.00124), '1.24 ms');
  assert.equal(timeLabel(0.123), '123 ms');
  assert.equal(timeLabel(2.1), '2.1 s');
  assert.equal(timeLabel(1e-5), '10 µs');
});

test('the nearest point is found over all series', () => {
  const all = [series([1, 2, 3]), series([5, 6])];
  const place = (/** @type {{ x: number, y: number }} */ point) => point;
  assert.deepEqual(nearest(all, [1, 2, 4], place, { x: 1.9, y: 5.8 }), { row: 1, column: 1 });
  assert.equal(nearest([series([])], [1], place, { x: 0, y: 0 }), null);
});
