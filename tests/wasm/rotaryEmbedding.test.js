import assert from 'node:assert/strict';
import { test } from 'node:test';

import { assertClose, assertThrows } from './compare.js';
import { everyVariant } from './everyVariant.js';
import { Random } from './random.js';

/** @import { RotaryScaling, Tensor } from 'attn' */

/**
 * Rotates x row by row.
 * @param {Tensor} x
 * @param {ArrayLike<number>} frequencies
 * @param {(row: number) => number} position  position of a row; rows are numbered across all batches and heads
 * @param {boolean} interleaved
 * @param {number} [factor]
 */
function rotate({ data, shape }, frequencies, position, interleaved, factor = 1) {
  const width = shape[shape.length - 1];
  const half = frequencies.length;
  const result = Float64Array.from(data);
  for (let row = 0; row < data.length / width; ++row) {
    for (let j = 0; j < half; ++j) {
      const first = row * width + (interleaved ? 2 * j : j);
      const second = first + (interleaved ? 1 : half);
      const angle = position(row) * frequencies[j];
      const [cos, sin] = [factor * Math.cos(angle), factor * Math.sin(angle)];
      result[first] = cos * data[first] - sin * data[second];
      result[second] = sin * data[first] + cos * data[second];
    }
  }
  return result;
}

/**
 * @param {number} dim
 * @param {number} [base]
 */
const plain = (dim, base = 10000) =>
  Float64Array.from({ length: dim / 2 }, (_, j) => base ** ((-2 * j) / dim));

await everyVariant('RotaryEmbedding', (attn) => {
  const random = new Random();
  const x = random.tensor(2, 3, 5, 10);

  for (const pairing of /** @type {const} */ (['halfSplit', 'interleaved'])) {
    test(`${pairing}_pairs_agree_with_the_reference`, () => {
      const rotary = new attn.RotaryEmbedding({ rotaryDim: 6, pairing, base: 500 });
      const actual = rotary.forward(x, { start: 7 });
      const expected = rotate(x, plain(6, 500), (row) => 7 + (row % 5), pairing !== 'halfSplit');
      assertClose(actual, x.shape, expected, 4e-7);
      assertClose(rotary.forward(actual, { start: 7, inverse: true }), x.shape, x.data, 8e-7);
      assert.equal(rotary.rotaryDim, 6);
      assert.equal(rotary.attentionFactor, 1);
    });
  }

  test('positions_may_be_arbitrary', () => {
    const rotary = new attn.RotaryEmbedding({ rotaryDim: 10 });
    const positions = [0.5, -3, 1e6, 7, 2];
    const shared = rotary.forward(x, { positions });
    const expected = rotate(x, plain(10), (row) => positions[row % 5], false);
    assertClose(shared, x.shape, expected, 4e-7);
    const apart = [...positions, 9, 8, 7, 6, 5];
    const each = rotary.forward(x, { positions: { data: apart, shape: [2, 5] } });
    const rows = rotate(x, plain(10), (row) => apart[5 * Math.floor(row / 15) + (row % 5)], false);
    assertClose(each, x.shape, rows, 4e-7);
  });

  test('heads_side_by_side_are_read_in_place', () => {
    const rotary = new attn.RotaryEmbedding({ rotaryDim: 4 });
    const flat = random.tensor(2, 5, 12);
    const rows = { data: flat.data, shape: [2, 5, 3, 4] };
    const expected = rotate(rows, plain(4), (row) => Math.floor(row / 3) % 5, false);
    assertClose(rotary.forward(flat, { numHeads: 3 }), [2, 5, 12], expected, 4e-7);
  });

  /** @type {[RotaryScaling, number, (dim: number) => Float64Array][]} */
  const scalings = [
    [{ type: 'linear', factor: 4 }, 1, (dim) => plain(dim).map((w) => w / 4)],
    [
      { type: 'dynamic', factor: 2, maxPositionEmbeddings: 100 },
      1,
      (dim) => plain(dim, 10000 * ((2 * 300) / 100 - 1) ** (dim / (dim - 2))),
    ],
    [
      { type: 'llama3', factor: 8, originalMaxPositionEmbeddings: 64 },
      1,
      (dim) =>
        plain(dim).map((w) => {
          const s = Math.min(1, Math.max(0, ((64 * w) / (2 * Math.PI) - 1) / 3));
          return ((1 - s) * w) / 8 + s * w;
        }),
    ],
    [
      { type: 'yarn', factor: 4, originalMaxPositionEmbeddings: 256 },
      0.1 * Math.log(4) + 1,
      (dim) => {
        const at = (/** @type {number} */ beta) =>
          (dim * Math.log(256 / (2 * Math.PI * beta))) / (2 * Math.log(10000));
        const [low, high] = [Math.max(0, Math.floor(at(32))), Math.min(dim - 1, Math.ceil(at(1)))];
        return plain(dim).map((w, j) => {
          const r = Math.min(1, Math.max(0, (j - low) / (high - low)));
          return (1 - r) * w + (r * w) / 4;
        });
      },
    ],
    [
      { type: 'proportional', partialRotaryFactor: 0.5, factor: 2 },
      1,
      (dim) => plain(dim).map((w, j) => (j < Math.floor(dim / 4) ? w / 2 : 0)),
    ],
  ];
  for (const [scaling, factor, frequencies] of scalings) {
    test(`${scaling.type}_scaling_agrees_with_the_reference`, () => {
      const rotary = new attn.RotaryEmbedding({ rotaryDim: 10, scaling });
      const expected = frequencies(10);
      const actual = rotary.frequencies(300);
      assert.ok(actual instanceof Float64Array);
      actual.forEach((w, j) => assert.ok(Math.abs(w - expected[j]) <= 1e-12 * w, `${w}`));
      assert.ok(Math.abs(rotary.attentionFactor - factor) < 1e-12);
      const rotated = rotate(x, expected, (row) => row % 5, false, factor);
      assertClose(rotary.forward(x, { sequenceLength: 300 }), x.shape, rotated, 6e-7);
    });
  }

  test('frequencies_may_be_passed', () => {
    const frequencies = [1, 0.25, 0];
    const rotary = new attn.RotaryEmbedding({ rotaryDim: 6, frequencies });
    assert.deepEqual([...rotary.frequencies()], frequencies);
    assertClose(
      rotary.forward(x),
      x.shape,
      rotate(x, frequencies, (row) => row % 5, false),
      4e-7,
    );
  });

  test('positions_may_have_several_axes', () => {
    const axesOf = {
      sections: [0, 0, 0, 1, 1],
      interleaved: [0, 1, 0, 1, 0],
      axial: [0, 0, 0, 1, 1],
    };
    for (const axes of /** @type {const} */ (['sections', 'interleaved', 'axial'])) {
      const rotary = new attn.RotaryEmbedding({ rotaryDim: 10, sections: [3, 2], axes });
      const ofAxis = [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
        [5, 5, 7, 7, 9, 0, 0, 2, 2, 4],
      ];
      const frequencies = axes === 'axial' ? [...plain(6), ...plain(4)] : plain(10);
      const expected = Float64Array.from(x.data);
      for (const axis of [0, 1]) {
        const own = Array.from(frequencies, (w, j) => (axesOf[axes][j] === axis ? w : 0));
        const position = (/** @type {number} */ row) =>
          ofAxis[axis][5 * Math.floor(row / 15) + (row % 5)];
        rotate(x, own, position, false).forEach((value, i) => {
          const pair = (i % 10) % 5;
          if (axesOf[axes][pair] === axis) expected[i] = value;
        });
      }
      const positions = { data: ofAxis.flat(), shape: [2, 2, 5] };
      assertClose(rotary.forward(x, { positions }), x.shape, expected, 4e-7);
      assert.deepEqual(rotary.tables({ positions }).cos.shape, [2, 5, 5]);
      // In text, a token has the same position on all axes.
      if (axes === 'axial') continue;
      const text = new attn.RotaryEmbedding({ rotaryDim: 10 });
      assert.deepEqual(rotary.forward(x, { start: 3 }), text.forward(x, { start: 3 }));
    }
  });

  test('tables_match_the_rotation', () => {
    const rotary = new attn.RotaryEmbedding({ rotaryDim: 6 });
    const { cos, sin } = rotary.tables({ length: 9, start: 2 });
    const angles = Array.from({ length: 27 }, (_, i) => (2 + Math.floor(i / 3)) * plain(6)[i % 3]);
    assertClose(cos, [9, 3], angles.map(Math.cos), 4e-8);
    assertClose(sin, [9, 3], angles.map(Math.sin), 4e-8);
    assert.deepEqual(rotary.tables({ positions: [2, 3, 4] }).cos.data, cos.data.slice(0, 9));

    const rotated = attn.applyRotaryEmbedding(x, cos, sin, { positionIds: [0, 1, 2, 3, 4] });
    assertClose(rotated, x.shape, rotary.forward(x, { start: 2 }).data, 3e-7);
    const positionIds = new BigInt64Array([0n, 1n, 2n, 3n, 4n]);
    assert.deepEqual(attn.applyRotaryEmbedding(x, cos, sin, { positionIds }), rotated);
    const reversed = attn.applyRotaryEmbedding(x, cos, sin, {
      positionIds: { data: [8, 7, 6, 5, 4, 0, 0, 0, 0, 0], shape: [2, 5] },
      pairing: 'interleaved',
    });
    const position = (/** @type {number} */ row) => (row < 15 ? 10 - (row % 5) : 2);
    assertClose(reversed, x.shape, rotate(x, plain(6), position, true), 6e-7);
  });

  test('long_rope_divides_frequencies_by_the_factors_for_the_length', () => {
    const [shortFactor, longFactor] = [
      [1, 1.5, 2, 3],
      [1, 4, 9, 16],
    ];
    const rotary = new attn.RotaryEmbedding({
      rotaryDim: 8,
      scaling: {
        ...{ type: 'longrope', shortFactor, longFactor, factor: 32 },
        originalMaxPositionEmbeddings: 4096,
      },
    });
    const of = (/** @type {number[]} */ factors) =>
      factors.map((factor, j) => 10000 ** (-j / 4) / factor);
    for (const [length, factors] of /** @type {[number, number[]][]} */ ([
      [4096, shortFactor],
      [4097, longFactor],
    ])) {
      const got = rotary.frequencies(length);
      of(factors).forEach((want, j) => assert.ok(Math.abs(got[j] - want) < 1e-15, `${j}`));
    }
    assert.ok(Math.abs(rotary.attentionFactor - Math.sqrt(1 + 5 / 12)) < 1e-7);
    rotary.dispose();
  });

  test('errors_name_the_argument', () => {
    const rotary = new attn.RotaryEmbedding({ rotaryDim: 6 });
    /** @type {[() => unknown, string, string | RegExp][]} */
    const cases = [
      [() => new attn.RotaryEmbedding({ rotaryDim: 7 }), 'invalid_argument', /^rotaryDim: got 7/],
      [
        () => new attn.RotaryEmbedding({ rotaryDim: 6, frequencies: [1] }),
        'shape_mismatch',
        /^frequencies: /,
      ],
      [
        () => new attn.RotaryEmbedding({ rotaryDim: 6, sections: [1, 0.5] }),
        'invalid_argument',
        'sections[1]: got 0.5, needs a whole number of pairs',
      ],
      [
        () => new attn.RotaryEmbedding({ rotaryDim: 6, sections: [1, 1] }),
        'shape_mismatch',
        /^sections: /,
      ],
      [
        () => new attn.RotaryEmbedding({ rotaryDim: 6, scaling: { type: 'linear', factor: 0 } }),
        'invalid_argument',
        /factor: got 0/,
      ],
      [
        // @ts-expect-error: the test passes wrong arguments
        () => new attn.RotaryEmbedding({ rotaryDim: 6, scaling: { type: 'su' } }),
        'invalid_argument',
        "scaling.type: got 'su', needs 'linear', 'dynamic', 'yarn', 'llama3', 'proportional' or 'longrope'",
      ],
      [
        () =>
          new attn.RotaryEmbedding({
            rotaryDim: 6,
            scaling: { type: 'longrope', shortFactor: [1, 2], longFactor: [1, 2, 3] },
          }),
        'shape_mismatch',
        'scaling.shortFactor: got length 2, needs 3, one for each pair',
      ],
      [() => rotary.forward(random.tensor(3, 4)), 'shape_mismatch', /^x: /],
      [() => rotary.forward(x, { positions: [1] }), 'shape_mismatch', /^positions: /],
      [
        () => rotary.forward(random.tensor(2, 5, 9), { numHeads: 2 }),
        'shape_mismatch',
        'x: got shape (2, 5, 9), needs a width that is a multiple of 2, the number of heads',
      ],
      [
        () =>
          attn.applyRotaryEmbedding(x, random.tensor(4, 3), random.tensor(4, 3), {
            positionIds: [4],
          }),
        'invalid_argument',
        'positionIds[0]: got 4, needs the index of a row, below 4',
      ],
    ];
    for (const [wrong, code, message] of cases) assertThrows(wrong, code, message);
    rotary.dispose();
    assertThrows(() => rotary.forward(x), 'disposed', 'RotaryEmbedding: used after dispose()');
  });
});
