// Compares a model's tokens with Hugging Face's library; see tests/tokenizers/record.py.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

import { ModelTokens } from './modelTokens.js';

const file = '../../../../tests/tokenizers/recorded/tokenizers.json';
const { lines, tokenizers } = JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8'));

for (const [name, { tokenizer, cases }] of Object.entries(tokenizers)) {
  test(`a text reaches the tokenizer unchanged, ${name}`, () => {
    const tokens = new ModelTokens(tokenizer);
    for (const { text: given, ids } of cases) {
      const text = typeof given === 'number' ? lines[given] : given;
      const found = tokens.of(text, 1000);
      assert.deepEqual(found.ids, ids, JSON.stringify(text));
      assert.equal(found.total, ids.length);
      assert.ok(found.tokens.every((token) => token.length > 0));
    }
  });
}

/** A byte-level tokenizer for whole words. @param {string[]} words @param {object} [changes] */
const byteLevel = (words, changes = {}) =>
  new ModelTokens({
    added_tokens: [{ id: 0, content: '<s>', special: true, normalized: false }],
    pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, use_regex: true },
    decoder: { type: 'ByteLevel' },
    model: {
      type: 'BPE',
      ignore_merges: true,
      merges: [],
      vocab: Object.fromEntries(['<s>', ...words].map((word, id) => [word, id])),
      ...changes,
    },
  });

/** @param {ModelTokens} tokens @param {string} text */
const labels = (tokens, text) => tokens.of(text, 100).tokens;

test('hash signs in a byte-level vocabulary stay hash signs', () => {
  assert.deepEqual(labels(byteLevel(['##', 'ĠTitle']), '## Title'), ['##', 'Title']);
});

test('the first word of a text, or the first word after a special token, does not continue a word', () => {
  const tokens = byteLevel(['The', 'Ġcat', 's', '"', 'Ċ', 'Ġ']);
  assert.deepEqual(labels(tokens, 'The cat'), ['The', 'cat']);
  assert.deepEqual(labels(tokens, '<s>The cat'), ['<s>', 'The', 'cat']);
  assert.deepEqual(labels(tokens, '"The "The\nThe'), ['"', 'The', '␣', '"', 'The', '↵', 'The']);
  assert.equal(tokens.label(3, [1]), '-s');
  assert.equal(tokens.label(3, [1, 2]), '-s');
  assert.equal(tokens.label(3, []), 's');
  assert.equal(tokens.label(99, [1]), '#99');
});

test('a token after an emoji does not continue a word, but a token after part of a letter does', () => {
  const tokens = byteLevel(['a', 'b', 'ðŁĺ', 'Ģ', 'Ã', '©', 't']);
  assert.deepEqual(
    [1, 3, 4, 2].map((id, i, all) => tokens.label(id, all.slice(0, i))),
    ['a', '<f0 9f 98>', '<80>', 'b'],
  );
  assert.deepEqual(
    [5, 6, 7].map((id, i, all) => tokens.label(id, all.slice(0, i))),
    ['<c3>', '<a9>', '-t'],
  );
});

test('only WordPiece’s prefix marks a token that continues a word', () => {
  const tokens = new ModelTokens({
    pre_tokenizer: { type: 'BertPreTokenizer' },
    model: {
      type: 'WordPiece',
      unk_token: '?',
      vocab: { '?': 0, walk: 1, '##s': 2, '#': 3, it: 4 },
    },
  });
  assert.deepEqual(labels(tokens, 'it walks ##'), ['it', 'walk', '-s', '#', '#']);
});

test('labels are right for models that mark the ends of words and models whose tokens are words', () => {
  const ends = new ModelTokens({
    pre_tokenizer: { type: 'WhitespaceSplit' },
    model: {
      type: 'BPE',
      end_of_word_suffix: '</w>',
      merges: [],
      vocab: { a: 0, 's</w>': 1, 'a</w>': 2 },
    },
  });
  assert.deepEqual(labels(ends, 'as a as'), ['a', '-s', 'a', 'a', '-s']);
  const words = new ModelTokens({
    pre_tokenizer: { type: 'Whitespace' },
    model: { type: 'WordLevel', unk_token: '##', vocab: { '##': 0, the: 1, '##s': 2 } },
  });
  assert.deepEqual(labels(words, 'the cat'), ['the', '##']);
  assert.equal(words.label(2, [1]), '##s');
});

test('SentencePiece’s space begins a word', () => {
  const tokens = new ModelTokens({
    pre_tokenizer: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'first' },
    decoder: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'first' },
    model: {
      type: 'Unigram',
      unk_id: 0,
      vocab: [
        ['?', -9],
        ['▁the', -1],
        ['▁cat', -1],
        ['s', -1],
        ['▁', -2],
      ],
    },
  });
  assert.deepEqual(labels(tokens, 'the cats s'), ['the', 'cat', '-s', '␣', 's']);
});

for (const name of ['byte_level', 'byte_fallback', 'unigram_bytes']) {
  test(`a token adds whole characters only, ${name}`, () => {
    const tokens = new ModelTokens(tokenizers[name].tokenizer);
    for (const text of ['a 😀', 'é 日本', '👩\u200d👧!', 'a\ufffdb']) {
      const { ids } = tokens.of(text, 1000);
      const each = ids.map((id, i) => tokens.added(ids.slice(0, i), [id]));
      // A tokenizer may write a space before the text.
      assert.equal(each.join('').trimStart(), text);
      for (const part of each) assert.doesNotMatch(part, /\p{Cs}/u);
      if (!text.includes('\ufffd')) assert.ok(!each.join('').includes('\ufffd'));
      assert.equal(tokens.added([], ids.slice(0, -1)) + each.at(-1), tokens.added([], ids));
    }
  });
}

test('the last token of an emoji adds the whole emoji, and its other tokens add nothing', () => {
  const tokens = byteLevel(['a', 'ĠðŁĺ', 'Ģ']);
  assert.equal(tokens.added([], [1, 2]), 'a');
  assert.equal(tokens.added([1], [2]), '');
  assert.equal(tokens.added([1, 2], [3]), ' 😀');
});

test('bytes that cannot begin a character are added immediately', () => {
  const tokens = byteLevel(['a', 'Ģ', 'ÿ', 'Ã']);
  assert.equal(tokens.added([1], [2]), '\ufffd');
  assert.equal(tokens.added([1], [3]), '\ufffd');
  assert.equal(tokens.added([1], [4, 1]), '\ufffda');
});
