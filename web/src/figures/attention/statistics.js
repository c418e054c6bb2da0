import { matrixOf } from '../../drawing/matrix.js';

/**
 * @typedef {object} HeadStatistics means over the queries that attend to anything
 * @property {number} entropy of a row, in bits: 0 for one key, log2 n for all alike
 * @property {number} distance |i − j| between query and key, weighted
 * @property {number} largest share of the key that gets most
 */

/**
 * How a head divides its attention.
 * @param {import('attn').Tensor} weights (heads, n, n)
 * @param {number} head
 * @returns {HeadStatistics}
 */
export function headStatistics(weights, head) {
  const { data, rows, columns } = matrixOf(weights, head);
  const sums = { entropy: 0, distance: 0, largest: 0 };
  let attending = 0;
  for (let i = 0; i < rows; i++) {
    let [entropy, distance, largest] = [0, 0, 0];
    for (let j = 0; j < columns; j++) {
      const weight = data[i * columns + j];
      if (weight === 0) continue;
      entropy -= weight * Math.log2(weight);
      distance += weight * Math.abs(i - j);
      if (weight > largest) largest = weight;
    }
    if (largest === 0) continue;
    attending += 1;
    sums.entropy += entropy;
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
