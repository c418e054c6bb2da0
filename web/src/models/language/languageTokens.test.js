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

test('a line break is one token, and the word after it is the same token as elsewhere', () => {
  const [was, the] = tokens.of('was the').ids;
  for (const text of ['was\nthe', 'was \n\n the ']) {
    const { ids, tokens: labels } = tokens.of(text);
    assert.deepEqual([ids[0], ids[2], labels], [was, the, ['was', '↵', 'the']]);
  }
  // A line break at the end stays, because the model may have written it.
  assert.deepEqual(tokens.of('was\n').tokens, ['was', '↵']);
  assert.equal(tokens.added(tokens.of('was\n').ids, [the]), ' the');
});

test('control characters are shown as their bytes, so that no label is invisible', () => {
  const { ids } = tokens.of('a\u0001\u007f');
  assert.deepEqual(
    ids.map((id, i) => tokens.label(id, ids.slice(0, i))),
    ['a', '<01>', '<7f>'],
  );
});
