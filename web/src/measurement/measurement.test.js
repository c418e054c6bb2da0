import assert from 'node:assert/strict';
import test from 'node:test';

import { doubleAttention } from './doubleAttention.js';
import { fitPowerLaw } from './powerLaw.js';
import { scalarAttention } from './scalarAttention.js';
import { isTooLong, timeCall } from './time.js';

const pace = { seconds: 0.2, sample: 0.02, longest: 2 };

/**
 * Simulates a call that takes the given time, and a clock with the given resolution.
 * @param {number} milliseconds
 * @param {number} tick
 */
function clockwork(milliseconds, tick) {
  let time = 0;
  return {
    call: () => (time += milliseconds),
    now: () => Math.floor(time / tick) * tick,
    spent: () => time / 1000,
  };
}

test('calls far shorter than the clock’s tick are timed in long enough samples', () => {
  for (const [length, tick] of [
    [0.002, 0.1],
    [0.002, 1],
    [0.3, 0.1],
    [7, 1],
  ]) {
    const { call, now, spent } = clockwork(length, tick);
    const { seconds, calls } = timeCall(call, pace, now);
    const relative = (1000 * seconds) / length;
    assert.ok(Math.abs(relative - 1) <= tick / 20, `${length} ms on ${tick} ms: ${relative}`);
    assert.ok(spent() < 0.3 && calls >= 2);
  }
});

test('a slow first call never leads to a time of zero', () => {
  const { call, now } = clockwork(0.002, 0.1);
  let first = true;
  const timing = timeCall(
    () => {
      for (let i = 0; i < (first ? 200_000 : 1); i++) call();
      first = false;
    },
    pace,
    now,
  );
  assert.ok(Math.abs((1000 * timing.seconds) / 0.002 - 1) < 0.01);
});

test('an interrupted sample never leads to a time of zero', () => {
  for (const heldUp of [1, 2]) {
    const { call, now } = clockwork(0.002, 0.1);
    let count = 0;
    const timing = timeCall(
      () => {
        for (let i = 0; i < (count === heldUp ? 20_000 : 1); i++) call();
        count += 1;
      },
      pace,
      now,
    );
    assert.ok(Math.abs((1000 * timing.seconds) / 0.002 - 1) < 0.01, `${timing.seconds}`);
  }
});

test('a long call is made exactly twice', () => {
  const { call, now } = clockwork(1500, 0.1);
  assert.deepEqual(timeCall(call, pace, now), { seconds: 1.5, calls: 2 });
});

test('sizes that would take too long are skipped', () => {
  const measured = [{ length: 512, seconds: 0.4 }];
  assert.equal(isTooLong([], 1e6, 2, pace), false);
  assert.equal(isTooLong(measured, 1024, 2, pace), false);
  assert.equal(isTooLong(measured, 2048, 2, pace), true);
  assert.equal(isTooLong(measured, 2048, 1, pace), false);
});

test('the fit recovers a power law from the largest sizes', () => {
  const lengths = [16, 32, 64, 128, 256, 512];
  const points = lengths.map((x) => ({ x, y: x < 64 ? 7 : 3e-9 * x ** 1.75 }));
  const law = fitPowerLaw(points);
  assert.ok(law);
  assert.ok(Math.abs(law.exponent - 1.75) < 1e-12);
  assert.ok(Math.abs(law.factor / 3e-9 - 1) < 1e-12);
  assert.deepEqual([law.from, law.to], [64, 512]);
  assert.equal(fitPowerLaw(points.slice(0, 2)), null);
});

test('attention in JavaScript matches its equation, rounded once', () => {
  const shape = { heads: 3, length: 12, dim: 5 };
  const inputs = [1, 2, 3].map((phase) =>
    Float32Array.from({ length: 3 * 12 * 5 }, (_, i) => 2 * Math.sin(phase * (i + 1) ** 2)),
  );
  const [query, key, value] = inputs;
  const exact = doubleAttention(query, key, value, shape);
  const output = scalarAttention(query, key, value, shape);
  const largest = Math.max(...output.map((x, i) => Math.abs(x - exact[i])));
  assert.ok(largest <= 2 ** -24 * 2, `${largest}`);

  // A single query that selects one key: the expected result follows from the equation.
  const one = { heads: 1, length: 4, dim: 1 };
  const q = Float32Array.of(0, 100, 0, 0);
  const k = Float32Array.of(1, -1, -1, -1);
  const v = Float32Array.of(1, 2, 3, 6);
  const rows = [...doubleAttention(q, k, v, one)];
  [3, 1, 3, 3].forEach((expected, i) => assert.ok(Math.abs(rows[i] - expected) < 1e-12));
});
