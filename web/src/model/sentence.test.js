import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from 'attn';

import { inputCode } from './inputCode.js';
import { Embedder } from './sentence.js';

const attn = await load();
const dModel = 16;

test('a word has one embedding, with and without capitals', () => {
  const { data, shape } = new Embedder(attn).embed(['The', 'CAT', 'the', 'Größe'], dModel);
  assert.deepEqual(shape, [4, dModel]);
  const words = attn.ngramEmbedding(['the', 'cat', 'the', 'größe'], { dModel });
  assert.deepEqual(data, words.data);
});

test('words that were embedded before keep their rows, others come anew', () => {
  const embedder = new Embedder(attn);
  embedder.embed(['a', 'rose'], dModel);
  const { data } = embedder.embed(['A', 'red', 'Rose'], dModel);
  assert.deepEqual(data, attn.ngramEmbedding(['a', 'red', 'rose'], { dModel }).data);
});

test('programs embed the words that the page embeds', () => {
  const settings = { dModel, encoding: /** @type {const} */ ('none'), base: 10000 };
  const { javascript, cpp } = inputCode(settings, ['The', 'CAT'], 'x');
  assert.match(javascript, /\["the", "cat"\]/);
  assert.match(cpp, /\{"the", "cat"\}/);
});
