/**
 * Maps values to positions in a drawing.
 * @typedef {((value: number) => number) & {
 *   domain: [number, number],
 *   range: [number, number],
 *   invert: (place: number) => number,
 * }} Scale domain: the values at the ends of the range
 */

/**
 * @param {[number, number]} domain
 * @param {[number, number]} range
 * @param {(value: number) => number} to
 * @param {(value: number) => number} from the inverse of `to`
 * @returns {Scale}
 */
function scale(domain, range, to, from) {
  const [low, high] = domain.map(to);
  const [start, end] = range;
  // All values of an empty domain map to the middle.
  const part = high === low ? () => 0.5 : (/** @type {number} */ at) => (at - low) / (high - low);
  return Object.assign((/** @type {number} */ value) => start + (end - start) * part(to(value)), {
    domain,
    range,
    invert: (/** @type {number} */ place) =>
      from(low + ((place - start) / (end - start)) * (high - low)),
  });
}

const same = (/** @type {number} */ value) => value;

/**
 * A scale on which equal steps have equal lengths.
 * @param {[number, number]} domain
 * @param {[number, number]} range
 */
export const scaleLinear = (domain, range) => scale(domain, range, same, same);

/**
 * A scale on which equal ratios have equal lengths.
 * @param {[number, number]} domain above zero
 * @param {[number, number]} range
 */
export const scaleLog = (domain, range) => scale(domain, range, Math.log, Math.exp);

/** Rounds to hundredths of a pixel, which keeps paths short. @param {number} place */
export const hundredth = (place) => Math.round(100 * place) / 100;

/** An SVG path through points. @param {Iterable<[number, number]>} points */
export function pathThrough(points) {
  let path = '';
  for (const [x, y] of points) path += `${path ? 'L' : 'M'}${hundredth(x)},${hundredth(y)}`;
  return path;
}
