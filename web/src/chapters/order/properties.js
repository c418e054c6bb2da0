import { cell, integer, permutation } from '../../state/property.js';

export const largestSeed = 2 ** 31 - 1;

/** What this chapter adds to the page's settings. */
export const properties = {
  /** Seed of the shuffled order, and the order that was made by hand instead. */
  shuffle: integer(1, { min: 0, max: largestSeed }),
  order: permutation(2048),
  /** Locked cell of the differences. */
  orderCell: cell(4096),
};
