import assert from 'node:assert/strict';
import { test } from 'node:test';

import { trigramLoss } from './trigramLoss.js';

const vocabulary = 5;
const training = Uint16Array.from([0, 1, 2, 0, 1, 3, 0, 1, 2, 4, 1, 2, 0, 2, 2, 1, 4, 4, 0, 3, 1]);

test('the probabilities of all continuations add up to one', () => {
  for (const [a, b] of [
    [0, 1], // a context that occurs
    [3, 3], // only its second token occurs
    [4, 3],
  ]) {
    let sum = 0;
    for (let c = 0; c < vocabulary; c++) {
      sum += Math.exp(-trigramLoss(training, Uint16Array.from([a, b, c]), vocabulary));
    }
    assert.ok(Math.abs(sum - 1) < 1e-12, `after ${a} ${b}: ${sum}`);
  }
});

test('more frequent tokens are more probable', () => {
  const loss = (/** @type {number} */ next) =>
    trigramLoss(training, Uint16Array.from([0, 1, next]), vocabulary);
  assert.ok(loss(2) < loss(3));
  assert.ok(loss(3) < loss(0));
});
