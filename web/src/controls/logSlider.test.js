import assert from 'node:assert/strict';
import test from 'node:test';

import { logSlider } from './logSlider.js';

for (const range of [
  { min: 0, max: 1e6 },
  { min: 1, max: 1e4 },
  { min: 2, max: 1e6 },
]) {
  test(`from ${range.min} to ${range.max}: every place is a value, in order, and both ends are reached`, () => {
    const { min, max, step, at, from } = logSlider(range);
    let last = -Infinity;
    for (let place = min; place <= max + step / 2; place += step) {
      const value = from(Math.min(max, place));
      assert.ok(Number.isInteger(value) && value >= last && value <= range.max, `${value}`);
      last = value;
    }
    assert.equal(from(min), range.min);
    assert.equal(from(max), range.max);
    for (const value of [range.min, 2, 10, 60, 1000, range.max])
      assert.equal(from(at(value)), value);
  });
}
