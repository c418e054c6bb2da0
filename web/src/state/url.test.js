import assert from 'node:assert/strict';
import test from 'node:test';

import { limits, maxColumns } from './properties/encoding.js';
import { limits as shared, maxTextLength, properties, untrained } from './properties/index.js';
import {
  correctedSettings,
  formatSettings,
  isFromLaterVersion,
  parseSettings,
  version,
} from './url.js';

const initial = parseSettings('');

test('an empty fragment gives the initial settings, and they give an empty fragment', () => {
  for (const [name, property] of Object.entries(properties)) {
    assert.deepEqual(initial[/** @type {keyof typeof initial} */ (name)], property.initial);
  }
  assert.equal(formatSettings(initial), '');
});

test('any settings survive a round trip through a URL', () => {
  const settings = {
    ...initial,
    text: 'سلام, 日本語 & ?#=+%\n👩‍👩‍👧',
    length: 7,
    width: 33,
    base: 123.5,
    columns: [0, 5, 127],
    heads: 8,
    head: 3,
    weights: /** @type {const} */ ('xavier'),
    seed: 99,
    encoding: /** @type {const} */ ('none'),
    dModel: 128,
    window: 3,
    validLen: 5,
    blocked: [
      { row: 0, column: 3 },
      { row: 12, column: 1 },
    ],
    weightCell: { row: 1, column: 2 },
    causal: true,
    shuffle: 2 ** 31 - 1,
  };
  assert.deepEqual(parseSettings(`#${formatSettings(settings)}`), settings);
});

test('empty text and empty columns survive a round trip', () => {
  const settings = { ...initial, text: '', columns: [] };
  assert.deepEqual(parseSettings(formatSettings(settings)), settings);
});

test('numbers out of range are clamped', () => {
  const { length, width, base } = parseSettings('length=1e9&width=-5&base=0');
  assert.deepEqual(
    { length, width, base },
    { length: limits.length.max, width: limits.width.min, base: shared.base.min },
  );
  assert.equal(parseSettings('length=Infinity').length, limits.length.max);
  assert.equal(parseSettings('length=12.6').length, 13);
});

test('invalid values give the initial value', () => {
  const nonsense = ['', 'NaN', 'xyz', '<img src=x onerror=alert(1)>', '[object Object]', '\0'];
  const names = /** @type {(keyof typeof initial)[]} */ (Object.keys(properties));
  // The first settings may be any text, and the last two may be empty lists.
  const free = new Set([
    ...['text', 'ownTarget', 'compareText', 'source', 'target', 'example'],
    ...['formula', 'formulaBias'],
    ...['columns', 'parameters'],
  ]);
  for (const value of nonsense) {
    const settings = parseSettings(
      new URLSearchParams(names.map((name) => [name, value])).toString(),
    );
    for (const name of names.filter((name) => !free.has(name))) {
      assert.deepEqual(settings[name], initial[name], `${name}=${JSON.stringify(value)}`);
    }
  }
  assert.deepEqual(parseSettings('columns=a,-1,4e3,999').columns, initial.columns);
  const { parameters } = parseSettings(
    'parameters=a:5:0:1,b:2:3:1,c:x:0:1,constructor:0:0:1,__proto__:0:0:1',
  );
  assert.deepEqual(parameters, [
    { name: 'a', value: 1, min: 0, max: 1 },
    { name: 'constructor', value: 0, min: 0, max: 1 },
  ]);
  assert.deepEqual(parseSettings('parameters=xyz').parameters, initial.parameters);
  assert.deepEqual(parseSettings('__proto__=1&constructor=2&toString=3'), initial);
});

test('invalid values in a link are reported', () => {
  assert.deepEqual(correctedSettings('#v=1&world=fly&trainStep=99999&rate=0.003&at=training'), [
    { name: 'world', given: 'fly' },
    { name: 'trainStep', given: '99999' },
  ]);
  assert.deepEqual(correctedSettings(`#${formatSettings(initial)}`), []);
});

test('columns are distinct, ascending and limited in number', () => {
  assert.deepEqual(parseSettings('columns=9,2,2,500000,x,4').columns, [2, 4, 9]);
  const many = Array.from({ length: 100_000 }, (_, i) => i % 100).join(',');
  assert.equal(parseSettings(`columns=${many}`).columns.length, maxColumns);
});

test('text is cut without splitting a character', () => {
  const { text } = parseSettings(`text=a${'👍'.repeat(maxTextLength)}`);
  assert.equal(text.length, maxTextLength - 1);
  assert.ok(text.isWellFormed?.() ?? true);
  assert.equal(text.at(-1)?.charCodeAt(0), '👍'.charCodeAt(1));
});

test('broken percent escapes are harmless', () => {
  assert.equal(parseSettings('text=%E0%A4%A').text, '\ufffd%A');
});

test('a link contains its version, and a link without a version has the current version', () => {
  const settings = { ...initial, heads: 8, text: 'v=9' };
  const link = formatSettings(settings);
  assert.ok(link.startsWith(`v=${version}&`));
  assert.equal(isFromLaterVersion(`#${link}`), false);
  assert.deepEqual(parseSettings(link), settings);
  assert.deepEqual(parseSettings('heads=8&text=v%3D9'), settings);
  for (const fragment of ['', '#heads=8', '#order', '#v=0', '#v=', '#v=x', '#v=-2', '#text=v=9']) {
    assert.equal(isFromLaterVersion(fragment), false, fragment);
  }
});

test('a link counts layers and heads from 1, and settings that it leaves out have their initial values', () => {
  const link = 'text=dog+bites+man&layer=3&head=4';
  assert.deepEqual(parseSettings(link), { ...initial, text: 'dog bites man', layer: 2, head: 3 });
  assert.deepEqual(correctedSettings('layer=0&head=129&heads=2'), [
    { name: 'head', given: '129' },
    { name: 'layer', given: '0' },
  ]);
});

test('a link of version 1 counts layers and heads from 0, and selects an untrained layer by default', () => {
  const text = 'dog bites man';
  const link = 'v=1&text=dog+bites+man&layer=2&head=3';
  assert.deepEqual(parseSettings(link), {
    ...untrained,
    text,
    layer: 2,
    head: 3,
    shuffle: 1,
    schemesWeights: true,
  });
  const { weights, causal } = parseSettings('v=1');
  assert.deepEqual({ weights, causal }, { weights: 'identity', causal: false });
  assert.deepEqual(parseSettings(formatSettings(parseSettings(link))), parseSettings(link));
  assert.deepEqual(correctedSettings('v=1&layer=0&head=0'), []);
});

test('a link from a later version is recognised, and its known settings are read', () => {
  const later = `v=${version + 1}&heads=8&colourOfTheSky=blue`;
  assert.ok(isFromLaterVersion(later));
  assert.ok(isFromLaterVersion(`#${later}`));
  assert.deepEqual(parseSettings(later), { ...initial, heads: 8 });
});
