import assert from 'node:assert/strict';
import test from 'node:test';

import { matricesAt } from './matrices.js';

/** @param {number[][]} rows @returns {import('attn').Tensor} */
const tensor = (rows) => ({
  data: Float32Array.from(rows.flat()),
  shape: [rows.length, rows[0].length],
});
const x = tensor([[1], [2], [3]]);

/** Three tokens, and two heads that share their keys and values. */
const run = {
  x,
  q: tensor([
    [10, 11],
    [12, 13],
    [14, 15],
  ]),
  keys: tensor([[20], [21], [22]]),
  values: tensor([[30], [31], [32]]),
  weights: [
    tensor([[1], [1]]),
    tensor([
      [0.25, 0.75],
      [0.5, 0.5],
    ]),
    tensor([
      [0.5, 0.25, 0.25],
      [0, 1, 0],
    ]),
  ],
  ...{ output: tensor([[40], [41], [42]]), whole: x, differences: new Float32Array(3) },
};

test('a step shows the new query and the rows up to the new token', () => {
  const { q, k, w, v, y } = matricesAt(run, 1);
  const expected = [
    [q, [12, 13], 1, 2],
    [k, [20, 21, 0], 3, 1],
    [v, [30, 31, 0], 3, 1],
    [y, [40, 41, 0], 3, 1],
    // One row for each key, and one column for each head.
    [w, [0.25, 0.5, 0.75, 0.5, 0, 0], 3, 2],
  ];
  for (const [matrix, values, rows, columns] of expected) {
    assert.deepEqual(matrix, {
      data: Float32Array.from(/** @type {any} */ (values)),
      rows,
      columns,
    });
  }
});

test('the last step shows every row', () => {
  const { k, w } = matricesAt(run, 2);
  assert.deepEqual([...k.data], [20, 21, 22]);
  assert.deepEqual([...w.data], [0.5, 0, 0.25, 1, 0.25, 0]);
});
