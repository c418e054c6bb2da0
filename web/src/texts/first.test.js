import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

import { load } from 'attn';

import { tellingHeads } from '../models/language/habits.js';
import { LanguageModel } from '../models/language/languageModel.js';
import { LanguageTokens } from '../models/language/languageTokens.js';
import { initial, untrained } from '../state/properties/index.js';
import { tries } from './first.js';

const read = (/** @type {string} */ name) =>
  readFileSync(new URL(`../../languageModel/${name}`, import.meta.url));
const tokenizer = new LanguageTokens(JSON.parse(String(read('tokenizer.json'))));

test('each word of the page’s examples is one token of the language model', () => {
  const { words, learned, spelt } = tries;
  const examples = [initial.text, untrained.text, ...words, ...learned, ...spelt, 'man bites dog'];
  for (const text of examples.map((each) => each.replace(',', ''))) {
    assert.deepEqual(tokenizer.of(`was ${text}`).tokens, ['was', ...text.split(' ')]);
  }
});

test('the page begins with the head whose habit is easiest to see', async () => {
  const model = new LanguageModel(await load({ threads: 1 }), read('model.safetensors'));
  const [{ layer, head }] = tellingHeads(model.heads);
  assert.deepEqual({ layer: initial.layer, head: initial.head }, { layer, head });
});
