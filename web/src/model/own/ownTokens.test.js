// Tokens of a reader's model beside those that another library makes with the same tokenizer: see
// tests/tokenizers/record.py.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

import { OwnTokens } from './ownTokens.js';

const recorded = new URL('../../../../tests/tokenizers/', import.meta.url);

for (const kind of ['byte_level', 'split_digits', 'word_piece', 'unigram', 'byte_fallback']) {
  test(`texts have the tokens that they have elsewhere, ${kind}`, () => {
    const { tokenizer, cases } = JSON.parse(
      readFileSync(new URL(`${kind}.json`, recorded), 'utf8'),
    );
    const tokens = new OwnTokens(tokenizer);
    for (const { text, ids } of cases) {
      const found = tokens.of(text, 1000);
      assert.deepEqual(found.ids, ids, text);
      assert.equal(found.total, ids.length);
      assert.ok(found.tokens.every((token) => token.length > 0));
    }
  });
}
