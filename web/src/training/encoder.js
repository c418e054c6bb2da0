import {
  alone,
  Layered,
  lengthOf,
  mostProbable,
  probabilityOf,
  stack,
  unembedding,
} from './layered.js';
import { worlds } from './worlds.js';

/** @import { Attn, Integers, Tape, Tensor } from 'attn' */
/** @import { Invention, LaneOptions, Look, Model } from './model.js' */
/** @import { Examples } from './worlds.js' */

/**
 * A Transformer that makes a prediction at each token. It consists of embeddings, positions and
 * attention layers.
 * @implements {Model}
 */
export class Encoder extends Layered {
  /** @param {Attn} attn @param {LaneOptions} options @param {Invention} [invention] */
  constructor(attn, options, invention) {
    const parts = {
      encoder: new attn.TransformerEncoder(stack(options, 1000)),
      unembed: unembedding(attn, worlds[options.world].symbols.length, options.seed),
    };
    super(attn, options, parts, invention);
  }

  /** @param {Examples} examples @param {Tape} tape */
  record({ ids }, tape) {
    const { tokens, encoder, unembed } = this.parts;
    const x = this.withPositions(tokens.forward(ids, { tape }));
    return unembed.forward(encoder.forward(x, { attention: this.#attention(ids) }));
  }

  /** @param {Examples} examples */
  judge({ ids }) {
    const { logits } = this.#forward(ids, false);
    return { logits, answer: mostProbable(logits) };
  }

  /** @param {Int32Array} ids @returns {Look} */
  look(ids) {
    const { logits, weights } = this.#forward(alone(ids), true);
    const answer = mostProbable(logits);
    return {
      ...{ ids, answer, probability: probabilityOf(logits, answer), ...this.table },
      weights: weights.map(({ data, shape }) => ({ data, shape: shape.slice(1) })),
    };
  }

  /** @param {Integers} ids */
  weightsOf(ids) {
    return this.#forward(ids, true).weights;
  }

  /** @param {Integers} ids (examples, length) */
  #attention(ids) {
    return { causal: this.options.causal, ...this.biasOf(lengthOf(ids)) };
  }

  /**
   * @param {Integers} ids (examples, length)
   * @param {boolean} needWeights
   * @returns {{ logits: Tensor, weights: Tensor[] }}
   */
  #forward(ids, needWeights) {
    const { tokens, encoder, unembed } = this.parts;
    const { output, weights = [] } = encoder.forward(this.withPositions(tokens.forward(ids)), {
      attention: this.#attention(ids),
      needWeights,
    });
    return { logits: unembed.forward(output), weights };
  }
}
