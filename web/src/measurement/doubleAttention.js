/**
 * Attention in double precision, straight from its equation. All engines are compared with it.
 * @param {Float32Array} query (heads, length, dim), row-major; key, value and the result have the
 * same layout
 * @param {Float32Array} key
 * @param {Float32Array} value
 * @param {{ heads: number, length: number, dim: number }} shape
 */
export function doubleAttention(query, key, value, { heads, length, dim }) {
  const output = new Float64Array(heads * length * dim);
  for (let head = 0; head < heads; head++) {
    const rows = head * length;
    for (let i = rows; i < rows + length; i++) {
      const powers = new Float64Array(length);
      let largest = -Infinity;
      for (let j = 0; j < length; j++) {
        let score = 0;
        for (let d = 0; d < dim; d++) score += query[i * dim + d] * key[(rows + j) * dim + d];
        powers[j] = score / Math.sqrt(dim);
        largest = Math.max(largest, powers[j]);
      }
      let sum = 0;
      for (let j = 0; j < length; j++) sum += powers[j] = Math.exp(powers[j] - largest);
      for (let j = 0; j < length; j++) {
        for (let d = 0; d < dim; d++) {
          output[i * dim + d] += (powers[j] / sum) * value[(rows + j) * dim + d];
        }
      }
    }
  }
  return output;
}
