import { theme } from '../state/theme.svelte.js';
import { colourMaps } from './colour.js';
import { largestMagnitude } from './matrix.js';

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
