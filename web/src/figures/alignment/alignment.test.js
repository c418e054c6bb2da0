import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from 'attn';

import { additiveWeights } from '../../../../tests/browser/reference.js';
import {
  align,
  alignByDecoder,
  comparingWeights,
  foundByLetter,
  numHiddens,
  strongest,
  wordWidth,
} from './alignment.js';

/** @typedef {import('attn').Tensor} Tensor */

const attn = await load({ threads: 1 });
const source = 'The agreement on the European Economic Area was signed in August 1992 .'.split(' ');
const target = 'L’accord sur la zone économique européenne a été signé en août 1992 .'.split(' ');

/** @param {Tensor} tensor @returns {number[][]} */
const rowsOf = ({ data, shape: [rows, columns] }) =>
  Array.from({ length: rows }, (_, i) => [...data.subarray(i * columns, (i + 1) * columns)]);

/** @param {Tensor} weights */
function eachRowAddsUpTo1(weights) {
  for (const row of rowsOf(weights)) {
    assert.ok(Math.abs(row.reduce((sum, weight) => sum + weight, 0) - 1) < 1e-5);
  }
}

test('handmade weights align words with similar spelling', () => {
  const { weights } = align(attn, source, target, { byHand: true, sharpness: 0.13 });
  assert.deepEqual(weights.shape, [target.length, source.length]);
  const best = strongest(weights);
  for (const [word, other] of [
    ['économique', 'Economic'],
    ['européenne', 'European'],
    ['signé', 'signed'],
    ['1992', '1992'],
    ['.', '.'],
  ]) {
    const row = target.indexOf(word);
    assert.equal(source[best[row]], other);
    assert.ok(weights.data[row * source.length + best[row]] > 0.75, word);
  }
  eachRowAddsUpTo1(weights);
});

for (const settings of /** @type {const} */ ([
  { byHand: true, sharpness: 0.13 },
  { byHand: false, seed: 4 },
])) {
  test(`the alignment matches the reference, ${settings.byHand ? 'by hand' : 'random'}`, () => {
    const { weights, queries, keys } = align(attn, source, target, settings);
    const layer = new attn.AdditiveAttention({
      queryDim: wordWidth,
      keyDim: wordWidth,
      numHiddens,
      seed: 4,
    });
    const parameters = new Map(
      settings.byHand
        ? comparingWeights(wordWidth, settings.sharpness)
        : layer.parameterNames().map((name) => [name, layer.parameter(name)]),
    );
    layer.dispose();
    const [query, key, value] = ['W_q.weight', 'W_k.weight', 'w_v.weight'].map((name) =>
      rowsOf(/** @type {Tensor} */ (parameters.get(name))),
    );
    const expected = additiveWeights(rowsOf(queries), rowsOf(keys), {
      ...{ query, key, value: value[0] },
    });
    rowsOf(weights).forEach((row, i) =>
      row.forEach((weight, j) => {
        const difference = Math.abs(weight - expected.weights[i][j]);
        assert.ok(difference <= expected.tolerance, `${difference} > ${expected.tolerance}`);
      }),
    );
  });
}

test('a sharpness of 0 gives uniform weights', () => {
  const { weights } = align(attn, source, target, { byHand: true, sharpness: 0 });
  for (const weight of weights.data) assert.ok(Math.abs(weight - 1 / source.length) < 1e-7);
});

test('the decoder’s alignment depends on the seed and on the previous words', () => {
  const { weights } = alignByDecoder(attn, source, target, 1);
  assert.deepEqual(weights.shape, [target.length, source.length]);
  eachRowAddsUpTo1(weights);
  assert.deepEqual(alignByDecoder(attn, source, target, 1).weights, weights);
  assert.notDeepEqual(alignByDecoder(attn, source, target, 2).weights, weights);
  const changed = alignByDecoder(attn, source, ['Le', ...target.slice(1)], 1).weights;
  // The first query is the encoder's last state, whatever the target.
  assert.deepEqual(rowsOf(changed)[0], rowsOf(weights)[0]);
  assert.notDeepEqual(rowsOf(changed)[1], rowsOf(weights)[1]);
});

test('single words can be aligned', () => {
  for (const alignment of [
    align(attn, ['a'], ['b'], { byHand: true, sharpness: 0.13 }),
    align(attn, ['a'], ['b'], { byHand: false, seed: 0 }),
    alignByDecoder(attn, ['a'], ['b'], 0),
  ]) {
    assert.deepEqual([...alignment.weights.data], [1]);
  }
});

test('all memory is released', () => {
  const all = () => {
    align(attn, source, target, { byHand: true, sharpness: 0.13 });
    align(attn, source, target, { byHand: false, seed: 1 });
    alignByDecoder(attn, source, target, 1);
  };
  all();
  const { bytesInUse } = attn.memory();
  for (let i = 0; i < 5; i++) all();
  assert.equal(attn.memory().bytesInUse, bytesInUse);
});

test('a one-letter word is reported only if it finds another word by its letter', () => {
  const { weights } = align(attn, source, target, { byHand: true, sharpness: 0.13 });
  assert.deepEqual(foundByLetter(source, target, weights), { one: 'a', other: 'Area' });
  const same = align(attn, ['a', 'rose'], ['a', 'rose'], { byHand: true, sharpness: 0.13 });
  assert.equal(foundByLetter(['a', 'rose'], ['a', 'rose'], same.weights), null);
});
