/** @typedef {import('./model.js').Likely} Likely */

/** Number of tokens listed for each cell of the logit lens. */
export const listed = 3;

/**
 * The most probable tokens for each row of logits.
 * @param {Float32Array} logits (rows, V)
 * @param {number} rows
 * @param {(logits: Float32Array) => { id: number, probability: number }[]} likeliest
 * @param {(id: number, row: number) => string} label
 * @returns {Likely[][]}
 */
export function lensRows(logits, rows, likeliest, label) {
  const width = logits.length / rows;
  return Array.from({ length: rows }, (_, row) =>
    likeliest(logits.subarray(row * width, (row + 1) * width))
      .slice(0, listed)
      .map((each) => ({ ...each, label: label(each.id, row) })),
  );
}

/**
 * The last rows of a tensor.
 * @param {import('attn').Tensor} tensor (n, E)
 * @param {number} rows
 */
export function lastRows({ data, shape: [n, width] }, rows) {
  return { data: data.subarray((n - rows) * width), shape: [rows, width] };
}
