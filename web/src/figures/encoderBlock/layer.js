/** @typedef {import('attn').Attn} Attn */

/** Width of the hidden layer as a multiple of E; Vaswani et al. have 4. */
export const hiddenFactor = 2;

/**
 * @typedef {object} BlockOptions
 * @property {number} dModel E
 * @property {number} heads
 * @property {boolean} normFirst
 * @property {import('../../state/properties.js').Weights} weights of the attention; those of the
 *   feed-forward network are random unless they are learned, too
 * @property {number} seed
 * @property {number} [layer] of the language model
 * @property {boolean} [positions] whether that knows where tokens stand
 */

/** @typedef {InstanceType<Attn['TransformerEncoderLayer']>} EncoderLayer */

/**
 * The core's encoder layer with the page's settings. With the same seed its attention has the
 * parameters of the page's MultiHeadAttention.
 * @param {Attn} attn
 * @param {BlockOptions} options
 */
export function encoderLayer(attn, { dModel, heads: numHeads, normFirst, weights, seed }) {
  const layer = new attn.TransformerEncoderLayer({
    ...{ dModel, numHeads, normFirst, seed },
    dimFeedforward: hiddenFactor * dModel,
    attentionBias: false,
  });
  if (weights === 'identity') {
    const attention = new attn.MultiHeadAttention({ dModel, numHeads, init: 'identity' });
    for (const name of attention.parameterNames()) {
      layer.setParameter(`self_attn.${name}`, attention.parameter(name));
    }
    attention.dispose();
  }
  return layer;
}
