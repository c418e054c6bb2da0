import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from 'attn';

import { components } from './components.js';

const attn = await load({ threads: 1 });

/** @template T @param {Generator<unknown, T>} steps @returns {T} */
function all(steps) {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

test('separates a helix from noise of known size', () => {
  const [n, d] = [64, 10];
  // Columns 2 and 7 make one turn, column 4 oscillates twice as fast, and the rest is small.
  const angle = (/** @type {number} */ i) => (2 * Math.PI * i) / n;
  const data = Float32Array.from({ length: n * d }, (_, at) => {
    const [i, c] = [Math.floor(at / d), at % d];
    if (c === 2) return 5 * Math.cos(angle(i)) + 3;
    if (c === 7) return 4 * Math.sin(angle(i)) - 1;
    if (c === 4) return 2 * Math.cos(2 * angle(i));
    return 0.01 * Math.sin(3 + c) * Math.cos((3 + c) * angle(i));
  });
  const { scores, shares } = all(components(attn, { data, shape: [n, d] }, 3));
  const sizes = [5, 4, 2].map((size) => (size * size * n) / 2);
  const total = data.reduce((sum, value, at) => {
    const mean = [0, 0, 3, 0, 0, 0, 0, -1][at % d] ?? 0;
    return sum + (value - mean) ** 2;
  }, 0);
  sizes.forEach((size, c) => assert.ok(Math.abs(shares[c] - size / total) < 1e-5, `${shares}`));
  assert.deepEqual(scores.shape, [3, n]);
  for (let i = 0; i < n; i++) {
    const want = [5 * Math.cos(angle(i)), 4 * Math.sin(angle(i)), 2 * Math.cos(2 * angle(i))];
    want.forEach((value, c) =>
      assert.ok(Math.abs(Math.abs(scores.data[c * n + i]) - Math.abs(value)) < 1e-3),
    );
  }
});

test('a few rows have few components, and equal rows have none', () => {
  const two = all(components(attn, { data: Float32Array.of(1, 2, 3, 5, 2, 3), shape: [2, 3] }, 4));
  assert.equal(two.shares.length, 2);
  assert.ok(Math.abs(two.shares[0] - 1) < 1e-6 && two.shares[1] < 1e-9);
  const alike = all(components(attn, { data: new Float32Array(12).fill(2), shape: [4, 3] }, 2));
  assert.ok(alike.scores.data.every((value) => value === 0));
});
