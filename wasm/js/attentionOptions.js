import { invalid } from './errors.js';
import { Kind } from './kind.js';
import { readOptions, flag, size, wanted, writeValues } from './options.js';
import { checkBroadcast, checkEqual, formatShape, mismatch, wrongShape } from './shape.js';
import { asTensor, checkIntegers } from './tensor.js';
import { TensorHandle } from './tensorHandle.js';

/** @import { Call, Result } from './call.js' */
/** @import { Dropout } from './dropout.js' */
/** @import { ElementsLike } from './elementType.js' */
/** @import { Names } from './options.js' */
/** @import { T5BiasOptions } from './t5Bias.js' */
/** @import { Integers, Mask, Ranks, TensorLike } from './tensor.js' */
/** @import { ResultKind, ResultTensor } from './tensorHandle.js' */

/** Which distances share a bucket of T5's bias. */
export const kT5Rule = { maxDistance: size(128), bidirectional: flag(true) };

/** @type {Names<T5BiasOptions>} */
export const kT5Bias = { table: true, ...kT5Rule };

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

/** @typedef {Partial<Record<keyof EveryStage, Result>>} StageResults */

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

/**
 * Writes queries, keys and values of one rank, whose batches and lengths fit together.
 * @param {Call} call
 * @param {ElementsLike | TensorHandle} query
 * @param {ElementsLike | TensorHandle} key
 * @param {ElementsLike | TensorHandle} value
 * @param {Ranks} ranks
 * @param {'floats' | 'elements'} types  that they may have
 * @param {number} [numHeads]  as for Call.floats()
 * @param {number} [numKvHeads]
 */
export function writeInputs(call, query, key, value, ranks, types, numHeads, numKvHeads) {
  const shape = call[types]('query', query, ranks, numHeads);
  // (B, N, H·D) is seen as (B, H, N, D).
  const sameRank = kSameRank[ranks[shape.length] ? shape.length : 3];
  const q = sizesOf(shape);
  const k = sizesOf(call[types]('key', key, sameRank, numKvHeads));
  const v = sizesOf(call[types]('value', value, sameRank, numKvHeads));
  checkEqual('key', 'batch', k.batch, 'the batch of query', q.batch);
  checkEqual('value', 'batch', v.batch, 'the batch of query', q.batch);
  checkEqual('key', 'length', k.length, 'the length of value', v.length);
  return { shape, q, k, v };
}

/**
 * Writes options, whose names are checked, as attention_options() in C++ reads them.
 * @param {Call} call
 * @param {AttentionOptions} options
 * @param {ScoreSizes} sizes
 * @param {readonly number[]} leading  the shape of the scores without their last dimension, as the
 *   caller is to see it
 * @returns {StageResults | undefined}
 */
export function writeAttentionOptions(call, options, sizes, leading) {
  const { batch, numHeads, numQueries, numKeys, headDim, valueDim } = sizes;
  const { scale, diagonal = 'topLeft', softcap = 0, bias } = options;
  const scores = [batch, numHeads, numQueries, numKeys];
  call.optionalReal('scale', scale);
  writeDiagonal(call, diagonal);
  writeRelative(call, 'relativeKeys', options.relativeKeys, numHeads, headDim);
  writeRelative(call, 'relativeValues', options.relativeValues, numHeads, valueDim);
  call.real('softcap', softcap);
  writeOfHeads(call, 'alibiSlopes', options.alibiSlopes, numHeads);
  call.has(options.t5Bias !== undefined);
  if (options.t5Bias !== undefined) {
    const t5Bias = readOptions(options.t5Bias, kT5Bias, 't5Bias');
    call.floatsOf('t5Bias.table', t5Bias.table, [-1, numHeads]);
    writeValues(call, t5Bias, kT5Rule, 't5Bias');
  }
  if (bias === undefined) call.none(Kind.floats);
  else checkBroadcast('bias', call.floats('bias', bias), scores, true);
  call.mask('mask', options.mask, scores, true);
  const { causal = false, window } = options;
  call.flag('causal', causal);
  writeWindow(call, 'window', window);
  writeLengths(call, 'validLens', options.validLens, batch, numQueries, numKeys);
  writeLengths(call, 'keyLens', options.keyLens, batch, undefined, numKeys);
  writeOfHeads(call, 'sinks', options.sinks, numHeads);
  call.dropout(options.dropout);

  const needScaledScores = wanted('needScaledScores', options.needScaledScores);
  const needCappedScores = wanted('needCappedScores', options.needCappedScores);
  const needBiasedScores = wanted('needBiasedScores', options.needBiasedScores);
  const needWeights = wanted('needWeights', options.needWeights);
  const needLogSumExp = wanted('needLogSumExp', options.needLogSumExp);
  if (!(needWeights || needScaledScores || needCappedScores || needBiasedScores || needLogSumExp)) {
    for (let i = 0; i < 5; ++i) call.none(Kind.result);
    return undefined;
  }
  const shape = [...leading, numKeys];
  return {
    scaledScores: call.resultIf(needScaledScores, 'scaledScores', shape, scores),
    cappedScores: call.resultIf(needCappedScores, 'cappedScores', shape, scores),
    biasedScores: call.resultIf(needBiasedScores, 'biasedScores', shape, scores),
    weights: call.resultIf(needWeights, 'weights', shape, scores),
    logSumExp: call.resultIf(needLogSumExp, 'logSumExp', leading, scores.slice(0, 3)),
  };
}

/**
 * Gives results that were asked for, each under its name.
 * @param {Call} call
 * @param {Record<string, Result | undefined>} [results]
 * @param {Record<string, any>} [given]  what they are added to
 * @returns {any}
 */
export function giveEach(call, results, given = {}) {
  for (const name in results) {
    const result = results[name];
    if (result) given[name] = call.give(result);
  }
  return given;
}

/**
 * The same of attention, with its output.
 * @param {Call} call
 * @param {Result} output
 * @param {StageResults} [stages]
 */
export const giveStages = (call, output, stages) =>
  giveEach(call, stages, { output: call.give(output) });

/**
 * A sliding window, or none.
 * @param {Call} call
 * @param {string} name
 * @param {Window} [window]
 */
export function writeWindow(call, name, window) {
  call.has(window !== undefined);
  if (window === undefined) return undefined;
  window = readOptions(window, kWindow, name);
  writeSide(call, `${name}.left`, window.left);
  writeSide(call, `${name}.right`, window.right);
  return window;
}

/**
 * Writes lengths (B,) or, where there are rows, (B, N); or none.
 * @param {Call} call
 * @param {string} name
 * @param {Integers | undefined} lens
 * @param {number} batch
 * @param {number | undefined} numRows
 * @param {number} most
 */
export function writeLengths(call, name, lens, batch, numRows, most) {
  if (lens === undefined) return call.none(Kind.ints);
  const tensor = checkIntegers(name, lens, 0, most, `a length between 0 and the ${most} keys`);
  const { shape } = tensor;
  const fits =
    shape[0] === batch && (shape.length === 1 || (shape.length === 2 && shape[1] === numRows));
  if (!fits) {
    const rows = numRows === undefined ? '' : ` or ${formatShape([batch, numRows])}`;
    throw wrongShape(name, shape, `${formatShape([batch])}${rows}`);
  }
  call.numbers('ints', name, tensor);
}

/**
 * A number for each head, which may be given as an array, or left out.
 * @param {Call} call
 * @param {string} name
 * @param {TensorLike | ArrayLike<number> | undefined} values
 * @param {number} numHeads
 */
function writeOfHeads(call, name, values, numHeads) {
  if (values === undefined) return call.none(Kind.floats);
  const isHandle = values instanceof TensorHandle;
  call.floatsOf(name, isHandle ? values : asTensor(name, values), [numHeads]);
}

/**
 * A table of relative positions, which may be left out.
 * @param {Call} call
 * @param {string} name
 * @param {TensorLike | undefined} table
 * @param {number} numHeads
 * @param {number} width
 */
function writeRelative(call, name, table, numHeads, width) {
  if (table === undefined) return call.none(Kind.floats);
  const shape = call.floatsOf(name, table, [-1, width], [numHeads, -1, width]);
  const rows = shape[shape.length - 2];
  if (rows % 2 === 0) throw mismatch(name, `${rows} rows`, 'an odd number 2k+1 of them');
}

/**
 * Where query 0 stands among the keys.
 * @param {Call} call
 * @param {Diagonal} diagonal
 */
export function writeDiagonal(call, diagonal) {
  if (diagonal === 'bottomRight') return call.put(Kind.optionalInteger, NaN);
  if (diagonal === 'topLeft') return call.put(Kind.optionalInteger, 0);
  if (!Number.isSafeInteger(diagonal)) {
    throw invalid('diagonal', diagonal, "'topLeft', 'bottomRight' or a whole number of keys");
  }
  call.put(Kind.optionalInteger, diagonal);
}

/**
 * @param {Call} call
 * @param {string} name
 * @param {number} [side]
 */
function writeSide(call, name, side = Infinity) {
  if (side === Infinity) return call.put(Kind.optionalInteger, NaN);
  if (!Number.isSafeInteger(side) || side < 0) throw invalid(name, side, '0 or more keys');
  call.put(Kind.optionalInteger, side);
}
