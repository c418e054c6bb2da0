import { cell, flag, integer, permutation } from '../../state/property.js';

export const largestSeed = 2 ** 31 - 1;

/** What this chapter adds to the page's settings. */
export const properties = {
  /** Seed of the shuffled order, and the order that was made by hand instead. */
  shuffle: integer(1, { min: 0, max: largestSeed }),
  order: permutation(2048),
  /** Whether words may look at those before them only while they are shuffled: no other mask acts there. */
  orderCausal: flag(false),
  /** Locked cell of the differences. */
  orderCell: cell(4096),
};
