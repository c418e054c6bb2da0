/**
 * Scaled dot-product attention in JavaScript, written for speed. Each head is converted to doubles
 * once rather than on every read. Two queries are combined with four keys at a time, so that every
 * loaded number is used several times. Sums stay in local variables.
 *
 * output_i = Σ_j softmax_j(q_i·k_j / √D) v_j
 * @param {Float32Array} query (heads, length, dim), row-major; key, value and the result have the
 * same layout
 * @param {Float32Array} key
 * @param {Float32Array} value
 * @param {{ heads: number, length: number, dim: number }} shape  its length must be a multiple of 4
 */
export function scalarAttention(query, key, value, { heads, length, dim }) {
  const output = new Float32Array(heads * length * dim);
  const scores = new Float64Array(2 * length);
  const sums = new Float64Array(2 * dim);
  const scale = 1 / Math.sqrt(dim);
  for (let head = 0; head < heads; head++) {
    const start = head * length * dim;
    const end = start + length * dim;
    const q = Float64Array.from(query.subarray(start, end));
    const k = Float64Array.from(key.subarray(start, end));
    const v = Float64Array.from(value.subarray(start, end));
    for (let i = 0; i < length; i += 2) {
      scoresOfTwo(q, k, i, length, dim, scale, scores);
      softmax(scores, 0, length);
      softmax(scores, length, length);
      weightedSumOfTwo(v, scores, length, dim, sums);
      output.set(sums, start + i * dim);
    }
  }
  return output;
}

/**
 * @param {Float64Array} q
 * @param {Float64Array} k
 * @param {number} i  the first of two queries
 * @param {number} length
 * @param {number} dim
 * @param {number} scale
 * @param {Float64Array} scores  (2, length)
 */
function scoresOfTwo(q, k, i, length, dim, scale, scores) {
  const [q0, q1] = [i * dim, (i + 1) * dim];
  for (let j = 0; j < length; j += 4) {
    const [k0, k1, k2, k3] = [j * dim, (j + 1) * dim, (j + 2) * dim, (j + 3) * dim];
    let [a0, a1, a2, a3, b0, b1, b2, b3] = [0, 0, 0, 0, 0, 0, 0, 0];
    for (let d = 0; d < dim; d++) {
      const a = q[q0 + d];
      const b = q[q1 + d];
      const x0 = k[k0 + d];
      const x1 = k[k1 + d];
      const x2 = k[k2 + d];
      const x3 = k[k3 + d];
      a0 += a * x0;
      a1 += a * x1;
      a2 += a * x2;
      a3 += a * x3;
      b0 += b * x0;
      b1 += b * x1;
      b2 += b * x2;
      b3 += b * x3;
    }
    scores[j] = a0 * scale;
    scores[j + 1] = a1 * scale;
    scores[j + 2] = a2 * scale;
    scores[j + 3] = a3 * scale;
    scores[length + j] = b0 * scale;
    scores[length + j + 1] = b1 * scale;
    scores[length + j + 2] = b2 * scale;
    scores[length + j + 3] = b3 * scale;
  }
}

/**
 * @param {Float64Array} scores
 * @param {number} start
 * @param {number} length
 */
function softmax(scores, start, length) {
  const end = start + length;
  let largest = -Infinity;
  for (let j = start; j < end; j++) if (scores[j] > largest) largest = scores[j];
  let sum = 0;
  for (let j = start; j < end; j++) {
    const power = Math.exp(scores[j] - largest);
    scores[j] = power;
    sum += power;
  }
  const factor = 1 / sum;
  for (let j = start; j < end; j++) scores[j] *= factor;
}

/**
 * @param {Float64Array} v
 * @param {Float64Array} weights  (2, length)
 * @param {number} length
 * @param {number} dim
 * @param {Float64Array} sums  (2, dim)
 */
function weightedSumOfTwo(v, weights, length, dim, sums) {
  sums.fill(0);
  for (let j = 0; j < length; j += 4) {
    const [v0, v1, v2, v3] = [j * dim, (j + 1) * dim, (j + 2) * dim, (j + 3) * dim];
    const a0 = weights[j];
    const a1 = weights[j + 1];
    const a2 = weights[j + 2];
    const a3 = weights[j + 3];
    const b0 = weights[length + j];
    const b1 = weights[length + j + 1];
    const b2 = weights[length + j + 2];
    const b3 = weights[length + j + 3];
    for (let d = 0; d < dim; d++) {
      const x0 = v[v0 + d];
      const x1 = v[v1 + d];
      const x2 = v[v2 + d];
      const x3 = v[v3 + d];
      sums[d] += a0 * x0 + a1 * x1 + (a2 * x2 + a3 * x3);
      sums[dim + d] += b0 * x0 + b1 * x1 + (b2 * x2 + b3 * x3);
    }
  }
}
