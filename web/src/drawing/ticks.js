import { ticks } from 'd3-array';

/**
 * @typedef {object} Tick
 * @property {number} index index of the row or column
 * @property {string} text
 */

/**
 * Returns about `most` evenly spaced indices from 0 to count − 1, all of them round numbers.
 * @param {number} count
 * @param {number} most
 * @returns {number[]}
 */
export const indexTicks = (count, most) =>
  ticks(0, count - 1, Math.min(most, count - 1 || 1)).filter(Number.isInteger);

/**
 * Like `indexTicks()`, with labels.
 * @param {number} count
 * @param {number} most
 * @param {(index: number) => string} [text]
 * @returns {Tick[]}
 */
export const labelledTicks = (count, most, text = String) =>
  indexTicks(count, most).map((index) => ({ index, text: text(index) }));
