import { bisectCenter } from 'd3-array';
import { lab } from 'd3-color';
import { interpolateBasis } from 'd3-interpolate';

/**
 * Colours as pure functions of a value. Maps are given by a few colours and timed so that equal
 * steps in value are equal distances in CIELAB; zero is the colour of the paper, so that nothing
 * is drawn where there is nothing. Orange is positive and blue negative: the pair that stays apart
 * for every common colour vision deficiency.
 *
 * @typedef {object} ColourMap
 * @property {boolean} signed whether the paper sits in the middle (signed) or at the start
 * @property {Uint8Array} bytes red, green and blue of each of `size` entries
 * @property {string[]} css the same as CSS colours
 *
 * @typedef {object} ColourScale
 * @property {ColourMap} map
 * @property {[number, number]} domain values of the first and the last entry
 * @property {boolean} [log] whether equal ratios rather than equal steps are equal distances in
 *   colour; both ends of the domain are then above zero
 */

/** Entries in a map; odd, so that a signed map has exactly one entry for zero. */
export const size = 511;

/**
 * A smooth path through CIELAB along `stops`, measured: `at` gives the colour at a distance from its
 * start.
 * @param {string[]} stops
 */
function measuredPath(stops) {
  const colours = stops.map((stop) => lab(stop));
  const [l, a, b] = [
    interpolateBasis(colours.map((colour) => colour.l)),
    interpolateBasis(colours.map((colour) => colour.a)),
    interpolateBasis(colours.map((colour) => colour.b)),
  ];
  const samples = Array.from({ length: 2001 }, (_, i) =>
    lab(l(i / 2000), a(i / 2000), b(i / 2000)),
  );
  const distances = [0];
  for (let i = 1; i < samples.length; i++) {
    const [p, q] = [samples[i - 1], samples[i]];
    distances.push(distances[i - 1] + Math.hypot(p.l - q.l, p.a - q.a, p.b - q.b));
  }
  return {
    length: distances[distances.length - 1],
    at: (/** @type {number} */ distance) =>
      samples[Math.min(samples.length - 1, bisectCenter(distances, distance))],
  };
}

/**
 * @param {string[]} positive from paper outwards
 * @param {string[]} [negative] from paper outwards, for a signed map
 * @returns {ColourMap}
 */
function colourMap(positive, negative) {
  const arms = [positive, negative ?? []].filter(({ length }) => length).map(measuredPath);
  // The longer arm is cut, so that both signs are as strong.
  const length = Math.min(...arms.map((arm) => arm.length));
  const count = negative ? (size + 1) / 2 : size;
  const [up, down] = arms.map((arm) =>
    Array.from({ length: count }, (_, i) => arm.at((length * i) / (count - 1))),
  );
  const colours = down ? [...down.reverse(), ...up.slice(1)] : up;
  const bytes = new Uint8Array(3 * size);
  const css = colours.map((colour, i) => {
    const { r, g, b } = colour.rgb().clamp();
    bytes.set([r, g, b], 3 * i);
    return `rgb(${r}, ${g}, ${b})`;
  });
  return { signed: negative !== undefined, bytes, css };
}

const maps = {
  light: {
    signed: colourMap(
      ['#fdfcf9', '#f7c592', '#dd7a24', '#903e09'],
      ['#fdfcf9', '#9fc6ec', '#1f7ad0', '#08459a'],
    ),
    weights: colourMap(['#fdfcf9', '#f8d8a6', '#ea9a4a', '#c4551c', '#82260f', '#3d0d0a']),
  },
  dark: {
    signed: colourMap(
      ['#161618', '#5c3114', '#c06a20', '#fbb974'],
      ['#161618', '#0b3a6b', '#1878d6', '#86caff'],
    ),
    weights: colourMap(['#161618', '#4f1d10', '#9d3b13', '#dd7a2c', '#f5c277', '#fff4d6']),
  },
};

/** @param {boolean} dark */
export function colourMaps(dark) {
  return dark ? maps.dark : maps.light;
}

/**
 * The map's entry for a value; values outside the domain take the nearest end.
 * @param {ColourScale} scale
 * @param {number} value
 */
export const colourIndex = (scale, value) => indexer(scale)(value);

/**
 * The same as a function of the value alone, for many of them.
 * @param {ColourScale} scale
 * @returns {(value: number) => number}
 */
export function indexer({ domain: [low, high], log }) {
  if (!(high > low)) return () => 0;
  const last = size - 1;
  const entry = (/** @type {number} */ t) => Math.round(Math.min(1, Math.max(0, t)) * last);
  if (!log) return (value) => entry((value - low) / (high - low));
  const range = Math.log(high / low);
  // The logarithm of a value at or below zero is beyond the low end, or not a number.
  return (value) => (value > low ? entry(Math.log(value / low) / range) : 0);
}

/** @param {ColourScale} scale @param {number} value */
export function colourOf(scale, value) {
  return scale.map.css[colourIndex(scale, value)];
}
