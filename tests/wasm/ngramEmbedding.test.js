import assert from 'node:assert/strict';
import { test } from 'node:test';

import { assertThrows } from './compare.js';
import { everyVariant } from './everyVariant.js';

await everyVariant('ngramEmbedding', (attn) => {
  const dModel = 64;

  /** @param {string[]} tokens */
  const rows = (...tokens) => {
    const { data, shape } = attn.ngramEmbedding(tokens, { dModel });
    assert.deepEqual(shape, [tokens.length, dModel]);
    return tokens.map((_, i) => data.slice(i * dModel, (i + 1) * dModel));
  };
  const cosine = (/** @type {Float32Array} */ a, /** @type {Float32Array} */ b) =>
    a.reduce((sum, value, i) => sum + value * b[i], 0) / dModel;

  test('every_row_has_root_mean_square_1', () => {
    for (const row of rows('the', 'cat', '', 'naïve', '猫', '🐈‍⬛', ' ', 'a'.repeat(300))) {
      assert.ok(Math.abs(cosine(row, row) - 1) < 1e-6);
    }
  });

  test('identical_tokens_have_the_same_vector_at_every_position', () => {
    const [a, , c] = rows('cat', 'dog', 'cat');
    assert.deepEqual(a, c);
    assert.deepEqual(rows('cat')[0], a);
  });

  test('words_with_similar_spelling_are_close', () => {
    const [attention, attentive, banana] = rows('attention', 'attentive', 'banana');
    assert.ok(cosine(attention, attentive) > 0.4);
    // For random directions in `dModel` dimensions, the cosine has a standard deviation of
    // 1/√dModel.
    assert.ok(Math.abs(cosine(attention, banana)) < 4 / Math.sqrt(dModel));
  });

  test('the_seed_changes_the_vectors', () => {
    const [a] = rows('cat');
    const b = attn.ngramEmbedding(['cat'], { dModel, seed: 2 ** 53 - 1 }).data;
    assert.ok(Math.abs(cosine(a, b)) < 4 / Math.sqrt(dModel));
  });

  test('no_tokens_give_an_empty_tensor', () => {
    assert.deepEqual(attn.ngramEmbedding([], { dModel }).shape, [0, dModel]);
  });

  test('lone_surrogates_and_zero_characters_are_characters', () => {
    const [a, b] = rows('a\ud83db', 'a\0b');
    assert.ok(cosine(a, b) < 0.99);
  });

  test('errors_name_the_argument', () => {
    /** @type {[any, any, string][]} */
    const cases = [
      ['cat', { dModel }, "tokens: got 'cat', needs an array of strings"],
      [['cat', 7], { dModel }, 'tokens[1]: got 7, needs a string'],
      [['cat'], {}, 'dModel: got undefined, needs a whole number of at least 1'],
      [['cat'], { dModel, seed: -1 }, 'seed: got -1, needs a whole number of at least 0'],
    ];
    for (const [tokens, options, message] of cases) {
      assertThrows(() => attn.ngramEmbedding(tokens, options), 'invalid_argument', message);
    }
  });
});
