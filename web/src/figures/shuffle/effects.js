import { orderEffect } from '../../model/shuffle.js';

/** @typedef {import('attn').Attn} Attn */
/** @typedef {import('attn').Tensor} Tensor */

/** @typedef {ReturnType<typeof orderEffects>} OrderEffects */

/**
 * How the layer's output depends on the order of the tokens, without and with their positions.
 * @param {Attn} attn
 * @param {InstanceType<Attn['MultiHeadAttention']>} layer
 * @param {Tensor} x embeddings (n, E)
 * @param {import('attn').ExclusionOptions} exclusion
 * @param {{ base: number, order: number[] }} given
 */
export function orderEffects(attn, layer, x, exclusion, { base, order }) {
  const f = (/** @type {Tensor} */ x) =>
    x.shape[0] ? layer.forward(x, x, x, exclusion).output : x;
  return {
    without: orderEffect(f, x, order),
    with: orderEffect((x) => (x.shape[0] ? f(attn.positionalEncoding(x, { base })) : x), x, order),
  };
}
