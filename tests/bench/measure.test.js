import assert from 'node:assert/strict';
import { test } from 'node:test';

import { attentionRow, fillNormal, maxAbsDifference, takeTurns } from './measure.js';
import { kBrowserWorks, kNativeWorks } from './works.js';

const pace = { rounds: 4, batchSeconds: 1, sampleSeconds: 1e-3, settle: async () => {} };

/** A contestant on a simulated clock. Its calls take the times that `secondsOf` returns. */
const contestant = (
  /** @type {string} */ name,
  /** @type {(call: number) => number} */ secondsOf,
) => {
  let call = 0;
  const run = (/** @type {number} */ repeats) => {
    let total = 0;
    for (let i = 0; i < repeats; ++i) total += secondsOf(call++);
    return total;
  };
  return { name, run };
};

test('best_and_median_refer_to_single_calls', async () => {
  const times = await takeTurns(
    [contestant('steady', () => 0.5), contestant('short', () => 1e-6)],
    pace,
  );
  assert.deepEqual(times.steady, { best: 0.5, median: 0.5, samples: 8 });
  assert.ok(Math.abs(times.short.best - 1e-6) < 1e-12);
  assert.ok(times.short.samples >= 4 * 100);
});

test('a_call_longer_than_a_batch_runs_once_per_round', async () => {
  const { long } = await takeTurns([contestant('long', (call) => (call === 3 ? 0.7 : 0.9))], pace);
  assert.deepEqual(long, { best: 0.7, median: 0.9, samples: 4 });
});

test('normal_numbers_have_mean_0_and_the_requested_deviation', () => {
  const numbers = fillNormal(new Float32Array(100001), 5, 2);
  const mean = numbers.reduce((sum, x) => sum + x, 0) / numbers.length;
  const meanSquare = numbers.reduce((sum, x) => sum + x * x, 0) / numbers.length;
  assert.ok(Math.abs(mean) < 0.03);
  assert.ok(Math.abs(meanSquare - 4) < 0.1);
  assert.notDeepEqual(numbers, fillNormal(new Float32Array(100001), 6, 2));
});

test('a_nan_difference_is_preserved', () => {
  assert.equal(maxAbsDifference([1, 2], [1, 4]), 2);
  assert.ok(Number.isNaN(maxAbsDifference([1, NaN, 3], [1, 2, 3])));
  assert.ok(Number.isNaN(maxAbsDifference([1], [1, 2])));
});

test('a_row_of_attention_is_a_weighted_mean_of_the_attended_values', () => {
  const shape = { batch: 1, heads: 1, queries: 3, keys: 3, dim: 1 };
  const [q, k, v] = [
    [1, 1, 1],
    [0, Math.log(3), 0],
    [1, 2, 10],
  ].map((x) => new Float32Array(x));
  const near = (/** @type {Float64Array} */ [value], /** @type {number} */ expected) =>
    assert.ok(Math.abs(value - expected) < 1e-6);
  near(attentionRow(shape, q, k, v, 0), (1 + 3 * 2 + 10) / 5);
  near(attentionRow({ ...shape, causal: true }, q, k, v, 1), (1 + 3 * 2) / 4);
  near(attentionRow({ ...shape, window: 1 }, q, k, v, 1), 2);
});

test('query_heads_share_the_keys_of_their_group', () => {
  const shape = { batch: 1, heads: 4, kvHeads: 2, queries: 1, keys: 1, dim: 1 };
  const [q, k, v] = [
    [0, 0, 0, 0],
    [0, 0],
    [5, 7],
  ].map((x) => Float32Array.from(x));
  const values = [0, 1, 2, 3].map((head) => attentionRow(shape, q, k, v, head)[0]);
  assert.deepEqual(values, [5, 5, 7, 7]);
});

test('operations_are_counted_for_attended_pairs_only', () => {
  for (const work of [...kNativeWorks, ...kBrowserWorks]) {
    if (work.kind !== 'attention' || work.unit !== 'GFLOP/s') continue;
    const { batch, heads, queries, keys, dim, causal, window, columnSums } = work.shape;
    let pairs = 0;
    for (let i = 0; i < queries; ++i) {
      if (causal) pairs += i + 1;
      else if (window) pairs += Math.min(i + 1, window);
      else pairs += keys;
    }
    // With column sums, the scores are computed twice.
    const operations = columnSums ? 6 : 4;
    assert.equal(work.amount, operations * batch * heads * pairs * dim, work.name);
  }
});

test('every_work_has_a_unique_name', () => {
  for (const works of [kNativeWorks, kBrowserWorks]) {
    assert.equal(new Set(works.map(({ name }) => name)).size, works.length);
  }
});
