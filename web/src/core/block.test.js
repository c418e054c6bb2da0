import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from 'attn';

import {
  attentionWeights,
  layerNorm,
  mix,
  project,
  roundingError,
} from '../../../tests/browser/reference.js';
import { Block } from './block.js';
import { exclusionOf } from './exclusion.js';
import { explain, inWords } from './explain.js';
import { encoderFlow } from './flow.js';
import { describedLayer, encoderLayer } from './layer.js';

/** @typedef {import('attn').Tensor} Tensor */

const attn = await load({ threads: 1 });
const words = ['the', 'cat', 'sat', 'on', 'the', 'mat'];
const none = { causal: false, window: 0, validLen: 0, blocked: [] };

/** @param {import('./layer.js').BlockOptions} options */
const blockOf = (options) =>
  new Block(encoderLayer(attn, options), describedLayer(options), { isOwned: true });

/** @param {Tensor} tensor @returns {number[][]} */
const rowsOf = ({ data, shape: [rows, columns] }) =>
  Array.from({ length: rows }, (_, i) => [...data.subarray(i * columns, (i + 1) * columns)]);

/** @param {number[][]} actual @param {{ values: number[][], errors: number[][] }} expected @param {string} name */
function near(actual, { values, errors }, name) {
  values.forEach((row, i) =>
    row.forEach((value, j) => {
      const difference = Math.abs(actual[i][j] - value);
      assert.ok(difference <= errors[i][j], `${name}[${i}, ${j}]: ${difference} > ${errors[i][j]}`);
    }),
  );
}

/** @type {import('./layer.js').BlockOptions[]} */
const cases = [];
for (const normFirst of [false, true]) {
  for (const weights of /** @type {const} */ (['identity', 'xavier'])) {
    for (const [dModel, heads] of [
      [8, 1],
      [24, 4],
      [64, 8],
    ]) {
      cases.push({ normFirst, weights, dModel, heads, seed: 5 });
    }
  }
}

const masks = [
  none,
  { ...none, causal: true, window: 2 },
  { ...none, validLen: 4, blocked: [{ row: 3, column: 1 }] },
];

test('the last matrix is the layer’s output', () => {
  for (const options of cases) {
    const block = blockOf(options);
    const layer = encoderLayer(attn, options);
    for (const length of [1, 2, 6]) {
      const x = attn.positionalEncoding(
        attn.ngramEmbedding(words.slice(0, length), { dModel: options.dModel }),
      );
      for (const mask of masks) {
        const attention = exclusionOf(mask, length);
        const { stages } = block.forward(x, attention);
        const { output } = layer.forward(x, { attention });
        const last = /** @type {string} */ (
          encoderFlow(options.normFirst, options.heads).at(-1)?.id
        );
        assert.deepEqual(stages[last], output, JSON.stringify({ ...options, length, mask }));
      }
    }
    layer.dispose();
    block.dispose();
  }
});

test('each matrix follows from the previous ones as in the reference', () => {
  for (const options of cases) {
    const { dModel, heads, normFirst } = options;
    const block = blockOf(options);
    const x = attn.positionalEncoding(attn.ngramEmbedding(words, { dModel }));
    const { stages } = block.forward(x, { causal: true });
    const rows = Object.fromEntries(
      Object.entries(stages).map(([id, tensor]) => [id, rowsOf(tensor)]),
    );
    const depth = dModel / heads;
    const slice = (/** @type {number[][]} */ matrix, /** @type {number} */ head) =>
      matrix.map((row) => row.slice(head * depth, (head + 1) * depth));
    for (const { id, kind, from, head } of encoderFlow(normFirst, heads)) {
      const [first, second] = from.map((origin) => rows[origin]);
      if (kind === 'product') {
        const expected = project(first, rowsOf(block.parameters()[id]));
        if (id === 'hidden') {
          expected.values = expected.values.map((row) => row.map((value) => Math.max(0, value)));
        }
        near(rows[id], expected, id);
      } else if (kind === 'weights') {
        const h = /** @type {number} */ (head);
        const { weights, tolerance } = attentionWeights(
          { values: slice(first, h) },
          { values: slice(second, h) },
          true,
        );
        near(rows[id], { values: weights, errors: weights.map((r) => r.map(() => tolerance)) }, id);
      } else if (kind === 'mix') {
        for (let h = 0; h < heads; h++) {
          near(slice(rows[id], h), mix(rows[`weights${h}`], slice(rows.v, h)), `${id} ${h}`);
        }
      } else if (kind === 'norm') {
        near(rows[id], layerNorm(first), id);
      } else if (kind === 'sum') {
        const sums = first.map((row, i) => row.map((a, j) => Math.fround(a + second[i][j])));
        assert.deepEqual(rows[id], sums, id);
      }
    }
    block.dispose();
  }
});

test('the explanation of a cell adds up to its value', () => {
  for (const options of cases) {
    const { dModel, heads, normFirst } = options;
    const block = blockOf(options);
    const x = attn.positionalEncoding(attn.ngramEmbedding(words, { dModel }));
    const run = block.forward(x, {});
    for (const stage of encoderFlow(normFirst, heads)) {
      const { data, shape } = run.stages[stage.id];
      for (const cell of [
        { row: 0, column: 0 },
        { row: 5, column: shape[1] - 1 },
        { row: 2, column: Math.floor(shape[1] / 2) },
      ]) {
        const value = data[cell.row * shape[1] + cell.column];
        const said = explain(stage, cell, run, block.parameters(), {
          depth: dModel / heads,
        });
        const sum = said.terms.reduce((total, [a, b]) => total + a * b, 0);
        const magnitude = said.terms.reduce((total, [a, b]) => total + Math.abs(a * b), 0);
        const tolerance = (said.terms.length + 4) * roundingError * magnitude;
        const [a, b, c] = said.operands;
        /** @type {Record<string, () => void>} */
        const checks = {
          input: () => assert.equal(said.terms.length, 0),
          product: () => {
            const expected = stage.id === 'hidden' ? Math.max(0, sum) : sum;
            assert.ok(Math.abs(value - expected) <= tolerance);
          },
          mix: () => assert.ok(Math.abs(value - sum) <= tolerance),
          weights: () =>
            assert.ok(
              Math.abs(a - sum / Math.sqrt(dModel / heads)) <= tolerance + 4e-7 * Math.abs(a),
            ),
          sum: () => assert.equal(value, Math.fround(a + b)),
          norm: () => assert.ok(Math.abs(value - (a - b) / c) <= 1.6e-6 * (1 + Math.abs(value))),
        };
        checks[stage.kind]();
        const text = inWords(stage, said, { most: 3, depth: dModel / heads, keys: 6 });
        assert.doesNotMatch(text, /NaN|undefined|-/);
        assert.equal(text === '', stage.kind === 'input');
      }
    }
    block.dispose();
  }
});

test('the block’s attention has the same parameters as the page’s layer with the same seed', () => {
  for (const weights of /** @type {const} */ (['identity', 'xavier'])) {
    const options = { dModel: 16, heads: 4, normFirst: false, weights, seed: 7 };
    const block = encoderLayer(attn, options);
    const layer = new attn.MultiHeadAttention({ dModel: 16, numHeads: 4, init: weights, seed: 7 });
    for (const name of layer.parameterNames()) {
      assert.deepEqual(block.parameter(`self_attn.${name}`), layer.parameter(name));
    }
    layer.dispose();
    block.dispose();
  }
});

test('all memory is released', () => {
  const options = {
    dModel: 16,
    heads: 2,
    normFirst: true,
    weights: /** @type {const} */ ('xavier'),
  };
  const x = attn.ngramEmbedding(words, { dModel: 16 });
  const make = (/** @type {number} */ seed) => {
    const block = blockOf({ ...options, seed });
    block.forward(x, {});
    block.dispose();
  };
  make(0);
  const { bytesInUse } = attn.memory();
  for (let seed = 1; seed < 20; seed++) make(seed);
  assert.equal(attn.memory().bytesInUse, bytesInUse);
});
