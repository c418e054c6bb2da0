// Tests that objects passed to a call must belong to the called module, have the right class, and
// not be disposed of.

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';

import { AttnError, load } from 'attn';

/** @import { TrainingAttn } from 'attn' */

const attn = await load({ training: true, variant: 'simd128' });
const other = await load({ training: true, variant: 'simd128' });
// Makes the addresses in the two modules differ. Otherwise, reading from the wrong module could go
// unnoticed.
const apart = Array.from({ length: 40 }, () => new other.Linear({ inFeatures: 9, outFeatures: 9 }));
after(() => {
  assert.ok(apart.every(({ disposed }) => !disposed));
  attn.dispose();
  other.dispose();
});

/** @param {number[]} shape */
const ones = (shape) => ({
  data: new Float32Array(shape.reduce((product, size) => product * size, 1)).fill(1),
  shape,
});

/** @param {string} code @param {RegExp} message */
const error = (code, message) => (/** @type {unknown} */ thrown) => {
  assert.ok(thrown instanceof AttnError, `${thrown}`);
  assert.equal(thrown.code, code, thrown.message);
  assert.match(thrown.message, message);
  return true;
};

const kLinear = { inFeatures: 2, outFeatures: 2 };
const kAttention = { dModel: 4, numHeads: 2 };
const kLayer = { ...kAttention, dimFeedforward: 8 };
const kStack = { ...kLayer, numLayers: 2 };
const token = ones([1, 1, 4]);

/** A tape after backward(), and the layer recorded on it. @param {TrainingAttn} module */
function trained(module) {
  const layer = new module.Linear(kLinear);
  const tape = new module.Tape();
  tape.backward(layer.forward(tape.constant(ones([1, 2]))), ones([1, 2]));
  return { layer, tape };
}

describe('an object of another module is rejected by the name of its argument', () => {
  /** @type {Record<string, () => unknown>} */
  const calls = {
    'tape of step': () => new attn.AdamW(new attn.Linear(kLinear)).step(trained(other).tape),
    'tape of clipGradNorm': () => attn.clipGradNorm(trained(other).tape, 1),
    'layer of parameter': () => new attn.Tape().parameter(trained(other).layer, 'weight'),
    'first of an optimiser': () => new attn.SGD({ first: new other.Linear(kLinear) }),
    'source of loadStateDict': () => {
      const file = other.toSafetensors(new other.Linear(kLinear).stateDict());
      return new attn.Linear(kLinear).loadStateDict(new other.Safetensors(file));
    },
    'tiedTo of Linear': () => {
      const embedding = new other.Embedding({ numEmbeddings: 3, embeddingDim: 2 });
      return new attn.Linear({ tiedTo: embedding });
    },
    'cache of MultiHeadAttention': () => {
      const cache = new other.KeyValueCache({ numKvHeads: 2, headDim: 2 });
      return new attn.MultiHeadAttention(kAttention).forward(token, token, token, { cache });
    },
    'cache of append': () => {
      const cache = new other.KeyValueCache({ numKvHeads: 2, headDim: 2 });
      return new attn.MultiHeadAttention(kAttention).append(token, token, cache);
    },
    'cache of attend': () => {
      const cache = new other.KeyValueCache({ numKvHeads: 2, headDim: 2 });
      return new attn.MultiHeadAttention(kAttention).attend(token, cache);
    },
    'cache of a layer': () => {
      const cache = new other.TransformerEncoderLayer(kLayer).makeCache();
      return new attn.TransformerEncoderLayer(kLayer).forward(token, { cache });
    },
    'caches of a stack': () => {
      const caches = new other.TransformerEncoder(kStack).makeCaches();
      return new attn.TransformerEncoder(kStack).forward(token, { caches });
    },
    'memory of a decoder': () => {
      const state = new other.TransformerDecoder(kStack).start(ones([1, 3, 4]));
      return new attn.TransformerDecoder(kStack).forward(token, state);
    },
    'state of BahdanauDecoder': () => {
      const sizes = { vocabSize: 5, embedSize: 4, numHiddens: 4 };
      const state = new other.BahdanauDecoder(sizes).initState(ones([1, 3, 4]), ones([1, 1, 4]));
      const tokens = { data: [1], shape: [1, 1] };
      return new attn.BahdanauDecoder(sizes).forward(tokens, state);
    },
  };
  for (const [name, call] of Object.entries(calls)) {
    test(name.replaceAll(' ', '_'), () => {
      const argument = name.slice(0, name.indexOf(' '));
      const message = new RegExp(`^${argument}: belongs to another module`);
      assert.throws(call, error('invalid_argument', message));
    });
  }
});

test('caches_and_states_must_fit_the_called_layer', () => {
  const encoder = new attn.TransformerEncoder(kStack);
  const encoderLayer = new attn.TransformerEncoderLayer(kLayer);
  const decoder = new attn.TransformerDecoder(kStack);
  const decoderLayer = new attn.TransformerDecoderLayer(kLayer);
  const memory = ones([1, 3, 4]);
  const caches = encoder.makeCaches();
  const cache = encoderLayer.makeCache();
  const state = decoder.start(memory);
  const layerState = decoderLayer.start(memory);
  const wrong = (
    /** @type {(given: any) => unknown} */ call,
    /** @type {object[]} */ states,
    /** @type {RegExp} */ message,
  ) => {
    for (const given of states) {
      assert.throws(() => call(given), error('invalid_argument', message));
    }
  };
  const stack = (/** @type {any} */ given) => encoder.forward(token, { caches: given });
  wrong(stack, [cache, state, layerState], /^caches: got .* makeCaches/);
  const layer = (/** @type {any} */ given) => encoderLayer.forward(token, { cache: given });
  wrong(layer, [caches, state, layerState], /^cache: got .* KeyValueCache/);
  const decode = (/** @type {any} */ given) => decoder.forward(token, given);
  wrong(decode, [cache, caches], /^memory: got /);
  const decodeLayer = (/** @type {any} */ given) => decoderLayer.forward(token, given);
  wrong(decodeLayer, [cache, caches], /^memory: got /);
  // States of layers and of stacks have the same class, and the core tells them apart.
  wrong(decode, [layerState], /^memory: got a state of a decoder layer, needs .* stack/);
  wrong(decodeLayer, [state], /^memory: got a state of a stack .*, needs .* decoder layer$/);
  for (const { length } of [caches, cache, state, layerState]) assert.equal(length, 0);
  assert.deepEqual(decode(state).output.shape, [1, 1, 4]);
  assert.deepEqual(decodeLayer(layerState).output.shape, [1, 1, 4]);
});

test('a_variable_is_not_read_after_its_tape_is_disposed_of', () => {
  const tape = new attn.Tape();
  const x = tape.variable(ones([1]));
  tape.dispose();
  for (const call of [
    () => x.value(),
    () => x.item(),
    () => x.gradient(),
    () => x.add(x),
    () => x.reshape([1, 1]),
  ]) {
    assert.throws(call, error('disposed', /^Tape: used after dispose/));
  }
});

test('a_variable_is_not_read_after_the_layer_it_views_is_disposed_of', () => {
  const tape = new attn.Tape();
  const layer = new attn.Linear(kLinear);
  const weight = tape.parameter(layer, 'weight');
  const views = [
    weight,
    weight.reshape([-1]),
    weight.reshape([4]).reshape([2, 2]),
    attn.applyDropout(weight, { probability: 0 }),
  ];
  const copies = [weight.mul(2), weight.slice(0, 0), weight.select(0, 1)];
  const want = copies.map((copy) => copy.value());
  const q = tape.variable(ones([2, 2]));
  layer.dispose();
  for (const view of views) {
    const same = tape.variable(ones([...view.shape]));
    for (const call of [
      () => view.value(),
      () => same.add(view),
      () => view.mul(same),
      () => view.reshape([-1]),
      () => attn.mseLoss(same, view),
      () => attn.scaledDotProductAttention(q, q, q, { bias: view }),
    ]) {
      assert.throws(call, error('disposed', /^Linear: used after dispose/));
    }
  }
  // Computed results are stored on the tape, not in the layer.
  assert.deepEqual(
    copies.map((copy) => copy.value()),
    want,
  );
  tape.clear();
  const next = new attn.Linear(kLinear);
  assert.deepEqual(tape.parameter(next, 'weight').reshape([-1]).shape, [4]);
});

test('layers_of_a_stack_are_disposed_of_with_it', () => {
  const stack = new attn.TransformerEncoder(kStack);
  const [layer] = stack.layers;
  assert.equal(layer.disposed, false);
  stack.dispose();
  assert.equal(layer.disposed, true);
  assert.equal(JSON.stringify(layer), '{"type":"TransformerEncoderLayer","disposed":true}');
  layer.dispose();
  assert.throws(() => layer.forward(token), error('disposed', /TransformerEncoderLayer/));
});

test('errors_name_the_wrong_argument', () => {
  const tape = new attn.Tape();
  const mse = /** @type {any} */ (attn.mseLoss.bind(attn));
  assert.throws(() => mse(tape.variable(ones([2]))), error('invalid_argument', /^target: /));
});

test('a_model_may_hold_layers_in_objects_of_any_class', () => {
  const namesOf = (/** @type {object} */ model) =>
    Object.keys(new attn.SGD(model, { momentum: 0.9 }).stateDict())
      .filter((name) => name.endsWith('.weight') && name.startsWith('momentum'))
      .map((name) => name.slice('momentum_buffer.'.length));
  class Block {
    constructor() {
      this.inner = new attn.Linear(kLinear);
      this.sizes = [2, 2];
      this.name = 'block';
    }
  }
  class Model {
    #hidden = new attn.Linear(kLinear);
    constructor() {
      this.attn = attn;
      this.tape = new attn.Tape();
      this.rotary = new attn.RotaryEmbedding({ rotaryDim: 2 });
      this.blocks = [new Block(), new Block()];
      this.parts = { last: new attn.Linear(kLinear), table: new Float32Array(9), none: undefined };
      this.whole = this;
    }
    get hidden() {
      return this.#hidden;
    }
  }
  const model = new Model();
  const expected = ['blocks.0.inner.weight', 'blocks.1.inner.weight', 'parts.last.weight'];
  assert.deepEqual(namesOf(model), expected);
  assert.deepEqual(
    namesOf({ model, again: model }),
    expected.map((name) => `model.${name}`),
  );
  /** @type {any} */
  const cyclic = { blocks: [new attn.Linear(kLinear)] };
  cyclic.blocks.push({ whole: cyclic });
  assert.deepEqual(namesOf(cyclic), ['blocks.0.weight']);

  for (const [wrong, message] of /** @type {[any, RegExp][]} */ ([
    [{ a: 1 }, /^a: got 1, needs a layer/],
    [{ a: undefined }, /^a: got undefined/],
    [{ blocks: [new attn.Linear(kLinear), attn.Linear] }, /^blocks\.1: got a function/],
    [{ table: new Float32Array(2) }, /^table: got an instance of Float32Array/],
    [
      new (class Empty {})(),
      /^model: got an instance of Empty, needs a layer, or layers in objects/,
    ],
    [{}, /^model: got an object, needs/],
    [[], /^model: got an array/],
    [null, /^model: got null/],
    [model.tape, /^model: got an instance of Tape/],
  ])) {
    assert.throws(() => new attn.Adam(wrong), error('invalid_argument', message));
  }
  new attn.Adam({ blocks: [], last: new attn.Linear(kLinear) }).dispose();
});
