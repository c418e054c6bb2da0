// Tests the programs of figures that look at the page's layer: each is run with settings that turn
// everything on and off, and prints what the package computes here.

import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from 'attn';

import { toNpy } from '../web/src/frame/files.js';
import { exclusionOf } from '../web/src/model/exclusion.js';
import { reasonToSkip, run } from './programs.js';

/** @typedef {import('attn').Tensor} Tensor */
/** @typedef {import('../web/src/state/properties.js').Settings} Settings */

/**
 * @typedef {object} Model what the page computes from a sentence
 * @property {import('attn').Attn} attn
 * @property {InstanceType<import('attn').Attn['MultiHeadAttention']>} layer
 * @property {Tensor} embedding (n, E), as x
 * @property {Tensor} x what the layer reads
 * @property {import('attn').ExclusionOptions} exclusion
 * @property {Settings} settings
 */

export const tokens = ['the', 'cat', 'said', '"', '\\n', 'the'];
export const head = 1;

const shared = { dModel: 16, heads: 2, seed: 3, base: 100.5, editMatrix: 'k' };
const cases = /** @type {Settings[]} */ (
  /** @type {unknown[]} */ ([
    {
      ...{ ...shared, weights: 'identity', encoding: 'sinusoidal', causal: true, window: 2 },
      ...{ validLen: 5, blocked: [{ row: 1, column: 0 }] },
    },
    {
      ...{ ...shared, weights: 'xavier', encoding: 'none', causal: false, window: 0 },
      ...{ validLen: 0, blocked: [], editMatrix: 'o' },
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
 * @param {string} what the programs print
 * @param {(settings: Settings) => Record<'python' | 'cpp' | 'javascript', string>} programs
 * @param {(model: Model) => { data: Float32Array, columns: number }} expected
 * @param {(model: Model) => Record<string, Tensor>} exported the .npy files that Python reads
 */
export async function testLayerPrograms(what, programs, expected, exported) {
  for (const language of /** @type {const} */ (['python', 'cpp', 'javascript'])) {
    const skip = await reasonToSkip(language);
    test(`the ${language} program prints ${what}`, { skip }, async () => {
      const attn = await load({ threads: 1 });
      for (const settings of cases) {
        const { dModel, heads: numHeads, weights: init, seed, base, encoding } = settings;
        const embedding = attn.ngramEmbedding(tokens, { dModel });
        const x = encoding === 'none' ? embedding : attn.positionalEncoding(embedding, { base });
        const layer = new attn.MultiHeadAttention({ dModel, numHeads, init, seed, bias: false });
        const exclusion = exclusionOf(settings, tokens.length);
        const model = { attn, layer, embedding, x, exclusion, settings };
        const { data, columns } = expected(model);
        const files = Object.fromEntries(
          Object.entries(exported(model)).map(([name, tensor]) => [`${name}.npy`, toNpy(tensor)]),
        );
        layer.dispose();
        const printed = await run(language, programs(settings)[language], files);
        assert.deepEqual([printed.length, printed[0].length], [tokens.length, columns]);
        // PyTorch draws other random weights.
        if (language === 'python' && init === 'xavier') continue;
        // Instruction sets add up in different orders.
        printed
          .flat()
          .forEach((value, i) =>
            assert.ok(Math.abs(value - data[i]) < 2e-5, `${i}: ${value} for ${data[i]}`),
          );
      }
    });
  }
}
