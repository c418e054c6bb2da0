import assert from 'node:assert/strict';
import { test } from 'node:test';

import { assertClose, assertThrows } from './compare.js';
import { everyVariant } from './everyVariant.js';
import { linear, sinusoids } from './reference.js';

await everyVariant('shiftMatrix', (attn) => {
  for (const delta of [0, 1, -3, 0.5, 1000]) {
    test(`matrix_shifts_every_position_by_${delta}`, () => {
      const dModel = 12;
      const matrix = attn.shiftMatrix({ dModel, delta });
      assert.deepEqual(matrix.shape, [dModel, dModel]);
      const positions = [0, 1, 2, 17, 60];
      const shifted = linear(sinusoids(positions, dModel), positions.length, matrix.data);
      const expected = sinusoids(
        positions.map((position) => position + delta),
        dModel,
      );
      // Two entries of the matrix, each within its bound (shift_matrix.hpp), are multiplied by a
      // sine and a cosine.
      const tolerance = 2 * (3.1e-8 + 4.5e-16 * Math.abs(delta)) + 1e-12;
      shifted.forEach((x, i) => assert.ok(Math.abs(x - expected[i]) <= tolerance));
    });

    test(`applying_the_shift_moves_rows_by_${delta}`, () => {
      const encoding = attn.sinusoidalEncoding({ length: 10, dModel: 34, base: 300 });
      const expected = sinusoids(
        Array.from({ length: 10 }, (_, i) => i + delta),
        34,
        300,
      );
      assertClose(attn.applyShift(encoding, delta, { base: 300 }), [10, 34], expected, 3e-7);
    });
  }

  test('matrix_is_block_diagonal_and_a_rotation', () => {
    const { data } = attn.shiftMatrix({ dModel: 6, delta: 2 });
    for (let i = 0; i < 6; ++i) {
      for (let j = 0; j < 6; ++j) {
        if (Math.floor(i / 2) !== Math.floor(j / 2)) assert.equal(data[6 * i + j], 0);
      }
    }
    assert.equal(data[1], -data[6]);
    assert.equal(data[0], data[7]);
  });

  test('concatenated_encodings_can_be_shifted', () => {
    /** @type {import('attn').SinusoidalLayout} */
    const layout = 'concatenated';
    const encoding = attn.sinusoidalEncoding({ length: 4, dModel: 8, layout });
    const expected = attn.sinusoidalEncoding({ length: 4, dModel: 8, start: 5, layout });
    assertClose(attn.applyShift(encoding, 5, { layout }), [4, 8], expected.data, 3.5e-7);
    const matrix = attn.shiftMatrix({ dModel: 8, delta: 5, layout });
    const shifted = Float32Array.from(linear(encoding.data, 4, matrix.data));
    assertClose({ data: shifted, shape: [4, 8] }, [4, 8], expected.data, 3.5e-7);
  });

  test('batches_of_encodings_can_be_shifted', () => {
    const one = attn.sinusoidalEncoding({ length: 3, dModel: 4 });
    const two = { data: [...one.data, ...one.data], shape: [2, 3, 4] };
    const shifted = attn.applyShift(one, 1).data;
    const { data, shape } = attn.applyShift(two, 1);
    assert.deepEqual(shape, [2, 3, 4]);
    assert.deepEqual([...data], [...shifted, ...shifted]);
  });

  test('odd_widths_are_rejected', () => {
    assertThrows(
      () => attn.shiftMatrix({ dModel: 5, delta: 1 }),
      'invalid_argument',
      'dModel: got 5, needs an even width, because the last sine of an odd width has no cosine',
    );
    const odd = attn.sinusoidalEncoding({ length: 2, dModel: 5 });
    assertThrows(() => attn.applyShift(odd, 1), 'shape_mismatch', /^encoding: .*5.*even/);
  });
});
