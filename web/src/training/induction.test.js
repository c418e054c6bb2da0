import assert from 'node:assert/strict';
import test from 'node:test';

import { headScores } from './induction.js';

test('heads that attend only to the previous token, or to the token after the last occurrence, have a score of 1', () => {
  const length = 8;
  const ids = Int32Array.of(5, 1, 2, 3, 9, 1, 2, 3);
  const back = new Float32Array(length * length);
  const followed = new Float32Array(length * length);
  for (let i = 1; i < length; i++) back[i * length + i - 1] = 1;
  for (let i = 5; i < length; i++) followed[i * length + i - 3] = 1;
  const data = Float32Array.of(...back, ...followed);
  const scores = headScores([{ data, shape: [1, 2, length, length] }], ids, (i) => i >= 5);
  assert.deepEqual(scores, [
    { previous: 1, followed: 0 },
    { previous: 0, followed: 1 },
  ]);
});
