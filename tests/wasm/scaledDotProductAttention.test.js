import assert from 'node:assert/strict';
import { test } from 'node:test';

import { assertClose, assertThrows } from './compare.js';
import { everyVariant } from './everyVariant.js';
import { Random } from './random.js';
import { attention } from './reference.js';

/** @import { AttentionOptions, Dropout, Tensor } from 'attn' */
/** @import { AttentionCase } from './reference.js' */

/**
 * Rearranges (B, N, H, D) to (B, H, N, D).
 * @param {Tensor} tensor
 */
function headsFirst({ data, shape: [batch, length, heads, width] }) {
  const result = new Float32Array(data.length);
  for (let b = 0, at = 0; b < batch; ++b) {
    for (let h = 0; h < heads; ++h) {
      for (let i = 0; i < length; ++i) {
        for (let d = 0; d < width; ++d) {
          result[at++] = data[((b * length + i) * heads + h) * width + d];
        }
      }
    }
  }
  return { data: result, shape: [batch, heads, length, width] };
}

// The core's bounds for scores up to ±20 (scaled_dot_product_attention.hpp). The random inputs are
// within ±1, so scores are below √D and values below 1.
const outputTolerance = (/** @type {number} */ headDim) => 4e-7 * Math.sqrt(headDim);
const kWeightTolerance = 2e-6;

await everyVariant('scaledDotProductAttention', (attn) => {
  const random = new Random();

  for (const [name, q, k, dv] of /** @type {const} */ ([
    ['one_query_one_key', [1, 1, 1, 1], [1, 1, 1, 1], 1],
    ['odd_sizes', [2, 3, 5, 7], [2, 3, 9, 7], 3],
    ['more_keys_than_a_tile', [1, 2, 3, 20], [1, 2, 700, 20], 20],
    ['grouped_query_heads', [2, 6, 4, 16], [2, 2, 4, 16], 16],
    ['many_queries', [1, 2, 130, 64], [1, 2, 130, 64], 64],
  ])) {
    test(`${name}_agree_with_the_reference`, () => {
      const query = random.tensor(...q);
      const key = random.tensor(...k);
      const value = random.tensor(k[0], k[1], k[2], dv);
      const expected = attention({ query, key, value });
      const actual = attn.scaledDotProductAttention(query, key, value, { needWeights: true });
      assertClose(actual.output, [...q.slice(0, 3), dv], expected.output, outputTolerance(q[3]));
      assert.ok(actual.weights);
      assertClose(actual.weights, [...q.slice(0, 3), k[2]], expected.weights, kWeightTolerance);
    });
  }

  test('ranks_2_and_3_lack_heads_and_batch', () => {
    const x = random.tensor(2, 1, 4, 6);
    const expected = attention({ query: x, key: x, value: x });
    const x3 = { data: x.data, shape: [2, 4, 6] };
    const three = attn.scaledDotProductAttention(x3, x3, x3, { needWeights: true });
    assertClose(three.output, [2, 4, 6], expected.output, outputTolerance(6));
    assert.deepEqual(three.weights.shape, [2, 4, 4]);
    const x2 = { data: x.data.slice(0, 24), shape: [4, 6] };
    const two = attn.scaledDotProductAttention(x2, x2, x2, { needWeights: true });
    assertClose(two.output, [4, 6], expected.output.slice(0, 24), outputTolerance(6));
    assert.deepEqual(two.weights.shape, [4, 4]);
  });

  test('weights_are_returned_only_on_request', () => {
    const x = random.tensor(3, 4);
    assert.deepEqual(Object.keys(attn.scaledDotProductAttention(x, x, x)), ['output']);
  });

  /** @type {[string, object, (b: number, h: number, i: number, j: number) => boolean][]} */
  const exclusions = [
    ['causal_true_is_top_left', { causal: true }, (b, h, i, j) => j <= i],
    ['causal_top_left', { causal: true, diagonal: 'topLeft' }, (b, h, i, j) => j <= i],
    ['causal_bottom_right', { causal: true, diagonal: 'bottomRight' }, (b, h, i, j) => j <= i + 2],
    ['causal_offset', { causal: true, diagonal: 1 }, (b, h, i, j) => j <= i + 1],
    ['causal_negative_offset', { causal: true, diagonal: -2 }, (b, h, i, j) => j <= i - 2],
    ['causal_false', { causal: false, diagonal: 1 }, () => true],
    ['window', { window: { left: 1, right: 2 } }, (b, h, i, j) => j >= i - 1 && j <= i + 2],
    ['window_without_right_edge', { window: { left: 0 } }, (b, h, i, j) => j >= i],
    [
      'window_shares_the_diagonal_of_causal',
      { window: { left: 1 }, causal: true, diagonal: 'bottomRight' },
      (b, h, i, j) => j >= i + 1 && j <= i + 2,
    ],
    [
      'window_at_the_bottom_right',
      { window: { left: 1, right: 1 }, diagonal: 'bottomRight' },
      (b, h, i, j) => j >= i + 1 && j <= i + 3,
    ],
    ['valid_lens_per_batch', { validLens: [3, 0] }, (b, h, i, j) => j < [3, 0][b]],
    ['valid_lens_as_int32', { validLens: Int32Array.of(6, 1) }, (b, h, i, j) => j < [6, 1][b]],
    [
      'valid_lens_per_query',
      { validLens: { data: [1, 2, 3, 4, 5, 6, 0, 1], shape: [2, 4] } },
      (b, h, i, j) => j < [1, 2, 3, 4, 5, 6, 0, 1][4 * b + i],
    ],
    [
      'mask_over_keys',
      { mask: { data: [true, false, true, true, false, true], shape: [6] } },
      (b, h, i, j) => j !== 1 && j !== 4,
    ],
    [
      'mask_over_heads',
      { mask: { data: Uint8Array.of(1, 0, 255), shape: [3, 1, 1] } },
      (b, h) => h !== 1,
    ],
    [
      'everything_together',
      {
        causal: true,
        diagonal: 2,
        window: { left: 3 },
        validLens: [5, 6],
        mask: { data: [1, 1, 0, 1, 1, 1], shape: [1, 6] },
      },
      (b, h, i, j) => j <= i + 2 && j >= i - 1 && j < 5 + b && j !== 2,
    ],
  ];
  for (const [name, options, attends] of exclusions) {
    test(`${name}_excludes_the_right_keys`, () => {
      const query = random.tensor(2, 3, 4, 8);
      const key = random.tensor(2, 3, 6, 8);
      const value = random.tensor(2, 3, 6, 8);
      const expected = attention({ query, key, value, attends });
      const actual = attn.scaledDotProductAttention(query, key, value, {
        ...options,
        needWeights: true,
      });
      assertClose(actual.output, [2, 3, 4, 8], expected.output, outputTolerance(8));
      assert.ok(actual.weights);
      assertClose(actual.weights, [2, 3, 4, 6], expected.weights, kWeightTolerance);
    });
  }

  test('scale_is_applied', () => {
    const x = random.tensor(1, 1, 5, 4);
    const expected = attention({ query: x, key: x, value: x, scale: -1.5 });
    const actual = attn.scaledDotProductAttention(x, x, x, { scale: -1.5 });
    assertClose(actual.output, [1, 1, 5, 4], expected.output, outputTolerance(4));
  });

  test('fully_masked_row_is_zero', () => {
    const x = random.tensor(3, 4);
    const { output, weights } = attn.scaledDotProductAttention(x, x, x, {
      mask: { data: [true, true, true, false, false, false, true, true, true], shape: [3, 3] },
      needWeights: true,
    });
    assert.deepEqual([...output.data.slice(4, 8)], [0, 0, 0, 0]);
    assert.deepEqual([...weights.data.slice(3, 6)], [0, 0, 0]);
  });

  test('nan_and_infinity_in_excluded_keys_and_values_have_no_effect', () => {
    const query = random.tensor(1, 1, 4, 8);
    const key = random.tensor(1, 1, 6, 8);
    const value = random.tensor(1, 1, 6, 8);
    const clean = attn.scaledDotProductAttention(query, key, value, { validLens: [4] });
    key.data.fill(NaN, 32);
    value.data.fill(Infinity, 32, 40);
    value.data.fill(NaN, 40);
    const dirty = attn.scaledDotProductAttention(query, key, value, { validLens: [4] });
    assert.deepEqual(dirty, clean);
  });

  test('nan_in_an_attended_value_propagates', () => {
    const x = random.tensor(4, 8);
    const value = random.tensor(4, 8);
    value.data[8] = NaN;
    const { output } = attn.scaledDotProductAttention(x, x, value, { causal: true });
    assert.ok(output.data.slice(0, 8).every(Number.isFinite));
    assert.ok([8, 16, 24].every((i) => Number.isNaN(output.data[i])));
  });

  test('empty_inputs_give_empty_outputs', () => {
    const none = { data: [], shape: [0, 4] };
    const one = { data: [1, 2, 3, 4], shape: [1, 4] };
    assert.deepEqual(attn.scaledDotProductAttention(none, one, one).output.shape, [0, 4]);
    const { output } = attn.scaledDotProductAttention(one, none, none);
    assert.deepEqual([...output.data], [0, 0, 0, 0]);
  });

  test('numbers_may_be_in_any_array', () => {
    const shape = [2, 2];
    const typed = { data: Float32Array.of(0.5, 1, -1, 2), shape };
    const expected = attn.scaledDotProductAttention(typed, typed, typed);
    for (const data of [[0.5, 1, -1, 2], Float64Array.of(0.5, 1, -1, 2)]) {
      const x = { data, shape };
      assert.deepEqual(attn.scaledDotProductAttention(x, x, x), expected);
    }
  });

  test('results_belong_to_the_caller', () => {
    const x = random.tensor(3, 4);
    const first = attn.scaledDotProductAttention(x, x, x).output;
    const copy = first.data.slice();
    const y = random.tensor(3, 4);
    attn.scaledDotProductAttention(y, y, y);
    assert.deepEqual(first.data, copy);
    first.data.fill(0);
    first.shape.push(7);
    assert.deepEqual(attn.scaledDotProductAttention(x, x, x).output, { data: copy, shape: [3, 4] });
    assert.deepEqual(x.shape, [3, 4]);
  });

  const slopes = [0.5, 0.25, 0.125];
  const additive = random.tensor(3, 4, 6);
  additive.data[7] = -Infinity;
  const buckets = random.tensor(4, 3);
  /** Returns the bucket of a distance: one-sided, with 4 buckets up to distance 8. */
  const bucket = (/** @type {number} */ distance) => {
    const a = Math.max(0, -distance);
    return a < 2 ? a : Math.min(3, 2 + Math.floor((Math.log(a / 2) / Math.log(8 / 2)) * 2));
  };
  const shared = random.tensor(5, 8);
  const apart = random.tensor(3, 3, 8);
  /** @type {[string, AttentionOptions, Partial<AttentionCase>][]} */
  const terms = [
    ['softcap', { softcap: 0.3 }, { softcap: 0.3 }],
    [
      'alibi_slopes',
      { alibiSlopes: slopes },
      { bias: (b, h, i, j) => -slopes[h] * Math.abs(j - i) },
    ],
    [
      'alibi_slopes_at_the_bottom_right',
      { alibiSlopes: { data: slopes, shape: [3] }, diagonal: 'bottomRight' },
      { bias: (b, h, i, j) => -slopes[h] * Math.abs(j - i - 2) },
    ],
    [
      't5_bias',
      { t5Bias: { table: buckets, bidirectional: false, maxDistance: 8 }, diagonal: 2 },
      { bias: (b, h, i, j) => buckets.data[3 * bucket(j - i - 2) + h] },
    ],
    [
      'additive_bias',
      { bias: additive },
      { bias: (b, h, i, j) => additive.data[(h * 4 + i) * 6 + j] },
    ],
    [
      'short_bias',
      { bias: { data: [0.5, -0.5, 0.25], shape: [3] } },
      { bias: (b, h, i, j) => [0.5, -0.5, 0.25][j], attends: (b, h, i, j) => j < 3 },
    ],
    ['relative_keys', { relativeKeys: shared }, { relativeKeys: shared }],
    [
      'relative_keys_and_values_of_each_head',
      { relativeKeys: apart, relativeValues: apart, diagonal: 1 },
      { relativeKeys: apart, relativeValues: apart, offset: 1 },
    ],
    [
      'everything',
      {
        scale: 0.7,
        relativeKeys: shared,
        softcap: 2,
        alibiSlopes: slopes,
        bias: additive,
        causal: true,
        diagonal: 2,
        sinks: [0.5, -1, 2],
      },
      {
        scale: 0.7,
        relativeKeys: shared,
        softcap: 2,
        bias: (b, h, i, j) => additive.data[(h * 4 + i) * 6 + j] - slopes[h] * Math.abs(j - i - 2),
        offset: 2,
        attends: (b, h, i, j) => j <= i + 2,
        sinks: [0.5, -1, 2],
      },
    ],
    ['sinks', { sinks: [0.5, -1, 2] }, { sinks: [0.5, -1, 2] }],
    [
      'key_lens',
      { keyLens: [4, 6], causal: true, diagonal: 'bottomRight' },
      { attends: (b, h, i, j) => j < [4, 6][b] && j <= i + [4, 6][b] - 4 },
    ],
  ];
  for (const [name, options, reference] of terms) {
    test(`${name}_and_every_stage_agree_with_the_reference`, () => {
      const query = random.tensor(2, 3, 4, 8);
      const key = random.tensor(2, 3, 6, 8);
      const value = random.tensor(2, 3, 6, 8);
      const expected = attention({ query, key, value, ...reference });
      const actual = attn.scaledDotProductAttention(query, key, value, {
        ...options,
        needScaledScores: true,
        needCappedScores: true,
        needBiasedScores: true,
        needWeights: true,
        needLogSumExp: true,
        needColumnSums: true,
      });
      const scores = [2, 3, 4, 6];
      const tolerance = 4e-6;
      assertClose(actual.output, [2, 3, 4, 8], expected.output, tolerance);
      assertClose(actual.scaledScores ?? actual.output, scores, expected.scaledScores, tolerance);
      assertClose(actual.cappedScores ?? actual.output, scores, expected.cappedScores, tolerance);
      assertClose(actual.biasedScores ?? actual.output, scores, expected.biasedScores, tolerance);
      assertClose(actual.weights ?? actual.output, scores, expected.weights, tolerance);
      assertClose(actual.logSumExp ?? actual.output, [2, 3, 4], expected.logSumExp, tolerance);
      assertClose(actual.columnSums ?? actual.output, [2, 3, 6], expected.columnSums, tolerance);
    });
  }

  test('heads_side_by_side_are_read_in_place', () => {
    const query = random.tensor(2, 4, 6, 5);
    const key = random.tensor(2, 3, 2, 5);
    const value = random.tensor(2, 3, 2, 7);
    const expected = attn.scaledDotProductAttention(
      headsFirst(query),
      headsFirst(key),
      headsFirst(value),
      { needWeights: true },
    );
    const apart = attn.scaledDotProductAttention(query, key, value, {
      layout: 'bnhd',
      needWeights: true,
    });
    assert.deepEqual(headsFirst(apart.output), expected.output);
    assert.deepEqual(apart.weights, expected.weights);
    const flat = (/** @type {Tensor} */ { data, shape: [b, n, h, d] }) => ({
      data,
      shape: [b, n, h * d],
    });
    const together = attn.scaledDotProductAttention(flat(query), flat(key), flat(value), {
      numHeads: 6,
      numKvHeads: 2,
      needWeights: true,
    });
    assert.deepEqual(together, { ...apart, output: flat(apart.output) });
    assertThrows(
      () => attn.scaledDotProductAttention(query, key, value, { numHeads: 6 }),
      'shape_mismatch',
      'query: got shape (2, 4, 6, 5), needs rank 3 (B, N, H·D), because numHeads is set',
    );
    assertThrows(
      () => attn.scaledDotProductAttention(flat(query), flat(key), flat(value), { numHeads: 4 }),
      'shape_mismatch',
      'query: got shape (2, 4, 30), needs a width that is a multiple of 4, the number of heads',
    );
  });

  test('dropout_follows_its_seed_and_scales_the_rest', () => {
    const x = random.tensor(40, 8);
    const kept = attn.scaledDotProductAttention(x, x, x, { needWeights: true }).weights;
    const drop = (/** @type {Dropout} */ dropout) =>
      attn.scaledDotProductAttention(x, x, x, { dropout, needWeights: true }).weights;
    const dropped = drop({ probability: 0.25, seed: 7 });
    assert.ok(kept && dropped);
    const zeros = dropped.data.filter((weight) => weight === 0).length;
    assert.ok(zeros > 300 && zeros < 500, `${zeros} of 1600 weights dropped`);
    dropped.data.forEach((weight, i) => {
      if (weight !== 0) assert.ok(Math.abs(weight - kept.data[i] / 0.75) < 1e-6);
    });
    assert.deepEqual(drop({ probability: 0.25, seed: 7 }), dropped);
    assert.notDeepEqual(drop({ probability: 0.25, seed: 8 }), dropped);
    assert.notDeepEqual(drop({ probability: 0.25, seed: 7, stream: 1 }), dropped);
  });

  test('packed_sequences_attend_only_to_themselves', () => {
    const lengths = [3, 0, 70, 2];
    const cuSeqlens = [0, 3, 3, 73, 75];
    const [query, key, value] = [random.tensor(75, 8), random.tensor(75, 8), random.tensor(75, 6)];
    const rows = (/** @type {Tensor} */ { data, shape }, /** @type {number} */ s) => ({
      data: data.slice(cuSeqlens[s] * shape[1], cuSeqlens[s + 1] * shape[1]),
      shape: [lengths[s], shape[1]],
    });
    for (const causal of [false, true]) {
      const { output } = attn.scaledDotProductAttention(query, key, value, { cuSeqlens, causal });
      for (const s of [0, 2, 3]) {
        const [q, k, v] = [query, key, value].map((x) => rows(x, s));
        const alone = attn.scaledDotProductAttention(q, k, v, { causal });
        assert.deepEqual(rows(output, s), { ...alone.output });
      }
    }
    const { output } = attn.scaledDotProductAttention(query, key, value, {
      cuSeqlens: Int32Array.of(0, 75),
      cuSeqlensK: Int32Array.of(0, 75),
    });
    assert.deepEqual(output, attn.scaledDotProductAttention(query, key, value).output);
  });

  test('column_sums_have_one_number_for_each_key', () => {
    const needs = /** @type {const} */ ({ needColumnSums: true });
    const [query, key] = [random.tensor(70, 8), random.tensor(9, 8)];
    const { columnSums } = attn.scaledDotProductAttention(query, key, key, needs);
    assert.deepEqual(columnSums.shape, [9]);
    const total = columnSums.data.reduce((sum, x) => sum + x, 0);
    assert.ok(Math.abs(total - 70) < 1e-4, `the sum of all weights is ${total}`);

    const flat = random.tensor(2, 5, 12);
    const heads = { numHeads: 3, validLens: [4, 5], ...needs };
    const sums = attn.scaledDotProductAttention(flat, flat, flat, heads).columnSums;
    assert.deepEqual(sums.shape, [2, 3, 5]);
    assert.deepEqual(
      [4, 9, 14].map((at) => sums.data[at]),
      [0, 0, 0],
    );

    const packed = random.tensor(6, 4);
    const attend = (/** @type {Tensor} */ x, /** @type {AttentionOptions} */ options) =>
      attn.scaledDotProductAttention(x, x, x, { ...options, ...needs }).columnSums.data;
    const rows = (/** @type {number} */ begin, /** @type {number} */ end) => ({
      data: packed.data.slice(4 * begin, 4 * end),
      shape: [end - begin, 4],
    });
    assert.deepEqual(
      attend(packed, { cuSeqlens: [0, 2, 6] }),
      Float32Array.of(...attend(rows(0, 2), {}), ...attend(rows(2, 6), {})),
    );
  });

  test('packed_sequences_must_cover_all_rows_in_order', () => {
    const x = random.tensor(6, 4);
    const attend = (/** @type {AttentionOptions} */ options) => () =>
      attn.scaledDotProductAttention(x, x, x, options);
    const errors = [
      [{ cuSeqlens: [0, 2, 7] }, 'cuSeqlens[2]: got 7, needs a row from 0 to 6'],
      [{ cuSeqlens: [1, 6] }, 'cuSeqlens: got 1, needs 0 at the beginning'],
      [{ cuSeqlens: [0, 4, 3, 6] }, 'cuSeqlens: got 3, needs at least 4, the number before it'],
      [{ cuSeqlens: [0, 4] }, 'cuSeqlens: got 4, needs 6 at the end, the number of queries'],
      [
        { cuSeqlensK: [0, 6] },
        "cuSeqlens: got none, needs the index of each sequence's first query, because cuSeqlensK is set",
      ],
    ];
    for (const [options, message] of /** @type {[AttentionOptions, string][]} */ (errors)) {
      assertThrows(attend(options), 'invalid_argument', message);
    }
    const others = /** @type {const} */ ([
      ['weights', { needWeights: true }],
      ['validLens', { validLens: [3] }],
      ['mask', { mask: { data: [true], shape: [1] } }],
    ]);
    for (const [name, options] of others) {
      const message = `${name}: got a tensor, needs none, because cuSeqlens is set`;
      assertThrows(attend({ cuSeqlens: [0, 6], ...options }), 'invalid_argument', message);
    }
  });

  test('errors_name_the_argument_what_it_got_and_what_it_needs', () => {
    const t = (/** @type {number[]} */ ...shape) => random.tensor(...shape);
    const call = attn.scaledDotProductAttention.bind(attn);
    const x = t(2, 3, 4, 8);
    /** @type {[() => unknown, string, string | RegExp][]} */
    const cases = [
      [
        () => call(t(4, 8), t(6, 8), t(5, 8)),
        'shape_mismatch',
        'key: got length 6, needs 5, the length of value',
      ],
      [
        () => call(t(4, 8), t(6, 7), t(6, 8)),
        'shape_mismatch',
        'key: got head dimension 7, needs 8, the head dimension of query',
      ],
      [
        () => call(x, t(1, 3, 4, 8), t(1, 3, 4, 8)),
        'shape_mismatch',
        'key: got batch 1, needs 2, the batch of query',
      ],
      [
        () => call(x, x, t(2, 1, 4, 8)),
        'shape_mismatch',
        'value: got number of heads 1, needs 3, the number of heads of key',
      ],
      [
        () => call(x, t(2, 2, 4, 8), t(2, 2, 4, 8)),
        'shape_mismatch',
        'query: got 3 heads, needs a multiple of the 2 heads of key',
      ],
      [
        () => call(x, t(4, 8), x),
        'shape_mismatch',
        'key: got shape (4, 8), needs rank 4 (the rank of query)',
      ],
      [
        () => call(t(8), x, x),
        'shape_mismatch',
        'query: got shape (8,), needs rank 2 (N, D) or rank 3 (B, N, D) or rank 4 (B, H, N, D)',
      ],
      [
        () => call({ data: new Float32Array(5), shape: [2, 3] }, x, x),
        'shape_mismatch',
        'query: got data of length 5, needs 6 for shape (2, 3)',
      ],
      [
        // @ts-expect-error: the test passes wrong arguments
        () => call(undefined, x, x),
        'invalid_argument',
        'query: got undefined, needs a tensor { data, shape }',
      ],
      [
        // @ts-expect-error: the test passes wrong arguments
        () => call([[1, 0]], x, x),
        'invalid_argument',
        'query: got an array, needs a tensor { data, shape }, such as attn.tensor(array)',
      ],
      [
        // @ts-expect-error: the test passes wrong arguments
        () => call({ data: ['a'], shape: [1, 1] }, x, x),
        'invalid_argument',
        "query.data[0]: got 'a', needs a number",
      ],
      [
        () => call({ data: [], shape: [-1, 2] }, x, x),
        'invalid_argument',
        'query.shape: got -1, needs sizes that are whole numbers of at least 0',
      ],
      [
        () => call(x, x, x, { scale: NaN }),
        'invalid_argument',
        'scale: got NaN, needs a finite number',
      ],
      [
        () => call(x, x, x, { validLens: [5, 1] }),
        'invalid_argument',
        'validLens[0]: got 5, needs a length from 0 to 4, the number of keys',
      ],
      [
        () => call(x, x, x, { validLens: [1, 1, 1] }),
        'shape_mismatch',
        'validLens: got shape (3,), needs (2,) or (2, 4)',
      ],
      [
        () => call(x, x, x, { mask: { data: [1, 0, 1, 1, 1], shape: [5] } }),
        'shape_mismatch',
        'mask: got shape (5,), needs one that broadcasts to (2, 3, 4, 4)',
      ],
      [
        () => call(x, x, x, { causal: true, diagonal: 0.5 }),
        'invalid_argument',
        "diagonal: got 0.5, needs 'topLeft', 'bottomRight' or a whole number of keys",
      ],
      [
        () => call(x, x, x, { causal: /** @type {any} */ ('bottomRight') }),
        'invalid_argument',
        "causal: got 'bottomRight', needs true or false",
      ],
      [
        () => call(x, x, x, { window: { left: -1 } }),
        'invalid_argument',
        'window.left: got -1, needs 0 or more keys',
      ],
      [
        () => call(x, x, x, { relativeKeys: t(4, 8) }),
        'shape_mismatch',
        'relativeKeys: got 4 rows, needs an odd number of rows, 2k + 1',
      ],
      [
        () => call(x, x, x, { relativeValues: t(2, 5, 8) }),
        'shape_mismatch',
        'relativeValues: got shape (2, 5, 8), needs (·, 8) or (3, ·, 8)',
      ],
      [
        () => call(x, x, x, { alibiSlopes: [1, 2] }),
        'shape_mismatch',
        'alibiSlopes: got shape (2,), needs (3,)',
      ],
      [
        () => call(x, x, x, { bias: t(3, 5, 4) }),
        'shape_mismatch',
        'bias: got shape (3, 5, 4), needs one that broadcasts to (2, 3, 4, 4)',
      ],
      [
        () => call(x, x, x, { t5Bias: { table: t(1, 3), bidirectional: false } }),
        'invalid_argument',
        /^numBuckets: got 1, needs/,
      ],
      [() => call(x, x, x, { softcap: -1 }), 'invalid_argument', /^softcap: got -1/],
      [
        () => call(x, x, x, { dropout: { probability: 1.5 } }),
        'invalid_argument',
        'dropout: got 1.5, needs a probability between 0 and 1',
      ],
      [
        () => call(x, x, x, { keyLens: [1, 9] }),
        'invalid_argument',
        'keyLens[1]: got 9, needs a length from 0 to 4, the number of keys',
      ],
      [
        // @ts-expect-error: the test passes wrong arguments
        () => call(x, x, x, null),
        'invalid_argument',
        'options: got null, needs a plain object',
      ],
    ];
    for (const [wrong, code, message] of cases) assertThrows(wrong, code, message);
    assert.equal(call(x, x, x).output.data.length, 192);
  });
});
