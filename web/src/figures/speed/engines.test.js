import assert from 'node:assert/strict';
import test from 'node:test';

import {
  commonLength,
  comparedAt,
  enginesFor,
  jobsOf,
  lengths,
  operations,
  rowsAt,
} from './engines.js';

const engines = enginesFor('relaxed-simd');

/** @param {string} id @param {[number, number][]} points */
const result = (id, points) => ({
  id,
  threads: 1,
  points: points.map(([length, seconds]) => ({ length, seconds, calls: 2 })),
  comparison: { length: comparedAt, difference: 1e-7 },
  failure: '',
});

test('the threaded engine uses the best variant', () => {
  assert.deepEqual(
    engines.map(({ variant }) => variant),
    [null, 'simd128', 'relaxed-simd', 'relaxed-simd-threads'],
  );
  assert.equal(enginesFor('simd128')[3].variant, 'simd128-threads');
});

test('the engine in JavaScript needs no WebAssembly, and all lengths are multiples of its tile size', () => {
  const jobs = jobsOf(engines);
  assert.equal(jobs[0].work, 'scalarAttention');
  assert.equal(jobs[0].variant, undefined);
  for (const length of lengths) assert.equal(length % 4, 0);
  assert.ok(lengths.includes(comparedAt));
});

test('two products in each of 8 heads are counted', () => {
  assert.equal(operations(512), 536870912);
});

test('rows compare engines at one length, and missing measurements stay empty', () => {
  const results = [
    result('javascript', [
      [64, 1e-3],
      [128, 4e-3],
    ]),
    result('simd128', [
      [64, 1e-4],
      [128, 2e-4],
      [256, 8e-4],
    ]),
    { ...result('relaxed', []), failure: 'this engine lacks it' },
  ];
  assert.equal(commonLength(results), 128);
  assert.equal(commonLength([]), null);
  const rows = rowsAt(engines, results, 128);
  assert.deepEqual(
    rows.map(({ speedup }) => speedup),
    [1, 20, null, null],
  );
  assert.ok(Math.abs(Number(rows[1].gflops) - operations(128) / 2e-4 / 1e9) < 1e-9);
  assert.equal(rows[2].failure, 'this engine lacks it');
  assert.ok(rowsAt(engines, [], null).every(({ gflops }) => gflops === null));
});
