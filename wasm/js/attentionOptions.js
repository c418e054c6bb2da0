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
 * Where query `i` stands among the keys when both sequences differ in length: at key `i + offset`.
 * `'topLeft'` is offset 0, `'bottomRight'` puts the last query at the last key, and a number is the
 * offset itself: with a key/value cache, the past length.
 * @typedef {'topLeft' | 'bottomRight' | number} Diagonal
 */

/**
 * A sliding window: query `i` attends to keys `i + offset − left … i + offset + right`, where the
 * offset is that of the option `diagonal`.
 * @typedef {object} Window
 * @property {number} [left]  keys to the left; unlimited by default
 * @property {number} [right]  keys to the right; unlimited by default
 */

/**
 * Which keys a query attends to: those that every option given lets through. A query left with none
 * has output 0 and weights 0. NaN and infinity in what is excluded have no effect.
 * @typedef {object} ExclusionOptions
 * @property {Diagonal} [diagonal]  which key query i stands at, i + offset: for causal order, the
 *   window, and the terms of the score that depend on the distance j − (i + offset), which are
 *   relative keys and values, ALiBi and T5; `'topLeft'` by default
 * @property {boolean} [causal]  attend to keys `j ≤ i + offset` of `diagonal` only
 * @property {Window} [window]
 * @property {Integers} [validLens]  how many keys are attended to, from the first on: B lengths, or a
 *   tensor of shape (B,) or (B, Nq)
 * @property {Integers} [keyLens]  how many keys batch entry b really has, the others being padding:
 *   B lengths. Unlike `validLens` they also move `'bottomRight'`
 * @property {Mask} [mask]  broadcasts to (B, Hq, Nq, Nk) from the right. A last size between 2 and Nk
 *   excludes the keys beyond it
 */

/**
 * What scores are made of, in the order in which it acts.
 * @typedef {object} ScoreOptions
 * @property {number} [scale]  factor on q·k; 1/√D by default
 * @property {TensorLike} [relativeKeys]  Shaw's, (2k+1, D) or (Hq, 2k+1, D): row c stands for
 *   distance c − k, the outer ones for all beyond; adds scale · q·a_c to the score
 * @property {TensorLike} [relativeValues]  (2k+1, Dv) or (Hq, 2k+1, Dv): output_i += Σ_j weight_ij ·
 *   a_c. With both, k is the same
 * @property {number} [softcap]  when c > 0, scores become c·tanh(score / c)
 * @property {TensorLike | ArrayLike<number>} [alibiSlopes]  (Hq,): adds −slope_h · |distance|, see
 *   `alibiSlopes()`
 * @property {T5BiasOptions} [t5Bias]  adds table[bucket(distance), h]
 * @property {TensorLike} [bias]  added; broadcasts to (B, Hq, Nq, Nk) from the right. −∞ excludes. A
 *   last size between 2 and Nk excludes the keys beyond it
 * @property {TensorLike | ArrayLike<number>} [sinks]  (Hq,): a further score per head that takes part
 *   in the softmax but has no value
 */

/**
 * Which further results are wanted. Those of shape (B, Hq, Nq, Nk) cost a second pass.
 * @template {boolean} [Scaled=boolean]
 * @template {boolean} [Capped=boolean]
 * @template {boolean} [Biased=boolean]
 * @template {boolean} [Weights=boolean]
 * @template {boolean} [LogSumExp=boolean]
 * @typedef {object} StageOptions
 * @property {Scaled} [needScaledScores]  scale · q·k, and the term of relative keys
 * @property {Capped} [needCappedScores]  after softcap
 * @property {Biased} [needBiasedScores]  after bias and exclusion: −∞ where excluded
 * @property {Weights} [needWeights]  after softmax and dropout
 * @property {LogSumExp} [needLogSumExp]  ln Σ_j exp(score_ij) over attended keys, and the sink
 */

/**
 * Of attention in a layer of a Transformer, whose call has a dropout that acts on the weights, too.
 * @template {boolean} [Scaled=boolean]
 * @template {boolean} [Capped=boolean]
 * @template {boolean} [Biased=boolean]
 * @template {boolean} [Weights=boolean]
 * @template {boolean} [LogSumExp=boolean]
 * @typedef {ScoreOptions & ExclusionOptions
 *   & StageOptions<Scaled, Capped, Biased, Weights, LogSumExp>} LayerAttentionOptions
 */

/**
 * @typedef {object} DropoutOption
 * @property {Dropout | number} [dropout]  of weights; for training
 */

/**
 * @template {boolean} [Scaled=boolean]
 * @template {boolean} [Capped=boolean]
 * @template {boolean} [Biased=boolean]
 * @template {boolean} [Weights=boolean]
 * @template {boolean} [LogSumExp=boolean]
 * @typedef {LayerAttentionOptions<Scaled, Capped, Biased, Weights, LogSumExp>
 *   & DropoutOption} AttentionOptions
 */

/**
 * Those of the results `T` that a call gives whose flags are of the types in `Flags`: with `true` a
 * result is there, with `false` it is not, and with `boolean` nobody knows.
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
 */

/**
 * The stages of attention that were asked for.
 * @template {ResultKind} [As='array']
 * @template {boolean} [Scaled=boolean]
 * @template {boolean} [Capped=boolean]
 * @template {boolean} [Biased=boolean]
 * @template {boolean} [Weights=boolean]
 * @template {boolean} [LogSumExp=boolean]
 * @typedef {AskedFor<EveryStage<As>, {
 *   scaledScores: Scaled,
 *   cappedScores: Capped,
 *   biasedScores: Biased,
 *   weights: Weights,
 *   logSumExp: LogSumExp,
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
};

/** @type {Names<AttentionOptions>} */
export const kAttentionNames = { ...kLayerAttentionNames, dropout: true };

/** Of keys and values, by the rank of the query. @type {Record<number, Ranks>} */
export const kSameRank = {
  2: { 2: 'as query has' },
  3: { 3: 'as query has' },
  4: { 4: 'as query has' },
};

/**
 * The sizes of (B, H, N, D), (B, N, D) or (N, D).
 * @param {readonly number[]} shape
 */
export function sizesOf(shape) {
  const rank = shape.length;
  const batch = rank > 2 ? shape[0] : 1;
  const heads = rank > 3 ? shape[1] : 1;
  return { batch, heads, length: shape[rank - 2], width: shape[rank - 1] };
}
