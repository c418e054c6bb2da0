import assert from 'node:assert/strict';
import test from 'node:test';

import { writtenOut } from './explain.js';

test('the largest products are written out, and the others are counted', () => {
  const terms = /** @type {[number, number][]} */ ([
    [0.1, 0.1],
    [2, -3],
    [-1, -4],
    [0, 5],
    [0.5, 0.5],
  ]);
  assert.equal(writtenOut(terms, 2), '−2·3 + 1·4 … + 2 more');
  assert.equal(writtenOut(terms, 9), '0.1·0.1 − 2·3 + 1·4 + 0.5·0.5');
});

test('an empty sum is 0', () => {
  assert.equal(writtenOut([], 3), '0');
  assert.equal(writtenOut([[0, 4]], 3), '0');
});
