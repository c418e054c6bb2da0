/** @import { Dropout } from './dropout.js' */
/** @import { Names } from './options.js' */
/** @import { T5BiasOptions } from './t5Bias.js' */
/** @import { Integers, Mask, Ranks, TensorLike } from './tensor.js' */
/** @import { ResultKind, ResultTensor } from './tensorHandle.js' */

/** @type {Names<T5BiasOptions>} */
export const kT5Bias = { table: true, maxDistance: true, bidirectional: true };

/** @type {Names<Window>} */
export const kWindow = { left: true, right: true };

/**
 * Alignment of query `i` with key `i + offset`, for sequences of different lengths. `'topLeft'` is
 * offset 0, `'bottomRight'` aligns the last query with the last key, and a number is the offset
 * itself. With a key/value cache, the offset is the past length.
 * @typedef {'topLeft' | 'bottomRight' | number} Diagonal
 */

/**
 * A sliding window: query `i` attends to keys `i + offset − left … i + offset + right`. The
 * option `diagonal` sets the offset.
 * @typedef {object} Window
 * @property {number} [left]  keys to the left; unlimited by default
 * @property {number} [right]  keys to the right; unlimited by default
 */

/**
 * Options that exclude keys. A query attends to the keys that no option excludes; if no key is
 * left, the query's output and weights are 0. NaN and infinity in excluded keys have no effect.
 * @typedef {object} ExclusionOptions
 * @property {Diagonal} [diagonal]  aligns query i with key i + offset. It affects causal order, the
 *   window, and the terms that depend on the distance j − (i + offset): relative keys and values,
 *   ALiBi and T5. `'topLeft'` by default
 * @property {boolean} [causal]  attend only to keys `j ≤ i + offset`, with the offset from `diagonal`
 * @property {Window} [window]
 * @property {Integers} [validLens]  number of keys to attend to, counted from the first: B lengths,
 *   or a tensor of shape (B,) or (B, Nq)
 * @property {Integers} [keyLens]  number of keys of each batch entry that are not padding: B
 *   lengths. Unlike `validLens`, `keyLens` also moves the diagonal `'bottomRight'`
 * @property {Integers} [cuSeqlens]  packs sequences of different lengths one after the other, without
 *   padding: the queries of sequence s are rows cuSeqlens[s] … cuSeqlens[s + 1] − 1 of a batch of
 *   one. The numbers start at 0, never decrease, and end with Nq. Each sequence attends only to
 *   itself, and `diagonal`, `causal`, `window` and distances count from its own first query and
 *   key. Cannot be combined with `mask`, `bias`, `validLens`, `keyLens` or results of shape
 *   (B, Hq, Nq, Nk). In layers, it cannot be combined with a cache
 * @property {Integers} [cuSeqlensK]  like `cuSeqlens`, but for the rows of keys and values; ends
 *   with Nk. Pass it if sequences have different numbers of queries and keys. `cuSeqlens` by default
 * @property {Mask} [mask]  broadcasts to (B, Hq, Nq, Nk) from the right. If the last size is
 *   between 2 and Nk, the keys beyond it are excluded
 */

/**
 * Terms of the score, in the order in which they apply.
 * @typedef {object} ScoreOptions
 * @property {number} [scale]  factor on q·k; 1/√D by default
 * @property {TensorLike} [relativeKeys]  Shaw's relative keys, (2k+1, D) or (Hq, 2k+1, D). Row c
 *   is for distance c − k, and the outer rows also cover larger distances. Adds scale · q·a_c to the score
 * @property {TensorLike} [relativeValues]  (2k+1, Dv) or (Hq, 2k+1, Dv). Adds Σ_j weight_ij · a_c to
 *   output_i, where row c depends on the distance as in `relativeKeys`. Must have the same k as
 *   `relativeKeys`
 * @property {number} [softcap]  c; if c > 0, scores become c·tanh(score / c)
 * @property {TensorLike | ArrayLike<number>} [alibiSlopes]  (Hq,): adds −slope_h · |distance|; see
 *   `alibiSlopes()`
 * @property {T5BiasOptions} [t5Bias]  adds table[bucket(distance), h]
 * @property {TensorLike} [bias]  added to the score; broadcasts to (B, Hq, Nq, Nk) from the right.
 *   −∞ excludes a key. If the last size is between 2 and Nk, the keys beyond it are excluded
 * @property {TensorLike | ArrayLike<number>} [sinks]  (Hq,): one more score per head, which takes
 *   part in the softmax but has no value
 */

/**
 * Requests further results. Results of shape (B, Hq, Nq, Nk) and column sums require a second pass.
 * @template {boolean} [Scaled=boolean]
 * @template {boolean} [Capped=boolean]
 * @template {boolean} [Biased=boolean]
 * @template {boolean} [Weights=boolean]
 * @template {boolean} [LogSumExp=boolean]
 * @template {boolean} [Sums=boolean]
 * @typedef {object} StageOptions
 * @property {Scaled} [needScaledScores]  scale · q·k plus the term of relative keys
 * @property {Capped} [needCappedScores]  after softcap
 * @property {Biased} [needBiasedScores]  after bias and exclusion; excluded keys have score −∞
 * @property {Weights} [needWeights]  after softmax and dropout
 * @property {LogSumExp} [needLogSumExp]  ln Σ_j exp(score_ij) over the attended keys and the sink
 * @property {Sums} [needColumnSums]  Σ_i weight_ij: the attention that each key receives from all
 *   queries. Memory stays linear in the lengths
 */

/**
 * Options of attention in a Transformer layer. Set dropout on the call of the layer, where it also
 * acts on the attention weights.
 * @template {boolean} [Scaled=boolean]
 * @template {boolean} [Capped=boolean]
 * @template {boolean} [Biased=boolean]
 * @template {boolean} [Weights=boolean]
 * @template {boolean} [LogSumExp=boolean]
 * @template {boolean} [Sums=boolean]
 * @typedef {ScoreOptions & ExclusionOptions
 *   & StageOptions<Scaled, Capped, Biased, Weights, LogSumExp, Sums>} LayerAttentionOptions
 */

/**
 * @typedef {object} DropoutOption
 * @property {Dropout | number} [dropout]  dropout of the weights, for training
 */

/**
 * @template {boolean} [Scaled=boolean]
 * @template {boolean} [Capped=boolean]
 * @template {boolean} [Biased=boolean]
 * @template {boolean} [Weights=boolean]
 * @template {boolean} [LogSumExp=boolean]
 * @template {boolean} [Sums=boolean]
 * @typedef {LayerAttentionOptions<Scaled, Capped, Biased, Weights, LogSumExp, Sums>
 *   & DropoutOption} AttentionOptions
 */

/**
 * The results of `T` that a call returns for flags of the types in `Flags`. A result is present if its
 * flag is `true`, absent if it is `false`, and optional if it is `boolean`.
 * @template T
 * @template {Record<keyof T, boolean>} Flags
 * @typedef {{ [K in keyof T as Flags[K] extends true ? K : never]: T[K] }
 *   & { [K in keyof T as Flags[K] extends true ? never : K]?:
 *     Flags[K] extends false ? never : T[K] }} AskedFor
 */

/**
 * Every stage of attention: (B, Hq, Nq, Nk), without the dimensions that `query` lacks.
 * @template {ResultKind} [As='array']
 * @typedef {object} EveryStage
 * @property {ResultTensor<As>} scaledScores  with `needScaledScores`
 * @property {ResultTensor<As>} cappedScores  with `needCappedScores`
 * @property {ResultTensor<As>} biasedScores  with `needBiasedScores`
 * @property {ResultTensor<As>} weights  with `needWeights`
 * @property {ResultTensor<As>} logSumExp  with `needLogSumExp`: (B, Hq, Nq)
 * @property {ResultTensor<As>} columnSums  with `needColumnSums`: (B, Hq, Nk)
 */

/**
 * The requested stages of attention.
 * @template {ResultKind} [As='array']
 * @template {boolean} [Scaled=boolean]
 * @template {boolean} [Capped=boolean]
 * @template {boolean} [Biased=boolean]
 * @template {boolean} [Weights=boolean]
 * @template {boolean} [LogSumExp=boolean]
 * @template {boolean} [Sums=boolean]
 * @typedef {AskedFor<EveryStage<As>, {
 *   scaledScores: Scaled,
 *   cappedScores: Capped,
 *   biasedScores: Biased,
 *   weights: Weights,
 *   logSumExp: LogSumExp,
 *   columnSums: Sums,
 * }>} AttentionStages
 */

/**
 * The sizes of a call.
 * @typedef {object} ScoreSizes
 * @property {number} batch
 * @property {number} numHeads
 * @property {number} numQueries
 * @property {number} numKeys
 * @property {number} headDim
 * @property {number} valueDim
 */

/** @type {Names<ScoreOptions & ExclusionOptions>} */
export const kScoreNames = {
  scale: true,
  relativeKeys: true,
  relativeValues: true,
  softcap: true,
  alibiSlopes: true,
  t5Bias: true,
  bias: true,
  sinks: true,
  diagonal: true,
  causal: true,
  window: true,
  validLens: true,
  keyLens: true,
  cuSeqlens: true,
  cuSeqlensK: true,
  mask: true,
};

/** @type {Names<LayerAttentionOptions>} */
export const kLayerAttentionNames = {
  ...kScoreNames,
  needScaledScores: true,
  needCappedScores: true,
  needBiasedScores: true,
  needWeights: true,
  needLogSumExp: true,
  needColumnSums: true,
};

/** @type {Names<AttentionOptions>} */
export const kAttentionNames = { ...kLayerAttentionNames, dropout: true };

/** Allowed ranks of keys and values for each rank of the query. @type {Record<number, Ranks>} */
export const kSameRank = {
  2: { 2: '(the rank of query)' },
  3: { 3: '(the rank of query)' },
  4: { 4: '(the rank of query)' },
};

/**
 * Returns the sizes of a tensor (B, H, N, D), (B, N, D) or (N, D) by name.
 * @param {readonly number[]} shape
 */
export function sizesOf(shape) {
  const rank = shape.length;
  const batch = rank > 2 ? shape[0] : 1;
  const heads = rank > 3 ? shape[1] : 1;
  return { batch, heads, length: shape[rank - 2], width: shape[rank - 1] };
}
