import { colourMaps } from './colour.js';
import { largestMagnitude, magnitudeOf } from './matrix.js';

/** @typedef {import('./colour.js').ColourScale} ColourScale */
/** @typedef {'light' | 'dark'} ThemeName */

/**
 * The extent that a scale must cover: a number, or the largest |value| of a matrix.
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

/** Share of the values that `typicalScale()` covers. The rest are outliers. */
const kMost = 0.98;

/**
 * The colour scales of a theme.
 * @param {ThemeName} theme
 */
export function themedScales(theme) {
  const maps = colourMaps(theme === 'dark');

  /**
   * A scale from −r to r, where r is the largest of `reaches`. Both signs look equally strong.
   * @param {...Reach} reaches
   * @returns {ColourScale}
   */
  function symmetricScale(...reaches) {
    const largest = largestOf(reaches);
    return { map: maps.signed, domain: [-largest, largest] };
  }

  /**
   * A scale on which both signs look equally strong, and which covers nearly all values. In a trained
   * layer, a few columns are far larger than the rest. If the scale covered them, all other values
   * would be nearly invisible. So values outside the scale get the colours at its ends.
   * @param {...{ data: Float32Array, largest?: number }} matrices
   * @returns {ColourScale}
   */
  function typicalScale(...matrices) {
    const largest = largestOf(matrices);
    const most = magnitudeOf(
      matrices.map(({ data }) => data),
      kMost,
      largest,
    );
    // If the largest value is not far above the rest, cover all values.
    if (!(most > 0 && most < largest / 2)) return symmetricScale(largest);
    return { map: maps.signed, domain: [-most, most], beyond: true };
  }

  /**
   * A scale from 0, which has the paper's colour, to the largest of `reaches`.
   * @param {...Reach} reaches
   * @returns {ColourScale}
   */
  function zeroBasedScale(...reaches) {
    return { map: maps.weights, domain: [0, largestOf(reaches)] };
  }

  /**
   * A scale on which equal ratios have equal distances in colour.
   * @param {number} low above zero
   * @param {number} high
   * @returns {ColourScale}
   */
  function logarithmicScale(low, high) {
    return { map: maps.weights, domain: [low, high], log: true };
  }

  /**
   * For small pictures of attention: a logarithmic scale that starts below the weight each key gets
   * under uniform attention. In long sentences it shows both weak and strong weights.
   * @param {number} length length of the sentence
   */
  const sharesScale = (length) =>
    logarithmicScale(10 ** -(1 + Math.ceil(Math.log10(Math.max(1, length)))), 1);

  return { symmetricScale, typicalScale, zeroBasedScale, logarithmicScale, sharesScale };
}
