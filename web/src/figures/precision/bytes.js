import { largestMagnitude } from '../../drawing/matrix.js';

/** @typedef {import('attn').Attn} Attn */
/** @typedef {import('attn').Tensor} Tensor */
/** @typedef {import('../../drawing/matrix.js').Matrix} Matrix */

/** Largest number of rows to compare. With more, there would be more cells than pixels. */
export const mostRows = 512;

/** Storage types. The first type has the exponent bits of float32. */
export const types = /** @type {const} */ (['bfloat16', 'float16', 'int8']);
/** @typedef {(typeof types)[number]} Type */

/** The rounded quantity, and the quantities computed from it. */
export const quantities = /** @type {const} */ (['encoding', 'scores', 'weights']);
/** @typedef {(typeof quantities)[number]} Quantity */

/**
 * Rounds rows to a storage type as the core does, and computes attention with the exact rows as
 * queries and the rounded rows as keys and values.
 * @param {Attn} attn
 * @param {Tensor} rows (n, d)
 * @param {Type | 'float32'} type
 */
function attend(attn, { data, shape: [length, width] }, type) {
  const rows = { data, shape: [1, 1, length, width] };
  const cache = new attn.KeyValueCache({
    ...{ numKvHeads: 1, headDim: width, capacity: length },
    type,
  });
  try {
    cache.append(rows, rows);
    const { scaledScores, weights } = attn.scaledDotProductAttention(rows, cache, {
      needScaledScores: true,
      needWeights: true,
    });
    const matrix = (/** @type {Tensor} */ { data }, /** @type {number} */ columns) => ({
      ...{ data, rows: length, columns },
    });
    return {
      encoding: matrix(cache.keys(), width),
      scores: matrix(scaledScores, length),
      weights: matrix(weights, length),
    };
  } finally {
    cache.dispose();
  }
}

/**
 * The rounding errors of a matrix: all magnitudes, the largest magnitude and the mean magnitude.
 * @param {Matrix} rounded
 * @param {Matrix} exact
 */
function lossOf(rounded, exact) {
  const data = rounded.data.map((value, i) => Math.abs(value - exact.data[i]));
  return {
    ...{ rounded, error: { ...exact, data }, largest: largestMagnitude(data) },
    mean: data.reduce((sum, error) => sum + error, 0) / data.length,
  };
}

/**
 * Computes the scores and weights of self-attention over some rows, and how much both lose to
 * rounding if the keys are stored in fewer bytes, as in a cache. One step per type.
 * @param {Attn} attn
 * @param {Tensor} rows (n, d)
 */
export function* measureBytes(attn, rows) {
  const exact = attend(attn, rows, 'float32');
  yield;
  /** @type {Partial<Record<Type, Record<Quantity, ReturnType<typeof lossOf>>>>} */
  const losses = {};
  for (const type of types) {
    const rounded = attend(attn, rows, type);
    losses[type] = {
      encoding: lossOf(rounded.encoding, exact.encoding),
      scores: lossOf(rounded.scores, exact.scores),
      weights: lossOf(rounded.weights, exact.weights),
    };
    yield;
  }
  return { exact, losses: /** @type {Required<typeof losses>} */ (losses) };
}

/** @typedef {ReturnType<typeof measureBytes> extends Generator<any, infer T> ? T : never} Losses */
