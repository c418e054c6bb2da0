import { clampPoint, scoringFunctions } from '../../figures/pooling/points.js';
import { cell, choice, integer, number } from '../../state/property.js';

/** @typedef {import('../../figures/pooling/points.js').Point} Point */

export const limits = {
  points: { min: 1, max: 60 },
  kernelWidth: { min: 0.05, max: 5 },
  seed: { min: 0, max: 2 ** 31 - 1 },
};

/**
 * Points that the reader has moved, in hundredths: `120.-35_143.80`; null for those that were drawn
 * from the seed.
 * @type {import('../../state/property.js').Property<Point[] | null>}
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

/** What this chapter adds to the page's settings. */
export const properties = {
  /** The scoring function that is looked at. */
  scoring: choice(/** @type {(typeof scoringFunctions)[number]} */ ('gaussian'), scoringFunctions),
  /** σ, in units of x. */
  kernelWidth: number(0.5, limits.kernelWidth),
  /** How many training points there are, and the seed that they are drawn from. */
  pointCount: integer(40, limits.points),
  pointSeed: integer(1, limits.seed),
  points,
  /** The locked weight: query and key. */
  poolCell: cell(limits.points.max),
  /** What the dot product is taken of: encodings of the x, or the x themselves. */
  dotInput: choice(/** @type {'encoding' | 'number'} */ ('encoding'), ['encoding', 'number']),
  /** The untrained weights of additive attention, and the seed of the random ones. */
  additiveWeights: choice(/** @type {'byHand' | 'random'} */ ('byHand'), ['byHand', 'random']),
  additiveSeed: integer(1, limits.seed),
};
