import assert from 'node:assert/strict';
import test from 'node:test';

import { byColumns, relativeDistance, restored, rowOf, valuesOf } from './patching.js';

test('the residual stream has a value before the first layer and after each layer', () => {
  assert.deepEqual(
    valuesOf('residual', 2, 0).map(({ name }) => name),
    ['layers.0.resid_pre', 'layers.0.output', 'layers.1.output'],
  );
  assert.deepEqual(valuesOf('mlp', 1, 0, 'encoder.'), [{ name: 'encoder.layers.0.mlp_out' }]);
  assert.deepEqual(valuesOf('attention', 1, 0), [{ name: 'layers.0.attn_out' }]);
  assert.deepEqual(valuesOf('head', 1, 3), [{ name: 'layers.0.self_attn.head_output', head: 3 }]);
});

test('a row is read from a matrix and from a head', () => {
  const data = Float32Array.from({ length: 12 }, (_, i) => i);
  assert.deepEqual([...rowOf({ data, shape: [4, 3] }, 2)], [6, 7, 8]);
  assert.deepEqual([...rowOf({ data, shape: [2, 3, 2] }, 1, 1)], [8, 9]);
});

test('the distance between two rows is relative to the first row', () => {
  assert.equal(relativeDistance(Float32Array.of(3, 4), Float32Array.of(3, 4)), 0);
  assert.equal(relativeDistance(Float32Array.of(3, 4), Float32Array.of(0, 0)), 1);
  assert.equal(relativeDistance(Float32Array.of(0, 0), Float32Array.of(0, 0)), 0);
});

test('a patch restores nothing, everything, or a share of the difference', () => {
  const runs = { first: -1, second: -3 };
  assert.deepEqual(
    [-3, -1, -2, -4, 0].map((value) => restored(value, runs)),
    [0, 1, 0.5, -0.5, 1.5],
  );
  assert.equal(restored(-1, { first: -1, second: -1 }), 0);
});

test('numbers that arrive column by column are placed row by row', () => {
  const { data, shape } = byColumns([1, 2, 3], 2, 2);
  assert.deepEqual(
    [shape, [...data]],
    [
      [2, 2],
      [1, 3, 2, NaN],
    ],
  );
});
