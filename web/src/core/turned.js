/**
 * How positions rotate queries and keys: the angle per position for each pair of a head's columns,
 * and the factor of sines and cosines. The columns of a pair are half the number of rotated columns
 * apart.
 * @typedef {{ frequencies: ArrayLike<number>, factor: number }} Turn
 */

/**
 * The rotation of the page's rotary positions.
 * @param {number} base
 * @param {number} depth D
 * @returns {Turn}
 */
export const turnOf = (base, depth) => ({
  frequencies: Float64Array.from({ length: depth >> 1 }, (_, j) => base ** (-j / (depth / 2))),
  factor: 1,
});

/**
 * The row of W_q or W_k that produces a column of a query or key after rotation by its position.
 * Rotary positions mix this row with the row of the column's partner.
 * @param {import('attn').Tensor} weight (rows, E), of complete heads
 * @param {ArrayLike<number> | undefined} bias (rows)
 * @param {number} column
 * @param {{ depth: number, turn: Turn, position: number }} turned depth: D
 */
export function turnedRow({ data, shape: [, width] }, bias, column, { depth, turn, position }) {
  const half = turn.frequencies.length;
  const place = column % depth;
  if (place >= 2 * half) {
    return { row: data.subarray(column * width, (column + 1) * width), bias: bias?.[column] };
  }
  const angle = position * turn.frequencies[place % half];
  const first = place < half;
  const partner = first ? column + half : column - half;
  const cos = turn.factor * Math.cos(angle);
  const sin = turn.factor * Math.sin(angle) * (first ? -1 : 1);
  const mixed = (/** @type {number} */ own, /** @type {number} */ other) => cos * own + sin * other;
  const row = Float64Array.from({ length: width }, (_, i) =>
    mixed(data[column * width + i], data[partner * width + i]),
  );
  return { row, bias: bias ? mixed(bias[column], bias[partner]) : undefined };
}
