// Compares the page's tokenizer with Hugging Face's library `tokenizers`; see
// tests/tokenizers/record.py.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

import { control, mark, nonspacingMark, normalized, punctuation } from './characters.js';
import { decoderOf } from './decoders.js';
import { normalizerOf } from './normalizers.js';
import { preTokenizerOf } from './preTokenizers.js';
import { Tokenizer } from './tokenizer.js';

/** @param {string} name */
const recorded = (name) =>
  JSON.parse(
    readFileSync(
      new URL(`../../../../tests/tokenizers/recorded/${name}.json`, import.meta.url),
      'utf8',
    ),
  );

const { lines, tokenLists, normalizers, preTokenizers, decoders } = recorded('components');

/** @param {any} config */
const nameOf = (config) => JSON.stringify({ ...config, precompiled_charsmap: undefined });

for (const { config, changed } of normalizers) {
  const all = Object.keys(changed).length > 60;
  test(`the normalizer ${nameOf(config)} gives the same texts as the library`, () => {
    const normalize = normalizerOf(config);
    lines.forEach((/** @type {string} */ line, /** @type {number} */ i) => {
      if (all && !(i in changed) && Object.keys(changed).every((key) => +key % 3 === 0)) return;
      assert.equal(normalize(line), changed[i] ?? line, JSON.stringify(line));
    });
  });
}

/** @param {string} line @param {any} pieces */
function recordedPieces(line, pieces) {
  if (typeof pieces[0] === 'string') return pieces;
  const letters = Array.from(line);
  const bounds =
    pieces.bounds ??
    pieces.flatMap((/** @type {number} */ end, /** @type {number} */ i) => [
      pieces[i - 1] ?? 0,
      end,
    ]);
  return Array.from({ length: bounds.length / 2 }, (_, i) =>
    letters.slice(bounds[2 * i], bounds[2 * i + 1]).join(''),
  );
}

for (const { config, pieces } of preTokenizers) {
  test(`the pre-tokenizer ${nameOf(config)} gives the same pieces as the library`, () => {
    const preTokenize = preTokenizerOf(config);
    lines.forEach((/** @type {string} */ line, /** @type {number} */ i) => {
      if (!line || !pieces[i]) return;
      const found = preTokenize({ text: line, first: true }).map(({ text }) => text);
      assert.deepEqual(found, recordedPieces(line, pieces[i]), JSON.stringify(line));
    });
  });
}

for (const { config, texts } of decoders) {
  test(`the decoder ${nameOf(config)} gives the same texts as the library`, () => {
    const decode = decoderOf(config);
    tokenLists.forEach((/** @type {string[]} */ tokens, /** @type {number} */ i) => {
      assert.equal(decode(tokens).join(''), texts[i], JSON.stringify(tokens));
    });
  });
}

for (const [name, { tokenizer: json, cases, beginnings = [], pairs = [] }] of Object.entries(
  recorded('tokenizers').tokenizers,
)) {
  test(`the tokenizer ${name} gives the same ids and texts as the library`, () => {
    const tokenizer = new Tokenizer(json);
    for (const { text: given, ids, decoded } of cases) {
      const text = typeof given === 'number' ? lines[given] : given;
      const found = tokenizer.encode(text);
      assert.deepEqual(found, ids, JSON.stringify(text));
      assert.equal(tokenizer.decode(ids, { skipSpecial: true }), decoded ?? text);
    }
    for (const { ids, texts } of beginnings) {
      const found = ids.map((/** @type {number} */ _, /** @type {number} */ i) =>
        tokenizer.decode(ids.slice(0, i + 1), { skipSpecial: true }),
      );
      assert.deepEqual(found, texts);
    }
    for (const { text, ids, types } of pairs) {
      assert.deepEqual(tokenizer.encode(text), ids, text);
      assert.deepEqual(tokenizer.typesOf(ids), types, text);
    }
  });
}

test('characters have the same classes as in the library', () => {
  const kinds = recorded('characters');
  const splitScripts = preTokenizerOf({ type: 'UnicodeScripts' });
  const isSplit = (/** @type {string} */ text) => splitScripts({ text, first: true }).length > 1;
  /** @type {Record<string, (letter: string) => boolean>} */
  const found = {
    mark: (letter) => letter.replace(mark, '') === '',
    nonspacing: (letter) => normalized(letter, 'NFD').replace(nonspacingMark, '') === '',
    control: (letter) => letter.replace(control, '') === '',
    punctuation: (letter) => letter.replace(punctuation, '') === '',
    space: (letter) => /\p{White_Space}/u.test(letter),
    digit: (letter) => /\p{N}/u.test(letter),
    NFD: (letter) => normalized(letter, 'NFD') !== letter,
    NFKD: (letter) => normalized(letter, 'NFKD') !== letter,
    Lowercase: (letter) => letter.toLowerCase() !== letter,
    notLatin: (letter) => isSplit(`a${letter}`),
    nextScript: (letter) => {
      const code = /** @type {number} */ (letter.codePointAt(0));
      return (
        code > 0 && isSplit(String.fromCodePoint(code === 0xe000 ? 0xd7ff : code - 1) + letter)
      );
    },
  };
  for (const [kind, is] of Object.entries(found)) {
    const wrong = [];
    let i = 0;
    for (let code = 0; code < 0x110000; code++) {
      if (code === 0xd800) code = 0xe000;
      const letter = String.fromCodePoint(code);
      while (i < kinds[kind].length && kinds[kind][i][1] < code) i += 1;
      const expected = i < kinds[kind].length && kinds[kind][i][0] <= code;
      if (is(letter) !== expected) wrong.push(code.toString(16));
    }
    assert.deepEqual(wrong, [], kind);
  }
});

const json = () => {
  const { tokenizer } = recorded('tokenizers').tokenizers.byte_level;
  return structuredClone(tokenizer);
};

test('a component that would give other ids is rejected with the name of its field', () => {
  /** @type {[Record<string, any>, RegExp][]} */
  const cases = [
    [
      { normalizer: { type: 'Sequence', normalizers: [{ type: 'X' }] } },
      /normalizer\.normalizers\[0\]: .*"X"/,
    ],
    [{ pre_tokenizer: { type: 'X' } }, /pre_tokenizer: .*"X"/],
    [{ decoder: { type: 'X' } }, /decoder: .*"X"/],
    [{ post_processor: { type: 'X' } }, /post_processor: .*"X"/],
    [{ model: { ...json().model, dropout: 0.1 } }, /model\.dropout/],
    [{ model: { ...json().model, type: 'X' } }, /model: .*"X"/],
    [{ model: { type: 'Unigram', vocab: [['a', 0]], alpha: 0.1 } }, /model\.alpha/],
    [{ model: { ...json().model, merges: ['a zz'] } }, /model\.merges\[0\]/],
    [{ model: null }, /model\.vocab/],
  ];
  for (const pattern of ['(?<!a*?(?R))b', '(?i:[^s])', 'a(?i)b', '[[:foo:]]']) {
    const split = {
      type: 'Split',
      pattern: { Regex: pattern },
      behavior: 'Isolated',
      invert: false,
    };
    cases.push([{ pre_tokenizer: split }, /pre_tokenizer\.pattern: .*regular expression/]);
  }
  for (const [changes, message] of cases) {
    assert.throws(() => new Tokenizer({ ...json(), ...changes }), { message });
  }
});

test('a lone surrogate is an unknown character', () => {
  const tokenizer = new Tokenizer(json());
  assert.deepEqual(tokenizer.encode('a \ud83d'), tokenizer.encode('a \ufffd'));
});

test('the time for long texts is proportional to their length', () => {
  const model = { vocab: { '[UNK]': 0, a: 1, '##a': 2 }, max_input_chars_per_word: 1e6 };
  const wordPiece = new Tokenizer({ model: { type: 'WordPiece', ...model } });
  assert.equal(wordPiece.encode('a'.repeat(200_000)).length, 200_000);
  const tokenizer = new Tokenizer(recorded('tokenizers').tokenizers.single_words.tokenizer);
  assert.equal(tokenizer.encode(' '.repeat(400_000)).length, 400_002);
});

const word = (/** @type {object} */ fields) => ({ single_word: false, rstrip: false, ...fields });
const plainBpe = (/** @type {string[]} */ merges) =>
  new Tokenizer({ model: { type: 'BPE', vocab: { a: 0, b: 1, ab: 2 }, merges } });

test('a text may have any number of tokens', () => {
  assert.equal(plainBpe([]).encode('ab'.repeat(200_000)).length, 400_000);
});

test('merges of old files are read, and merges that are not pairs are rejected', () => {
  assert.deepEqual(plainBpe(['#version: 0.2', 'a b']).encode('ab'), [2]);
  assert.throws(() => plainBpe(['a b c']), /model\.merges\[0\] \(a b c\) is not a pair/);
});

test('added tokens have the ids that the library gives them', () => {
  const tokenizer = new Tokenizer({
    added_tokens: [
      word({ id: 7, content: '<s>' }),
      word({ id: 12, content: '<t>' }),
      word({ id: 9, content: '<t>', lstrip: true }),
    ],
    pre_tokenizer: { type: 'WhitespaceSplit' },
    model: { type: 'WordLevel', vocab: { '<unk>': 0, a: 1, '<s>': 2 }, unk_token: '<unk>' },
  });
  assert.deepEqual(tokenizer.encode('a <s>a   <t>'), [1, 2, 1, 3]);
});

test('a pattern with a different meaning in JavaScript is rejected', () => {
  const pattern = { Regex: '[\\p{Lu}&&[^\\p{Han}]]+' };
  const pre_tokenizer = { type: 'Split', pattern, behavior: 'Isolated', invert: false };
  const model = { type: 'BPE', vocab: {}, merges: [] };
  assert.throws(() => new Tokenizer({ pre_tokenizer, model }), /cannot use the regular expression/);
});
