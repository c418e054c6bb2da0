import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { Tokenizer } from '@huggingface/tokenizers';

import { everydayWords } from './everydayWords.js';

test('at least 95 % of the 1,000 most frequent words are one token each', () => {
  const description = readFileSync(new URL('tokenizer.json', import.meta.url), 'utf8');
  const tokenizer = new Tokenizer(JSON.parse(description), {});
  const split = everydayWords.filter((word) => tokenizer.encode(word).ids.length > 1);
  assert.equal(everydayWords.length, 1000);
  assert.ok(split.length <= 50, split.join(' '));
});
