import assert from 'node:assert/strict';
import test, { before } from 'node:test';

import { load } from 'attn';

import { reasonToSkip, run } from '../../../../tests/programs.js';
import { finish } from '../../core/finish.js';
import { schemePrograms } from './code.js';
import { alibiHead, compare, schemeNames } from './schemes.js';

/** @type {import('attn').Attn} */
let attn;
before(async () => {
  attn = await load({ threads: 1 });
});

const tokens = ['the', 'cat', 'sat', 'on', 'the', 'mat', 'and', 'the', 'dog'];
const settings = {
  ...{ heads: 4, head: 2, weights: /** @type {const} */ ('xavier'), seed: 3, base: 100 },
  ...{ factor: 4, trained: 8, clip: 2, causal: false },
};
const dModel = 32;
const dim = dModel / settings.heads;

const compared = () => finish(compare(attn, attn.ngramEmbedding(tokens, { dModel }), settings));

/** @param {import('../../drawing/matrix.js').Matrix} matrix @returns {number[][]} */
const rowsOf = ({ data, rows, columns }) =>
  Array.from({ length: rows }, (_, i) => [...data.subarray(i * columns, (i + 1) * columns)]);

test('every scheme gives weights that sum to one, and no two schemes give the same weights', () => {
  const all = compared();
  assert.deepEqual(
    all.map(({ name }) => name),
    schemeNames,
  );
  const seen = new Set();
  for (const { weights } of all) {
    assert.ok(weights);
    for (const row of rowsOf(weights)) {
      assert.ok(Math.abs(row.reduce((sum, weight) => sum + weight) - 1) < 1e-6);
    }
    seen.add(String(weights.data));
  }
  assert.equal(seen.size, schemeNames.length);
});

test('equal tokens have equal weights without positions, and different weights with any scheme', () => {
  for (const { name, weights } of compared()) {
    assert.ok(weights);
    const [first, again] = [rowsOf(weights)[0], rowsOf(weights)[4]];
    const apart = Math.max(...first.map((weight, i) => Math.abs(weight - again[i])));
    if (name === 'none') assert.ok(apart < 1e-6, `${apart}`);
    else assert.ok(apart > 1e-4, `${name}: ${apart}`);
  }
});

test('the matrices match the papers', () => {
  const matrices = Object.fromEntries(compared().map(({ name, matrix }) => [name, matrix]));
  const { alibi, rotary, linear } = matrices;
  assert.ok(alibi && rotary && linear);
  const slope = 2 ** ((-8 * (alibiHead + 1)) / settings.heads);
  rowsOf(alibi).forEach((row, i) =>
    row.forEach((bias, k) => assert.ok(Math.abs(bias + slope * Math.abs(i - k)) < 1e-6)),
  );
  for (const [matrix, factor] of /** @type {const} */ ([
    [rotary, 1],
    [linear, settings.factor],
  ])) {
    rowsOf(matrix).forEach((row, position) =>
      row.forEach((value, column) => {
        const angle = position / factor / settings.base ** ((2 * (column % (dim / 2))) / dim);
        const exact = column < dim / 2 ? Math.cos(angle) : Math.sin(angle);
        assert.ok(Math.abs(value - exact) < 1e-6, `${position}, ${column}`);
      }),
    );
  }
});

test('heads with one column cannot be rotated', () => {
  const x = attn.ngramEmbedding(tokens, { dModel: 8 });
  const all = finish(compare(attn, x, { ...settings, heads: 8 }));
  for (const { name, weights } of all) {
    const turned = /rotary|linear|dynamic|yarn|llama3/.test(name);
    assert.equal(weights === null, turned, name);
  }
});

for (const language of /** @type {const} */ (['python', 'cpp', 'javascript'])) {
  const skip = await reasonToSkip(language);
  for (const name of schemeNames) {
    const text = schemePrograms(
      /** @type {any} */ ({ ...settings, scheme: name, tokens, dModel }),
      null,
    )[language];
    if (!text) continue;
    test(`the ${language} program prints the numbers of ${name}`, { skip }, async () => {
      const { matrix, weights } =
        compared().find((each) => each.name === name) ?? assert.fail(name);
      const expected = rowsOf(matrix ?? weights ?? assert.fail());
      const printed = await run(language, text);
      assert.deepEqual([printed.length, printed[0].length], [expected.length, expected[0].length]);
      printed.forEach((row, i) =>
        row.forEach((value, k) => {
          assert.ok(Math.abs(value - expected[i][k]) < 1e-6, `${i}, ${k}: ${value}`);
        }),
      );
    });
  }
}
