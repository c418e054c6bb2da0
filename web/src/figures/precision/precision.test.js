import assert from 'node:assert/strict';
import test, { before } from 'node:test';

import { load } from 'attn';

import { finish } from '../../core/finish.js';
import {
  driftOf,
  driftStart,
  largestOf,
  measure,
  positions,
  usualLengths,
  windowLength,
} from './precision.js';

/** @type {import('attn').Attn} */
let attn;
before(async () => {
  attn = await load({ threads: 1 });
});

/** @param {Float32Array} data */
const largest = (data) => data.reduce((most, value) => Math.max(most, value), 0);

test('positions are whole, distinct, ascending, and range from 0 to 2^24', () => {
  assert.equal(positions[0], 0);
  assert.equal(positions.at(-1), 2 ** 24);
  for (let i = 1; i < positions.length; i++) {
    assert.ok(Number.isInteger(positions[i]) && positions[i] > positions[i - 1]);
  }
});

test('the largest error is reported with its position, and errors at the usual lengths of a text are small', () => {
  const { usual } = finish(measure(attn, { width: 32, base: 10000 }));
  const found = largestOf(usual);
  const row = positions.indexOf(found.position);
  assert.equal(found.value, largest(usual.error.data));
  assert.equal(found.value, largest(usual.error.data.subarray(32 * row, 32 * (row + 1))));
  assert.deepEqual(usualLengths, [4096, 65536]);
  for (const error of found.usual) assert.ok(error > 1e-6 && error < 1e-3);
});

test('the initial window has float32 positions and weights that change', () => {
  assert.equal(Math.fround(driftStart + windowLength - 1), driftStart + windowLength - 1);
  const { usual } = finish(measure(attn, { width: 32, base: 10000 }));
  assert.ok(usual.drift[positions.indexOf(driftStart)] > 1e-3);
});

test('the usual code is off by far more than the core, which stays within its bound', () => {
  for (const [width, base] of [
    [32, 10000],
    [5, 50],
  ]) {
    const { usual, core } = finish(measure(attn, { width, base }));
    assert.ok(largest(core.error.data) <= 1.2e-7);
    assert.ok(largest(usual.error.data) > 0.01);
    // The errors of the usual code relative to the core's own encoding.
    usual.error.data.forEach((error, i) => {
      const difference = Math.abs(usual.values.data[i] - core.values.data[i]);
      assert.ok(Math.abs(error - difference) <= 1.2e-7 + 1e-7 * error, `${i}`);
    });
  }
});

test('the core’s weights hardly depend on where a window starts, but the usual code’s do', () => {
  const { usual, core } = finish(measure(attn, { width: 32, base: 10000 }));
  assert.deepEqual(core.weights.shape, [positions.length, windowLength, windowLength]);
  assert.ok(Math.max(...core.drift) < 1e-6);
  assert.ok(Math.max(...usual.drift) > 1e-3);
  assert.equal(usual.drift[0], 0);
});

test('drift is the largest difference from the first matrix', () => {
  const data = Float32Array.of(1, 2, 3, 4, 1, 2.5, 3, 4, 0, 2, 3, 4);
  assert.deepEqual(driftOf({ data, shape: [3, 2, 2] }), [0, 0.5, 1]);
});
