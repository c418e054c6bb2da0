import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from 'attn';

import { reasonToSkip, run } from '../../../../tests/programs.js';
import { Block } from '../../core/block.js';
import { exclusionOf } from '../../core/exclusion.js';
import { describedLayer, encoderLayer } from '../../core/layer.js';
import { encoderBlockCode } from './code.js';

const tokens = ['the', 'cat', 'said', '"', '\\n'];
const shared = /** @type {any} */ ({ tokens, dModel: 16, heads: 2, seed: 3, base: 100 });
const cases = [
  {
    ...{ ...shared, weights: 'identity', norm: 'post', encoding: 'sinusoidal' },
    ...{ causal: true, window: 2, validLen: 4, blocked: [{ row: 1, column: 0 }] },
  },
  {
    ...{ ...shared, weights: 'xavier', norm: 'pre', encoding: 'none' },
    ...{ causal: false, window: 0, validLen: 0, blocked: [] },
  },
];

for (const language of /** @type {const} */ (['python', 'cpp', 'javascript'])) {
  const skip = await reasonToSkip(language);
  test(`the ${language} program prints the block’s output`, { skip }, async () => {
    const attn = await load({ threads: 1 });
    for (const settings of cases) {
      const embedded = attn.ngramEmbedding(tokens, { dModel: 16 });
      const x =
        settings.encoding === 'none' ? embedded : attn.positionalEncoding(embedded, { base: 100 });
      const options = { ...settings, normFirst: settings.norm === 'pre' };
      const block = new Block(encoderLayer(attn, options), describedLayer(options), {
        isOwned: true,
      });
      const { stages } = block.forward(x, exclusionOf(settings, tokens.length));
      const { data } = settings.norm === 'pre' ? stages.sum2 : stages.norm2;
      block.dispose();
      const printed = (await run(language, encoderBlockCode(settings, null)[language])).flat();
      assert.equal(printed.length, data.length);
      // The instruction sets add in different orders, and normalised values have magnitudes of a
      // few units.
      printed.forEach((value, i) => assert.ok(Math.abs(value - data[i]) < 1e-5, `${i}: ${value}`));
    }
  });
}
