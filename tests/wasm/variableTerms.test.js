// Tests score terms and positions that are passed to layers called with variables.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';

import { load } from 'attn';

import { assertThrows } from './compare.js';
import { assertInputGradient, assertParameterGradients } from './differences.js';

/** @import { Tensor, Variable } from 'attn' */

const attn = await load({ training: true, variant: 'simd128' });
after(() => attn.dispose());

/** @param {number[]} shape @param {number} seed */
const random = (shape, seed) => attn.randomNormal({ shape, seed });

const x = random([2, 5, 8], 1);
const rule = { maxDistance: 8, bidirectional: true };

/**
 * Each term, and the call options that contain it.
 * @type {Record<string, [Tensor, (term: any) => object]>}
 */
const kTerms = {
  'bias of every score': [random([2, 2, 5, 5], 2), (bias) => ({ bias })],
  'bias of all heads': [random([5, 5], 3), (bias) => ({ bias })],
  'bias of each key': [random([2, 1, 1, 5], 4), (bias) => ({ bias, causal: true })],
  alibiSlopes: [random([2], 5), (alibiSlopes) => ({ alibiSlopes })],
  t5Bias: [random([4, 2], 6), (table) => ({ t5Bias: { table, ...rule } })],
  relativeKeys: [random([3, 4], 7), (relativeKeys) => ({ relativeKeys })],
  relativeValues: [random([2, 3, 4], 8), (relativeValues) => ({ relativeValues })],
  sinks: [random([2], 9), (sinks) => ({ sinks })],
};

for (const [name, [term, optionsOf]] of Object.entries(kTerms)) {
  test(`${name}: its gradient matches differences, and it replaces the layer's own`, () => {
    const own = { alibi: true, t5Bias: { numBuckets: 6 }, maxRelativeDistance: 2 };
    for (const positions of [{}, own]) {
      const layer = new attn.MultiHeadAttention({
        ...{ dModel: 8, numHeads: 2, bias: true, positions, sinks: true, seed: 3 },
      });
      const { output } = layer.forward(x, x, x, optionsOf(term));
      assertInputGradient(
        attn,
        (v) => {
          const input = v.tape.constant(x);
          const got = layer.forward(input, input, input, optionsOf(v));
          assert.equal(got.shape.join(), output.shape.join());
          return got;
        },
        term,
      );
      const tape = new attn.Tape();
      const input = tape.variable(x);
      const got = layer.forward(input, input, input, optionsOf(tape.variable(term)));
      assert.deepEqual(got.value(), output);
    }
  });
}

test('the_layers_of_a_stack_share_a_t5_table_that_is_a_variable', () => {
  const block = { dModel: 8, numHeads: 2, dimFeedforward: 12, seed: 4 };
  const encoder = new attn.TransformerEncoder({ ...block, numLayers: 2, activation: 'gelu' });
  const decoder = new attn.TransformerDecoder({ ...block, numLayers: 2, activation: 'gelu' });
  const memory = random([2, 3, 8], 11);
  const of = (/** @type {any} */ table) => ({ t5Bias: { table, ...rule } });
  const table = random([4, 2], 6);
  assertInputGradient(
    attn,
    (v) => encoder.forward(v.tape.constant(x), { attention: of(v) }),
    table,
  );
  assertInputGradient(
    attn,
    (v) =>
      decoder.forward(v.tape.constant(x), v.tape.constant(memory), {
        ...{ selfAttention: { ...of(v), causal: true }, crossAttention: of(v) },
      }),
    table,
  );
  const tape = new attn.Tape();
  assert.deepEqual(
    encoder.forward(tape.constant(x), { attention: of(tape.constant(table)) }).value(),
    encoder.forward(x, { attention: of(table) }).output,
  );
});

test('positions_along_several_axes_have_gradients_that_match_differences', () => {
  const positions = {
    data: Array.from({ length: 30 }, (_, i) => (7 * i) % 11),
    shape: [3, 2, 5],
  };
  const rotary = { sections: [1, 2, 1] };
  const sizes = { dModel: 16, numHeads: 2, positions: { rotary } };
  const wide = random([2, 5, 16], 12);
  const layer = new attn.MultiHeadAttention({ ...sizes, seed: 3 });
  const block = new attn.TransformerEncoder({
    ...{ ...sizes, dimFeedforward: 12, activation: 'gelu', numLayers: 2, seed: 4 },
  });
  const decoder = new attn.TransformerDecoderLayer({
    ...{ ...sizes, dimFeedforward: 12, activation: 'gelu', seed: 4 },
  });
  const attention = { causal: true };
  /** @type {[(v: Variable) => Variable, (x: Tensor) => Tensor][]} */
  const forwards = [
    [
      (v) => layer.forward(v, v, v, { ...attention, positions }),
      (x) => layer.forward(x, x, x, { ...attention, positions }).output,
    ],
    [
      (v) => layer.forward(v, v, v, { positions, keyPositions: [4, 3, 2, 1, 0] }),
      (x) => layer.forward(x, x, x, { positions, keyPositions: [4, 3, 2, 1, 0] }).output,
    ],
    [
      (v) => block.forward(v, { attention, positions }),
      (x) => block.forward(x, { attention, positions }).output,
    ],
    [
      (v) => decoder.forward(v, v, { selfAttention: attention, positions }),
      (x) => decoder.forward(x, x, { selfAttention: attention, positions }).output,
    ],
  ];
  for (const [ofVariable, ofTensor] of forwards) {
    assertInputGradient(attn, ofVariable, wide);
    const tape = new attn.Tape();
    assert.deepEqual(ofVariable(tape.variable(wide)).value(), ofTensor(wide));
  }
  assertParameterGradients(attn, layer, (tape) => forwards[0][0](tape.constant(wide)));
});

test('unsupported_terms_are_named', () => {
  const layer = new attn.MultiHeadAttention({ dModel: 8, numHeads: 2 });
  const tape = new attn.Tape();
  const other = new attn.Tape();
  const input = tape.variable(x);
  /** @param {any} options */
  const forward = (options) => layer.forward(input, input, input, options);
  assertThrows(
    () => forward({ bias: tape.variable(random([3, 5], 1)) }),
    'shape_mismatch',
    /^bias: got shape \(3, 5\)/,
  );
  assertThrows(
    () => forward({ sinks: other.variable(random([2], 1)) }),
    'invalid_argument',
    /^sinks: got a variable of another tape/,
  );
  assertThrows(
    () => forward({ t5Bias: tape.variable(random([4, 2], 1)) }),
    'invalid_argument',
    /^t5Bias.table: got undefined/,
  );
  assertThrows(
    () => forward({ positions: [0, 1, 2, 3, 4] }),
    'invalid_argument',
    'positions: got some positions, needs none; the layer has no rotary positions',
  );
  // A term may be a variable only if the inputs are variables, too.
  assertThrows(
    () => layer.forward(x, x, x, /** @type {any} */ ({ bias: tape.variable(random([5, 5], 1)) })),
    'invalid_argument',
    /^bias: /,
  );
  assert.equal(forward({ sinks: tape.variable(random([2], 1)) }).shape.join(), '2,5,8');
});
