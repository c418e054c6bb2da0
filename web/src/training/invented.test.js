import assert from 'node:assert/strict';
import test, { before } from 'node:test';

import { load } from 'attn';

import { finish } from '../core/finish.js';
import { compare, compareYours } from '../figures/schemes/schemes.js';
import { examples } from '../invention/examples.js';
import { Invention } from '../invention/invention.js';
import { Lane } from './lane.js';
import { loadInvention } from './model.js';

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
  // A formula has a limited length, so that T5 is compared for fewer words.
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
