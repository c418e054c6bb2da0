/**
 * The binary counter next to the encoding (D2L 11.6.3). Bit k of a position has a period of 2^(k+1)
 * positions, and column pair j of the encoding has a period of 2π·base^(2j/d).
 */

/** Number of binary digits of a whole number. @param {number} number at least 0 */
export const bitCount = (number) => number.toString(2).length;

/** Bit `index` of a whole number up to 2^53. @param {number} number @param {number} index */
export const bitOf = (number, index) =>
  number < 2 ** 31 && index < 31 ? (number >> index) & 1 : Math.floor(number / 2 ** index) % 2;

/** Number of positions in which a pair of columns makes one turn. @param {number} pair */
export const wavelength = (pair, /** @type {number} */ width, /** @type {number} */ base) =>
  2 * Math.PI * base ** ((2 * pair) / width);

/**
 * The pair of columns whose wavelength is closest in ratio to the period of a bit.
 * @param {number} bit
 * @param {number} width
 * @param {number} base
 */
export function pairLikeBit(bit, width, base) {
  const pair = Math.round(
    (width * Math.log(2 ** (bit + 1) / (2 * Math.PI))) / (2 * Math.log(base)),
  );
  return Math.min(Math.ceil(width / 2) - 1, Math.max(0, pair));
}

/**
 * The bit whose period is closest in ratio to the wavelength of a pair of columns.
 * @param {number} pair
 * @param {number} width
 * @param {number} base
 * @param {number} bits number of bits
 */
export function bitLikePair(pair, width, base, bits) {
  const bit = Math.round(Math.log2(wavelength(pair, width, base))) - 1;
  return Math.min(bits - 1, Math.max(0, bit));
}
