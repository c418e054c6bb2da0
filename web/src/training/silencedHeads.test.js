// Silences each head of one model with rotary positions. In almost every sequence, the head that costs the most
// log-probability must be one of the two heads of the induction circuit. The test identifies these
// heads by what they attend to. The model was trained like a lane of the page. To train it again,
// which takes some minutes:
//
//   RECORD=1 node --test web/src/training/silencedHeads.test.js

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import test from 'node:test';

import { load } from 'attn';

import { ablateOf } from '../core/silence.js';
import { logSumExp } from '../models/language/languageModel.js';
import { Encoder } from './encoder.js';
import { headScores } from './induction.js';
import { Lane } from './lane.js';
import { ignored, Source, worlds } from './worlds.js';

/** @import { LaneOptions } from './model.js' */

const attn = await load({ training: true, threads: 1, variant: 'simd128' });

/** @type {LaneOptions} */
const options = {
  ...{ world: 'repeat', positions: 'rotary', heads: 4, layers: 2, causal: true },
  ...{ rate: 3e-3, seed: 1 },
};
/**
 * Number of training steps. Early in training, several heads of the first layer have the same role,
 * so silencing one of them costs little.
 */
const steps = 1300;
const recorded = new URL('recorded/induction.safetensors', import.meta.url);

/** Returns the bits of a float16. Subnormal numbers become 0. @param {number} value */
function halfBits(value) {
  const bits = new Uint32Array(Float32Array.of(value).buffer)[0];
  const magnitude = (bits & 0x7fffffff) + 0x1000 - (112 << 23);
  return ((bits >>> 16) & 0x8000) | (magnitude < 1 << 23 ? 0 : magnitude >>> 13);
}

if (process.env.RECORD) {
  const lane = new Lane(attn, options);
  assert.equal(lane.train(steps).failure, undefined);
  const file = new attn.Safetensors(lane.save());
  const model = new Encoder(attn, options);
  model.loadStateDict(file);
  const halves = Object.entries(model.stateDict()).map(([name, { data, shape }]) => [
    name,
    { data: Uint16Array.from(data, halfBits), shape, type: 'float16' },
  ]);
  mkdirSync(new URL('.', recorded), { recursive: true });
  writeFileSync(recorded, attn.toSafetensors(Object.fromEntries(halves), file.metadata));
}

test('silencing one of the two heads of the induction circuit costs the most log-probability', () => {
  const world = worlds.repeat;
  const model = new Encoder(attn, options);
  model.loadStateDict(new attn.Safetensors(readFileSync(recorded)));
  const { tokens, encoder, unembed } = model.parts;

  /** Seeds of 200 sequences that the model has not seen. */
  const seeds = Array.from({ length: 200 }, (_, i) => 1000 + i);
  const examples = seeds.map((seed) => new Source(attn, world, seed, 1).heldOut);
  const shape = [seeds.length, world.length];
  const [ids, targets] = /** @type {const} */ (['ids', 'targets']).map((name) =>
    Int32Array.from(examples.flatMap((each) => [...each[name].data])),
  );

  /**
   * The log-probability of the right answers in each sequence.
   * @param {import('attn').AblatedValue[]} ablate
   */
  const logProbabilities = (ablate) => {
    const x = model.withPositions(tokens.forward({ data: ids, shape }));
    const { output } = encoder.forward(x, { attention: { causal: true }, ablate });
    const { data } = unembed.forward(output);
    const width = world.symbols.length;
    const sums = new Float64Array(seeds.length);
    targets.forEach((target, i) => {
      if (target === ignored) return;
      const row = data.subarray(i * width, (i + 1) * width);
      sums[Math.floor(i / world.length)] += row[target] - logSumExp(row);
    });
    return sums;
  };

  const scores = headScores(
    model.weightsOf({ data: ids, shape }),
    ids,
    (at) => targets[at] !== ignored,
  );
  /** The head with the highest score of this kind. @param {'previous' | 'followed'} name */
  const headWith = (name) =>
    scores.reduce((best, each, head) => (each[name] > scores[best][name] ? head : best), 0);
  const circuit = [headWith('previous'), headWith('followed')];
  assert.ok(circuit[0] < options.heads && circuit[1] >= options.heads, `${circuit}`);

  const before = logProbabilities([]);
  for (const replacement of /** @type {const} */ (['zero', 'mean'])) {
    const after = scores.map((_, at) => {
      const [layer, part] = [Math.floor(at / options.heads), at % options.heads];
      return logProbabilities(ablateOf([{ layer, part }], replacement));
    });
    const right = seeds.filter((_, example) => {
      const costs = after.map((sums) => before[example] - sums[example]);
      return circuit.includes(costs.indexOf(Math.max(...costs)));
    });
    assert.ok(right.length >= 0.9 * seeds.length, `${replacement}: ${right.length} of 200`);
  }
  model.dispose();
});
