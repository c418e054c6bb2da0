import { settings } from '../../state/settings.svelte.js';

/** @typedef {import('../../work/pipeline.svelte.js').Pipeline} Pipeline */
/** @typedef {import('../../core/layer.js').BlockOptions} BlockOptions */

/** The options of the page's Transformer block. @param {Pipeline} model @returns {BlockOptions} */
export function blockOptions({ given, model }) {
  const { dModel, heads, weights, seed, layer, encoding } = given;
  if (!model) return { dModel, heads, weights, seed, normFirst: settings.norm === 'pre' };
  return {
    ...{ dModel, heads, weights, seed, normFirst: true },
    ...{ layer, positions: encoding !== 'none' },
  };
}

/**
 * The language model's layer for these options.
 * @param {Pipeline} model
 * @param {BlockOptions} options
 */
export const learnedBlock = ({ model }, { weights, layer = 0, positions = true }) =>
  weights === 'learned' && model ? model.block(layer, positions) : undefined;

/** The input of the block: (n, E). @param {Pipeline} model */
export const blockInput = ({ model, reading, given, input }) =>
  model ? (reading?.stream(given.layer) ?? null) : input;

/** The settings for the block's programs. @param {Pipeline} model */
export const programSettings = ({ given, model }) => ({
  ...given,
  norm: model ? /** @type {const} */ ('pre') : settings.norm,
});
