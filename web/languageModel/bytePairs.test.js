import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Tokenizer } from '@huggingface/tokenizers';

import { learnTokenizer } from './bytePairs.js';

const text = 'the cat sat on the mat\nthe cat was tired, the mat was the mat';

/** @param {number} size */
function learned(size) {
  const description = learnTokenizer(text, size);
  return { description, tokenizer: new Tokenizer(description, {}) };
}

test('what stands side by side most often becomes one token', () => {
  const { description, tokenizer } = learned(266);
  const { vocab, merges } = description.model;
  assert.equal(Object.keys(vocab).length, 266);
  // "at" five times, " t" five times, and "at" comes first.
  assert.deepEqual(merges.slice(0, 2), [
    ['a', 't'],
    ['h', 'e'],
  ]);
  assert.deepEqual(tokenizer.encode('the mat').tokens, ['Ġthe', 'Ġmat']);
});

test('every text can be encoded and comes back, in lower case', () => {
  const { tokenizer } = learned(262);
  for (const each of ['The Cat', 'naïve 🤖', 'two  spaces', "don't", '日本語', '\n']) {
    const { ids } = tokenizer.encode(each);
    assert.equal(tokenizer.decode(ids).trimStart(), each.toLowerCase().trimStart());
  }
});

test('the same text gives the same tokenizer', () => {
  assert.deepEqual(learned(266).description, learned(266).description);
});

test('a text that is too short for the vocabulary is refused', () => {
  assert.throws(() => learnTokenizer('a b', 300), /has no 300 tokens that come twice/);
});
