import { shuffler } from 'd3-array';
import { randomLcg } from 'd3-random';

import { difference, maxAbsDifference } from './difference.js';

/** @typedef {import('attn').Tensor} Tensor */

/**
 * A seeded permutation of 0 … length − 1 that is never the identity for two or more items:
 * `order[i]` is the index of the item that comes i-th.
 * @param {number} length
 * @param {number} seed
 * @returns {number[]}
 */
export function shuffledOrder(length, seed) {
  const order = Array.from({ length }, (_, index) => index);
  if (length < 2) return order;
  // With neighbouring seeds, a linear congruential generator would begin with similar numbers, so
  // spread the seeds first.
  const shuffle = shuffler(randomLcg(((seed + 1) * 0.6180339887498949) % 1));
  do shuffle(order);
  while (order.every((item, index) => item === index));
  return order;
}

/**
 * The order in the settings: the custom order if its length matches, otherwise the seeded order, or
 * the original order if the seed is 0.
 * @param {number} length
 * @param {{ order: number[] | null, shuffle: number }} settings
 */
export function orderOf(length, { order, shuffle }) {
  if (order?.length === length) return order;
  return shuffle ? shuffledOrder(length, shuffle) : Array.from({ length }, (_, index) => index);
}

/**
 * The order in the settings. If that is the original order, a shuffled order instead.
 * @param {number} length
 * @param {{ order: number[] | null, shuffle: number }} settings
 */
export function otherOrderOf(length, settings) {
  const order = orderOf(length, settings);
  return order.every((item, index) => item === index) ? shuffledOrder(length, 1) : order;
}

/**
 * Permutes the rows of a matrix.
 * @param {Tensor} matrix (rows, columns)
 * @param {number[]} order
 * @returns {Tensor} (rows, columns)
 */
export function permuteRows({ data, shape }, order) {
  const columns = shape[1];
  const permuted = new Float32Array(data.length);
  order.forEach((from, to) => {
    permuted.set(data.subarray(from * columns, (from + 1) * columns), to * columns);
  });
  return { data: permuted, shape };
}

/**
 * Compares shuffling the tokens before f with shuffling the output of f.
 * @param {(tokens: Tensor) => Tensor} f
 * @param {Tensor} x embeddings (n, E)
 * @param {number[]} order
 * @returns {{ after: Tensor, before: Tensor, difference: Tensor, largest: number }} shuffle(f(X)),
 *   f(shuffle(X)), the first minus the second, and the largest magnitude of this difference
 */
export function orderEffect(f, x, order) {
  const after = permuteRows(f(x), order);
  const before = f(permuteRows(x, order));
  return {
    ...{ after, before },
    difference: difference(after, before),
    largest: maxAbsDifference(after.data, before.data),
  };
}

/**
 * Moves one item to another position.
 * @param {readonly number[]} order
 * @param {number} from
 * @param {number} to
 */
export function moved(order, from, to) {
  const others = order.filter((_, place) => place !== from);
  return [...others.slice(0, to), order[from], ...others.slice(to)];
}
