import assert from 'node:assert/strict';
import test from 'node:test';

import { neighbour, logSlider } from './logSlider.js';

for (const range of [
  { min: 0, max: 1e6 },
  { min: 1, max: 1e4 },
  { min: 2, max: 1e6 },
]) {
  test(`from ${range.min} to ${range.max}: every position maps to a value, in order, and both ends are reachable`, () => {
    const scale = logSlider(range);
    const { min, max, step, at, from } = scale;
    let last = -Infinity;
    for (let place = min; place <= max + step / 2; place += step) {
      const value = from(Math.min(max, place));
      assert.ok(Number.isInteger(value) && value >= last && value <= range.max, `${value}`);
      last = value;
    }
    assert.equal(from(min), range.min);
    assert.equal(from(max), range.max);
    for (const [side, end] of /** @type {const} */ ([
      [1, range.max],
      [-1, range.min],
    ])) {
      let value = end === range.max ? range.min : range.max;
      for (let presses = 0; value !== end; presses++) {
        const next = neighbour(scale, value, side);
        assert.ok(side * (next - value) > 0 && presses < 200, `${value} to ${next}`);
        value = next;
      }
      assert.equal(neighbour(scale, end, side), end);
    }
    for (const value of [range.min, 2, 10, 60, 1000, range.max])
      assert.equal(from(at(value)), value);
  });
}

test('a range with a fractional minimum keeps two digits', () => {
  const { min, max, at, from } = logSlider({ min: 0.05, max: 5 }, 0.01);
  assert.equal(from(min), 0.05);
  assert.equal(from(max), 5);
  for (const value of [0.05, 0.5, 0.73, 1.2, 5]) assert.equal(from(at(value)), value);
});

test('from any value, the arrow keys reach the values at whole steps', () => {
  const scale = {
    ...{ min: 0, max: 16, step: 0.25, at: Math.log2 },
    from: (/** @type {number} */ place) => Math.round(2 ** place),
  };
  const values = [11];
  while (values[values.length - 1] < 64) {
    values.push(neighbour(scale, values[values.length - 1], 1));
  }
  assert.deepEqual(values, [11, 13, 16, 19, 23, 27, 32, 38, 45, 54, 64]);
  assert.equal(neighbour(scale, 11, -1), 10);
});
