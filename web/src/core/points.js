/** @typedef {{ x: number, y: number }} Point */

export const scoringFunctions = /** @type {const} */ ([
  ...['gaussian', 'average', 'hard', 'scaledDot', 'additive', 'boxcar', 'epanechnikov'],
]);

/** Ranges of the plot. Points are on a grid of hundredths, which keeps links short. */
export const range = { x: { min: 0, max: 5 }, y: { min: -2, max: 7 } };

/** @param {number} value @param {{ min: number, max: number }} range */
const within = (value, { min, max }) => Math.min(max, Math.max(min, Math.round(100 * value) / 100));

/** The nearest point inside the plot. @param {Point} point @returns {Point} */
export const clampPoint = ({ x, y }) => ({ x: within(x, range.x), y: within(y, range.y) });
