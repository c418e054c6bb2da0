// Compares what figures show of the untrained layer with the equations, in double precision.

import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from 'attn';

import {
  attentionWeights,
  maxAbsDifference,
  mix,
  project,
  roundingError,
  selfAttention,
  sinusoidalEncoding,
} from '../../../tests/browser/reference.js';
import { exclusionOf } from '../core/exclusion.js';
import { orderOf } from '../core/shuffle.js';
import { headStatistics } from '../core/statistics.js';
import { parseSettings } from '../state/url.js';
import { Spelled } from './spelled.js';

const attn = await load({ threads: 1 });
const spelled = new Spelled(attn);

/** @typedef {{ data: Float32Array, shape: readonly number[] }} Tensor */

/**
 * The sentence of a link, with the results that the figures show.
 * @param {string} link settings of version 1
 */
function shownBy(link) {
  const settings = parseSettings(`v=1&${link}`);
  const given = { ...settings, ...spelled.split(settings.text), rotary: false };
  const sentence = spelled.sentence(given, exclusionOf(given, given.tokens.length));
  return { given, sentence };
}

/** The rows of a matrix, or of one matrix in a stack. @param {Tensor} tensor @param {number} [at] */
function rowsOf({ data, shape }, at = 0) {
  const [rows, columns] = shape.slice(-2);
  return Array.from({ length: rows }, (_, i) => {
    const start = (at * rows + i) * columns;
    return [...data.subarray(start, start + columns)];
  });
}

/** @param {number[][]} rows @param {number} head @param {number} depth */
const ofHead = (rows, head, depth) =>
  rows.map((row) => row.slice(head * depth, (head + 1) * depth));

const [n, dModel] = [6, 64];
const text = 'text=the+cat+sat+on+the+mat';

test('the input is embedding plus encoding, and identical words have identical embeddings', () => {
  const { sentence } = shownBy(text);
  const [embedding, input] = [rowsOf(sentence.embedding), rowsOf(sentence.input)];
  assert.deepEqual(embedding[0], embedding[4]);
  assert.notDeepEqual(embedding[1], embedding[2]);
  for (const row of embedding) {
    const meanSquare = row.reduce((sum, value) => sum + value * value, 0) / dModel;
    assert.ok(Math.abs(meanSquare - 1) < 1e-5);
  }
  const encoding = sinusoidalEncoding(n, dModel, 10000);
  const sum = embedding.map((row, i) => row.map((value, j) => value + encoding[i][j]));
  assert.ok(maxAbsDifference(input, sum) <= 1.2e-7 + 6 * roundingError);
  const without = shownBy(`${text}&encoding=none`).sentence;
  assert.deepEqual(rowsOf(without.input), embedding);
});

for (const causal of [false, true]) {
  test(`identity weights match the reference in every head${causal ? ', causal' : ''}`, () => {
    const { sentence } = shownBy(`${text}&causal=${Number(causal)}`);
    const input = rowsOf(sentence.input);
    const { weights } = sentence.attend();
    for (let head = 0; head < 4; head++) {
      const values = ofHead(input, head, dModel / 4);
      const expected = attentionWeights({ values }, { values }, causal);
      const found = rowsOf(weights, head);
      const difference = maxAbsDifference(found, expected.weights);
      assert.ok(difference <= expected.tolerance, `head ${head}: ${difference}`);
      found.forEach((row, i) => {
        if (causal) assert.ok(row.slice(i + 1).every((weight) => weight === 0));
        assert.ok(Math.abs(row.reduce((sum, weight) => sum + weight) - 1) < 1e-6);
      });
    }
  });
}

test('Xavier weights match the reference', () => {
  const { sentence } = shownBy(`${text}&weights=xavier&seed=5&heads=2&head=1`);
  const layer = new attn.MultiHeadAttention({ dModel, numHeads: 2, init: 'xavier', seed: 5 });
  // The parameter stacks the rows of W_q, W_k and W_v.
  const stacked = rowsOf(layer.parameter('in_proj_weight'));
  layer.dispose();
  const [query, key] = [0, 1].map((which) => {
    const matrix = stacked.slice(which * dModel, (which + 1) * dModel);
    const { values, errors } = project(rowsOf(sentence.input), matrix);
    return { values: ofHead(values, 1, dModel / 2), errors: ofHead(errors, 1, dModel / 2) };
  });
  const { weights, tolerance } = attentionWeights(query, key, false);
  const difference = maxAbsDifference(rowsOf(sentence.attend().weights, 1), weights);
  assert.ok(difference <= tolerance, `${difference} > ${tolerance}`);
});

test('identical words get identical weights only without the encoding', () => {
  const without = rowsOf(shownBy(`${text}&encoding=none`).sentence.attend().weights);
  assert.deepEqual(without[0], without[4]);
  for (const row of without) assert.ok(Math.abs(row[0] - row[4]) <= roundingError);
  const encoded = rowsOf(shownBy(text).sentence.attend().weights);
  assert.notDeepEqual(encoded[0], encoded[4]);
});

test('masks exclude the right cells, and rows still sum to one', () => {
  const { sentence } = shownBy(`${text}&window=2&validLen=5&blocked=3.3,3.2`);
  rowsOf(sentence.attend().weights).forEach((row, i) => {
    row.forEach((weight, j) => {
      const excluded = Math.abs(i - j) > 2 || j >= 5 || (i === 3 && (j === 3 || j === 2));
      assert.equal(weight === 0, excluded, `${i}, ${j}: ${weight}`);
    });
    assert.ok(Math.abs(row.reduce((sum, weight) => sum + weight) - 1) < 1e-6);
  });
});

test('the statistics of a head match its weights', () => {
  const { weights } = shownBy(`${text}&heads=1`).sentence.attend();
  const rows = rowsOf(weights);
  const mean = (/** @type {(row: number[], i: number) => number} */ of) =>
    rows.reduce((sum, row, i) => sum + of(row, i), 0) / n;
  const found = headStatistics(weights, 0);
  const expected = {
    entropy: mean((row) => row.reduce((sum, w) => sum - (w && w * Math.log2(w)), 0)),
    distance: mean((row, i) => row.reduce((sum, w, j) => sum + w * Math.abs(i - j), 0)),
    largest: mean((row) => Math.max(...row)),
  };
  for (const name of /** @type {const} */ (['entropy', 'distance', 'largest'])) {
    assert.ok(Math.abs(found[name] - expected[name]) < 1e-6, `${name}: ${found[name]}`);
  }
});

for (const causal of [false, true]) {
  test(`the effect of the order matches the reference${causal ? ', causal' : ''}`, () => {
    const { given, sentence } = shownBy(
      `text=one+two+three+four+five+six+seven&shuffle=1&orderCausal=${Number(causal)}`,
    );
    const order = orderOf(7, given);
    const embedding = rowsOf(sentence.embedding);
    const encoding = sinusoidalEncoding(7, dModel, 10000);
    const permute = (/** @type {number[][]} */ rows) => order.map((from) => rows[from]);
    const ordered = sentence.ordered();
    for (const isEncoded of [false, true]) {
      const layer = (/** @type {number[][]} */ rows) =>
        selfAttention(
          rows.map((row, i) => row.map((value, j) => value + (isEncoded ? encoding[i][j] : 0))),
          4,
          causal,
        );
      const expected = maxAbsDifference(permute(layer(embedding)), layer(permute(embedding)));
      const { largest, difference } = ordered[isEncoded ? 'with' : 'without'];
      assert.ok(Math.abs(largest - expected) < (isEncoded ? 1e-4 : 1e-5), `${largest}`);
      assert.equal(Math.fround(largest), Math.max(...difference.data.map(Math.abs)));
    }
  });
}

/**
 * A layer of two heads whose projections are identities, except for the matrices in `edited`.
 * @param {number[][]} x
 * @param {Partial<Record<'q' | 'k' | 'v' | 'o', number[][]>>} [edited]
 */
function layerOf(x, edited = {}) {
  const width = x[0].length;
  const identity = Array.from({ length: width }, (_, i) =>
    Array.from({ length: width }, (_, j) => +(i === j)),
  );
  const [query, key, value] = /** @type {const} */ (['q', 'k', 'v']).map(
    (which) => project(x, edited[which] ?? identity).values,
  );
  const heads = [0, 1].map((head) => {
    const [q, k, v] = [query, key, value].map((rows) => ofHead(rows, head, width / 2));
    const { weights } = attentionWeights({ values: q }, { values: k }, false);
    return { weights, mixed: mix(weights, v).values };
  });
  const joined = x.map((_, i) => heads.flatMap(({ mixed }) => mixed[i]));
  return {
    weights: heads.map(({ weights }) => weights),
    output: project(joined, edited.o ?? identity).values,
  };
}

const minus = (/** @type {number[][]} */ a, /** @type {number[][]} */ b) =>
  a.map((row, i) => row.map((value, j) => value - b[i][j]));

for (const which of /** @type {const} */ (['q', 'k', 'v', 'o'])) {
  test(`a changed weight of W_${which} has the same effect as in the reference`, () => {
    const { sentence } = shownBy(
      `text=man+bites+dog+man&dModel=16&heads=2&head=1&editMatrix=${which}&editCell=9.3&editBy=1.5`,
    );
    const x = rowsOf(sentence.input);
    const changed = Array.from({ length: 16 }, (_, i) =>
      Array.from({ length: 16 }, (_, j) => +(i === j) + (i === 9 && j === 3 ? 1.5 : 0)),
    );
    const { edit, weights, output } = sentence.edit();
    assert.deepEqual(edit, { row: 9, column: 3, original: 0, value: 1.5 });
    const [before, after] = [layerOf(x), layerOf(x, { [which]: changed })];
    const { data, rows, columns } = weights;
    const found = rowsOf({ data, shape: [rows, columns] });
    assert.ok(maxAbsDifference(found, minus(after.weights[1], before.weights[1])) < 1e-5);
    const change = minus(after.output, before.output);
    assert.ok(maxAbsDifference(rowsOf(output), change) < 1e-5);
    assert.ok(Math.max(...change.flat().map(Math.abs)) > 0.01, 'something changes');
  });
}
