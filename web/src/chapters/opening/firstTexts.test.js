import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

import { LanguageTokens } from '../../models/language/languageTokens.js';
import { sentence, tries } from './firstTexts.js';

const file = new URL('../../../languageModel/tokenizer.json', import.meta.url);
const tokenizer = new LanguageTokens(JSON.parse(readFileSync(file, 'utf8')));

test('each word that the page begins with or offers is one token of the language model', () => {
  for (const text of [sentence, ...tries.words, ...tries.learned]) {
    assert.deepEqual(tokenizer.of(`was ${text}`).tokens, ['was', ...text.split(' ')]);
  }
});
