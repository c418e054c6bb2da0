import assert from 'node:assert/strict';
import { test } from 'node:test';

import { assertClose, assertThrows } from './compare.js';
import { everyVariant } from './everyVariant.js';
import { sinusoids } from './reference.js';

/**
 * The core's bound (sinusoidal_encoding.hpp) plus the error of the reference, which also rounds the angle.
 * @param {number} position  the largest position
 */
const tolerance = (position) => 3.1e-8 + 2 * 4.5e-16 * Math.abs(position);

await everyVariant('sinusoidalEncoding', (attn) => {
  test('d2l_example_of_60_positions_and_32_columns_is_exact', () => {
    const expected = sinusoids(
      Array.from({ length: 60 }, (_, i) => i),
      32,
    );
    const encoding = attn.sinusoidalEncoding({ length: 60, dModel: 32 });
    assertClose(encoding, [60, 32], expected, tolerance(60));
    // Columns 6 to 9 of row 1: sin and cos of 10000^(−6/32) and 10000^(−8/32) = 0.1.
    const [sin6, cos6, sin8, cos8] = encoding.data.slice(32 + 6, 32 + 10);
    assert.ok(Math.abs(sin6 - 0.17689219) < 5e-8 && Math.abs(cos6 - 0.98423023) < 5e-8);
    assert.ok(Math.abs(sin8 - 0.09983342) < 5e-8 && Math.abs(cos8 - 0.99500417) < 5e-8);
  });

  test('positions_may_be_arbitrary', () => {
    const positions = [0.5, -3, 2 ** 20 + 0.25, 7];
    const actual = attn.sinusoidalEncoding({ positions, dModel: 7, base: 300 });
    const column = /** @type {any} */ ({ data: Float64Array.from(positions), shape: [4, 1] });
    assert.deepEqual(attn.sinusoidalEncoding({ positions: column, dModel: 7, base: 300 }), actual);
    assertClose(actual, [4, 7], sinusoids(positions, 7, 300), tolerance(2 ** 21));
    assertThrows(
      () => attn.sinusoidalEncoding({ positions, dModel: 7, start: 1 }),
      'invalid_argument',
      'start: cannot be combined with positions; leave it out',
    );
  });

  test('float32_code_has_the_error_it_reports', () => {
    const options = { length: 50, dModel: 6, start: 100000, step: 1000 };
    const positions = Array.from({ length: 50 }, (_, i) => 100000 + 1000 * i);
    const exact = sinusoids(positions, 6);
    const divisors = [0, 2, 4].map((e) => Math.fround(10000 ** Math.fround(e / 6)));
    const rounded = positions.flatMap((p) =>
      divisors.flatMap((divisor) => {
        const angle = Math.fround(p / divisor);
        return [Math.sin(angle), Math.cos(angle)];
      }),
    );
    const { encoding, error } = attn.sinusoidalEncodingInFloat32(options);
    assertClose(encoding, [50, 6], rounded, 6e-8);
    assertClose(
      error,
      [50, 6],
      rounded.map((value, i) => value - exact[i]),
      1e-7,
    );
    assert.ok(Math.max(...error.data) > 1e-4);
  });

  for (const dModel of [1, 2, 3, 31, 64, 65]) {
    test(`width_${dModel}_with_start_step_and_base_is_exact`, () => {
      const positions = Array.from({ length: 100 }, (_, i) => -7.5 + 0.25 * i);
      const options = { length: 100, dModel, base: 500, start: -7.5, step: 0.25 };
      const expected = sinusoids(positions, dModel, 500);
      assertClose(attn.sinusoidalEncoding(options), [100, dModel], expected, tolerance(20));
    });
  }

  test('far_positions_are_exact', () => {
    const start = 2 ** 24 - 2;
    const expected = sinusoids([start, start + 1, start + 2], 16);
    const encoding = attn.sinusoidalEncoding({ length: 3, dModel: 16, start });
    assertClose(encoding, [3, 16], expected, tolerance(2 ** 24));
  });

  test('the_concatenated_layout_has_the_same_numbers_in_other_columns', () => {
    const interleaved = attn.sinusoidalEncoding({ length: 4, dModel: 5 }).data;
    const { data } = attn.sinusoidalEncoding({ length: 4, dModel: 5, layout: 'concatenated' });
    for (let row = 0; row < 4; ++row) {
      [0, 2, 4, 1, 3].forEach((column, i) =>
        assert.equal(data[5 * row + i], interleaved[5 * row + column]),
      );
    }
  });

  test('no_positions_give_an_empty_table', () => {
    assert.deepEqual(attn.sinusoidalEncoding({ length: 0, dModel: 4 }).shape, [0, 4]);
  });

  test('errors_name_the_option', () => {
    /** @type {[any, string][]} */
    const cases = [
      [undefined, 'options: got undefined, needs a plain object'],
      [{ dModel: 4 }, 'length: got undefined, needs a whole number of at least 0'],
      [{ length: 4, dModel: 0 }, 'dModel: got 0, needs a whole number of at least 1'],
      [{ length: 4, dModel: '4' }, "dModel: got '4', needs a whole number of at least 1"],
      [{ length: 4, dModel: 4, base: 0 }, 'base: got 0, needs a finite number of at least 1e-100'],
      [{ length: 4, dModel: 4, step: Infinity }, 'step: got Infinity, needs a finite number'],
      [
        { length: 4, dModel: 4, layout: 'x' },
        "layout: got 'x', needs 'interleaved' or 'concatenated'",
      ],
    ];
    for (const [options, message] of cases) {
      assertThrows(() => attn.sinusoidalEncoding(options), 'invalid_argument', message);
    }
  });
});
