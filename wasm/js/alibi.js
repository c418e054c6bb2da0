import { scaledDotProductAttention } from './scaledDotProductAttention.js';
import { checkInteger, checkOptions, checkShape } from './tensor.js';

/** @import { AttentionOptions, Diagonal } from './attentionOptions.js' */
/** @import { Runtime } from './runtime.js' */

/**
 * @typedef {object} BiasSizes
 * @property {number} numQueries  Nq
 * @property {number} [numKeys]  Nk; `numQueries` by default
 * @property {Diagonal} [diagonal]  where query i stands among the keys; `'topLeft'` by default
 */

/** @typedef {BiasSizes & { numHeads: number }} AlibiBiasOptions  `numHeads` is H */

/**
 * @param {Runtime} runtime
 * @param {number} numHeads
 */
export function alibiSlopes(runtime, numHeads) {
  checkInteger('numHeads', numHeads, 0);
  return runtime.map('alibiSlopes', () => [numHeads]);
}

/**
 * @param {Runtime} runtime
 * @param {AlibiBiasOptions} options
 */
export function alibiBias(runtime, options) {
  checkOptions(options);
  checkInteger('numHeads', options.numHeads, 1);
  const slopes = alibiSlopes(runtime, options.numHeads);
  try {
    return biasOf(runtime, options.numHeads, options, { alibiSlopes: slopes });
  } finally {
    slopes.dispose?.();
  }
}

/**
 * What terms of positions add to the scores: the scores of queries and keys that are zero.
 * @param {Runtime} runtime
 * @param {number} numHeads
 * @param {BiasSizes} sizes
 * @param {AttentionOptions} terms
 */
export function biasOf(runtime, numHeads, sizes, terms) {
  const { numQueries, numKeys = numQueries, diagonal = 'topLeft' } = sizes;
  checkInteger('numQueries', numQueries, 0);
  checkInteger('numKeys', numKeys, 0);
  const shape = [numHeads, numQueries, numKeys];
  checkShape('bias', shape);
  const zeros = (/** @type {number} */ length) => ({
    data: new Float32Array(numHeads * length),
    shape: [1, numHeads, length, 1],
  });
  const key = zeros(numKeys);
  const { biasedScores } = scaledDotProductAttention(runtime, zeros(numQueries), key, key, {
    ...terms,
    relativeDiagonal: diagonal,
    needBiasedScores: true,
  });
  if (runtime.as === 'array') return { ...biasedScores, shape };
  const bias = biasedScores.reshape(shape);
  biasedScores.dispose();
  return bias;
}
