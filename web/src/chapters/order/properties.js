import { integer } from '../../state/property.js';

export const largestSeed = 2 ** 31 - 1;

/** What this chapter adds to the page's settings. */
export const properties = {
  /** Seed of the shuffled order. */
  shuffle: integer(1, { min: 0, max: largestSeed }),
};
