/** @typedef {import('../../drawing/matrix.js').Matrix} Matrix */

/** Largest number of rows and columns to examine. */
const most = 256;

/**
 * The index of a row's largest weight; null if the row is completely masked.
 * @param {Matrix} weights
 * @param {number} row
 */
export function favouriteOf({ data, columns }, row) {
  let best = -1;
  let largest = 0;
  for (let column = 0; column < columns; column++) {
    const weight = data[row * columns + column];
    if (weight > largest) [best, largest] = [column, weight];
  }
  return best < 0 ? null : { column: best, weight: largest };
}

/** Counts the tokens that attend most to themselves. @param {Matrix} weights (n, n) */
export function selfishOf(weights) {
  let own = 0;
  for (let row = 0; row < weights.rows; row++) {
    if (favouriteOf(weights, row)?.column === row) own += 1;
  }
  return { own, all: weights.rows };
}

/**
 * The two tokens whose weights for each other differ most; null if there are fewer than two.
 * @param {Matrix} weights (n, n)
 */
export function unequalPair({ data, rows, columns }) {
  const n = Math.min(rows, most);
  /** @type {{ one: number, other: number, there: number, back: number } | null} */
  let found = null;
  let widest = 0;
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) {
      const [there, back] = [data[i * columns + j], data[j * columns + i]];
      if (there - back > widest) {
        widest = there - back;
        found = { one: i, other: j, there, back };
      }
    }
  }
  return found;
}

/** Largest number of words to mention for a row. */
const told = 5;

/**
 * Finds the row in which the share of attention weight that the mask removes is closest to one
 * half. Prefers rows in which the mask removes at least a tenth and leaves at least two keys with
 * weights of at least 0.01. Returns the row and its largest weights without and with the mask (null
 * for masked keys), or null if there are no rows.
 * @param {Matrix} masked the weights with the mask (n, n)
 * @param {Matrix} free the weights without it
 * @param {number} [rows] number of rows to examine
 */
export function halfMasked(masked, free, rows = free.rows) {
  const { columns } = free;
  /** @param {number} row */
  const pairsOf = (row) =>
    Array.from({ length: columns }, (_, column) => {
      const [share, without] = [masked, free].map(({ data }) => data[row * columns + column]);
      return { column, free: without, masked: share || null };
    });
  let [found, nearest] = [rows - 1, Infinity];
  for (let row = 0; row < rows; row++) {
    const taken = pairsOf(row).reduce((sum, pair) => sum + (pair.masked ? 0 : pair.free), 0);
    const visible = pairsOf(row).filter((pair) => (pair.masked ?? 0) >= 0.01).length;
    const off = Math.abs(taken - 0.5) + (visible < 2 || taken < 0.1 ? 1 : 0);
    if (off < nearest) [found, nearest] = [row, off];
  }
  if (found < 0) return null;
  const size = (/** @type {{ free: number, masked: number | null }} */ pair) =>
    Math.max(pair.free, pair.masked ?? 0);
  const pairs = pairsOf(found)
    .sort((a, b) => size(b) - size(a))
    .slice(0, told)
    .sort((a, b) => a.column - b.column);
  return { row: found, pairs };
}
