import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { test } from 'node:test';

import { glossary } from '../texts/glossary.js';
import { escaped, piecesOf, plain, tied } from './markup.js';

test('prose is split into emphasis, terms, subscripts, superscripts, code and plain text', () => {
  assert.deepEqual(piecesOf('a *word*, its [keys|key] W_{q} at 2^{24}: `x`'), [
    { kind: 'text', text: 'a ' },
    { kind: 'stress', text: 'word' },
    { kind: 'text', text: ', its ' },
    { kind: 'term', text: 'keys', term: 'key' },
    { kind: 'text', text: ' W' },
    { kind: 'below', text: 'q' },
    { kind: 'text', text: ' at 2' },
    { kind: 'above', text: '24' },
    { kind: 'text', text: ': ' },
    { kind: 'code', text: 'x' },
  ]);
  assert.equal(plain('a *word* of [keys|key]'), 'a word of keys');
});

test("the reader's words stay unchanged even if they look like mark-up", () => {
  for (const word of ['[', 'a|b', '*', '_{x}', '^{2}', '`', '[x]*y*']) {
    assert.equal(plain(`*${escaped(word)}* and “${escaped(word)}”_{1}`), `${word} and “${word}”1`);
    assert.deepEqual(piecesOf(escaped(word)), [{ kind: 'text', text: word }]);
  }
});

test('a short formula does not break at the end of a line', () => {
  const shown = (/** @type {string} */ text) => tied(text).replaceAll('\u00a0', '_');
  assert.equal(shown('2 + 3 is 3 + 2.'), '2_+_3 is 3_+_2.');
  assert.equal(shown('with d = 32 and b = 10,000'), 'with d_=_32 and b_=_10,000');
  assert.equal(shown('from 1,000 to 1,000 + δ?'), 'from 1,000 to 1,000_+_δ?');
  assert.equal(shown('words + attention'), 'words + attention', 'words may part');
});

/** A stand-in for any value that is inserted into prose. @type {any} */
const anything = new Proxy(
  // The target is a function, so that the proxy can also be called.
  () => {},
  {
    get: (_, name) =>
      name === Symbol.toPrimitive
        ? () => '7'
        : name === Symbol.iterator
          ? () => [anything, anything].values()
          : anything,
    apply: () => anything,
  },
);

/**
 * All strings in a prose module, including strings that its functions return.
 * @param {unknown} value
 * @returns {string[]}
 */
function strings(value) {
  if (value === anything) return [];
  if (typeof value === 'string') return [value];
  if (typeof value === 'function') return strings(value(anything, anything, anything));
  return value && typeof value === 'object' ? Object.values(value).flatMap(strings) : [];
}

/** A module's texts, without its helper functions. @param {object} module */
const collections = (module) =>
  Object.values(module).filter((value) => typeof value !== 'function');

test('the glossary defines every term used in the prose', async () => {
  const folder = new URL('../texts/', import.meta.url);
  const all = await readdir(folder, { recursive: true });
  const files = all.filter((file) => file.endsWith('.js') && !file.endsWith('.test.js'));
  assert.ok(files.length > 5);
  const unknown = [];
  for (const file of files) {
    for (const text of strings(collections(await import(new URL(file, folder).href)))) {
      for (const { kind, text: shown, term = shown } of piecesOf(text)) {
        if (kind === 'term' && !(term in glossary)) unknown.push(`${file}: ${term}`);
      }
    }
  }
  assert.deepEqual(unknown, []);
});
