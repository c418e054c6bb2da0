import assert from 'node:assert/strict';
import test from 'node:test';

import { joinHeads, splitHeads } from './heads.js';

/** Two heads of width 1 for three tokens. */
const heads = { data: Float32Array.of(1, 2, 3, 10, 20, 30), shape: [2, 3, 1] };

test('joining puts the heads side by side', () => {
  const joined = { data: Float32Array.of(1, 10, 2, 20, 3, 30), shape: [3, 2] };
  assert.deepEqual(joinHeads(heads), joined);
  assert.deepEqual(joinHeads({ ...heads, shape: [1, 2, 3, 1] }), joined);
});

test('splitting returns one matrix per head', () => {
  const [first, second, ...others] = splitHeads(heads);
  assert.deepEqual(first, { data: Float32Array.of(1, 2, 3), shape: [3, 1] });
  assert.deepEqual([...second.data], [10, 20, 30]);
  assert.equal(others.length, 0);
});
