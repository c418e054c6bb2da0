// Tests the programs that the page offers next to the figures of its attention layer. Each program
// runs with several settings, which together turn every option on and off, and must print the
// values that the package computes here.

import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from 'attn';

import { exclusionOf } from '../web/src/core/exclusion.js';
import * as languagePrograms from '../web/src/models/language/languagePrograms.js';
import { reasonToSkip, run } from './programs.js';
import { smallLanguageModel } from './smallLanguageModel.js';

/** @typedef {import('attn').Tensor} Tensor */
/** @typedef {import('../web/src/core/sentence.js').Given} Given */

/**
 * @typedef {object} Model the page's computation from a sentence
 * @property {import('attn').Attn} attn
 * @property {InstanceType<import('attn').Attn['MultiHeadAttention']>} layer
 * @property {Tensor} embedding (n, E), like x
 * @property {Tensor} x the layer's input
 * @property {import('attn').ExclusionOptions} exclusion
 * @property {Given} given
 * @property {ReturnType<typeof smallLanguageModel>['model'] | null} model the model that contains
 *   the layer
 */

export const tokens = ['the', 'cat', 'said', '"', '\\n', 'the'];
export const head = 1;

const ids = [3, 20, 7, 7, 0, 3];
const shared = { ids, tokens, head, dModel: 16, heads: 2, seed: 3, base: 100.5, editMatrix: 'k' };
const cases = /** @type {Given[]} */ (
  /** @type {unknown[]} */ ([
    {
      ...{ ...shared, weights: 'identity', encoding: 'sinusoidal', causal: true, window: 2 },
      ...{ validLen: 5, blocked: [{ row: 1, column: 0 }] },
    },
    {
      ...{ ...shared, weights: 'xavier', encoding: 'none', causal: false, window: 0 },
      ...{ validLen: 0, blocked: [], editMatrix: 'o' },
    },
    {
      ...{ ...shared, weights: 'learned', encoding: 'sinusoidal', causal: true, window: 0 },
      ...{ layer: 1, validLen: 0, blocked: [{ row: 3, column: 1 }] },
    },
  ])
);

/** @param {Model} model */
export function weightsOfHead({ layer, x, exclusion }) {
  const { weights } = layer.forward(x, x, x, { ...exclusion, needWeights: true });
  const { data } = weights;
  const { length } = tokens;
  return { data: data.subarray(head * length ** 2, (head + 1) * length ** 2), columns: length };
}

/**
 * @param {string} what what the programs print, for the names of the tests
 * @param {(given: Given, learned:
 *   import('../web/src/models/language/languagePrograms.js').Learned | null) =>
 *   Record<'python' | 'cpp' | 'javascript', string>} programsOf
 * @param {(model: Model) => { data: Float32Array, columns: number }} expected
 */
export async function testLayerPrograms(what, programsOf, expected) {
  for (const language of /** @type {const} */ (['python', 'cpp', 'javascript'])) {
    const skip = await reasonToSkip(language);
    test(`the ${language} program prints ${what}`, { skip }, async () => {
      const attn = await load({ threads: 1 });
      for (const given of cases) {
        const exclusion = exclusionOf(given, tokens.length);
        const { bytes, config, model: small } = smallLanguageModel(attn);
        const isLearned = given.weights === 'learned';
        /** @type {Model} */
        let model;
        if (isLearned) {
          const embedding = small.embed(ids);
          const x = small.read(embedding, { exclusion }).layerInput(given.layer);
          const layer = small.attention(given.layer, true);
          model = { attn, layer, embedding, x, exclusion, given, model: small };
        } else {
          const { dModel, heads: numHeads, seed, base, encoding } = given;
          const init = /** @type {'identity' | 'xavier'} */ (given.weights);
          const embedding = attn.ngramEmbedding(tokens, { dModel });
          const x = encoding === 'none' ? embedding : attn.positionalEncoding(embedding, { base });
          const layer = new attn.MultiHeadAttention({ dModel, numHeads, init, seed, bias: false });
          model = { attn, layer, embedding, x, exclusion, given, model: null };
        }
        const { data, columns } = expected(model);
        if (!isLearned) model.layer.dispose();
        /** @type {Record<string, Uint8Array>} */
        const files = isLearned ? { 'model.safetensors': bytes } : {};
        const programs = programsOf(given, isLearned ? { config, ...languagePrograms } : null);
        small.dispose();
        assert.equal(/^(#|\/\/) Needs model\.safetensors /.test(programs[language]), isLearned);
        const printed = await run(language, programs[language], files);
        assert.deepEqual([printed.length, printed[0].length], [tokens.length, columns]);
        // Sums differ slightly, because each instruction set adds in its own order.
        printed
          .flat()
          .forEach((value, i) =>
            assert.ok(Math.abs(value - data[i]) < 2e-5, `${i}: ${value} for ${data[i]}`),
          );
      }
    });
  }
}
