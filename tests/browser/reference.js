// Encoding and attention in double precision, written from the equations; shares no code with the
// core or the page.

/** One unit in the last place of 1 in float32, halved: the relative rounding error. */
export const roundingError = 2 ** -24;

/**
 * Sinusoidal encoding.
 * @param {number} length
 * @param {number} width
 * @param {number} base
 */
export function sinusoidalEncoding(length, width, base) {
  return Array.from({ length }, (_, i) =>
    Array.from({ length: width }, (_, column) => {
      const angle = i / base ** ((column - (column % 2)) / width);
      return column % 2 === 0 ? Math.sin(angle) : Math.cos(angle);
    }),
  );
}

/** @param {number[]} a @param {number[]} b */
const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);

/**
 * Rows times the transpose of a matrix.
 * @param {number[][]} rows
 * @param {number[][]} matrix
 */
export const project = (rows, matrix) =>
  rows.map((row) => matrix.map((weights) => dot(row, weights)));

/**
 * The weights of one head, with a bound on what float32 may be off by: the relative error of the
 * scores' sums of products, which softmax doubles at most, and a few roundings of its own.
 * @param {number[][]} query (n, D)
 * @param {number[][]} key (n, D)
 * @param {boolean} causal
 */
export function attentionWeights(query, key, causal) {
  const depth = query[0].length;
  const scale = 1 / Math.sqrt(depth);
  const weights = query.map((q, i) => {
    const scores = key.map((k, j) => (causal && j > i ? -Infinity : scale * dot(q, k)));
    const largest = Math.max(...scores);
    const terms = scores.map((score) => Math.exp(score - largest));
    const sum = terms.reduce((total, term) => total + term);
    return terms.map((term) => term / sum);
  });
  const magnitude = Math.max(
    ...query.flatMap((q) =>
      key.map((k) => scale * q.reduce((sum, value, c) => sum + Math.abs(value * k[c]), 0)),
    ),
  );
  const tolerance = 2 * (depth + 2) * roundingError * magnitude + 16 * roundingError;
  return { weights, tolerance };
}

/**
 * Self-attention of all heads with identity projections.
 * @param {number[][]} x (n, E)
 * @param {number} numHeads
 * @param {boolean} causal
 * @returns {number[][]} (n, E)
 */
export function selfAttention(x, numHeads, causal) {
  const depth = x[0].length / numHeads;
  const output = x.map((row) => row.map(() => 0));
  for (let head = 0; head < numHeads; head++) {
    const slice = x.map((row) => row.slice(head * depth, (head + 1) * depth));
    const { weights } = attentionWeights(slice, slice, causal);
    weights.forEach((row, i) =>
      row.forEach((weight, j) =>
        slice[j].forEach((value, c) => (output[i][head * depth + c] += weight * value)),
      ),
    );
  }
  return output;
}

/** @param {number[][]} a @param {number[][]} b */
export const maxAbsDifference = (a, b) =>
  Math.max(...a.flatMap((row, i) => row.map((value, j) => Math.abs(value - b[i][j]))));
