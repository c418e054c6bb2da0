// Tests the programs that the page offers next to figures that show results of the whole language
// model.

import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from 'attn';

import * as languagePrograms from '../web/src/models/language/languagePrograms.js';
import { reasonToSkip, run } from './programs.js';
import { smallLanguageModel } from './smallLanguageModel.js';

/** @import { LanguageModel } from '../web/src/models/language/languageModel.js' */
/** @import { Learned } from '../web/src/models/language/languagePrograms.js' */

export const ids = [3, 20, 7, 7, 0, 3];

const given = /** @type {import('../web/src/core/sentence.js').Given} */ (
  /** @type {unknown} */ ({
    ...{
      ids,
      tokens: ids.map((id) => `t${id}`),
      weights: 'learned',
      layer: 1,
      head: 0,
      encoding: 'sinusoidal',
      dModel: 16,
      heads: 2,
    },
    ...{ causal: true, window: 0, validLen: 0, blocked: [], base: 1000, seed: 1 },
  })
);

/**
 * @param {string} what what the programs print, for the names of the tests
 * @param {(settings: typeof given, learned: Learned) => Record<'python' | 'cpp' | 'javascript',
 *   string>} programs
 * @param {(model: LanguageModel) => number[]} expected
 */
export async function testLanguagePrograms(what, programs, expected) {
  for (const language of /** @type {const} */ (['python', 'cpp', 'javascript'])) {
    const skip = await reasonToSkip(language, 'safetensors.torch');
    test(`the ${language} program prints ${what}`, { skip }, async () => {
      const attn = await load({ threads: 1 });
      for (const positions of /** @type {const} */ (['rotary', 'sinusoidal'])) {
        const { bytes, config, model } = smallLanguageModel(attn, positions);
        const program = programs(given, { config, ...languagePrograms })[language];
        const printed = (await run(language, program, { 'model.safetensors': bytes })).flat();
        const values = expected(model);
        model.dispose();
        assert.equal(printed.length, values.length);
        printed.forEach((value, i) =>
          assert.ok(Math.abs(value - values[i]) < 1e-4, `${i}: ${value} for ${values[i]}`),
        );
      }
    });
  }
}
