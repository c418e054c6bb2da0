import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

import { curvesOf, encodingOf, heatmapOf, weightsOf } from './data.js';
import { missing, readAttribute, readNames, readTensor } from './read.js';

const ranks = { 2: '(rows, columns)' };
const none = { shape: null, tokens: null, keyTokens: null, window: null, validLen: null, head: 0 };

test('a tensor, nested arrays and a typed array are read as the same tensor', () => {
  const expected = { data: Float32Array.of(1, 2, 3, 4, 5, 6), shape: [2, 3] };
  for (const value of [
    expected,
    { data: [1, 2, 3, 4, 5, 6], shape: [2, 3] },
    [
      [1, 2, 3],
      [4, 5, 6],
    ],
    [Float64Array.of(1, 2, 3), Float64Array.of(4, 5, 6)],
  ]) {
    assert.deepEqual(readTensor('values', value, ranks), expected);
  }
  assert.deepEqual(readTensor('values', expected.data, ranks, [2, 3]), expected);
});

test('the numbers are copied', () => {
  const data = Float32Array.of(1);
  const read = readTensor('values', { data, shape: [1, 1] }, ranks);
  data[0] = 2;
  assert.equal(read.data[0], 1);
});

test('errors name the property and the entry', () => {
  const message = (/** @type {unknown} */ value) => {
    try {
      return readTensor('values', value, ranks);
    } catch (error) {
      const { message, code, argument, name } = /** @type {any} */ (error);
      assert.equal(name, 'AttnError');
      assert.ok(['invalid_argument', 'shape_mismatch'].includes(code) && argument);
      return message;
    }
  };
  assert.equal(
    message([[1, 2], [3]]),
    'values[1]: got length 1, needs 2 entries like the first row',
  );
  assert.equal(message([[1, '2']]), "values[0][1]: got '2', needs a number");
  assert.equal(message([1, 2]), 'values: got shape (2), needs (rows, columns)');
  assert.equal(message([]), 'values: got shape (0), needs (rows, columns)');
  assert.equal(message([[]]), 'values: got shape (1, 0), needs at least one number');
  assert.equal(
    message({ data: new Uint16Array(1), shape: [1, 1], type: 'float16' }),
    "values: got type 'float16', needs 'float32'",
  );
  assert.match(
    message({ output: {}, values: { data: Float32Array.of(1), shape: [1, 1] } }),
    /^values: got an object of class Object, needs .*; pass its property values$/,
  );
  assert.equal(
    missing('weights').message,
    'weights: got undefined; attention returns weights if you pass { needWeights: true }',
  );
  assert.throws(() => readNames('tokens', 'the cat', 2, 'queries'), {
    message: "tokens: got 'the cat', needs an array of strings, such as 'the cat'.split(' ')",
  });
});

test('attributes separate tokens by spaces and numbers by commas or spaces, or contain JSON', () => {
  assert.deepEqual(readAttribute('tokens', 'names', ' the  cat '), ['the', 'cat']);
  assert.deepEqual(readAttribute('tokens', 'names', '["New York"]'), ['New York']);
  assert.deepEqual(readAttribute('columns', 'numbers', '6,7 8'), [6, 7, 8]);
  assert.deepEqual(readAttribute('weights', 'tensor', '[[1]]'), [[1]]);
  assert.equal(readAttribute('causal', 'flag', ''), true);
});

test('tokens give weights in a typed array their shape', () => {
  const weights = Float32Array.of(1, 0, 0.5, 0.5, 0, 1, 0.25, 0.75);
  const { weights: read, matrix } = weightsOf({ ...none, weights, tokens: ['a', 'b'], head: 1 });
  assert.deepEqual(read.shape, [2, 2, 2]);
  assert.deepEqual([...matrix.data], [0, 1, 0.25, 0.75]);
});

test('masks need as many queries as keys', () => {
  const given = { ...none, weights: [[0.5, 0.5]], causal: true };
  assert.throws(() => weightsOf(given), /^AttnError: causal: needs as many queries as keys/);
});

test('a heatmap of scores excludes infinities from its scale', () => {
  const given = { values: [[1, -Infinity]], shape: null, scale: null, max: null };
  const read = heatmapOf({ ...given, rowLabels: null, columnLabels: null });
  assert.equal(read.max, 1);
  assert.equal(read.isDiverging, false);
  assert.equal(read.matrix.data[1], -Infinity);
  assert.equal(read.matrix.coarse?.data[1], 0);
});

test('binary numbers need whole positions', () => {
  const given = { encoding: [[0, 1]], shape: null, columns: null, curves: null };
  assert.equal(encodingOf({ ...given, base: null, positions: [0.5] }).base, null);
  assert.throws(() => encodingOf({ ...given, base: 10000, positions: [0.5] }), /positions: /);
});

test('curves of equal numbers have a scale, too', () => {
  const given = { values: [[0], [0]], shape: null, columns: null, positions: null, labels: null };
  assert.deepEqual(curvesOf(given).domain, [0, 1]);
});

test('curves need at least one column', () => {
  const given = { values: [[0], [1]], shape: null, positions: null, labels: null };
  assert.throws(() => curvesOf({ ...given, columns: [] }), /columns: got an empty list, needs/);
});

test('the types describe every property', async () => {
  const types = readFileSync(new URL('figures.d.ts', import.meta.url), 'utf8');
  const source = readFileSync(new URL('figures.js', import.meta.url), 'utf8');
  for (const [, name, body] of source.matchAll(
    /export const (\w+) = figureElement\(([^]*?)\}\);/g,
  )) {
    const declared = types.match(new RegExp(`interface ${name}\\b[^]*?\\n}`))?.[0] ?? '';
    const [, properties] =
      body.match(/properties: \{([^]*?)\n {2}\},|properties: \{(.*?)\},/) ?? [];
    for (const [, property] of (properties ?? body).matchAll(
      /(\w+): '(?:tensor|names|number|numbers|flag|text)'/g,
    )) {
      const all = declared + (types.match(/interface FigureElement[^]*?\n}/)?.[0] ?? '');
      assert.match(all, new RegExp(`\\b${property}: `), `${name}.${property}`);
    }
  }
});
