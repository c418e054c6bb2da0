import assert from 'node:assert/strict';
import test from 'node:test';

import { finish } from '../core/finish.js';
import { changeAnswer, ranked } from './changes.js';
import { likeliest } from './own/ownNext.js';

/**
 * The answer for logits of two tokens in a vocabulary of three. The first row does not change.
 * @param {number[]} before logits after the last token
 * @param {number[]} after
 */
const answerFor = (before, after, token = -1) => {
  const [was, is] = [before, after].map((last) => ({
    logits: Float32Array.of(0, 1, 2, ...last),
    weights: { data: new Float32Array(4), shape: [1, 2, 2] },
  }));
  return changeAnswer(
    was,
    is,
    { ids: [0, 2], token, drawn: 3 },
    {
      likeliest: (row, drawn) => likeliest(row, { temperature: 1, topK: 0, drawn }),
      label: String,
    },
  );
};

const half = Math.log(2);
const even = [0, 0, -Infinity];

for (const { name, before, after, want } of [
  {
    ...{ name: 'equal logits', before: [1, 2, 3], after: [1, 2, 3] },
    want: { divergence: 0, isSame: true, change: 0 },
  },
  {
    // Both logits round to the same probabilities.
    ...{ name: 'logits that differ in their last bits', before: [0, 0, 1], after: [0, 1e-30, 1] },
    want: { divergence: 0, isSame: false, change: 0 },
  },
  {
    ...{ name: 'a token that becomes impossible', before: [0, 0, 0], after: even },
    want: { divergence: Infinity, isSame: false, change: Math.log(1.5) },
  },
  {
    ...{ name: 'a token that stays impossible', before: even, after: even },
    want: { divergence: 0, isSame: true, change: 0 },
  },
  {
    ...{ name: 'known probabilities', before: even, after: [0, Math.log(3), -Infinity] },
    // Σ p log(p/q) with p = 1/2, 1/2 and q = 1/4, 3/4
    want: { divergence: (half - Math.log(1.5)) / 2, isSame: false, change: half },
  },
  ...[NaN, Infinity].map((broken) => ({
    ...{ name: `a logit ${broken}`, before: [0, 1, 2], after: [0, broken, 2] },
    want: { divergence: NaN, isSame: false, change: NaN },
  })),
  {
    ...{ name: 'a logit that is always NaN', before: [0, NaN, 2], after: [0, NaN, 2] },
    want: { divergence: NaN, isSame: false, change: NaN },
  },
]) {
  test(`the divergence is zero and the prediction the same only for equal logits: ${name}`, () => {
    const { moved, chosen } = answerFor(before, after);
    assert.deepEqual(moved[0], { divergence: 0, isSame: true, change: 0 });
    assert.equal(moved[1].isSame, want.isSame);
    const close = (/** @type {number} */ a, /** @type {number} */ b) =>
      assert.ok(Object.is(a, b) || Math.abs(a - b) < 1e-6, `${a} is not ${b}`);
    close(moved[1].divergence, want.divergence);
    close(Math.abs(chosen.change), want.change);
  });
}

test('a prediction that is not a number has no candidates, and the other one is known', () => {
  const [known, broken] = [
    [0, 2, 1],
    [NaN, NaN, NaN],
  ];
  const idsOf = (/** @type {{ id: number }[]} */ all) => all.map(({ id }) => id);
  for (const [before, after] of [
    [known, broken],
    [broken, known],
  ]) {
    const answer = answerFor(before, after);
    assert.deepEqual(idsOf(answer.before), before === known ? [1, 2, 0] : []);
    assert.deepEqual(idsOf(answer.after), after === known ? [1, 2, 0] : []);
    assert.equal(answer.chosen.id, 1);
    assert.equal(Number.isNaN(answer.chosen.before), before === broken);
    assert.equal(Number.isNaN(answer.chosen.after), after === broken);
  }
  assert.equal(answerFor(broken, broken, 2).chosen.label, '2');
});

/**
 * @param {(silent: number) => number[]} logits by the number of silenced parts
 * @param {Partial<import('./model.js').RankGiven>} [given]
 * @param {(options: import('attn').InterventionOptions) => void} [see]
 */
const rankedFor = (logits, given, see = () => {}) =>
  finish(
    ranked(
      {
        ...{ heads: [1], label: String },
        run: (_, options) => {
          see(options);
          const { ablate = [], knockOut = [] } = options;
          const data = Float32Array.from(logits(ablate.length + knockOut.length));
          return { logits: data, intermediates: {} };
        },
      },
      { ids: [0], token: -1, of: 'parts', replacement: 'zero', ...given },
    ),
  );

test('parts are not silenced one by one if the model’s output is not a number', () => {
  const { changes, total } = rankedFor(() => [0, NaN]);
  assert.deepEqual([changes, total], [[], 0]);
});

test('after a part is silenced, the output may not be a number', () => {
  const { changes, total } = rankedFor((silent) => [0, silent ? Infinity : 1]);
  assert.equal(total, 2);
  assert.ok(changes.every(({ change }) => Number.isNaN(change)));
});

test('each earlier token is hidden from all later queries in every head of every layer', () => {
  /** @type {import('attn').InterventionOptions[]} */
  const calls = [];
  const given = /** @type {const} */ ({ ids: [5, 6, 7], of: 'tokens' });
  const { changes, total } = rankedFor(
    (cuts) => [0, cuts],
    given,
    (options) => void calls.push(options),
  );
  const cut = (/** @type {number} */ query, /** @type {number} */ key) => ({
    ...{ attention: 'layers.0.self_attn', head: undefined, query, key },
  });
  assert.deepEqual(calls, [{}, { knockOut: [cut(1, 0), cut(2, 0)] }, { knockOut: [cut(2, 1)] }]);
  assert.deepEqual(
    changes.map(({ change, ...place }) => [place, change < 0]),
    [
      [{ key: 0 }, true],
      [{ key: 1 }, true],
    ],
  );
  assert.equal(total, 2);
});
