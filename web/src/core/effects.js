import { orderEffect } from './shuffle.js';

/** @typedef {import('attn').Tensor} Tensor */

/** @typedef {ReturnType<typeof orderEffects>} OrderEffects */

/**
 * How the layer's output depends on the order of the tokens, without and with their positions.
 * @param {(embedding: Tensor, positions: boolean) => Tensor} f
 * @param {Tensor} x embeddings (n, E)
 * @param {number[]} order
 */
export const orderEffects = (f, x, order) => ({
  without: orderEffect((x) => f(x, false), x, order),
  with: orderEffect((x) => f(x, true), x, order),
});
