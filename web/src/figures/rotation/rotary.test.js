import assert from 'node:assert/strict';
import test, { before } from 'node:test';

import { load } from 'attn';

import { depth, handsOf, spreadAlongDiagonals, turnedPair, turnedScores } from './rotary.js';

/** @type {import('attn').Attn} */
let attn;
before(async () => {
  attn = await load({ threads: 1 });
});

/** @type {[string, string]} */
const words = ['tired', 'lady'];

/** Computes scores in double precision. @param {number} m @param {number} n @param {number} base */
function exact(m, n, base) {
  const { data } = attn.ngramEmbedding(words, { dModel: depth, seed: 0 });
  let sum = 0;
  for (let pair = 0; pair < depth / 2; pair++) {
    const omega = base ** ((-2 * pair) / depth);
    const hand = (/** @type {number} */ row, /** @type {number} */ place) => {
      const [x, y] = [0, 1].map((i) => data[row * depth + 2 * pair + i]);
      const [cos, sin] = [Math.cos(place * omega), Math.sin(place * omega)];
      return [cos * x - sin * y, sin * x + cos * y];
    };
    const [q, k] = [hand(0, m), hand(1, n)];
    sum += q[0] * k[0] + q[1] * k[1];
  }
  return sum;
}

test('scores match a rotation of each pair of numbers in double precision', () => {
  for (const [length, base] of [
    [1, 10000],
    [13, 2],
    [60, 1e6],
  ]) {
    const { scores, spread } = turnedScores(attn, words, { length, base });
    assert.deepEqual([scores.rows, scores.columns], [length, length]);
    for (let m = 0; m < length; m++) {
      for (let n = 0; n < length; n++) {
        const got = scores.data[m * length + n];
        assert.ok(Math.abs(got - exact(m, n, base)) < 1e-5, `${m}, ${n}: ${got}`);
      }
    }
    assert.ok(spread < 1e-5, `${spread}`);
  }
});

test('positions may be fractional and outside the sentence', () => {
  const { score } = turnedPair(attn, words, { base: 100, places: [-3.5, 70.25] });
  assert.ok(Math.abs(score - exact(-3.5, 70.25, 100)) < 1e-5);
});

test('the contributions of the pairs add up to the score, and their angle follows the distance', () => {
  const at = (/** @type {number} */ m, /** @type {number} */ n) =>
    turnedPair(attn, words, { base: 10000, places: [m, n] });
  const moved = at(7, 3);
  const parts = Array.from({ length: depth / 2 }, (_, pair) => handsOf(moved, pair).part);
  assert.ok(Math.abs(parts.reduce((a, b) => a + b) - moved.score) < 1e-5);
  const turn = handsOf(at(8, 3), 0).degrees - handsOf(moved, 0).degrees;
  assert.ok(Math.abs(((turn + 720) % 360) - 180 / Math.PI) < 1e-3, `${turn}`);
});

test('the spread is the largest difference between two scores on the same diagonal', () => {
  const data = Float32Array.from([1, 5, 0, 2, 3, 7, 9, 4, 1.5]);
  assert.equal(spreadAlongDiagonals({ data, rows: 3, columns: 3 }), 2);
});
