import assert from 'node:assert/strict';
import { before, test } from 'node:test';

import { load } from 'attn';

import { byWidth, scaledBy, slopeOf } from './scale.js';

/** @type {import('attn').Attn} */
let attn;
before(async () => {
  attn = await load();
});

test('the slope of a softmax is the sum of w·(1 − w), and masked rows have none', () => {
  const data = Float32Array.of(0.25, 0.75, 0, 0);
  assert.ok(Math.abs(slopeOf({ data, shape: [1, 2, 2] }) - 0.375) < 1e-7);
});

test('the slope falls as the width grows, but stays near 1 if scores are divided by √D', () => {
  const all = byWidth(attn);
  all.forEach(({ width, undivided, divided }, i) => {
    assert.ok(divided.slope > 0.9 && divided.slope < 1, `${width}: ${divided.slope}`);
    if (width > 1) assert.ok(undivided.slope < divided.slope, String(width));
    if (i) assert.ok(undivided.slope < all[i - 1].undivided.slope, String(width));
  });
  assert.ok(all[5].undivided.slope < 0.1);
});

test('scores of random vectors spread like the square root of their width', () => {
  for (const { width, spread } of byWidth(attn)) {
    assert.ok(Math.abs(spread / Math.sqrt(width) - 1) < 0.25, `${width}: ${spread}`);
  }
});

test('the scores of wide vectors saturate the softmax, but not if they are divided by √D', () => {
  const { undivided, divided } = byWidth(attn)[5];
  assert.ok(undivided.largest > 0.8 && undivided.slope < 0.1);
  assert.ok(divided.largest < 0.3 && divided.entropy > 4);
});

test('if scores are divided by √D, the weights match the layer’s weights', () => {
  const [q, k] = [2, 3].map((seed) => attn.randomNormal({ shape: [1, 5, 8], seed }));
  const { weights } = attn.scaledDotProductAttention(q, k, k, { numHeads: 1, needWeights: true });
  const root = scaledBy(attn, q, k, {}).find(({ divisor }) => divisor === 'root');
  assert.deepEqual(root?.weights.data, weights.data);
});
