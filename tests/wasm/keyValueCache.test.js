import assert from 'node:assert/strict';
import { test } from 'node:test';

import { assertThrows } from './compare.js';
import { everyVariant } from './everyVariant.js';
import { Random } from './random.js';

/** @import { CacheType } from 'attn' */

/** Error bounds, relative to the largest number in a row. @type {Record<CacheType, number>} */
const kErrors = { float32: 0, float16: 2 ** -11, bfloat16: 2 ** -8, int8: 1 / 253 };

/** @type {CacheType[]} */
const kTypes = ['float32', 'float16', 'bfloat16', 'int8'];

await everyVariant('KeyValueCache', (attn) => {
  for (const type of kTypes) {
    test(`${type} stores numbers within its error bound`, () => {
      const random = new Random(1);
      const key = random.tensor(1, 2, 5, 8);
      const value = random.tensor(1, 2, 5, 8);
      const cache = new attn.KeyValueCache({ numKvHeads: 2, headDim: 8, type });
      cache.append(key, value);
      assert.equal(cache.length, 5);
      for (const [got, want] of [
        [cache.keys(), key],
        [cache.values(), value],
      ]) {
        const numbers = Array.from(want.data);
        for (let row = 0; row < 80; row += 8) {
          const largest = Math.max(...numbers.slice(row, row + 8).map(Math.abs));
          for (let i = row; i < row + 8; ++i) {
            assert.ok(Math.abs(got.data[i] - numbers[i]) <= kErrors[type] * largest);
          }
        }
      }
      cache.dispose();
    });

    test(`a layer decodes from a cache of ${type}`, () => {
      const random = new Random(2);
      const mha = new attn.MultiHeadAttention({ dModel: 32, numHeads: 4, seed: 3 });
      const x = random.tensor(9, 32);
      const whole = mha.forward(x, x, x, { causal: true }).output;
      const cache = mha.makeCache(1, { type });
      for (let i = 0; i < 9; ++i) {
        const token = { data: x.data.slice(32 * i, 32 * i + 32), shape: [1, 32] };
        const { output } = mha.forward(token, token, token, { cache, causal: true });
        for (let d = 0; d < 32; ++d) {
          const error = Math.abs(output.data[d] - whole.data[32 * i + d]);
          assert.ok(error <= 1e-5 + 4 * kErrors[type], `${i} ${d} ${error}`);
        }
      }
      assert.match(JSON.stringify(cache), new RegExp(`"elementType":"${type}"`));
      cache.dispose();
      mha.dispose();
    });
  }

  test('other types are rejected', () => {
    const make = (/** @type {any} */ type) =>
      new attn.KeyValueCache({ numKvHeads: 1, headDim: 4, type });
    assertThrows(() => make('int4'), 'invalid_argument', /^type: got/);
  });
});
