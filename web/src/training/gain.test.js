import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from 'attn';

import { Lane } from './lane.js';

/** Right answers of each digit, in percent, as the page shows them. @param {number} heads */
async function learned(heads) {
  // The page trains with this variant, whose results are bit-identical everywhere.
  const attn = await load({ training: true, threads: 1, variant: 'simd128' });
  const lane = new Lane(attn, {
    ...{ world: 'add', positions: 'learned', heads, layers: 1, causal: false },
    ...{ rate: 2e-3, seed: 5 },
  });
  const { evaluations, failure } = lane.train(600);
  lane.dispose();
  assert.equal(failure, undefined);
  const { places } = evaluations[evaluations.length - 1];
  return Array.from(places, (share) => 100 * share);
}

test('with the settings that the chapter offers, four heads learn to add and one head does not', async () => {
  const four = await learned(4);
  assert.equal(four.length, 3);
  assert.ok(Math.min(...four) >= 90, `${four}`);
  const [hundreds, tens, ones] = await learned(1);
  assert.ok(hundreds >= 90 && tens < 20 && ones < 20, `${hundreds}, ${tens}, ${ones}`);
});
