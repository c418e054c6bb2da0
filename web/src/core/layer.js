/** @typedef {import('attn').Attn} Attn */

/** Ratio of the hidden layer's width to E. Vaswani et al. use 4. */
export const hiddenFactor = 2;

/**
 * @typedef {object} BlockOptions
 * @property {number} dModel E
 * @property {number} heads
 * @property {boolean} normFirst
 * @property {import('../state/properties/index.js').Weights} weights where attention's weights
 *   come from; the feed-forward network is random unless `weights` is 'learned'
 * @property {number} seed
 * @property {number} [layer] layer of the language model
 * @property {boolean} [positions] whether the model uses the tokens' positions
 */

/** @typedef {InstanceType<Attn['TransformerEncoderLayer']>} EncoderLayer */

/**
 * The core's encoder layer with the page's settings. With the same seed, its attention has the same
 * parameters as the page's MultiHeadAttention.
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
