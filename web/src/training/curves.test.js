import assert from 'node:assert/strict';
import test from 'node:test';

import { accuracyCurve, endOf, lossCurve, nearestTo, scoreCurves } from './curves.js';

test('if there are few losses, each is a point at its step', () => {
  assert.deepEqual(lossCurve([3, 2, 1]), { xs: [1, 2, 3], ys: [3, 2, 1] });
  assert.deepEqual(lossCurve([]), { xs: [], ys: [] });
});

test('with many losses each point is the mean of several, and none is omitted', () => {
  const losses = Array.from({ length: 1005 }, (_, i) => i);
  const { xs, ys } = lossCurve(losses, 100);
  assert.ok(xs.length <= 100);
  assert.deepEqual([xs[0], ys[0]], [6, 5]);
  // Step i + 1 has loss i.
  xs.forEach((x, i) => assert.ok(Math.abs(x - 1 - Number(ys[i])) < 1e-9));
  assert.ok(xs[xs.length - 1] > 990);
});

test('accuracy and scores become curves, and the nearest point of a curve is found', () => {
  const evaluations = [0, 10, 20].map((step) => ({
    ...{ step, loss: 1, accuracy: step / 20, places: new Float32Array() },
    heads: [
      { previous: step / 100, followed: 0 },
      { previous: 0, followed: 1 },
    ],
  }));
  const curve = accuracyCurve(evaluations);
  assert.deepEqual(scoreCurves(evaluations, 'previous', 1), [
    { lane: 1, xs: [0, 10, 20], ys: [0, 0.1, 0.2] },
    { lane: 1, xs: [0, 10, 20], ys: [0, 0, 0] },
  ]);
  assert.deepEqual(scoreCurves([], 'previous', 0), []);
  assert.deepEqual(curve.ys, [0, 0.5, 1]);
  assert.equal(nearestTo(curve, 14), 1);
  assert.equal(nearestTo(curve, 100), 2);
  assert.equal(nearestTo({ xs: [], ys: [] }, 1), -1);
});

test('a run is over when all models are right, or when some are right and the others no longer improve', () => {
  const lane = (/** @type {number[]} */ ...accuracies) =>
    accuracies.map((accuracy, i) => ({
      ...{ step: 50 * i, accuracy, loss: 0 },
      ...{ places: new Float32Array(), heads: [] },
    }));
  assert.equal(endOf([lane(0, 1), lane(0, 1)]), 'right');
  assert.equal(endOf([lane(0, 1), lane(0, 0.2)]), '');
  assert.equal(endOf([lane(0, 1, 1, 1, 1), lane(0, 0.1, 0.21, 0.21, 0.2)]), '');
  assert.equal(endOf([lane(0, 1, 1, 1, 1), lane(0.2, 0.21, 0.2, 0.21, 0.2)]), 'still');
  assert.equal(endOf([lane(0, 0.9, 0.9, 0.9, 0.9), lane(0.2, 0.2, 0.2, 0.2, 0.2)]), '');
});
