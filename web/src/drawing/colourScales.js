import { theme } from '../state/theme.svelte.js';
import { colourMaps } from './colour.js';
import { largestMagnitude, magnitudeOf } from './matrix.js';

/** @typedef {import('./colour.js').ColourScale} ColourScale */

/**
 * How far a scale has to reach: a number, or the largest |value| of a matrix.
 * @typedef {number | { data: Float32Array, largest?: number }} Reach
 */

/** @type {WeakMap<Float32Array, number>} */
const known = new WeakMap();

/** @param {Reach[]} reaches */
const largestOf = (reaches) =>
  Math.max(
    0,
    ...reaches.map((reach) => {
      if (typeof reach === 'number') return reach;
      const { data } = reach;
      const largest = reach.largest ?? known.get(data) ?? largestMagnitude(data);
      known.set(data, largest);
      return largest;
    }),
  );

/**
 * Both signs equally strong, as far as the largest of all.
 * @param {...Reach} reaches
 * @returns {ColourScale}
 */
export function symmetricScale(...reaches) {
  const largest = largestOf(reaches);
  return { map: colourMaps(theme.dark).signed, domain: [-largest, largest] };
}

/** The share of the values that a scale reaches to, where few are far larger than the others. */
const kMost = 0.98;

/**
 * Both signs equally strong, as far as nearly all values of all: in a layer that has learned, a few columns are
 * far larger than the rest, which would be as pale as the paper beside them. Those take the colours of the ends.
 * @param {...{ data: Float32Array, largest?: number }} matrices
 * @returns {ColourScale}
 */
export function typicalScale(...matrices) {
  const largest = largestOf(matrices);
  const most = magnitudeOf(
    matrices.map(({ data }) => data),
    kMost,
    largest,
  );
  // Where the largest is not far off, nothing is left out.
  if (!(most > 0 && most < largest / 2)) return symmetricScale(largest);
  return { map: colourMaps(theme.dark).signed, domain: [-most, most], beyond: true };
}

/**
 * From the colour of the paper at 0 to the largest of all.
 * @param {...Reach} reaches
 * @returns {ColourScale}
 */
export function zeroBasedScale(...reaches) {
  return { map: colourMaps(theme.dark).weights, domain: [0, largestOf(reaches)] };
}

/**
 * Equal ratios have equal distances in colour.
 * @param {number} low above zero
 * @param {number} high
 * @returns {ColourScale}
 */
export function logarithmicScale(low, high) {
  return { map: colourMaps(theme.dark).weights, domain: [low, high], log: true };
}

/**
 * For small pictures of attention: equal ratios, from below what each key gets where attention is even.
 * So the weak weights of a long sentence are seen beside the strong ones.
 * @param {number} length of the sentence
 */
export const sharesScale = (length) =>
  logarithmicScale(10 ** -(1 + Math.ceil(Math.log10(Math.max(1, length)))), 1);
