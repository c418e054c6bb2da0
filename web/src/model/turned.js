/**
 * The row of W_q or W_k that makes a column of a query or key, once that is turned by its position:
 * rotary positions mix it with the row of the column's partner, half a head away.
 *
 * @param {import('attn').Tensor} weight (E, E)
 * @param {ArrayLike<number> | undefined} bias (E)
 * @param {number} column
 * @param {{ depth: number, base: number, position: number }} turn depth: D
 */
export function turnedRow({ data, shape: [, width] }, bias, column, { depth, base, position }) {
  const half = depth / 2;
  const place = column % depth;
  const angle = position * base ** (-(place % half) / half);
  const first = place < half;
  const partner = first ? column + half : column - half;
  const [cos, sin] = [Math.cos(angle), Math.sin(angle) * (first ? -1 : 1)];
  const mixed = (/** @type {number} */ own, /** @type {number} */ other) => cos * own + sin * other;
  const row = Float64Array.from({ length: width }, (_, i) =>
    mixed(data[column * width + i], data[partner * width + i]),
  );
  return { row, bias: bias ? mixed(bias[column], bias[partner]) : undefined };
}
