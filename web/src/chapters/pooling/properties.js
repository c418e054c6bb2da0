import { cell, choice, integer, number } from '../../state/property.js';

/** @typedef {{ x: number, y: number }} Point */

export const scoringFunctions = /** @type {const} */ ([
  ...['gaussian', 'scaledDot', 'additive', 'average', 'hard', 'boxcar', 'epanechnikov'],
]);

export const limits = {
  /** Of the plot. Points lie on a grid of hundredths, which keeps links short. */
  x: { min: 0, max: 5 },
  y: { min: -2, max: 7 },
  points: { min: 1, max: 60 },
  kernelWidth: { min: 0.05, max: 5 },
  seed: { min: 0, max: 2 ** 31 - 1 },
};

/** @param {number} value @param {{ min: number, max: number }} range */
const within = (value, { min, max }) => Math.min(max, Math.max(min, Math.round(100 * value) / 100));

/** The nearest point of the plot. @param {Point} point @returns {Point} */
export const clampPoint = ({ x, y }) => ({ x: within(x, limits.x), y: within(y, limits.y) });

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
