// Tests positions that are passed to layers, including positions along several axes.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { assertClose, assertThrows } from './compare.js';
import { everyVariant } from './everyVariant.js';

/** @import { MultiHeadAttentionOptions, Tensor, TransformerLayerOptions } from 'attn' */

/** Two tokens of text, an image of 2 × 2 patches and a token of text, with Qwen2-VL's positions. */
const kImage = {
  data: [
    ...[0, 1, 2, 2, 2, 2, 4], // time
    ...[0, 1, 2, 2, 3, 3, 4], // height
    ...[0, 1, 2, 3, 2, 3, 4], // width
  ],
  shape: [3, 1, 7],
};
const kLength = 7;
const kDim = 12;
const sections = [2, 2, 2];

/** @type {MultiHeadAttentionOptions} */
const kAttention = { dModel: 24, numHeads: 2, positions: { rotary: { sections } }, seed: 3 };
/** @type {TransformerLayerOptions} */
const kLayer = {
  ...{ dModel: 24, numHeads: 2, dimFeedforward: 32, activation: 'silu', gatedFeedForward: true },
  ...{ rmsNorm: { eps: 1e-6 }, normFirst: true, bias: false, attentionBias: true },
  positions: { rotary: { sections } },
  seed: 3,
};

/** Tokens [begin, end) of (N, E). @param {Tensor} x @param {number} begin @param {number} end */
const rows = ({ data, shape }, begin, end) => ({
  data: data.slice(begin * shape[1], end * shape[1]),
  shape: [end - begin, shape[1]],
});

/**
 * Returns the positions of tokens `begin` to `end` of the image, (3, 1, N). @param {number} begin
 * @param {number} end
 */
const at = (begin, end) => ({
  data: [0, 1, 2].flatMap((axis) => kImage.data.slice(axis * 7 + begin, axis * 7 + end)),
  shape: [3, 1, end - begin],
});

await everyVariant('positions of layers', (attn) => {
  const x = attn.randomNormal({ shape: [kLength, 24], seed: 1 });

  test('attention_rotates_each_pair_to_the_position_along_its_axis', () => {
    const layer = new attn.MultiHeadAttention({ ...kAttention, init: 'identity' });
    const rotary = new attn.RotaryEmbedding({ rotaryDim: kDim, sections });
    // The projections are identities, so each head consists of columns of x.
    const heads = { data: x.data, shape: [1, kLength, 24] };
    const rotated = rotary.forward(heads, { positions: kImage, numHeads: 2 });
    const { output } = attn.scaledDotProductAttention(rotated, rotated, heads, {
      ...{ numHeads: 2, numKvHeads: 2, causal: true },
    });
    const got = layer.forward(x, x, x, { causal: true, positions: kImage });
    assertClose(got.output, [kLength, 24], output.data, 1e-6);
    const last = layer.forward(rows(x, 5, 7), x, x, {
      ...{ positions: at(5, 7), keyPositions: kImage, diagonal: 5, causal: true },
    });
    assertClose(last.output, [2, 24], output.data.slice(5 * 24), 1e-6);
    const cache = layer.makeCache();
    layer.append(x, x, cache, { positions: kImage });
    const kept = layer.attend(rows(x, 5, 7), cache, {
      ...{ positions: at(5, 7), diagonal: 5, causal: true },
    });
    assert.deepEqual(kept.output, last.output);
  });

  test('using_the_index_along_every_axis_gives_the_bits_of_plain_rotary_positions', () => {
    const layer = new attn.MultiHeadAttention(kAttention);
    const plain = new attn.MultiHeadAttention({ ...kAttention, positions: { rotary: {} } });
    const index = Array.from({ length: kLength }, (_, i) => i);
    const each = { data: [...index, ...index, ...index], shape: [3, 1, kLength] };
    const { output } = plain.forward(x, x, x, { causal: true });
    for (const positions of [each, index, new Float64Array(index), undefined]) {
      assert.deepEqual(layer.forward(x, x, x, { causal: true, positions }).output, output);
    }
    assert.notDeepEqual(layer.forward(x, x, x, { causal: true, positions: kImage }).output, output);
  });

  test('blocks_and_stacks_like_qwen2_vl_continue_token_by_token', () => {
    const attention = { causal: true };
    const layer = new attn.TransformerEncoderLayer(kLayer);
    const encoder = new attn.TransformerEncoder({ ...kLayer, layers: [{}, { positions: {} }] });
    const decoder = new attn.TransformerDecoder({ ...kLayer, numLayers: 2 });
    const memory = attn.randomNormal({ shape: [3, 24], seed: 2 });
    const whole = {
      layer: layer.forward(x, { attention, positions: kImage }).output,
      encoder: encoder.forward(x, { attention, positions: kImage }).output,
      decoder: decoder.forward(x, memory, { selfAttention: attention, positions: kImage }).output,
    };
    // The encoder's second layer has no rotary positions.
    const first = encoder.layers[0].forward(x, { attention, positions: kImage }).output;
    assert.deepEqual(encoder.layers[1].forward(first, { attention }).output, whole.encoder);
    const cache = layer.makeCache();
    const caches = encoder.makeCaches();
    const state = decoder.start(memory);
    for (const [begin, end] of [
      [0, 3],
      [3, 5],
      [5, 7],
    ]) {
      const piece = rows(x, begin, end);
      const positions = at(begin, end);
      const { output } = layer.forward(piece, { attention, positions, cache });
      assert.deepEqual(output, rows(whole.layer, begin, end));
      const encoded = encoder.forward(piece, { attention, positions, caches });
      assert.deepEqual(encoded.output, rows(whole.encoder, begin, end));
      const decoded = decoder.forward(piece, state, { selfAttention: attention, positions });
      assert.deepEqual(decoded.output, rows(whole.decoder, begin, end));
    }
  });

  test('errors_name_the_wrong_argument', () => {
    const layer = new attn.MultiHeadAttention(kAttention);
    const still = new attn.MultiHeadAttention({ dModel: 24 });
    const encoder = new attn.TransformerEncoder({ dModel: 24, dimFeedforward: 8, numLayers: 2 });
    const axes = { data: kImage.data.slice(0, 14), shape: [2, 1, 7] };
    const none = 'needs none; the layer has no rotary positions';
    /** @type {[() => unknown, string, string | RegExp][]} */
    const cases = [
      [
        () => still.forward(x, x, x, { positions: [0, 1, 2, 3, 4, 5, 6] }),
        'invalid_argument',
        `positions: got some positions, ${none}`,
      ],
      [
        () => still.forward(x, x, x, { keyPositions: [0, 1, 2, 3, 4, 5, 6] }),
        'invalid_argument',
        `keyPositions: got some positions, ${none}`,
      ],
      [
        () => encoder.forward(x, { positions: kImage }),
        'invalid_argument',
        'positions: got some positions, needs none; no layer has rotary positions',
      ],
      [
        () => layer.forward(x, x, x, { positions: axes }),
        'shape_mismatch',
        'positions: got shape (2, 1, 7), needs shape (3, 1, 7)',
      ],
      [
        () => layer.forward(x, x, x, { positions: [0, 1] }),
        'shape_mismatch',
        'positions: got shape (2), needs shape (7)',
      ],
      [
        () => layer.forward(rows(x, 0, 2), x, x, { positions: at(0, 2) }),
        'invalid_argument',
        'keyPositions: got none, needs positions of the 7 keys; positions covers only the 2 queries',
      ],
      [
        () => layer.forward(x, x, x, { positions: [0, 1, 2, NaN, 4, 5, 6] }),
        'invalid_argument',
        /^positions: got nan/i,
      ],
      [
        () => layer.forward(x, x, x, { positions: /** @type {any} */ ('0123456') }),
        'invalid_argument',
        /^positions: /,
      ],
      [
        () => layer.forward(x, x, x, /** @type {any} */ ({ position_ids: kImage })),
        'invalid_argument',
        /'position_ids' is not an option/,
      ],
    ];
    for (const [call, code, message] of cases) assertThrows(call, code, message);
    const cache = layer.makeCache();
    assertThrows(
      () => layer.append(x, x, cache, { positions: [1] }),
      'shape_mismatch',
      'positions: got shape (1), needs shape (7)',
    );
    assert.equal(cache.length, 0);
  });
});
