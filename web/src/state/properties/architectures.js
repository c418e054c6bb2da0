import { integer } from './property.js';

export const limits = {
  token: { min: 0, max: 15 },
  kernel: { min: 2, max: 9 },
  /** Number of tokens in the table. Its slider moves in powers of two. */
  length: { min: 0, max: 2 ** 16 },
};

/** The settings of the chapter on architectures. */
export const properties = {
  /** The two tokens between which a path is drawn. */
  pathFrom: integer(2, limits.token),
  pathTo: integer(10, limits.token),
  /** Kernel size k of the convolution. */
  kernel: integer(3, limits.kernel),
  /** n in the table. 0 means the length of the sentence. */
  costLength: integer(0, limits.length),
};
