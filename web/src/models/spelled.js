import { Block } from '../core/block.js';
import { encoderLayer } from '../core/layer.js';
import { Embedder, encoded, layerOf } from '../core/sentence.js';
import { tokenize } from '../core/tokens.js';
import { Kept } from '../work/kept.js';
import { Layered, mostHere } from './model.js';

/** @typedef {import('./model.js').Given} Given */
/** @typedef {import('./model.js').Model} Model */

/**
 * A single untrained layer. Its embeddings are made from the letters of the words.
 * @implements {Model}
 */
export class Spelled extends Layered {
  config = null;
  sizes = '';
  readsHere = true;
  #embedder;
  blocks = new Kept((/** @type {Given} */ given) => {
    const { dModel, heads, weights, seed, norm } = given;
    const layer = encoderLayer(this.attn, {
      ...{ dModel, heads, weights, seed, normFirst: norm === 'pre' },
    });
    return new Block(layer, this.described(given), { isOwned: true });
  });

  /** @param {import('attn').Attn} attn */
  constructor(attn) {
    super(attn);
    this.#embedder = new Embedder(attn);
  }

  /** @param {string} text */
  split(text) {
    return { ...tokenize(text), ids: [] };
  }

  /**
   * Until the language model is loaded, this model also stands in for the language model.
   * @param {import('./model.js').Chosen} chosen
   * @returns {Partial<Given>}
   */
  adapt({ weights }) {
    return weights === 'learned' ? { layer: 0, weights: 'identity', causal: false } : { layer: 0 };
  }

  /** @param {Given} given @param {boolean} here */
  isLong({ tokens: { length }, dModel, heads }, here) {
    if (here) return false;
    // The cost of four projections, of two products for each head, and of the exponentials, each of
    // which costs about 8 multiply-adds.
    return length * dModel * dModel * 4 + length * length * (2 * dModel + 8 * heads) > mostHere;
  }

  /** @param {Given} given */
  read({ tokens, dModel, encoding, base }) {
    const embedding = this.#embedder.embed(tokens, dModel);
    const input = encoded(this.attn, embedding, { encoding, base });
    return { embedding, input, reading: null };
  }

  /** @param {Given} given */
  positions({ tokens: { length }, dModel, base }) {
    return this.attn.sinusoidalEncoding({ length, dModel, base });
  }

  /** @param {Given} given */
  layer(given) {
    const { dModel, heads, weights } = given;
    if (weights === 'learned') throw new Error('the language model is not loaded');
    const seed = weights === 'xavier' ? given.seed : 0;
    return layerOf(this.attn, { dModel, heads, weights, seed });
  }

  /** @param {import('./model.js').Layer} layer */
  release(layer) {
    layer.dispose();
  }

  /** Only matrices, because all biases are 0 and norms scale by 1. @param {Given} given */
  parameters(given) {
    const { parameters, turn } = super.parameters(given);
    const matrices = Object.entries(parameters).filter(([, { shape }]) => shape.length === 2);
    return { parameters: Object.fromEntries(matrices), turn };
  }
}
