import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from 'attn';

import { stretchOf } from './stretch.js';

const attn = await load({ threads: 1 });
const settings = { dim: 32, base: 10000, factor: 4, trained: 8192 };

/**
 * For each scaling rule, the numbers by which it divides the speeds of the hands (pairs of
 * columns).
 * @param {Partial<typeof settings>} [other]
 */
function slowedBy(other) {
  const stretch = stretchOf(attn, { ...settings, ...other });
  assert.ok(stretch);
  return Object.fromEntries(stretch.rules.map(({ name, slowed }) => [name, slowed]));
}

test('linear scaling slows all pairs equally, and NTK slows the slower pairs more', () => {
  const { linear, dynamic } = slowedBy();
  for (const by of linear) assert.ok(Math.abs(by - 4) < 1e-12);
  assert.equal(dynamic[0], 1);
  dynamic.slice(1).forEach((by, hand) => assert.ok(by > dynamic[hand]));
});

test('YaRN and Llama 3 do not change fast pairs, and slow pairs that never complete a turn by the whole factor', () => {
  const { yarn, llama3 } = slowedBy();
  const turns = Array.from({ length: 16 }, (_, j) => 8192 / (2 * Math.PI * 10000 ** (j / 16)));
  turns.forEach((often, hand) => {
    if (often > 4) assert.ok(Math.abs(llama3[hand] - 1) < 1e-12, `Llama 3, hand ${hand}`);
    if (often < 1) assert.ok(Math.abs(llama3[hand] - 4) < 1e-9, `Llama 3, hand ${hand}`);
  });
  assert.equal(yarn[0], 1);
  assert.ok(Math.abs(yarn[15] - 4) < 1e-9);
  // YaRN interpolates evenly from the pair with 32 turns (pair 6) to the pair with one turn (pair
  // 13).
  const share = yarn.map((by) => (1 - 1 / by) / (1 - 1 / 4));
  for (let hand = 7; hand <= 12; hand++) assert.ok(Math.abs(share[hand] - (hand - 6) / 7) < 1e-9);
});

test('a head with fewer than two pairs of columns has nothing to compare', () => {
  for (const dim of [1, 2, 3]) assert.equal(stretchOf(attn, { ...settings, dim }), null);
});
