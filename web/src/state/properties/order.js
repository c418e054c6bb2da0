import { cell, flag, integer, permutation } from './property.js';

export const largestSeed = 2 ** 31 - 1;

/** The settings of the chapter on word order. */
export const properties = {
  /**
   * Seed of the shuffled order, or 0 for the original order, and the custom order that replaces it.
   */
  shuffle: integer(0, { min: 0, max: largestSeed }),
  order: permutation(2048),
  /**
   * True if shuffled words may attend only to earlier words. No other mask applies in this chapter.
   */
  orderCausal: flag(false),
  /** The locked cell of the two matrices of differences. */
  orderCell: cell(4096),
};
