/**
 * Returns the first rows of a matrix, at most `most` of them.
 * @param {import('attn').Tensor | null} matrix (n, columns)
 * @param {number} most
 * @returns {import('attn').Tensor | null}
 */
export function firstRows(matrix, most) {
  if (!matrix) return null;
  const [length, columns] = matrix.shape;
  const rows = Math.min(length, most);
  return { data: matrix.data.subarray(0, rows * columns), shape: [rows, columns] };
}
