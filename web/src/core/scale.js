import { matrixOf } from '../drawing/matrix.js';
import { headStatistics } from './statistics.js';

/** @typedef {import('attn').Attn} Attn */
/** @typedef {import('attn').Tensor} Tensor */

/** Divisors of scores: none, the square root of the head's width, or the width. */
export const divisors = /** @type {const} */ (['none', 'root', 'width']);

/** @typedef {(typeof divisors)[number]} Divisor */

/** The factor that multiplies scores. @param {Divisor} divisor @param {number} depth */
const factorOf = (divisor, depth) =>
  ({ none: 1, root: 1 / Math.sqrt(depth), width: 1 / depth })[divisor];

/**
 * @typedef {object} Scaled
 * @property {Divisor} divisor
 * @property {Tensor} weights (1, 1, n, n)
 * @property {number} entropy mean entropy of a row, in bits
 * @property {number} largest mean of the rows' largest weights
 * @property {number} slope mean over the rows of the sum of w·(1 − w), the derivatives of the
 *   weights with respect to their own scores
 */

/**
 * Attention with the same queries and keys for each divisor.
 * @param {Attn} attn
 * @param {Tensor} query (1, n, D)
 * @param {Tensor} key (1, n, D)
 * @param {import('attn').ExclusionOptions} exclusion
 * @returns {Scaled[]}
 */
export function scaledBy(attn, query, key, exclusion) {
  const depth = query.shape[2];
  return divisors.map((divisor) => {
    const scale = factorOf(divisor, depth);
    const { weights } = attn.scaledDotProductAttention(query, key, key, {
      ...exclusion,
      ...{ numHeads: 1, scale, needWeights: true },
    });
    const { entropy, largest } = headStatistics(weights, 0);
    return { divisor, weights, entropy, largest, slope: slopeOf(weights) };
  });
}

/**
 * The mean over the rows of the sum of w·(1 − w), which measures how much weights respond to their
 * own scores. A row's sum is near 1 if the row is spread out, and 0 if one key has all the weight.
 * The largest weight's term alone would be a bad measure: it is largest where this weight is ½.
 * @param {Tensor} weights (…, n, n)
 */
export function slopeOf(weights) {
  const { data, rows, columns } = matrixOf(weights);
  let [sum, attending] = [0, 0];
  for (let row = 0; row < rows; row++) {
    const some = data.subarray(row * columns, (row + 1) * columns);
    if (some.every((weight) => weight === 0)) continue;
    attending += 1;
    sum += responseOf(some);
  }
  return attending ? sum / attending : 0;
}

/** The sum of w·(1 − w) over one row. @param {Float32Array} weights */
export const responseOf = (weights) => weights.reduce((sum, w) => sum + w * (1 - w), 0);

/** Widths of the random vectors, and the number of vectors. */
export const widths = [1, 4, 16, 64, 256, 1024];
export const randomCount = 64;

/**
 * Statistics of the scores of random vectors, in ascending order of width.
 * @param {Attn} attn
 * @returns {{ width: number, spread: number, divided: Scaled, undivided: Scaled }[]}
 */
export const byWidth = (attn) =>
  widths.map((width) => {
    const [query, key] = [0, 1].map((stream) =>
      attn.randomNormal({ shape: [1, randomCount, width], seed: 1, stream }),
    );
    const { scaledScores } = attn.scaledDotProductAttention(query, key, key, {
      ...{ numHeads: 1, scale: 1, needScaledScores: true },
    });
    const [undivided, divided] = scaledBy(attn, query, key, {});
    return { width, spread: deviation(scaledScores.data), divided, undivided };
  });

/** @param {Float32Array} values */
function deviation(values) {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
}
