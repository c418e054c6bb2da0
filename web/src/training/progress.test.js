import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Progress } from './progress.js';

/** @param {number} step @param {number} accuracy */
const evaluation = (step, accuracy) => ({
  ...{ step, accuracy, loss: 1, places: new Float32Array(), heads: [] },
});

test('a second evaluation of a step replaces the first', () => {
  const progress = new Progress();
  progress.add({
    ...{ step: 20, losses: new Float32Array(20), milliseconds: 1 },
    evaluations: [evaluation(10, 0.1), evaluation(20, 0.2)],
  });
  progress.evaluated(evaluation(20, 0.5));
  assert.deepEqual(
    progress.evaluations.map(({ step, accuracy }) => [step, accuracy]),
    [
      [10, 0.1],
      [20, 0.5],
    ],
  );
});

test('going back to a step discards everything after it', () => {
  const progress = new Progress();
  progress.add({
    ...{ step: 3, losses: Float32Array.of(3, 2, 1), milliseconds: 1 },
    evaluations: [0, 2, 3].map((step) => evaluation(step, 0)),
  });
  progress.goBack(2);
  assert.equal(progress.step, 2);
  assert.deepEqual(progress.losses, [3, 2]);
  assert.deepEqual(
    progress.evaluations.map(({ step }) => step),
    [0, 2],
  );
});
