import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from 'attn';

import { reasonToSkip, run } from '../../../tests/programs.js';
import { sentence } from '../programs/calls.js';
import { print, printMatrix } from '../programs/print.js';
import { Embedder } from './sentence.js';

const attn = await load();
const dModel = 16;

test('a word has the same embedding with and without capitals', () => {
  const { data, shape } = new Embedder(attn).embed(['The', 'CAT', 'the', 'Größe'], dModel);
  assert.deepEqual(shape, [4, dModel]);
  const words = attn.ngramEmbedding(['the', 'cat', 'the', 'größe'], { dModel });
  assert.deepEqual(data, words.data);
});

test('words that were embedded before keep their rows, and new words get new rows', () => {
  const embedder = new Embedder(attn);
  embedder.embed(['a', 'rose'], dModel);
  const { data } = embedder.embed(['A', 'red', 'Rose'], dModel);
  assert.deepEqual(data, attn.ngramEmbedding(['a', 'red', 'rose'], { dModel }).data);
});

test('programs embed the same words as the page', () => {
  const settings = { dModel, encoding: /** @type {const} */ ('none'), base: 10000 };
  const { javascript, cpp, python } = print(sentence(settings, ['The', 'CAT']));
  assert.match(javascript, /\["the", "cat"\]/);
  assert.match(cpp, /\{"the", "cat"\}/);
  assert.match(python, /\["the", "cat"\]/);
});

const skip = await reasonToSkip('python');
test('the Python programs compute the same embeddings as the core', { skip }, async () => {
  const all = ['größe', '👍🏽', '"', '\\', 'e', 'pneumonoultramicroscopic'];
  for (const width of [4, 40]) {
    const settings = { dModel: width, encoding: /** @type {const} */ ('none'), base: 10000 };
    const { python } = printMatrix('x', 'n', 'dModel', sentence(settings, all));
    const rows = await run('python', python);
    const { data } = attn.ngramEmbedding(all, { dModel: width });
    rows.flat().forEach((value, i) => assert.ok(Math.abs(value - data[i]) < 1e-6, `${i}`));
  }
});
