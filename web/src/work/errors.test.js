import assert from 'node:assert/strict';
import test from 'node:test';

import { AttnError } from 'attn';

import { reasonOf, sentenceOf } from './errors.js';

test('errors explained by attn and the page keep their wording', () => {
  for (const error of [new AttnError('unsupported', 'no such thing'), new Error('no such thing')]) {
    assert.equal(sentenceOf(error), 'no such thing');
    assert.equal(reasonOf(error), 'no such thing');
  }
});

test('any other error becomes a sentence', () => {
  const raw = 'Cannot read properties of undefined';
  const errors = [
    ...[new TypeError(raw), new RangeError(raw), new DOMException(raw, 'DataCloneError'), raw],
    ...[new AttnError('internal', raw), undefined],
  ];
  for (const error of errors) {
    assert.match(sentenceOf(error), /^An unexpected error occurred; .*\.$/);
    assert.match(reasonOf(error), /^an unexpected error occurred;/);
  }
  const fetched = new TypeError('Failed to fetch dynamically imported module: http://x/y.js');
  assert.match(sentenceOf(fetched), /^The server could not be reached\.$/);
});

test('a failed fetch is blamed on neither CORS nor a policy', (t) => {
  const failed = new AttnError('load_failed', 'a.wasm could not be read: … (CORS), …?');
  assert.match(reasonOf(failed), /^the server could not be reached$/);
  const before = Object.getOwnPropertyDescriptor(globalThis, 'navigator') ?? {};
  t.after(() => Object.defineProperty(globalThis, 'navigator', before));
  Object.defineProperty(globalThis, 'navigator', { value: { onLine: false }, configurable: true });
  assert.match(reasonOf(failed), /^you are offline,/);
  assert.match(sentenceOf(failed), /^You are offline, .*\.$/);
  assert.match(reasonOf(new AttnError('load_failed', 'no SIMD here')), /^no SIMD here$/);
});
