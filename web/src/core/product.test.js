import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from 'attn';

import { finish } from './finish.js';
import { product, productInSteps } from './product.js';

test('the product contains all dot products of the rows of two matrices', async () => {
  const attn = await load({ threads: 1 });
  const tensor = (/** @type {number[][]} */ rows) => ({
    data: Float32Array.from(rows.flat()),
    shape: [rows.length, rows[0].length],
  });
  const { data, shape } = product(
    attn,
    tensor([
      [1, 2, 3],
      [-4, 5, 0.5],
    ]),
    tensor([
      [2, 0, 1],
      [1, 1, 1],
      [0, -8, 0],
      [0.25, 0, 0],
    ]),
  );
  assert.deepEqual(shape, [2, 4]);
  assert.deepEqual([...data], [5, 6, -16, 0.25, -7.5, 1.5, -40, -1]);
});

test('a large product computed in steps gives the same result', async () => {
  const attn = await load({ threads: 1 });
  const encoding = attn.sinusoidalEncoding({ length: 300, dModel: 256 });
  const { data, shape } = finish(productInSteps(attn, encoding, encoding));
  assert.deepEqual(shape, [300, 300]);
  const once = product(attn, encoding, encoding).data;
  data.forEach((value, i) => assert.ok(Math.abs(value - once[i]) < 1e-4));
});
