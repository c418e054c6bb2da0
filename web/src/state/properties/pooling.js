import { clampPoint, scoringFunctions } from '../../core/points.js';
import { cell, choice, integer, number } from './property.js';

/** @typedef {import('../../core/points.js').Point} Point */

export const limits = {
  points: { min: 1, max: 60 },
  kernelWidth: { min: 0.02, max: 5 },
  seed: { min: 0, max: 2 ** 31 - 1 },
};

/**
 * Points that the reader has moved, in hundredths: `120.-35_143.80`. Null for points drawn from the
 * seed.
 * @type {import('./property.js').Property<Point[] | null>}
 */
const points = {
  initial: null,
  parse(text) {
    const found = text.split('_', limits.points.max).flatMap((part) => {
      const [, x, y] = /^(-?\d{1,6})\.(-?\d{1,6})$/.exec(part) ?? [];
      return x === undefined ? [] : [clampPoint({ x: Number(x) / 100, y: Number(y) / 100 })];
    });
    return found.length ? found : null;
  },
  format: (value) =>
    (value ?? []).map(({ x, y }) => `${Math.round(100 * x)}.${Math.round(100 * y)}`).join('_'),
};

/** The settings of the chapter on attention pooling. */
export const properties = {
  /** The selected scoring function. */
  scoring: choice(/** @type {(typeof scoringFunctions)[number]} */ ('gaussian'), scoringFunctions),
  /** σ, in units of x. */
  kernelWidth: number(0.5, limits.kernelWidth),
  /** Number of training points, and their seed. */
  pointCount: integer(40, limits.points),
  pointSeed: integer(1, limits.seed),
  points,
  /** The locked weight: query and key. */
  poolCell: cell(limits.points.max),
  /** Inputs of the dot product: encodings of x, or x itself. */
  dotInput: choice(/** @type {'encoding' | 'number'} */ ('encoding'), ['encoding', 'number']),
  /** The untrained weights of additive attention, and the seed of random weights. */
  additiveWeights: choice(/** @type {'byHand' | 'random'} */ ('byHand'), ['byHand', 'random']),
  additiveSeed: integer(1, limits.seed),
};
