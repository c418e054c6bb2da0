import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from 'attn';

import { finish } from '../../core/finish.js';
import { spectrum } from './spectrum.js';

const attn = await load({ threads: 1 });

/** @param {number} n @param {((i: number) => number)[]} columns */
const tableOf = (n, columns) => ({
  data: Float32Array.from({ length: n * columns.length }, (_, at) =>
    columns[at % columns.length](Math.floor(at / columns.length)),
  ),
  shape: [n, columns.length],
});

test('waves are found at their frequencies with the right shares', () => {
  const wave = (/** @type {number} */ k) => (/** @type {number} */ i) =>
    Math.sin((2 * Math.PI * k * i) / 200 + 0.3);
  const shares = finish(spectrum(attn, tableOf(200, [wave(3), (i) => 2 * wave(90)(i) + 7])));
  assert.equal(shares.length, 100);
  assert.ok(Math.abs(shares[2] - 0.2) < 1e-5, `${shares[2]}`);
  assert.ok(Math.abs(shares[89] - 0.8) < 1e-5, `${shares[89]}`);
});

test('shares add up to one for even and odd numbers of positions, including the last frequency', () => {
  for (const n of [2, 3, 7, 64, 129]) {
    const { data } = attn.randomNormal({ shape: [n, 5], seed: n });
    const sum = finish(spectrum(attn, { data, shape: [n, 5] })).reduce((a, b) => a + b, 0);
    assert.ok(Math.abs(sum - 1) < 1e-5, `${n}: ${sum}`);
  }
  const turns = finish(spectrum(attn, tableOf(8, [(i) => (-1) ** i])));
  assert.ok(Math.abs(turns[3] - 1) < 1e-6);
});

test('a table of equal rows has no waves', () => {
  assert.deepEqual(finish(spectrum(attn, tableOf(6, [() => 5]))), [0, 0, 0]);
});
