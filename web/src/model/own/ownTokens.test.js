// Tokens of a reader's model next to those of Hugging Face's library: see tests/tokenizers/record.py.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

import { OwnTokens } from './ownTokens.js';

const file = '../../../../tests/tokenizers/recorded/tokenizers.json';
const { lines, tokenizers } = JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8'));

for (const [name, { tokenizer, cases }] of Object.entries(tokenizers)) {
  test(`a text reaches the tokenizer unchanged, ${name}`, () => {
    const tokens = new OwnTokens(tokenizer);
    for (const { text: given, ids } of cases) {
      const text = typeof given === 'number' ? lines[given] : given;
      const found = tokens.of(text, 1000);
      assert.deepEqual(found.ids, ids, JSON.stringify(text));
      assert.equal(found.total, ids.length);
      assert.ok(found.tokens.every((token) => token.length > 0));
    }
  });
}
