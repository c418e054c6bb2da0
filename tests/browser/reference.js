// Positional encoding and attention in double precision, written from the equations. They share no
// code with the core or the page.

/** The largest relative rounding error of float32: half a unit in the last place of 1. */
export const roundingError = 2 ** -24;

/**
 * Sinusoidal encoding.
 * @param {number} length
 * @param {number} width
 * @param {number} base
 */
export function sinusoidalEncoding(length, width, base) {
  return sinusoidalEncodingAt(
    Array.from({ length }, (_, i) => i),
    width,
    base,
  );
}

/**
 * Sinusoidal encoding at arbitrary positions.
 * @param {number[]} positions
 * @param {number} width
 * @param {number} base
 */
export function sinusoidalEncodingAt(positions, width, base) {
  return positions.map((position) =>
    Array.from({ length: width }, (_, column) => {
      const angle = position / base ** ((column - (column % 2)) / width);
      return column % 2 === 0 ? Math.sin(angle) : Math.cos(angle);
    }),
  );
}

/** @param {number[]} a @param {number[]} b */
const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);

/** @param {number[]} a @param {number[]} b */
const dotOfMagnitudes = (a, b) => a.reduce((sum, value, i) => sum + Math.abs(value * b[i]), 0);

/**
 * Multiplies rows by the transpose of a matrix, and bounds the float32 error of each element.
 * Adding m products takes m roundings. Each rounding adds an error of at most `roundingError` times
 * the sum of the products' magnitudes.
 * @param {number[][]} rows
 * @param {number[][]} matrix
 */
export function project(rows, matrix) {
  const roundings = matrix[0].length + 1;
  return {
    values: rows.map((row) => matrix.map((weights) => dot(row, weights))),
    errors: rows.map((row) =>
      matrix.map((weights) => roundings * roundingError * dotOfMagnitudes(row, weights)),
    ),
  };
}

/**
 * @typedef {object} Rows
 * @property {number[][]} values (n, D)
 * @property {number[][]} [errors] bound on each value's float32 error
 */

/**
 * The weights of one head, with bounds on their float32 errors. If the scores are off by some
 * amount, the weights are off by at most twice that amount, plus a few roundings in softmax.
 * @param {Rows} query
 * @param {Rows} key
 * @param {boolean} causal
 */
export function attentionWeights(query, key, causal) {
  const depth = query.values[0].length;
  const scale = 1 / Math.sqrt(depth);
  const none = query.values.map((row) => row.map(() => 0));
  const { errors: queryErrors = none } = query;
  const { errors: keyErrors = none } = key;
  let scoreError = 0;
  const weights = query.values.map((q, i) => {
    const scores = key.values.map((k, j) => {
      if (causal && j > i) return -Infinity;
      const error =
        (depth + 2) * roundingError * dotOfMagnitudes(q, k) +
        dotOfMagnitudes(q, keyErrors[j]) +
        dotOfMagnitudes(k, queryErrors[i]);
      scoreError = Math.max(scoreError, scale * error);
      return scale * dot(q, k);
    });
    const largest = Math.max(...scores);
    const terms = scores.map((score) => Math.exp(score - largest));
    const sum = terms.reduce((total, term) => total + term);
    return terms.map((term) => term / sum);
  });
  return { weights, tolerance: 2 * scoreError + 16 * roundingError };
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
    const { weights } = attentionWeights({ values: slice }, { values: slice }, causal);
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

/**
 * Attention pooling of values by the classic scoring functions.
 * @param {number[][]} query (Nq, D)
 * @param {number[][]} key (Nk, D)
 * @param {number[]} value (Nk)
 * @param {'scaledDot' | 'gaussian' | 'boxcar' | 'epanechnikov' | 'average' | 'hard'} scoring
 *   'hard' selects the key with the largest Gaussian score and no other
 * @param {number} [width]
 */
export function attentionPooling(query, key, value, scoring, width = 1) {
  const weights = query.map((q) => {
    const scores = key.map((k) => {
      const distance = Math.hypot(...q.map((x, d) => x - k[d]));
      if (scoring === 'scaledDot') return dot(q, k) / Math.sqrt(q.length);
      if (scoring === 'boxcar') return distance < width ? 1 : 0;
      if (scoring === 'epanechnikov') return Math.max(1 - distance / width, 0);
      if (scoring === 'average') return 1;
      return -(distance ** 2) / (2 * width ** 2);
    });
    return scoring === 'hard'
      ? oneHot(scores)
      : scoring === 'scaledDot' || scoring === 'gaussian'
        ? softmax(scores)
        : shares(scores);
  });
  return { weights, output: weights.map((row) => dot(row, value)) };
}

/**
 * Additive attention.
 * @param {number[][]} query (Nq, Dq)
 * @param {number[][]} key (Nk, Dk)
 * @param {number[]} value (Nk)
 * @param {{ queryWeights: number[][], keyWeights: number[][], valueWeights: number[] }} parameters
 *   (h, Dq), (h, Dk) and (h)
 */
export function additiveAttention(query, key, value, parameters) {
  const { queryWeights, keyWeights, valueWeights } = parameters;
  const weights = query.map((q) =>
    softmax(
      key.map((k) =>
        dot(
          valueWeights,
          valueWeights.map((_, h) => Math.tanh(dot(queryWeights[h], q) + dot(keyWeights[h], k))),
        ),
      ),
    ),
  );
  return { weights, output: weights.map((row) => dot(row, value)) };
}

/** @param {number[]} scores */
function softmax(scores) {
  const largest = Math.max(...scores);
  return shares(scores.map((score) => Math.exp(score - largest)));
}

/** Divides scores by their sum. If all are zero, they stay zero. @param {number[]} scores */
function shares(scores) {
  const sum = scores.reduce((total, score) => total + score);
  return scores.map((score) => (sum === 0 ? 0 : score / sum));
}

/**
 * Gives weight 1 to the first of the largest scores, and weight 0 to all other scores.
 * @param {number[]} scores
 */
function oneHot(scores) {
  const best = scores.indexOf(Math.max(...scores));
  return scores.map((_, i) => Number(i === best));
}

/**
 * Multiplies weights by values, and bounds the float32 error of each element.
 * @param {number[][]} weights (n, m)
 * @param {number[][]} values (m, D)
 */
export function mix(weights, values) {
  const columns = values[0].map((_, column) => values.map((row) => row[column]));
  return project(weights, columns);
}

/**
 * Layer normalisation without parameters. The core's header states the bounds.
 * @param {number[][]} rows
 */
export function layerNorm(rows) {
  const values = rows.map((row) => {
    const mean = row.reduce((sum, value) => sum + value, 0) / row.length;
    const variance = row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / row.length;
    return row.map((value) => (value - mean) / Math.sqrt(variance + 1e-5));
  });
  const errors = values.map((row) =>
    row.map((value) => 1.5e-6 * (1 + Math.abs(value)) + 6e-8 * Math.abs(value)),
  );
  return { values, errors };
}

/**
 * The weights of additive attention, with bounds on their float32 errors.
 * @param {number[][]} queries
 * @param {number[][]} keys
 * @param {{ query: number[][], key: number[][], value: number[] }} parameters W_q, W_k and w_v
 */
export function additiveWeights(queries, keys, { query, key, value }) {
  const [q, k] = [project(queries, query), project(keys, key)];
  let scoreError = 0;
  const weights = q.values.map((asked, i) => {
    const scores = k.values.map((read, j) => {
      const hidden = asked.map((each, c) => Math.tanh(each + read[c]));
      // An error in the argument of tanh changes the result by no more than that error. tanh itself
      // is exact to within a few units in the last place.
      const errors = asked.map(
        (each, c) =>
          q.errors[i][c] + k.errors[j][c] + roundingError * (Math.abs(each + read[c]) + 8),
      );
      scoreError = Math.max(
        scoreError,
        dotOfMagnitudes(value, errors) +
          (value.length + 1) * roundingError * dotOfMagnitudes(value, hidden),
      );
      return dot(value, hidden);
    });
    const largest = Math.max(...scores);
    const terms = scores.map((score) => Math.exp(score - largest));
    const sum = terms.reduce((total, term) => total + term);
    return terms.map((term) => term / sum);
  });
  return { weights, tolerance: 2 * scoreError + 16 * roundingError };
}
