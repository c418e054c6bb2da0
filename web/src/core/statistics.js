import { matrixOf } from '../drawing/matrix.js';

/**
 * @typedef {object} HeadStatistics means over the queries that attend to at least one key
 * @property {number} entropy entropy of a row, in bits
 * @property {number} distance weighted mean of |i − j| between query and key
 * @property {number} largest the largest weight of a row
 */

/**
 * The entropy of weights in bits: 0 if one key has all the weight, log2 n if n keys have equal
 * weights.
 * @param {ArrayLike<number>} weights weights that sum to one
 */
export function entropyOf(weights) {
  let entropy = 0;
  for (let j = 0; j < weights.length; j++) {
    if (weights[j] > 0) entropy -= weights[j] * Math.log2(weights[j]);
  }
  return entropy;
}

/**
 * Describes how a head distributes its attention.
 * @param {import('attn').Tensor} weights (heads, n, n)
 * @param {number} head
 * @returns {HeadStatistics}
 */
export function headStatistics(weights, head) {
  const { data, rows, columns } = matrixOf(weights, head);
  const sums = { entropy: 0, distance: 0, largest: 0 };
  let attending = 0;
  for (let i = 0; i < rows; i++) {
    let [distance, largest] = [0, 0];
    for (let j = 0; j < columns; j++) {
      const weight = data[i * columns + j];
      distance += weight * Math.abs(i - j);
      if (weight > largest) largest = weight;
    }
    if (largest === 0) continue;
    attending += 1;
    sums.entropy += entropyOf(data.subarray(i * columns, (i + 1) * columns));
    sums.distance += distance;
    sums.largest += largest;
  }
  const mean = (/** @type {number} */ sum) => (attending ? sum / attending : 0);
  return {
    entropy: mean(sums.entropy),
    distance: mean(sums.distance),
    largest: mean(sums.largest),
  };
}
