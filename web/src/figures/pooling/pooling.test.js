import assert from 'node:assert/strict';
import test from 'node:test';
import { isDeepStrictEqual } from 'node:util';

import { load } from 'attn';

import {
  additiveAttention,
  attentionPooling,
  maxAbsDifference,
  roundingError,
  sinusoidalEncodingAt,
} from '../../../../tests/browser/reference.js';
import { clampPoint, range, scoringFunctions } from '../../core/points.js';
import { limits } from '../../state/properties/pooling.js';
import { parseSettings, formatSettings } from '../../state/url.js';
import { poolingBy } from './equations.js';
import { drawPoints, error, formOf, noteOn, pool, queries, truth, usesWidth } from './pooling.js';

/** @type {import('./pooling.js').PoolingOptions} */
const options = {
  kernelWidth: 0.7,
  dotInput: 'encoding',
  additiveWeights: 'byHand',
  additiveSeed: 3,
};
const points = drawPoints(12, 5);
const attn = await load({ threads: 1 });
const [xs, ys] = [points.map(({ x }) => x), points.map(({ y }) => y)];

test('training points are seeded, sorted, on the grid and inside the plot', () => {
  assert.deepEqual(drawPoints(40, 1), drawPoints(40, 1));
  assert.notDeepEqual(drawPoints(40, 1), drawPoints(40, 2));
  const many = drawPoints(60, 9);
  many.forEach((point, i) => {
    assert.deepEqual(point, clampPoint(point));
    if (i > 0) assert.ok(point.x >= many[i - 1].x);
  });
  const noise = drawPoints(60, 3).map(({ x, y }) => y - truth(x));
  assert.ok(Math.abs(noise.reduce((sum, value) => sum + value) / 60) < 0.5);
});

test('points survive a round trip through a URL, and invalid text gives no points', () => {
  const moved = [...points, { x: 5, y: -1.05 }, { x: 0, y: 0.07 }];
  assert.deepEqual(
    parseSettings(formatSettings({ ...parseSettings(''), points: moved })).points,
    moved,
  );
  assert.equal(parseSettings('points=').points, null);
  assert.equal(parseSettings('points=x_1_.2_1.2.3').points, null);
  assert.deepEqual(parseSettings('points=999999.-999999').points, [
    { x: range.x.max, y: range.y.min },
  ]);
  assert.equal(parseSettings(`points=${'1.1_'.repeat(5000)}`).points?.length, limits.points.max);
});

test('every scoring function gives weights that sum to one, or to zero if no key is near', () => {
  for (const scoring of scoringFunctions) {
    const { output, weights } = pool(attn, scoring, points, options);
    assert.deepEqual(weights.shape, [queries.length, points.length]);
    assert.deepEqual(output.shape, [queries.length, 1]);
    for (let i = 0; i < queries.length; i++) {
      const row = weights.data.subarray(i * points.length, (i + 1) * points.length);
      const sum = row.reduce((total, weight) => total + weight, 0);
      assert.ok(Math.abs(sum - 1) < 1e-6 || sum === 0, `${scoring}: ${sum}`);
      const pooled = row.reduce((total, weight, j) => total + weight * points[j].y, 0);
      assert.ok(Math.abs(pooled - output.data[i]) < 1e-5);
    }
  }
});

test('scoring functions prefer the nearest key, but dot products of plain numbers prefer the largest key', () => {
  const best = (/** @type {Float32Array} */ row) => row.indexOf(Math.max(...row));
  const nearest = (/** @type {number} */ q) =>
    best(Float32Array.from(points, ({ x }) => -Math.abs(x - q)));
  const row = (/** @type {Float32Array} */ weights, /** @type {number} */ i) =>
    weights.subarray(i * points.length, (i + 1) * points.length);
  for (const scoring of /** @type {const} */ (['scaledDot', 'additive', 'hard'])) {
    const { weights } = pool(attn, scoring, points, options);
    queries.forEach((q, i) =>
      assert.equal(best(row(weights.data, i)), nearest(q), `${scoring} ${q}`),
    );
  }
  const { weights } = pool(attn, 'scaledDot', points, { ...options, dotInput: 'number' });
  queries
    .slice(1)
    .forEach((_, i) => assert.equal(best(row(weights.data, i + 1)), points.length - 1));
});

test('the error is the root mean square distance from the true function', () => {
  assert.equal(error(queries.map(truth)), 0);
  assert.ok(Math.abs(error(queries.map((x, i) => truth(x) + (i % 2 ? 2 : -2))) - 2) < 1e-12);
});

test('every scoring function has an explanation, and its equation contains σ where σ has an effect', () => {
  for (const scoring of scoringFunctions) {
    for (const dotInput of /** @type {const} */ (['encoding', 'number'])) {
      for (const additiveWeights of /** @type {const} */ (['byHand', 'random'])) {
        const given = { ...options, dotInput, additiveWeights };
        assert.ok(noteOn(scoring, given).length > 40);
        const equation = poolingBy[formOf(scoring, given)];
        assert.equal(equation.includes('\\sigma'), usesWidth(scoring, given), scoring);
        const [narrow, wide] = [0.3, 3].map(
          (kernelWidth) => pool(attn, scoring, points, { ...given, kernelWidth }).weights.data,
        );
        assert.equal(!isDeepStrictEqual(narrow, wide), usesWidth(scoring, given), scoring);
      }
    }
  }
  assert.equal(usesWidth('average', options), false);
  assert.equal(usesWidth('scaledDot', options), true);
});

const rows = (/** @type {number[]} */ values) => values.map((value) => [Math.fround(value)]);

/** @param {import('attn').Tensor} tensor @param {number[][]} expected @param {number} tolerance */
function assertClose({ data, shape: [, columns] }, expected, tolerance) {
  const found = expected.map((_, i) => [...data.subarray(i * columns, (i + 1) * columns)]);
  const difference = maxAbsDifference(found, expected);
  assert.ok(difference <= tolerance, `${difference} > ${tolerance}`);
}

/**
 * Distances are exact to within a few roundings. If the scores are off by some amount, the weights
 * are off by at most twice that amount.
 * @param {number} largestScore
 */
const toleranceFor = (largestScore) => 2 * 12 * roundingError * largestScore + 32 * roundingError;

for (const [scoring, width] of /** @type {const} */ ([
  ['gaussian', 1],
  ['gaussian', 0.3],
  ['boxcar', 1],
  ['epanechnikov', 0.9],
  ['average', 1],
  ['hard', 1],
])) {
  test(`weights and pooled values match the reference: ${scoring}, width ${width}`, () => {
    const expected = attentionPooling(rows(queries), rows(xs), ys, scoring, Math.fround(width));
    const { weights, output } = pool(attn, scoring, points, { ...options, kernelWidth: width });
    const tolerance = toleranceFor(scoring === 'gaussian' ? 25 / (2 * width ** 2) : 1 / width);
    assertClose(weights, expected.weights, tolerance);
    assertClose(
      output,
      expected.output.map((value) => [value]),
      60 * tolerance,
    );
  });
}

for (const input of /** @type {const} */ (['encoding', 'number'])) {
  test(`the scaled dot product matches the reference: ${input}`, () => {
    const inputs = (/** @type {number[]} */ values) =>
      input === 'encoding'
        ? sinusoidalEncodingAt(
            values.map((x) => x / 0.5),
            64,
            10000,
          )
        : rows(values);
    const expected = attentionPooling(inputs(queries), inputs(xs), ys, 'scaledDot');
    const { weights } = pool(attn, 'scaledDot', points, {
      ...{ ...options, kernelWidth: 0.5, dotInput: input },
    });
    // If the inputs are encodings, a score is a sum of 64 products of values that are exact to
    // within 1.2e-7, divided by the square root of 64. If the inputs are single numbers, scores are
    // up to 25.
    const tolerance =
      2 *
        (input === 'encoding'
          ? (32 * 1.2e-7 + 34 * 32 * roundingError) / 8
          : 25 * 4 * roundingError) +
      32 * roundingError;
    assertClose(weights, expected.weights, tolerance);
  });
}

for (const kind of /** @type {const} */ (['byHand', 'random'])) {
  test(`additive attention matches the reference: ${kind}`, () => {
    const withOne = (/** @type {number[]} */ values) => values.map((x) => [Math.fround(x), 1]);
    let parameters = {
      queryWeights: [
        [2, 1],
        [2, -1],
      ],
      keyWeights: [
        [-2, 0],
        [-2, 0],
      ],
      valueWeights: [4, -4],
    };
    if (kind === 'random') {
      const layer = new attn.AdditiveAttention({ queryDim: 2, keyDim: 2, numHiddens: 8, seed: 7 });
      const matrix = (/** @type {string} */ name) => {
        const { data, shape } = layer.parameter(name);
        return Array.from({ length: shape[0] }, (_, i) => [
          ...data.subarray(i * shape[1], (i + 1) * shape[1]),
        ]);
      };
      parameters = {
        queryWeights: matrix('W_q.weight'),
        keyWeights: matrix('W_k.weight'),
        valueWeights: matrix('w_v.weight')[0],
      };
      layer.dispose();
    }
    const expected = additiveAttention(withOne(queries), withOne(xs), ys, parameters);
    const { weights } = pool(attn, 'additive', points, {
      ...{ ...options, kernelWidth: 0.5, additiveWeights: kind, additiveSeed: 7 },
    });
    // Scores are at most 8. They are computed from angles of at most 20, which are exact to within
    // a few roundings.
    const tolerance = 2 * 8 * 3 * 20 * roundingError + 32 * roundingError;
    assertClose(weights, expected.weights, tolerance);
  });
}
