import assert from 'node:assert/strict';
import test from 'node:test';

import { isRightToLeft, maxTokens, shorten, tokenize } from './tokens.js';

test('words and punctuation become tokens, but white space does not', () => {
  assert.deepEqual(tokenize('  man bites\tdog,\ndog isn’t amused. ').tokens, [
    ...['man', 'bites', 'dog', ',', 'dog', 'isn’t', 'amused', '.'],
  ]);
});

test('empty text, white space and invisible characters give no tokens', () => {
  for (const text of ['', ' \n\t ', '\u200b\u200e\ufeff', '\0']) {
    assert.deepEqual(tokenize(text), { tokens: [], total: 0 }, JSON.stringify(text));
  }
});

test('an emoji made of several code points is one token', () => {
  assert.deepEqual(tokenize('👩‍👩‍👧 👍🏽 🇧🇷').tokens, ['👩‍👩‍👧', '👍🏽', '🇧🇷']);
});

test('right-to-left and unspaced scripts are split into words', () => {
  assert.deepEqual(tokenize('سلام دنیا').tokens, ['سلام', 'دنیا']);
  assert.deepEqual(tokenize('שלום עולם').tokens, ['שלום', 'עולם']);
  assert.ok(tokenize('吾輩は猫である').tokens.length > 1);
});

test('composed and decomposed spellings are the same token', () => {
  const [a, b] = tokenize('caf\u00e9 cafe\u0301').tokens;
  assert.equal(a, b);
});

test('a long text keeps its first tokens and counts them all', () => {
  const { tokens, total } = tokenize('word '.repeat(maxTokens + 100));
  assert.equal(tokens.length, maxTokens);
  assert.equal(total, maxTokens + 100);
});

test('half a surrogate pair is harmless', () => {
  assert.equal(tokenize('a \ud83d b').total, 3);
});

test('labels are truncated to a number of graphemes', () => {
  assert.equal(shorten('because', 12), 'because');
  assert.equal(shorten('internationalisation', 12), 'internation…');
  assert.equal(shorten('👩‍👩‍👧'.repeat(5), 4), '👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧…');
  assert.equal(shorten('x'.repeat(4000), 12), 'xxxxxxxxxxx…');
});

test('the first letter of a text determines its direction', () => {
  for (const text of ['שלום', 'القط جلس', '“1: שלום world”', 'ދިވެހި']) assert.ok(isRightToLeft(text));
  for (const text of ['', '…', '12', 'dog שלום', 'котка', '猫 القط'])
    assert.ok(!isRightToLeft(text));
});
