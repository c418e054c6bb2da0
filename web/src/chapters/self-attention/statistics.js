/** @typedef {import('../../drawing/matrix.js').Matrix} Matrix */

/** Rows and columns that a sentence about all of them looks at. */
const most = 256;

/** The place of the largest weight of a row; null where all is masked. @param {Matrix} weights @param {number} row */
export function favouriteOf({ data, columns }, row) {
  let best = -1;
  let largest = 0;
  for (let column = 0; column < columns; column++) {
    const weight = data[row * columns + column];
    if (weight > largest) [best, largest] = [column, weight];
  }
  return best < 0 ? null : { column: best, weight: largest };
}

/** How many tokens look most at themselves. @param {Matrix} weights (n, n) */
export function selfishOf(weights) {
  let own = 0;
  for (let row = 0; row < weights.rows; row++) {
    if (favouriteOf(weights, row)?.column === row) own += 1;
  }
  return { own, all: weights.rows };
}

/**
 * The two tokens that give each other the most different shares; null where there are no two.
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

/** Words of a row that are told. */
const told = 5;

/**
 * The row where a mask takes away nearest to half, and what it gives to those with the largest shares,
 * without the mask and with it (null where it may not look); null where there is no row.
 * @param {Matrix} masked the weights with the mask (n, n)
 * @param {Matrix} free those without
 * @param {number} [rows] that are looked at
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
    const off = Math.abs(taken - 0.5);
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
