import assert from 'node:assert/strict';
import test from 'node:test';

import { encoderFlow, originsOf } from './flow.js';

const sizes = { length: 5, dModel: 8, hidden: 16, heads: 2 };

/** @param {Map<string, import('./flow.js').Region>} all @param {string} id */
const rowsOf = (all, id) => {
  const region = all.get(id);
  return region && [region.top, region.bottom];
};

for (const normFirst of [false, true]) {
  const flow = encoderFlow(normFirst, 2);

  test(`every matrix depends only on earlier matrices${normFirst ? ', pre-norm' : ''}`, () => {
    const known = new Set();
    for (const { id, from } of flow) {
      assert.ok(
        from.every((origin) => known.has(origin)),
        id,
      );
      known.add(id);
    }
    assert.equal(known.size, flow.length);
    assert.equal(flow.at(-1)?.id, normFirst ? 'sum2' : 'norm2');
  });

  test(`except in attention, the output depends only on its own row${normFirst ? ', pre-norm' : ''}`, () => {
    const output = /** @type {string} */ (flow.at(-1)?.id);
    const { all } = originsOf(flow, output, { row: 3, column: 1 }, sizes);
    for (const id of ['sum1', 'attention', 'heads', 'hidden', 'feedForward', 'q']) {
      assert.deepEqual(rowsOf(all, id), [3, 4], id);
    }
    for (const id of ['k', 'v', 'x']) assert.deepEqual(rowsOf(all, id), [0, 5], id);
    for (const id of ['weights0', 'weights1']) assert.deepEqual(rowsOf(all, id), [3, 4], id);
  });
}

test('post-norm normalises sums, pre-norm normalises the layers’ inputs', () => {
  const from = (/** @type {boolean} */ normFirst, /** @type {string} */ name) =>
    encoderFlow(normFirst, 1).find(({ id }) => id === name)?.from;
  assert.deepEqual([from(false, 'norm1'), from(false, 'norm2')], [['sum1'], ['sum2']]);
  assert.deepEqual([from(true, 'norm1'), from(true, 'norm2')], [['x'], ['sum1']]);
  assert.deepEqual([from(false, 'q'), from(false, 'hidden')], [['x'], ['norm1']]);
  assert.deepEqual([from(true, 'q'), from(true, 'hidden')], [['norm1'], ['norm2']]);
  assert.deepEqual(
    [from(false, 'sum2'), from(true, 'sum2')],
    [
      ['norm1', 'feedForward'],
      ['sum1', 'feedForward'],
    ],
  );
});

test('a weight depends on a query and all keys, in the columns of its head', () => {
  const { direct } = originsOf(encoderFlow(false, 2), 'weights1', { row: 2, column: 4 }, sizes);
  assert.deepEqual(direct, [
    { id: 'q', top: 2, bottom: 3, left: 4, right: 8 },
    { id: 'k', top: 0, bottom: 5, left: 4, right: 8 },
  ]);
});

test('a head’s output depends on a row of its weights and a column of values', () => {
  const { direct, all } = originsOf(encoderFlow(false, 2), 'heads', { row: 2, column: 5 }, sizes);
  assert.deepEqual(direct, [
    { id: 'weights1', top: 2, bottom: 3, left: 0, right: 5 },
    { id: 'v', top: 0, bottom: 5, left: 5, right: 6 },
  ]);
  assert.ok(!all.has('weights0'));
  assert.ok(!all.has('hidden'));
});

test('a cell of a sum depends on the cells at the same position in both matrices', () => {
  const { direct } = originsOf(encoderFlow(false, 2), 'sum1', { row: 1, column: 6 }, sizes);
  assert.deepEqual(
    direct.map(({ id, top, left }) => [id, top, left]),
    [
      ['x', 1, 6],
      ['attention', 1, 6],
    ],
  );
});

test('the input depends on nothing', () => {
  const { direct, all } = originsOf(encoderFlow(true, 2), 'x', { row: 0, column: 0 }, sizes);
  assert.deepEqual([direct.length, all.size], [0, 0]);
});
