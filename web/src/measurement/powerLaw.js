/**
 * @typedef {object} PowerLaw
 * @property {number} exponent
 * @property {number} factor  y = factor · x^exponent
 * @property {number} from  smallest x that it was fitted to
 * @property {number} to  largest x
 */

/**
 * Number of sizes to which a slope is fitted. The largest sizes are used, because the overhead of a
 * call dominates the time of small sizes.
 */
export const fittedPoints = 4;

/**
 * Fits a straight line through the last points on logarithmic axes, by least squares.
 * @param {{ x: number, y: number }[]} points  ascending, all above 0
 * @returns {PowerLaw | null}  null for fewer than three points
 */
export function fitPowerLaw(points) {
  const last = points.slice(-fittedPoints);
  if (last.length < 3) return null;
  const xs = last.map(({ x }) => Math.log(x));
  const ys = last.map(({ y }) => Math.log(y));
  const mean = (/** @type {number[]} */ values) =>
    values.reduce((sum, value) => sum + value) / values.length;
  const [meanX, meanY] = [mean(xs), mean(ys)];
  const covariance = xs.reduce((sum, x, i) => sum + (x - meanX) * (ys[i] - meanY), 0);
  const exponent = covariance / xs.reduce((sum, x) => sum + (x - meanX) ** 2, 0);
  return {
    exponent,
    factor: Math.exp(meanY - exponent * meanX),
    from: last[0].x,
    to: last[last.length - 1].x,
  };
}
