import assert from 'node:assert/strict';
import { test } from 'node:test';

import { markdown, rowLine } from './report.js';
import { besideNative, derive, judge, kWasmPeer } from './result.js';
import { causalName, kNativeWorks, kTinyGptSteps } from './works.js';

/** @import { MeasuredRow } from './result.js' */
/** @import { Work } from './works.js' */

const times = (/** @type {number} */ best, /** @type {number} */ median = best) => ({
  best,
  median,
  samples: 9,
});

/** @param {string} name */
function work(name) {
  const found = kNativeWorks.find((work) => work.name === name);
  assert.ok(found, name);
  return found;
}

/**
 * @param {Work} work
 * @param {number} seconds
 * @param {Partial<Parameters<typeof judge>[0]>} [more]
 */
const row = (work, seconds, more = {}) =>
  judge({
    ...{ half: 'native', work, variant: 'avx2', threads: 1 },
    times: { attn: times(seconds) },
    ...more,
  });

const square = work('attention (1,8,512), D 64');

test('the_fastest_peer_counts_and_a_failed_peer_is_named', () => {
  const measured = row(square, 1, {
    times: { attn: times(1, 2), slow: times(3), fast: times(1.5, 5), machine: times(0.5) },
    failed: { broken: 'out of memory' },
    machine: { amount: square.amount },
  });
  assert.equal(measured.bestPeer, 'fast');
  assert.equal(measured.ratio, 1.5);
  assert.equal(measured.medianRatio, 3 / 2);
  assert.equal(measured.share, 0.5);
  assert.deepEqual(measured.failed, { broken: 'out of memory' });
});

test('a_row_without_a_peer_shows_why', () => {
  const note = 'PyTorch: no fast path in this build';
  const measured = row(square, 1, { note });
  assert.equal(measured.ratio, undefined);
  assert.match(rowLine(measured), /PyTorch: no fast path in this build/);
});

/** @param {MeasuredRow[]} rows @param {RegExp} name */
const derived = (rows, name) => derive(rows).filter((row) => name.test(row.name));

test('causal_attention_is_compared_with_full_attention', () => {
  const full = work('attention (1,8,2048), D 64');
  const causal = work(causalName(2048));
  const [{ measured }] = derived([row(full, 2), row(causal, 1)], /^causal/);
  assert.equal(measured, '2.00 ×');
});

test('time_per_square_is_flat_when_time_grows_with_the_square', () => {
  const lengths = [1024, 2048, 4096];
  const rows = (/** @type {number} */ power) =>
    lengths.map((keys) => row(work(`attention (1,1,${keys}), D 64`), keys ** power));
  assert.match(derived(rows(2), /^time per N²/)[0].measured, /^1\.00 ×/);
  assert.match(derived(rows(2.5), /^time per N²/)[0].measured, /^2\.00 ×/);
});

test('a_variant_with_threads_is_compared_with_the_same_variant_without_threads', () => {
  const rows = [
    row(square, 4, { half: 'browser', variant: 'simd128' }),
    row(square, 3, { half: 'browser', variant: 'relaxed-simd' }),
    row(square, 2, { half: 'browser', variant: 'simd128-threads', threads: 2 }),
    row(square, 2, { half: 'browser', variant: 'relaxed-simd-threads', threads: 2 }),
    row(square, 9),
  ];
  const gains = derived(rows, /^two threads/).map(({ measured }) => measured);
  assert.deepEqual(gains, ['2.00 ×', '1.50 ×']);
});

test('training_steps_in_the_browser_are_compared_with_native_steps_on_as_many_threads', () => {
  const [step] = kTinyGptSteps;
  const rows = [
    row(step, 2, { variant: kWasmPeer }),
    row(step, 1, { variant: kWasmPeer, threads: 2 }),
    row(step, 0.5),
    row(step, 3, { half: 'browser', variant: 'simd128' }),
    row(step, 3, { half: 'browser', variant: 'simd128-threads', threads: 2 }),
    row(square, 9, { half: 'browser', variant: 'simd128' }),
  ];
  assert.deepEqual(
    besideNative(rows).map(({ measured }) => measured),
    ['1.50 ×', '3.00 ×'],
  );
});

test('markdown_contains_every_row', () => {
  const machine = { date: '2026-01-01', processor: 'p', cores: 2, memory: '8 GB', system: 's' };
  const rows = [row(square, 1), row(work('dense product 512³'), 1)];
  const peaks = [{ name: 'read', threads: 1, rate: 10, unit: 'GB/s' }];
  const text = markdown({
    ...{ machine, versions: {}, isQuick: false, peaks, rows },
    derived: derive(rows),
  });
  for (const { work } of rows) assert.ok(text.includes(work));
  assert.match(text, /10\.0 GB\/s/);
});

test('smaller_types_are_compared_with_float32', () => {
  const stored = row(work('bfloat16 (1,8,512), D 64'), 1, {
    times: { attn: times(1), float32: times(1.5), PyTorch: times(4) },
  });
  assert.equal(stored.bestPeer, 'PyTorch');
  const [{ measured }] = derived([stored], /^against float32: bfloat16 \(1,8,512\), D 64$/);
  assert.equal(measured, '1.50 ×');
});
