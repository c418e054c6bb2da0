import assert from 'node:assert/strict';
import test from 'node:test';

import { even, reversed, sharesOf, twinsOf } from './patterns.js';

/** A matrix with a single weight of 1 in each row. @param {number[]} keys */
const looksAt = (keys) => {
  const n = keys.length;
  const weights = new Float32Array(n * n);
  keys.forEach((key, i) => (weights[i * n + key] = 1));
  return weights;
};

// a b c a b
const ids = [7, 8, 9, 7, 8];

test('if a head attends in only one way, its share for this way is one', () => {
  const twins = twinsOf(ids, true);
  const cases = /** @type {const} */ ([
    ['previousToken', [0, 0, 1, 2, 3]],
    ['firstToken', [0, 0, 0, 0, 0]],
    ['sameToken', [0, 1, 2, 0, 1]],
    ['induction', [0, 1, 2, 1, 2]],
  ]);
  for (const [pattern, keys] of cases) {
    const weights = looksAt([...keys]);
    assert.equal(sharesOf(weights, weights, twins)[pattern], 1, pattern);
  }
});

test('the share `place` is the attention that stays at the same positions when the words are reversed', () => {
  const twins = twinsOf(ids, true);
  const [here, other] = [looksAt([0, 0, 1, 2, 3]), looksAt([0, 0, 1, 0, 0])];
  assert.equal(sharesOf(here, here, twins).place, 1);
  assert.equal(sharesOf(here, other, twins).place, 1 / 3);
});

test('a habit that the sentence cannot show is not measured', () => {
  const weights = looksAt([0, 0, 1]);
  const shares = sharesOf(weights, weights, twinsOf([1, 2, 3], true));
  assert.deepEqual([shares.sameToken, shares.induction, shares.previousToken], [null, null, 1]);
  const two = looksAt([0, 0]);
  assert.equal(sharesOf(two, two, twinsOf([1, 2], true)).previousToken, null);
});

test('a query that attends to nothing does not count', () => {
  const weights = looksAt([0, 0, 1, 2, 3]);
  weights.fill(0, 3 * 5, 4 * 5);
  assert.equal(sharesOf(weights, weights, twinsOf(ids, true)).previousToken, 1);
});

test('without a causal mask, earlier and later occurrences of the same token count', () => {
  assert.deepEqual(twinsOf(ids, false), [[3], [4], [], [0], [1]]);
  assert.deepEqual(twinsOf(ids, true), [[], [], [], [0], [1]]);
});

test('words are reversed, and tokens without text stay in place', () => {
  assert.deepEqual(
    reversed([0, 5, 6, 7, 1], (id) => id < 2),
    [0, 7, 6, 5, 1],
  );
});

test('uniform attention gives all visible keys the same weight', () => {
  assert.deepEqual([...even(2, true)], [1, 0, 0.5, 0.5]);
  assert.deepEqual([...even(2, false)], [0.5, 0.5, 0.5, 0.5]);
});
