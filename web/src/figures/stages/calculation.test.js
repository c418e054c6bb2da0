import assert from 'node:assert/strict';
import test from 'node:test';

import { counted, parameters, stages, tokens, x } from '../../../../tests/browser/mount/tensors.js';
import { projectionsOf } from '../../core/stages.js';
import { matrixOf } from '../../drawing/matrix.js';
import { calculationOf } from './calculation.js';

const { query, key, value, attended, output, ...square } = stages;
const matrices = {
  ...{ x: matrixOf(x), q: query, k: key, v: value, capped: square.scaled, output, ...square },
  head: matrixOf(counted([3, 2], 70)),
  memory: { data: new Float32Array(), rows: 0, columns: 0 },
};
const head = {
  keys: tokens,
  matrices,
  attended,
  depth: 2,
  projections: projectionsOf(parameters, 1, 2),
};
const cell = { row: 1, column: 0 };

for (const [stage, heads, factors, note] of /** @type {const} */ ([
  // The rows of this head come after the rows of the first head.
  ['q', ['X', 'W_q', 'product'], [-2, -1.875, -1.75, -1.625], '+ bias: 0.75'],
  ['k', ['X', 'W_k', 'product'], [0, 0.125, 0.25, 0.375], '+ bias: 1.25'],
  ['v', ['X', 'W_v', 'product'], [2, 2.125, 2.25, 2.375], '+ bias: 1.75'],
  ['scores', ['Q', 'K', 'product'], [20, 20.125], ''],
  ['head', ['weight', 'V', 'product'], [30, 30.25, 30.5], ''],
  ['output', ['heads', 'W_o', 'product'], [2, 2.125, 2.25, 2.375], '+ bias: −1'],
])) {
  test(`${stage}: the factors of the sum, and its bias`, () => {
    const calculation = calculationOf(head, stage, cell, 8);
    assert.deepEqual(calculation?.heads, heads);
    const values = calculation.columns.map(({ values }) => values);
    assert.deepEqual(
      values.map(([, factor]) => factor),
      factors,
    );
    for (const [a, b, product] of values) assert.equal(product, a * b);
    assert.equal(calculation.note, note);
  });
}

test('in cross attention, keys and values are computed from the output of the encoder', () => {
  const memory = matrixOf(counted([5, 4], 40));
  const cross = { ...head, matrices: { ...matrices, memory } };
  for (const [stage, factor] of /** @type {const} */ ([
    ['q', 'X'],
    ['k', 'E'],
    ['v', 'E'],
  ])) {
    const calculation = calculationOf(cross, stage, cell, 8);
    assert.equal(calculation?.heads[0], factor);
    const row = (stage === 'q' ? matrices.x : memory).data.subarray(4, 8);
    const values = calculation.columns.map(({ values }) => values[0]);
    assert.deepEqual(
      values.toSorted((a, b) => a - b),
      [...row].toSorted((a, b) => a - b),
    );
  }
});

test('weights: the softmax of the row, with the key in question marked', () => {
  const calculation = calculationOf({ ...head, sink: 0 }, 'weights', cell, 8);
  assert.deepEqual(calculation?.heads, ['score', 'exp(score − 60.6)', 'share']);
  const names = calculation.columns.map(({ name, place }) => `${name}${place}`);
  assert.deepEqual(names, ['gehen2', 'Fuß1', 'zu0']);
  const marked = calculation.columns.map((column) => 'marked' in column && column.marked);
  assert.deepEqual(marked, [false, false, true]);
  assert.match(calculation.note, /^and an attention sink with the score 0, exp \/ 2\.66/);
});

test('terms that are not listed are counted and summed', () => {
  const calculation = calculationOf(head, 'output', cell, 3);
  assert.equal(calculation?.columns.length, 3);
  assert.equal(calculation.note, '+ 1 more (141) + bias: −1');
});

test('no sum explains a normalised query, or a number without its projection', () => {
  assert.equal(calculationOf({ ...head, normalises: true }, 'q', cell, 8), null);
  assert.notEqual(calculationOf({ ...head, normalises: true }, 'v', cell, 8), null);
  assert.equal(calculationOf({ ...head, projections: null }, 'output', cell, 8), null);
  assert.equal(calculationOf(head, 'x', cell, 8), null);
});
