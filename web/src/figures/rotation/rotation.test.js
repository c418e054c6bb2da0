import assert from 'node:assert/strict';
import test, { before } from 'node:test';

import { load } from 'attn';

import { blockOf, evenWidth, rotate } from './rotation.js';

/** @type {import('attn').Attn} */
let attn;
before(async () => {
  attn = await load({ threads: 1 });
});

/**
 * Largest allowed distance between a rotated encoding and an encoding computed directly: the sum of
 * both error bounds.
 */
const tolerance = 2.7e-7 + 3.9e-8;

test('rotating by any δ gives the encoding δ positions later', () => {
  for (const [length, width, base, delta] of [
    [60, 32, 10000, 7],
    [1, 2, 2, -3.5],
    [200, 128, 1e6, 1000],
    [7, 5, 50, 0],
  ]) {
    const { shifted, turned, difference, largest } = rotate(attn, { length, width, base, delta });
    assert.deepEqual([shifted.rows, shifted.columns], [length, evenWidth(width)]);
    assert.ok(largest <= tolerance, `${largest}`);
    const written = Math.max(...difference.data.map(Math.abs));
    assert.ok(Math.abs(written - largest) <= 2 ** -48);
    assert.equal(turned.data.length, shifted.data.length);
  }
});

test('blocks are rotations by δ times the frequency of their pair', () => {
  const { matrix } = rotate(attn, { length: 3, width: 32, base: 10000, delta: 5 });
  for (let pair = 0; pair < 16; pair++) {
    const angle = 5 / 10000 ** ((2 * pair) / 32);
    const expected = [Math.cos(angle), Math.sin(angle), -Math.sin(angle), Math.cos(angle)];
    blockOf(matrix, pair).forEach((value, i) => {
      assert.ok(Math.abs(value - expected[i]) <= 1.2e-7, `${pair} ${i}`);
    });
  }
});

test('an odd width is drawn without its last sine', () => {
  assert.deepEqual([1, 2, 3, 32, 33].map(evenWidth), [2, 2, 2, 32, 32]);
});
