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
  assert.deepEqual(
    measured.verdicts.map(({ target, isMet }) => [target, isMet]),
    [
      ['≥ 1.1 ×', true],
      ['≥ 88 % of the machine', false],
    ],
  );
  assert.deepEqual(measured.failed, { broken: 'out of memory' });
});

test('a_row_without_a_peer_shows_why', () => {
  const note = 'PyTorch: no fast path in this build';
  const measured = row(square, 1, { note });
  assert.equal(measured.ratio, undefined);
  assert.match(rowLine(measured), /PyTorch: no fast path in this build/);
});

test('there_is_no_verdict_on_a_ratio_without_a_peer', () => {
  assert.deepEqual(row(square, 1).verdicts, []);
});

test('a_time_limit_includes_its_value', () => {
  const tiny = work('tiny (2,5,4), D 20');
  assert.equal(row(tiny, 1.5e-6).verdicts[0].isMet, true);
  assert.equal(row(tiny, 1.6e-6).verdicts[0].isMet, false);
});

test('the_time_of_a_table_is_limited_relative_to_filling_its_memory', () => {
  const table = work('sinusoidal table 4096 × 512');
  const measured = (/** @type {number} */ seconds) =>
    row(table, seconds, {
      times: { attn: times(seconds), machine: times(1) },
      machine: { amount: table.amount },
    }).verdicts[0];
  assert.equal(measured(2.4).isMet, true);
  assert.equal(measured(2.6).isMet, false);
});

/** @param {MeasuredRow[]} rows @param {RegExp} name */
const derived = (rows, name) => derive(rows).filter((row) => name.test(row.name));

test('causal_attention_is_compared_with_full_attention', () => {
  const full = work('attention (1,8,2048), D 64');
  const causal = work(causalName(2048));
  const [{ measured, verdicts }] = derived([row(full, 2), row(causal, 1)], /^causal/);
  assert.equal(measured, '2.00 ×');
  assert.equal(verdicts[0].isMet, true);
});

test('time_per_square_is_flat_when_time_grows_with_the_square', () => {
  const lengths = [1024, 2048, 4096];
  const rows = (/** @type {number} */ power) =>
    lengths.map((keys) => row(work(`attention (1,1,${keys}), D 64`), keys ** power));
  assert.equal(derived(rows(2), /^time per N²/)[0].verdicts[0].isMet, true);
  assert.equal(derived(rows(2.2), /^time per N²/)[0].verdicts[0].isMet, false);
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
  const found = besideNative(rows);
  assert.deepEqual(
    found.map(({ measured, verdicts }) => [measured, verdicts[0].isMet]),
    [
      ['1.50 ×', true],
      ['3.00 ×', false],
    ],
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

test('a_target_for_the_gain_over_float32_applies_only_to_its_kernels', () => {
  const stored = work('bfloat16 (1,8,512), D 64');
  const measured = (/** @type {string} */ variant) =>
    row(stored, 1, { variant, times: { attn: times(1), float32: times(1.5), PyTorch: times(4) } });
  const targets = (/** @type {string} */ variant) =>
    measured(variant).verdicts.map(({ target, isMet }) => [target, isMet]);
  assert.deepEqual(targets('avx512_bf16'), [['≥ 1.6 × float32', false]]);
  assert.deepEqual(targets('amx_bf16'), [
    ['≥ 1 × float32', true],
    ['≥ 1.5 ×', true],
  ]);
  assert.deepEqual(targets('avx2'), []);
  assert.equal(measured('avx2').bestPeer, 'PyTorch');
  assert.ok(
    derive([measured('avx2')]).some(({ name, measured }) =>
      `${name} ${measured}`.startsWith('against float32: bfloat16 (1,8,512), D 64 1.50 ×'),
    ),
  );
});
