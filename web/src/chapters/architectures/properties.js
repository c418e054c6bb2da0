import { integer } from '../../state/property.js';

export const limits = {
  token: { min: 0, max: 15 },
  kernel: { min: 2, max: 9 },
  /** Tokens in the table: a slider in powers of two. */
  length: { min: 0, max: 2 ** 16 },
};

/** What this chapter adds to the page's settings. */
export const properties = {
  /** The two tokens whose path is drawn. */
  pathFrom: integer(2, limits.token),
  pathTo: integer(10, limits.token),
  /** Kernel size k of the convolution. */
  kernel: integer(3, limits.kernel),
  /** n in the table; 0: as many as the sentence has. */
  costLength: integer(0, limits.length),
};
