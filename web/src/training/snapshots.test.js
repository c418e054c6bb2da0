import assert from 'node:assert/strict';
import test from 'node:test';

import { Snapshots } from './snapshots.js';

test('snapshots are evenly spaced, start at the first step, and stay few', () => {
  const snapshots = new Snapshots();
  /** @type {Set<number>} all snapshots ever taken */
  const taken = new Set();
  for (let step = 0; step <= 5000; step++) {
    snapshots.offer(step, () => {
      taken.add(step);
      return { w: { data: Float32Array.of(step), shape: [1] } };
    });
  }
  const kept = new Set(Array.from({ length: 5001 }, (_, step) => snapshots.at(step)?.step));
  assert.ok(kept.size > 20 && kept.size <= 48, `${kept.size}`);
  assert.ok(taken.size < 250);
  const steps = [...kept].map(Number);
  assert.equal(steps[0], 0);
  const gaps = new Set(steps.slice(1).map((step, i) => step - steps[i]));
  assert.equal(gaps.size, 1);
  assert.equal(snapshots.at(steps[3] + 1)?.weights.w.data[0], steps[3]);
});
