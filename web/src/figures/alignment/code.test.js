import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from 'attn';

import { reasonToSkip, run } from '../../../../tests/programs.js';
import { align, alignByDecoder } from './alignment.js';
import { alignmentCode } from './code.js';

const source = ['signed', 'in', 'August', '"'];
const target = ['signé', 'en', 'août', '"', 'en'];
const seed = 3;
const sharpness = 0.2;

for (const language of /** @type {const} */ (['python', 'cpp', 'javascript'])) {
  const skip = await reasonToSkip(language);
  for (const alignment of /** @type {const} */ (['spelling', 'xavier', 'decoder'])) {
    test(`the ${language} program prints the alignment: ${alignment}`, { skip }, async () => {
      const attn = await load({ threads: 1 });
      const { weights } =
        alignment === 'decoder'
          ? alignByDecoder(attn, source, target, seed)
          : align(
              attn,
              source,
              target,
              alignment === 'spelling' ? { byHand: true, sharpness } : { byHand: false, seed },
            );
      const settings = /** @type {any} */ ({ alignment, seed, sharpness });
      const printed = await run(language, alignmentCode(settings, source, target)[language]);
      assert.deepEqual([printed.length, printed[0].length], weights.shape);
      printed.flat().forEach((value, i) => {
        assert.ok(Math.abs(value - weights.data[i]) < 1e-5, `${i}: ${value}`);
      });
    });
  }
}
