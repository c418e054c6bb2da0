import { difference, maxAbsDifference } from '../../core/difference.js';
import { matrixOf } from '../../drawing/matrix.js';

/** @typedef {import('attn').Attn} Attn */
/** @typedef {import('../../drawing/matrix.js').Matrix} Matrix */

/** @typedef {ReturnType<typeof rotate>} Rotation */

/**
 * The width to draw. If the width is odd, the last sine has no cosine to rotate with and is left
 * out.
 */
export const evenWidth = (/** @type {number} */ width) => Math.max(2, width - (width % 2));

/**
 * Computes an encoding, the shift matrix M_δ, and the encoding δ positions later. Computes the
 * later encoding twice: directly, and by multiplying the first encoding by M_δ.
 * @param {Attn} attn
 * @param {{ length: number, width: number, base: number, delta: number }} settings
 */
export function rotate(attn, { length, width, base, delta }) {
  const dModel = evenWidth(width);
  const encoding = attn.sinusoidalEncoding({ length, dModel, base });
  const shifted = attn.sinusoidalEncoding({ length, dModel, base, start: delta });
  const turned = attn.applyShift(encoding, delta, { base });
  return {
    encoding: matrixOf(encoding),
    shifted: matrixOf(shifted),
    turned: matrixOf(turned),
    matrix: matrixOf(attn.shiftMatrix({ dModel, delta, base })),
    difference: difference(matrixOf(shifted), matrixOf(turned)),
    largest: maxAbsDifference(shifted.data, turned.data),
  };
}

/**
 * Block `pair` on the diagonal of M_δ, in row-major order.
 * @param {Matrix} matrix
 * @param {number} pair
 * @returns {[number, number, number, number]}
 */
export function blockOf({ data, columns }, pair) {
  const first = 2 * pair * (columns + 1);
  return [data[first], data[first + 1], data[first + columns], data[first + columns + 1]];
}
