import assert from 'node:assert/strict';
import { test } from 'node:test';

import { assertClose, assertThrows } from './compare.js';
import { everyVariant } from './everyVariant.js';
import { Random } from './random.js';
import { linear, pooling } from './reference.js';

/** @import { Scoring, Tensor } from 'attn' */

await everyVariant('attentionPooling', (attn) => {
  const random = new Random();
  const query = random.tensor(2, 3, 5);
  const key = random.tensor(2, 7, 5);
  const value = random.tensor(2, 7, 4);

  /** @type {Record<Scoring, (d: number, dot: number) => number>} */
  const scores = {
    scaledDot: (_, dot) => 0.5 * dot,
    gaussian: (d) => (-d * d) / (2 * 1.5 ** 2),
    boxcar: (d) => (d < 1.5 ? 1 : 0),
    epanechnikov: (d) => Math.max(1 - d / 1.5, 0),
    average: () => 1,
  };
  for (const scoring of /** @type {Scoring[]} */ (Object.keys(scores))) {
    for (const hard of [false, true]) {
      test(`${scoring}${hard ? '_hard' : ''}_agrees_with_the_reference`, () => {
        const expected = pooling({ query, key, value, score: scores[scoring], hard, scoring });
        const actual = attn.attentionPooling(query, key, value, {
          scoring,
          hard,
          scale: scoring === 'scaledDot' ? 0.5 : undefined,
          width: 1.5,
          needScores: true,
          needWeights: true,
        });
        assertClose(actual.output, [2, 3, 4], expected.output, 3e-6);
        assert.ok(actual.scores && actual.weights);
        assertClose(actual.scores, [2, 3, 7], expected.scores, 3e-6);
        assertClose(actual.weights, [2, 3, 7], expected.weights, 3e-6);
      });
    }
  }

  test('lengths_and_masks_exclude_keys', () => {
    const attends = (/** @type {number} */ b, /** @type {number} */ i, /** @type {number} */ j) =>
      j < [4, 6][b] && j !== 1;
    const expected = pooling({ query, key, value, score: scores.gaussian, attends });
    const actual = attn.attentionPooling(query, key, value, {
      scoring: 'gaussian',
      width: 1.5,
      validLens: [4, 6],
      mask: { data: [1, 0, 1, 1, 1, 1, 1], shape: [7] },
      needScores: true,
    });
    assertClose(actual.output, [2, 3, 4], expected.output, 3e-6);
    assert.ok(actual.scores && !actual.weights);
    assertClose(actual.scores, [2, 3, 7], expected.scores, 3e-6);
  });

  test('without_a_batch_dimension_results_have_none', () => {
    const { output, weights } = attn.attentionPooling(
      { data: query.data.slice(0, 15), shape: [3, 5] },
      { data: key.data.slice(0, 35), shape: [7, 5] },
      { data: value.data.slice(0, 28), shape: [7, 4] },
      { scoring: 'average', needWeights: true },
    );
    assert.deepEqual(output.shape, [3, 4]);
    assert.deepEqual(weights.shape, [3, 7]);
    assertClose(weights, [3, 7], new Array(21).fill(1 / 7), 1e-7);
  });

  test('errors_name_the_argument', () => {
    assertThrows(
      () => attn.attentionPooling(query, key, value, { scoring: 'boxcar', width: 0 }),
      'invalid_argument',
      /^width: got 0, needs/,
    );
    assertThrows(
      // @ts-expect-error: the test passes wrong arguments
      () => attn.attentionPooling(query, key, value, { scoring: 'cosine' }),
      'invalid_argument',
      /^scoring: got 'cosine', needs 'scaledDot', /,
    );
    assertThrows(
      () => attn.attentionPooling(query, random.tensor(2, 7, 4), value),
      'shape_mismatch',
      'key: got width 4, needs 5, the width of query',
    );
    assertThrows(
      () => attn.attentionPooling(query, key, random.tensor(2, 6, 4)),
      'shape_mismatch',
      'key: got length 7, needs 6, the length of value',
    );
  });

  test('additive_attention_agrees_with_the_reference', () => {
    const keys = random.tensor(2, 7, 6);
    const attention = new attn.AdditiveAttention({
      queryDim: 5,
      keyDim: 6,
      numHiddens: 8,
      seed: 3,
    });
    assert.deepEqual(attention.parameterNames(), ['W_k.weight', 'W_q.weight', 'w_v.weight']);
    const [wk, wq, wv] = attention.parameterNames().map((name) => attention.parameter(name).data);
    const project = (/** @type {Tensor} */ x, /** @type {Float32Array} */ w) =>
      linear(x.data, x.data.length / x.shape[2], w);
    const q = project(query, wq);
    const k = project(keys, wk);
    const expected = pooling({
      query,
      key: keys,
      value,
      scoreAt: (b, i, j) => {
        let score = 0;
        for (let h = 0; h < 8; ++h) {
          score += wv[h] * Math.tanh(q[(3 * b + i) * 8 + h] + k[(7 * b + j) * 8 + h]);
        }
        return score;
      },
      attends: (b, i, j) => j < [7, 3][b],
    });
    const options = { validLens: [7, 3], needWeights: true, needScores: true };
    const actual = attention.forward(query, keys, value, options);
    assertClose(actual.output, [2, 3, 4], expected.output, 3e-6);
    assertClose(actual.weights ?? actual.output, [2, 3, 7], expected.weights, 3e-6);
    assertClose(actual.scores ?? actual.output, [2, 3, 7], expected.scores, 3e-6);
    const projected = attention.projectKeys(keys);
    assertClose(projected, [2, 7, 8], k, 3e-6);
    assert.deepEqual(attention.forwardProjected(query, projected, value, options), actual);
    assertThrows(
      () => attention.forward(query, key, value),
      'shape_mismatch',
      'key: got width 5, needs 6, the keyDim of this layer',
    );
  });
});
