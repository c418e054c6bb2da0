import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

import { LanguageTokens } from './languageTokens.js';

const file = new URL('../../../languageModel/tokenizer.json', import.meta.url);
const tokens = new LanguageTokens(JSON.parse(readFileSync(file, 'utf8')));

test('white space between words counts as one space, however much there is', () => {
  const spaces = ' '.repeat(400_000);
  assert.deepEqual(tokens.of(`${spaces}the${spaces}lady${spaces}`), tokens.of('the lady'));
});
