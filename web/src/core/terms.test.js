import assert from 'node:assert/strict';
import test from 'node:test';

import { softmaxTerms, sumOfProducts } from './terms.js';

test('if there are few terms, they keep their order and add up', () => {
  const { terms, others, rest } = sumOfProducts([1, -2, 3], [4, 5, 6], String, 5);
  assert.deepEqual(
    terms.map(({ product }) => product),
    [4, -10, 18],
  );
  assert.equal(others, 0);
  assert.equal(rest, 0);
});

test('if there are many terms, the largest are listed and the rest are summed', () => {
  const a = Array.from({ length: 50 }, (_, i) => (i % 7) - 3);
  const b = Array.from({ length: 50 }, (_, i) => (i % 11) - 5);
  const { terms, others, rest } = sumOfProducts(a, b, String, 8);
  assert.equal(terms.length, 8);
  assert.equal(others, 42);
  const total = terms.reduce((sum, { product }) => sum + product, rest);
  assert.equal(
    total,
    a.reduce((sum, value, i) => sum + value * b[i], 0),
  );
  assert.equal(Math.abs(terms[0].product), 15);
});

test('a softmax lists the key in question and no excluded key', () => {
  const { terms, total, others } = softmaxTerms([0, 2, -Infinity, 1, -5], String, 4, 3);
  assert.deepEqual(
    terms.map(({ name }) => name),
    ['1', '3', '4'],
  );
  assert.equal(others, 1);
  assert.ok(Math.abs(total - (Math.exp(-2) + 1 + Math.exp(-1) + Math.exp(-7))) < 1e-15);
});

test('a row that attends to nothing has no shares', () => {
  const { terms } = softmaxTerms([-Infinity, -Infinity], String, 1, 3);
  assert.deepEqual(
    terms.map(({ share }) => share),
    [0],
  );
});
