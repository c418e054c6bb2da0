import assert from 'node:assert/strict';
import test, { before } from 'node:test';

import { load } from 'attn';

import { finish } from '../core/finish.js';
import { compare, compareYours } from '../figures/schemes/schemes.js';
import { examples } from '../invention/examples.js';
import { random } from '../invention/formula.js';
import { Invention } from '../invention/invention.js';
import { evaluate, Lane } from './lane.js';
import { makeModel } from './makeModel.js';
import { lengths, loadInvention, sizes } from './model.js';
import { longerWorld, Source, worlds } from './worlds.js';

/** @type {import('attn').TrainingAttn} */
let attn;
before(async () => (attn = await load({ training: true, variant: 'simd128' })));

/** @param {ArrayLike<number>} a @param {ArrayLike<number>} b */
const difference = (a, b) =>
  Array.from(a).reduce((most, value, i) => Math.max(most, Math.abs(value - b[i])), 0);

test('formulas give the same attention weights as the built-in schemes', () => {
  const tokens = 'the lady sat by the fire because the lady was tired'.split(' ');
  const [n, dModel, heads, seed] = [tokens.length, 64, 4, 3];
  const settings = {
    ...{ heads, head: 2, weights: /** @type {const} */ ('xavier'), seed, base: 10000 },
    ...{ factor: 4, trained: 8, clip: 2, causal: false },
  };
  const x = attn.ngramEmbedding(tokens, { dModel });
  const built = finish(compare(attn, x, settings));
  const formulas = {
    sinusoidal: examples.sinusoid,
    alibi: examples.alibi,
  };
  for (const [name, written] of Object.entries(formulas)) {
    const invention = new Invention(written);
    const tables = { added: invention.added(n, dModel), bias: invention.bias(n, 1, dModel) };
    const yours = compareYours(attn, x, settings, undefined, tables);
    const theirs = built.find((each) => each.name === name);
    assert.ok(difference(yours.matrix?.data ?? [], theirs?.matrix?.data ?? []) < 5e-7, name);
    assert.ok(difference(yours.weights?.data ?? [], theirs?.weights?.data ?? []) < 1e-6, name);
  }
  // The length of a formula is limited, so this test compares T5 on shorter inputs.
  const few = 8;
  const words = { data: x.data.subarray(0, few * dModel), shape: [few, dModel] };
  const short = finish(compare(attn, words, settings)).find(({ name }) => name === 't5');
  const table = /** @type {Float32Array} */ (short?.matrix?.data);
  const cases = Array.from({ length: 2 * few - 1 }, (_, at) => at - (few - 1)).reduceRight(
    (rest, distance) => {
      const value = table[distance >= 0 ? distance : -distance * few].toFixed(6);
      return rest ? `j-i==${distance}?${value}:${rest}` : value;
    },
    '',
  );
  const invention = new Invention({ added: '', bias: cases, parameters: [] });
  const tables = { added: null, bias: invention.bias(few, 1, dModel) };
  const yours = compareYours(attn, words, settings, undefined, tables);
  assert.ok(difference(yours.weights?.data ?? [], short?.weights?.data ?? []) < 2e-6);
});

/** @param {Partial<import('./model.js').LaneOptions>} changes @param {number} steps */
async function trained(changes, steps) {
  /** @type {import('./model.js').LaneOptions} */
  const options = {
    ...{ world: 'reverse', positions: 'sinusoidal', heads: 4, layers: 1, causal: false },
    ...{ rate: 3e-3, seed: 1, ...changes },
  };
  const lane = new Lane(attn, options, await loadInvention(options));
  try {
    const { losses, evaluations, failure } = lane.train(steps);
    assert.equal(failure, undefined);
    return {
      losses,
      accuracy: evaluations.map(({ accuracy }) => accuracy),
      reach: lane.reach(),
    };
  } finally {
    lane.dispose();
  }
}

test('formulas for the sinusoid and ALiBi are learned like the built-in schemes', async () => {
  for (const [positions, written] of /** @type {const} */ ([
    ['sinusoidal', examples.sinusoid],
    ['alibi', examples.alibi],
  ])) {
    const [built, yours] = [
      await trained({ positions }, 20),
      await trained({ positions: 'yours', written }, 20),
    ];
    assert.ok(difference(built.losses, yours.losses) < 2e-4, positions);
    assert.ok(difference(built.accuracy, yours.accuracy) < 0.005, positions);
    assert.deepEqual(yours.reach.sizes, built.reach.sizes);
    assert.ok(difference(built.reach.accuracy, yours.reach.accuracy) < 0.01, positions);
  }
});

/**
 * Trains with T5's table frozen: its initial values are restored after each step. Gradients are not
 * clipped, so the table's gradients do not change the steps of the other weights.
 * @param {import('./model.js').LaneOptions} options
 * @param {import('./snapshots.js').Weights} weights the first weights
 * @param {number} steps
 */
async function trainedWithFrozenTable(options, weights, steps) {
  const model = makeModel(attn, options, await loadInvention(options));
  const optimizer = new attn.AdamW(/** @type {any} */ (model.parts), { lr: options.rate });
  const tape = new attn.Tape();
  const { world, seed } = options;
  const source = new Source(attn, worlds[world], seed, sizes.heldOut);
  const own = Object.keys(model.stateDict());
  model.loadStateDict(Object.fromEntries(own.map((name) => [name, weights[name]])));
  const losses = [];
  for (let step = 0; step < steps; step++) {
    const batch = source.batch(step, sizes.batch);
    tape.clear();
    const loss = attn.crossEntropy(model.record(batch, tape), batch.targets);
    losses.push(loss.item());
    tape.backward(loss);
    optimizer.step(tape);
    const now = model.stateDict();
    if (tableName in now) model.loadStateDict({ ...now, [tableName]: weights[tableName] });
  }
  const accuracy = lengths.map((times) => {
    const longer = longerWorld(world, times);
    const { heldOut } = new Source(attn, longer, seed, sizes.heldOut);
    return evaluate(model, heldOut, longer.answers).accuracy;
  });
  for (const each of [optimizer, tape, model]) each.dispose();
  return { losses, accuracy };
}
const tableName = 'encoder.layers.0.self_attn.relative_attention_bias.weight';

test('a model with a formula for T5 learns like T5 with a frozen table', async () => {
  // The numbers of a formula do not change in training, so T5's table is frozen. The formula below
  // computes the same random numbers as the table contains.
  const exact =
    'abs(i - j) < 8 ? abs(i - j) : min(15, 8 + floor(8 * log(abs(i - j) / 8) / log(4)))';
  const bias = `2 * random((j > i ? 16 : 0) + (${exact}), h) - 1`;
  const written = { added: '', bias, parameters: [] };
  /** @type {import('./model.js').LaneOptions} */
  const options = {
    ...{ world: 'reverse', positions: 't5', heads: 4, layers: 1, causal: false },
    ...{ rate: 3e-3, seed: 1 },
  };
  const model = makeModel(attn, options);
  const weights = model.stateDict();
  model.dispose();
  const { shape } = weights[tableName];
  assert.deepEqual(shape, [32, 4]);
  const values = Array.from({ length: 32 * 4 }, (_, at) => 2 * random(at >> 2, at & 3) - 1);
  weights[tableName] = { data: Float32Array.from(values), shape };
  const built = await trainedWithFrozenTable(options, weights, 20);
  const yours = await trainedWithFrozenTable(
    { ...options, positions: 'yours', written },
    weights,
    20,
  );
  assert.ok(built.losses[19] < built.losses[0] - 0.3, `${built.losses}`);
  assert.ok(difference(built.losses, yours.losses) < 2e-4, `${yours.losses} ${built.losses}`);
  assert.ok(difference(built.accuracy, yours.accuracy) < 0.005);
});

test('an encoder and decoder use both formulas, also while they write', async () => {
  const { added } = examples.sinusoid;
  const written = { added, bias: '-abs(i - j) / 4', parameters: examples.sinusoid.parameters };
  const dates = {
    world: /** @type {const} */ ('dates'),
    decoder: /** @type {const} */ ('transformer'),
  };
  const { losses } = await trained({ ...dates, positions: 'yours', written }, 2);
  assert.equal(losses.length, 2);
  const [built, yours] = [
    await trained({ ...dates, positions: 'sinusoidal' }, 2),
    await trained({ ...dates, positions: 'yours', written: examples.sinusoid }, 2),
  ];
  assert.ok(difference(built.losses, yours.losses) < 1e-4);
  assert.ok(difference(built.accuracy, yours.accuracy) < 0.005);
});

test('a file of weights records the formulas, and fits only a model with the same formulas', async () => {
  const { parameters } = examples.sinusoid;
  const written = { ...examples.sinusoid, bias: '-abs(i - j) / 4' };
  /** @type {import('./model.js').LaneOptions} */
  const options = {
    ...{ world: 'reverse', positions: 'yours', written, heads: 4, layers: 1, causal: false },
    ...{ rate: 3e-3, seed: 1 },
  };
  const laneOf = async (/** @type {Partial<import('./model.js').LaneOptions>} */ changes) => {
    const all = { ...options, ...changes };
    return new Lane(attn, all, await loadInvention(all));
  };
  const [lane, wider, other, built] = await Promise.all([
    laneOf({}),
    laneOf({ written: { ...written, parameters: [{ ...parameters[0], max: 30000 }] } }),
    laneOf({ written: { ...written, parameters: [{ ...parameters[0], value: 9000 }] } }),
    laneOf({ positions: 'sinusoidal', written: undefined }),
  ]);
  lane.train(2);
  const bytes = lane.save();
  const loaded = [wider, other, built].map((each) => each.load(bytes));
  assert.deepEqual(
    loaded.map(({ fits }) => fits),
    [true, false, false],
  );
  for (const { saved } of loaded) assert.deepEqual(saved?.written, written);
  assert.equal(wider.checksum(), lane.checksum());
  assert.equal(lane.load(built.save()).fits, false);
  for (const each of [lane, wider, other, built]) each.dispose();
});
