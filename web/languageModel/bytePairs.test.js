import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Tokenizer } from '@huggingface/tokenizers';

import { countWords, learnTokenizer } from './bytePairs.js';

const text = 'the cat sat on the mat\nthe cat was tired, the mat was the mat';

/** @param {number} size */
function learned(size) {
  const description = learnTokenizer(countWords(text), size);
  return { description, tokenizer: new Tokenizer(description, {}) };
}

test('the most frequent adjacent pair becomes one token', () => {
  const { description, tokenizer } = learned(266);
  const { vocab, merges } = description.model;
  assert.equal(Object.keys(vocab).length, 266);
  // "at" and " t" both occur six times; "at" sorts first.
  assert.deepEqual(merges.slice(0, 2), [
    ['a', 't'],
    ['Ġ', 't'],
  ]);
  assert.deepEqual(tokenizer.encode('the mat').tokens, ['Ġthe', 'Ġmat']);
});

test('any text can be encoded and decodes to its lower-case form', () => {
  const { tokenizer } = learned(262);
  for (const each of ['The Cat', 'naïve 🤖', 'two  spaces', "don't", '日本語', '\n']) {
    const { ids } = tokenizer.encode(each);
    assert.equal(tokenizer.decode(ids).trimStart(), each.toLowerCase().trimStart());
  }
});

test('words are counted with the space that the tokenizer adds before a line', () => {
  assert.deepEqual(
    [...countWords('The cat\nthe end')],
    [
      [' the', 2],
      [' cat', 1],
      [' end', 1],
    ],
  );
});

test('the same text gives the same tokenizer', () => {
  assert.deepEqual(learned(266).description, learned(266).description);
});

test('rejects a text too short for the vocabulary', () => {
  assert.throws(
    () => learnTokenizer(countWords('a b'), 300),
    /too short for a vocabulary of 300 tokens/,
  );
});
