import { readingOf } from '../../core/sentence.js';
import { Layered, mostHere, sized } from '../model.js';

/** @typedef {import('../model.js').Given} Given */
/** @typedef {import('../model.js').Model} Model */

/**
 * The page's language model.
 * @implements {Model}
 */
export class Pages extends Layered {
  model;
  #tokens;

  /**
   * @param {import('attn').Attn} attn
   * @param {import('./languageModel.js').LanguageModel} model
   * @param {import('./languageTokens.js').LanguageTokens | null} [tokens] null in the worker, which
   *   only receives ids
   */
  constructor(attn, model, tokens = null) {
    super(attn);
    this.model = model;
    this.#tokens = tokens;
  }

  get config() {
    return this.model.config;
  }

  /** @param {string} text */
  split(text) {
    return /** @type {import('./languageTokens.js').LanguageTokens} */ (this.#tokens).of(text);
  }

  /** @param {import('../model.js').Chosen} chosen */
  adapt(chosen) {
    return sized(chosen, this.config);
  }

  /** @param {Given} given @param {boolean} here */
  isLong({ tokens: { length }, dModel, layer }, here) {
    const work = length * dModel * (12 * dModel + 2 * length) * (layer + 0.5);
    // The layers are computed once for all figures.
    return !here && work > 3 * mostHere;
  }

  /**
   * @param {Given} given
   * @param {import('attn').ExclusionOptions} exclusion
   * @param {number} [most]
   */
  read({ ids, layer, encoding }, exclusion, most) {
    return readingOf(this.model, { ids: ids.slice(0, most), layer, encoding }, exclusion);
  }

  /** @param {Given} given */
  positions({ tokens: { length } }) {
    return this.model.positions(length);
  }

  /** Lives as long as the model. @param {Given} given */
  layer({ layer, encoding }) {
    return this.model.attention(layer, encoding !== 'none');
  }

  release() {}

  /** @param {Given} given @returns {import('../wall/wall.js').Reader} */
  reader({ encoding }) {
    const { model } = this;
    const positions = encoding !== 'none';
    /** @type {Map<string, ReturnType<typeof model.read>>} */
    const readings = new Map();
    return {
      ...{ numLayers: model.config.numLayers, most: Infinity, isSpecial: () => false },
      weights: (ids, exclusion, layer) => {
        const key = ids.join();
        const reading = readings.get(key) ?? model.read(model.embed(ids), { exclusion, positions });
        readings.set(key, reading);
        const x = reading.layerInput(layer);
        const attention = model.attention(layer, positions);
        return attention.forward(x, x, x, { ...exclusion, needWeights: true }).weights;
      },
    };
  }
}
