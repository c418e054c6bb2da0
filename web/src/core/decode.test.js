import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from 'attn';

import { Block } from './block.js';
import { soFar, work } from './decode.js';
import { describedLayer, encoderLayer } from './layer.js';

const attn = await load({ threads: 1 });
const xavier = /** @type {const} */ ('xavier');
const words = 'the cat sat on the mat because the cat was tired'.split(' ');

/** @param {import('./layer.js').BlockOptions} options */
const blockOf = (options) =>
  new Block(encoderLayer(attn, options), describedLayer(options), { isOwned: true });

/** @param {number} length @param {number} dModel */
const input = (length, dModel) =>
  attn.positionalEncoding(attn.ngramEmbedding(words.slice(0, length), { dModel }));

/** @param {import('./layer.js').BlockOptions} options @param {import('attn').Tensor} x */
function decode(options, x) {
  const decoder = blockOf(options);
  try {
    return decoder.decode(x);
  } finally {
    decoder.dispose();
  }
}

for (const normFirst of [false, true]) {
  for (const weights of /** @type {const} */ (['identity', 'xavier'])) {
    test(`decoding token by token matches one pass, ${weights}${normFirst ? ', pre-norm' : ''}`, () => {
      for (const [dModel, heads, length] of [
        [8, 1, 1],
        [24, 4, 5],
        [64, 8, 11],
      ]) {
        const options = { dModel, heads, normFirst, weights, seed: 2 };
        const x = input(length, dModel);
        const { output, whole, differences, keys, values } = decode(options, x);
        assert.equal(differences.length, length);
        let largest = 0;
        output.data.forEach((value, i) => {
          largest = Math.max(largest, Math.abs(value - whole.data[i]));
        });
        assert.equal(differences[length - 1], Math.fround(largest));
        // The sums have few terms and differ only in the order of addition.
        assert.ok(largest < 1e-5, `${largest}`);
        const block = blockOf(options);
        const { stages } = block.forward(x, { causal: true });
        block.dispose();
        for (const [cached, projected] of [
          [keys, stages.k],
          [values, stages.v],
        ]) {
          assert.deepEqual(cached.shape, projected.shape);
          cached.data.forEach((value, i) =>
            assert.ok(Math.abs(value - projected.data[i]) < 1e-5, `${i}`),
          );
        }
      }
    });
  }
}

test('each step’s weights cover the tokens so far and add up to 1', () => {
  const options = { dModel: 16, heads: 2, normFirst: false, weights: xavier, seed: 1 };
  const { weights } = decode(options, input(6, 16));
  weights.forEach(({ data, shape }, t) => {
    assert.deepEqual(shape, [2, t + 1]);
    for (let head = 0; head < 2; head++) {
      const row = data.subarray(head * (t + 1), (head + 1) * (t + 1));
      assert.ok(Math.abs(row.reduce((sum, weight) => sum + weight, 0) - 1) < 1e-6);
    }
  });
});

test('differences never decrease from step to step', () => {
  const options = { dModel: 64, heads: 4, normFirst: true, weights: xavier, seed: 9 };
  const { differences } = decode(options, input(11, 64));
  assert.deepEqual(
    [...differences],
    [...differences].toSorted((a, b) => a - b),
  );
});

test('earlier decoding does not change the result', () => {
  const options = { dModel: 16, heads: 2, normFirst: true, weights: xavier, seed: 1 };
  const decoder = blockOf(options);
  const long = input(9, 16);
  const other = { data: long.data.map((value, i) => (i < 64 ? value : -value)), shape: [9, 16] };
  // Each input is longer or shorter than the previous input, or differs from it only in some rows.
  for (const x of [input(6, 16), long, input(3, 16), long, other, long]) {
    assert.deepEqual(decoder.decode(x), decode(options, x));
  }
  decoder.dispose();
});

test('a cache makes the total work linear', () => {
  assert.deepEqual(work(0), { withCache: 1, without: 1, read: 0 });
  assert.deepEqual(work(4), { withCache: 5, without: 15, read: 4 });
});

test('later rows are empty', () => {
  const matrix = { data: Float32Array.of(1, 2, 3, 4, 5, 6), rows: 3, columns: 2 };
  assert.deepEqual([...soFar(matrix, 1).data], [1, 2, 3, 4, 0, 0]);
  assert.deepEqual([...matrix.data], [1, 2, 3, 4, 5, 6]);
});

test('all memory is released', () => {
  const options = { dModel: 16, heads: 2, normFirst: false, weights: xavier, seed: 1 };
  const x = input(6, 16);
  decode(options, x);
  const { bytesInUse } = attn.memory();
  for (let i = 0; i < 10; i++) decode(options, x);
  assert.equal(attn.memory().bytesInUse, bytesInUse);
});
