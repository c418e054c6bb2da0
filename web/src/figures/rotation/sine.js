/** @typedef {import('../../drawing/matrix.js').Matrix} Matrix */

/** Largest difference at which two sines look alike. */
const alike = 0.12;
/** Smallest difference at which two sines look different. */
const different = 0.5;

/**
 * The pair of columns whose rotation by a shift is closest to a right angle.
 * @param {number} delta
 * @param {number} base
 * @param {number} columns
 */
export function tellingPair(delta, base, columns) {
  const [pair] = Array.from({ length: columns / 2 }, (_, j) => j).sort(
    (a, b) => miss(a) - miss(b) || a - b,
  );
  /** @param {number} j */
  function miss(j) {
    const angle = Math.abs(delta) / base ** ((2 * j) / columns);
    return Math.abs(angle - Math.PI / 2);
  }
  return pair;
}

/**
 * Finds another position with almost the same sine as the given position, but with a different sine
 * after the shift. Returns the position with the closest sine, or null if none is close.
 * @param {Matrix} encoding
 * @param {Matrix} shifted
 * @param {number} pair
 * @param {number} position
 */
export function twinOf({ data, rows, columns }, shifted, pair, position) {
  const sine = (/** @type {Float32Array} */ of, /** @type {number} */ row) =>
    of[row * columns + 2 * pair];
  let twin = null;
  let closest = alike;
  for (let row = 0; row < rows; row++) {
    const now = Math.abs(sine(data, row) - sine(data, position));
    const later = Math.abs(sine(shifted.data, row) - sine(shifted.data, position));
    if (now < closest && later > different) [twin, closest] = [row, now];
  }
  return twin;
}
