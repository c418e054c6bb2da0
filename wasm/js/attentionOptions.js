import { checkDropout } from './dropout.js';
import { AttnError } from './errors.js';
import {
  asTensor,
  checkBroadcast,
  checkInteger,
  checkMask,
  checkNumber,
  checkShape,
  checkTensor,
  checkTensorOf,
  formatShape,
  invalid,
} from './tensor.js';

/** @import { Call, Result } from './call.js' */
/** @import { Dropout } from './dropout.js' */
/** @import { T5BiasOptions } from './t5Bias.js' */
/** @import { Integers, Mask, NumbersLike, Tensor, TensorLike } from './tensor.js' */
/** @import { ResultKind, ResultTensor } from './tensorHandle.js' */

/**
 * Where query `i` stands among the keys when both sequences differ in length: at key `i + offset`.
 * `'topLeft'` is offset 0, `'bottomRight'` puts the last query at the last key, and a number is the
 * offset itself: with a key/value cache, the past length.
 * @typedef {'topLeft' | 'bottomRight' | number} Diagonal
 */

/**
 * A sliding window: query `i` attends to keys `i + offset − left … i + offset + right`.
 * @typedef {object} Window
 * @property {number} [left]  keys to the left; unlimited by default
 * @property {number} [right]  keys to the right; unlimited by default
 * @property {Diagonal} [diagonal]  by default that of `causal`, else `'topLeft'`
 */

/**
 * Which keys a query attends to: those that every option given lets through. A query left with none
 * has output 0 and weights 0. NaN and infinity in what is excluded have no effect.
 * @typedef {object} ExclusionOptions
 * @property {boolean | Diagonal} [causal]  attend to keys `j ≤ i + offset` only; `true` is
 *   `'topLeft'`
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
 * @property {Diagonal} [relativeDiagonal]  where query i lies among the keys, for the terms that
 *   depend on the distance j − (i + offset): relative keys and values, ALiBi, T5; `'topLeft'` by
 *   default
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
 * @property {Dropout} [dropout]  of weights; for training
 */

/**
 * Which further results are wanted. Those of shape (B, Hq, Nq, Nk) cost a second pass.
 * @typedef {object} StageOptions
 * @property {boolean} [needScaledScores]  scale · q·k, and the term of relative keys
 * @property {boolean} [needCappedScores]  after softcap
 * @property {boolean} [needBiasedScores]  after bias and exclusion: −∞ where excluded
 * @property {boolean} [needWeights]  after softmax and dropout
 * @property {boolean} [needLogSumExp]  ln Σ_j exp(score_ij) over attended keys, and the sink
 */

/** @typedef {ScoreOptions & ExclusionOptions & StageOptions} AttentionOptions */

/**
 * The stages of attention that were asked for: (B, Hq, Nq, Nk), without the dimensions that `query`
 * lacks.
 * @template {ResultKind} [As='array']
 * @typedef {object} AttentionStages
 * @property {ResultTensor<As>} [scaledScores]  with `needScaledScores`
 * @property {ResultTensor<As>} [cappedScores]  with `needCappedScores`
 * @property {ResultTensor<As>} [biasedScores]  with `needBiasedScores`
 * @property {ResultTensor<As>} [weights]  with `needWeights`
 * @property {ResultTensor<As>} [logSumExp]  with `needLogSumExp`: (B, Hq, Nq)
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

/**
 * Checks the options against the sizes of a call. Copies nothing.
 * @param {AttentionOptions} options
 * @param {ScoreSizes} sizes
 */
export function checkAttentionOptions(options, sizes) {
  const { batch, numHeads, numQueries, numKeys } = sizes;
  if (options.scale !== undefined) checkNumber('scale', Math.fround(options.scale));
  if (options.softcap !== undefined) checkNumber('softcap', options.softcap);
  if (options.relativeDiagonal !== undefined) {
    checkDiagonal('relativeDiagonal', options.relativeDiagonal);
  }
  if (options.relativeKeys) {
    checkRelative('relativeKeys', options.relativeKeys, numHeads, sizes.headDim);
  }
  if (options.relativeValues) {
    checkRelative('relativeValues', options.relativeValues, numHeads, sizes.valueDim);
  }
  if (options.alibiSlopes) {
    checkTensorOf('alibiSlopes', numbers('alibiSlopes', options.alibiSlopes), [numHeads]);
  }
  if (options.t5Bias) {
    const { table, maxDistance = 128 } = options.t5Bias;
    checkTensorOf('t5Bias.table', table, [-1, numHeads]);
    checkInteger('t5Bias.maxDistance', maxDistance, 1);
  }
  const scores = [batch, numHeads, numQueries, numKeys];
  if (options.bias) {
    checkTensor('bias', options.bias);
    checkBroadcast('bias', options.bias.shape, scores, true);
  }
  if (options.mask) checkMask('mask', options.mask, scores, true);
  const { causal, window } = options;
  if (causal !== undefined && typeof causal !== 'boolean') checkDiagonal('causal', causal);
  if (window) {
    checkSide('window.left', window.left);
    checkSide('window.right', window.right);
    if (window.diagonal !== undefined) checkDiagonal('window.diagonal', window.diagonal);
  }
  if (options.validLens) {
    lengthsOf('validLens', options.validLens, batch, numQueries, numKeys);
  }
  if (options.keyLens) lengthsOf('keyLens', options.keyLens, batch, undefined, numKeys);
  if (options.sinks) checkTensorOf('sinks', numbers('sinks', options.sinks), [numHeads]);
  if (options.dropout) checkDropout(options.dropout);
  if (
    options.needWeights ||
    options.needScaledScores ||
    options.needCappedScores ||
    options.needBiasedScores
  ) {
    checkShape('weights', scores);
  }
}

/**
 * Writes checked options, as attention_options() in C++ reads them.
 * @param {Call} call
 * @param {AttentionOptions} options
 * @param {ScoreSizes} sizes
 * @param {readonly number[]} leading  the shape of the scores without their last dimension, as the
 *   caller is to see it
 */
export function writeAttentionOptions(call, options, sizes, leading) {
  call.optional(options.scale);
  call.diagonal(options.relativeDiagonal ?? 'topLeft');
  call.floats('relativeKeys', options.relativeKeys);
  call.floats('relativeValues', options.relativeValues);
  call.number(options.softcap ?? 0);
  call.floats('alibiSlopes', options.alibiSlopes && numbers('alibiSlopes', options.alibiSlopes));
  const { t5Bias } = options;
  call.flag(t5Bias);
  if (t5Bias) {
    call.floats('t5Bias.table', t5Bias.table);
    call.flag(t5Bias.bidirectional ?? true);
    call.number(t5Bias.maxDistance ?? 128);
  }
  call.floats('bias', options.bias);
  call.mask('mask', options.mask);
  const { causal = false, window } = options;
  call.diagonal(causal);
  call.flag(window);
  if (window) {
    call.optional(window.left === Infinity ? undefined : window.left);
    call.optional(window.right === Infinity ? undefined : window.right);
    call.diagonal(window.diagonal ?? (causal || 'topLeft'));
  }
  call.ints('validLens', options.validLens && asTensor('validLens', options.validLens));
  call.ints('keyLens', options.keyLens && asTensor('keyLens', options.keyLens));
  call.floats('sinks', options.sinks && numbers('sinks', options.sinks));
  call.dropout(options.dropout);
  return writeStages(call, options, sizes, leading);
}

/**
 * @typedef {Partial<Record<keyof AttentionStages, Result>>} StageResults
 */

/**
 * @param {Call} call
 * @param {StageOptions} options
 * @param {ScoreSizes} sizes
 * @param {readonly number[]} leading
 * @returns {StageResults | undefined}
 */
function writeStages(call, options, { batch, numHeads, numQueries, numKeys }, leading) {
  const { needScaledScores, needCappedScores, needBiasedScores, needWeights, needLogSumExp } =
    options;
  if (!(needWeights || needScaledScores || needCappedScores || needBiasedScores || needLogSumExp)) {
    for (let i = 0; i < 5; ++i) call.none();
    return undefined;
  }
  const shape = [...leading, numKeys];
  const seenAs = [batch, numHeads, numQueries, numKeys];
  return {
    scaledScores: call.resultIf(needScaledScores, 'scaledScores', shape, seenAs),
    cappedScores: call.resultIf(needCappedScores, 'cappedScores', shape, seenAs),
    biasedScores: call.resultIf(needBiasedScores, 'biasedScores', shape, seenAs),
    weights: call.resultIf(needWeights, 'weights', shape, seenAs),
    logSumExp: call.resultIf(needLogSumExp, 'logSumExp', leading, seenAs.slice(0, 3)),
  };
}

/**
 * The results as the caller gets them.
 * @param {Call} call
 * @param {Result} output
 * @param {StageResults} [stages]
 * @returns {any}
 */
export function giveStages(call, output, stages) {
  const results = { output: call.give(output) };
  if (!stages) return results;
  return giveEach(call, stages, results);
}

/**
 * Gives results that were asked for, each under its name.
 * @param {Call} call
 * @param {Record<string, Result | undefined>} results
 * @param {Record<string, any>} given  what they are added to
 * @returns {any}
 */
export function giveEach(call, results, given = {}) {
  for (const [name, result] of Object.entries(results)) {
    if (result) given[name] = call.give(result);
  }
  return given;
}

/**
 * Writes the inputs of attention; what is given as two of them is copied in once.
 * @param {Call} call
 * @param {TensorLike} query
 * @param {TensorLike} key
 * @param {TensorLike} value
 */
export function writeInputs(call, query, key, value) {
  const q = call.floats('query', query);
  const k = key === query ? call.again(q) : call.floats('key', key);
  if (value === key) call.again(k);
  else if (value === query) call.again(q);
  else call.floats('value', value);
}

/**
 * Lengths as a tensor (B,) or, where there are rows, (B, N), checked.
 * @param {string} name
 * @param {Integers} lens
 * @param {number} batch
 * @param {number | undefined} numRows
 * @param {number} most
 * @returns {NumbersLike}
 */
export function lengthsOf(name, lens, batch, numRows, most) {
  const tensor = asTensor(name, lens);
  const { data, shape } = tensor;
  const fits =
    shape[0] === batch && (shape.length === 1 || (shape.length === 2 && shape[1] === numRows));
  if (!fits) {
    const rows = numRows === undefined ? '' : ` or ${formatShape([batch, numRows])}`;
    const needs = `${formatShape([batch])}${rows}`;
    const message = `${name}: got shape ${formatShape(shape)}, needs ${needs}`;
    throw new AttnError('shape_mismatch', message);
  }
  for (let i = 0; i < data.length; ++i) {
    if (!Number.isInteger(data[i]) || data[i] < 0 || data[i] > most) {
      throw invalid(`${name}[${i}]`, data[i], `a length between 0 and the ${most} keys`);
    }
  }
  return tensor;
}

/**
 * A tensor of rank 1 that may be given as an array.
 * @param {string} name
 * @param {TensorLike | ArrayLike<number>} values
 * @returns {TensorLike}
 */
function numbers(name, values) {
  return typeof values === 'object' && values !== null && 'shape' in values
    ? values
    : asTensor(name, values);
}

/**
 * @param {string} name
 * @param {TensorLike} table
 * @param {number} numHeads
 * @param {number} width
 */
function checkRelative(name, table, numHeads, width) {
  checkTensorOf(name, table, [-1, width], [numHeads, -1, width]);
  const rows = table.shape[table.shape.length - 2];
  if (rows % 2 === 0) {
    const message = `${name}: got ${rows} rows, needs an odd number 2k+1 of them`;
    throw new AttnError('shape_mismatch', message);
  }
}

/**
 * @param {string} name
 * @param {Diagonal} diagonal
 */
export function checkDiagonal(name, diagonal) {
  if (diagonal === 'topLeft' || diagonal === 'bottomRight') return;
  if (!Number.isSafeInteger(diagonal)) {
    throw invalid(name, diagonal, "'topLeft', 'bottomRight' or a whole number of keys");
  }
}

/**
 * @param {string} name
 * @param {number} [side]
 */
function checkSide(name, side) {
  if (side === undefined || side === Infinity) return;
  if (!Number.isSafeInteger(side) || side < 0) throw invalid(name, side, '0 or more keys');
}
