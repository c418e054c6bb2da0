import assert from 'node:assert/strict';
import test from 'node:test';

import { bitCount, bitLikePair, bitOf, pairLikeBit, wavelength } from './binary.js';

/** @param {number} number */
const written = (number) =>
  Array.from({ length: bitCount(number) }, (_, k) => bitOf(number, k))
    .reverse()
    .join('');

test('binary digits match JavaScript’s, up to a million and beyond', () => {
  for (const number of [0, 1, 2, 5, 7, 8, 59, 1023, 1024, 1_000_000, 2 ** 40 + 3]) {
    assert.equal(written(number), number.toString(2));
  }
});

test('a bit is matched with the pair of the closest wavelength', () => {
  for (const [width, base] of [
    [32, 10000],
    [33, 10000],
    [8, 2],
    [512, 1e6],
    [1, 50],
    [5, 50],
  ]) {
    for (let bit = 0; bit < 24; bit++) {
      const off = (/** @type {number} */ pair) =>
        Math.abs(Math.log(wavelength(pair, width, base) / 2 ** (bit + 1)));
      const pairs = Array.from({ length: Math.ceil(width / 2) }, (_, pair) => off(pair));
      assert.ok(off(pairLikeBit(bit, width, base)) <= Math.min(...pairs) + 1e-12);
    }
  }
});

test('a pair is matched with the bit of the closest period', () => {
  for (const [width, base, bits] of [
    [32, 10000, 6],
    [33, 10000, 20],
    [512, 1e6, 3],
    [1, 2, 1],
  ]) {
    for (let pair = 0; pair < Math.ceil(width / 2); pair++) {
      const off = (/** @type {number} */ bit) =>
        Math.abs(Math.log(wavelength(pair, width, base) / 2 ** (bit + 1)));
      const all = Array.from({ length: bits }, (_, bit) => off(bit));
      assert.ok(off(bitLikePair(pair, width, base, bits)) <= Math.min(...all) + 1e-12);
    }
  }
});
