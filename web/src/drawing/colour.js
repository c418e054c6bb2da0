import { lab } from 'd3-color';
import { interpolateLab, piecewise } from 'd3-interpolate';

/**
 * Colours as pure functions of a value. Maps are given by a few colours and re-timed so that equal
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
 */

/** Entries in a map; odd, so that a signed map has exactly one entry for zero. */
export const size = 511;

/**
 * `count` colours from `stops`, equally far apart along the path through them.
 * @param {string[]} stops
 * @param {number} count
 */
function evenly(stops, count) {
  const path = piecewise(interpolateLab, stops);
  const samples = Array.from({ length: 2001 }, (_, i) => lab(path(i / 2000)));
  const distance = [0];
  for (let i = 1; i < samples.length; i++) {
    const [a, b] = [samples[i - 1], samples[i]];
    distance.push(distance[i - 1] + Math.hypot(a.l - b.l, a.a - b.a, a.b - b.b));
  }
  let at = 0;
  return Array.from({ length: count }, (_, i) => {
    const target = (distance[distance.length - 1] * i) / (count - 1);
    while (at < samples.length - 1 && distance[at] < target) at += 1;
    return samples[at].rgb();
  });
}

/**
 * @param {string[]} positive from paper outwards
 * @param {string[]} [negative] from paper outwards, for a signed map
 * @returns {ColourMap}
 */
function colourMap(positive, negative) {
  const half = (size + 1) / 2;
  const colours = negative
    ? [...evenly(negative, half).reverse(), ...evenly(positive, half).slice(1)]
    : evenly(positive, size);
  const bytes = new Uint8Array(3 * size);
  const css = colours.map((colour, i) => {
    const { r, g, b } = colour.clamp();
    bytes.set([r, g, b], 3 * i);
    return `rgb(${r}, ${g}, ${b})`;
  });
  return { signed: negative !== undefined, bytes, css };
}

const maps = {
  light: {
    signed: colourMap(
      ['#fdfcf9', '#f6c797', '#dd7d2b', '#99430b'],
      ['#fdfcf9', '#a9cbe8', '#3f86c4', '#164f8f'],
    ),
    weights: colourMap(['#fdfcf9', '#f8d8a6', '#ea9a4a', '#c4551c', '#82260f', '#3d0d0a']),
  },
  dark: {
    signed: colourMap(
      ['#161618', '#5c3114', '#c46c1f', '#ffbd78'],
      ['#161618', '#173c5f', '#2f7bbd', '#8fcaf7'],
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
export function colourIndex({ domain: [low, high] }, value) {
  const t = high > low ? (value - low) / (high - low) : 0;
  return Math.round(Math.min(1, Math.max(0, t)) * (size - 1));
}

/** @param {ColourScale} scale @param {number} value */
export function colourOf(scale, value) {
  return scale.map.css[colourIndex(scale, value)];
}
