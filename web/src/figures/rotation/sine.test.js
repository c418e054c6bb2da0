import assert from 'node:assert/strict';
import { test } from 'node:test';

import { tellingPair, twinOf } from './sine.js';

test('the chosen pair rotates by about a right angle', () => {
  // Angles of a shift by 5 positions: 5, 2.8, 1.6, … rad in 32 columns.
  assert.equal(tellingPair(5, 10000, 32), 2);
  assert.equal(tellingPair(-5, 10000, 32), 2);
});

test('the position that is found has the same sine, but a different sine after the shift', () => {
  const angles = [Math.PI / 6, (5 * Math.PI) / 6, 3];
  const at = (/** @type {number} */ shift) => ({
    data: Float32Array.from(angles.flatMap((a) => [Math.sin(a + shift), Math.cos(a + shift)])),
    ...{ rows: 3, columns: 2 },
  });
  assert.equal(twinOf(at(0), at(Math.PI / 2), 0, 0), 1);
  assert.equal(twinOf(at(0), at(0), 0, 0), null);
});
