import { invalid } from './errors.js';
import { checkDropout } from './dropout.js';
import { readOptions, wanted } from './options.js';
import {
  checkBroadcast,
  checkEqual,
  checkShapeIs,
  formatShape,
  mismatch,
  wrongShape,
} from './shape.js';
import { asTensor, checkIntegers } from './tensor.js';
import { kSameRank, kT5Bias, kWindow, sizesOf } from './attentionOptions.js';
import { checkInteger } from './errors.js';

/** @import { AttentionOptions, Diagonal, ScoreSizes, Window } from './attentionOptions.js' */
/** @import { ElementsLike, ElementType } from './elementType.js' */
/** @import * as Native from './native.js' */
/** @import { NativeCall, NativeResult } from './nativeCall.js' */
/** @import { T5BiasOptions } from './t5Bias.js' */
/** @import { Integers, Ranks, TensorLike } from './tensor.js' */
/** @import { TensorHandle } from './tensorHandle.js' */

/**
 * Checked options of attention, in the form that C++ takes. Options that were not passed are undefined.
 * @typedef {ReturnType<typeof checkAttentionOptions>} CheckedAttentionOptions
 */

/**
 * Checks the options of attention, and describes their tensors and additional results.
 * @param {NativeCall} call
 * @param {AttentionOptions} options  options with checked names
 * @param {ScoreSizes} sizes
 * @param {readonly number[]} leading  the shape of additional results, without the last dimension (the keys)
 */
export function checkAttentionOptions(call, options, sizes, leading) {
  if (Object.keys(options).length === 0) return undefined;
  const { batch, numHeads, numQueries, numKeys, headDim, valueDim } = sizes;
  const scores = [batch, numHeads, numQueries, numKeys];
  const { scale, softcap, causal, diagonal, window, dropout, t5Bias, bias, mask } = options;
  const stage = (
    /** @type {string} */ name,
    /** @type {string} */ option,
    /** @type {boolean | undefined} */ need,
    shape = [...leading, numKeys],
    seenAs = scores,
  ) => (wanted(option, need) ? call.result(name, shape, seenAs) : undefined);
  return {
    scale: finite('scale', scale),
    diagonal: diagonal === undefined ? undefined : checkDiagonal(diagonal),
    relativeKeys: relative(call, 'relativeKeys', options.relativeKeys, numHeads, headDim),
    relativeValues: relative(call, 'relativeValues', options.relativeValues, numHeads, valueDim),
    softcap: finite('softcap', softcap),
    alibiSlopes: ofHeads(call, 'alibiSlopes', options.alibiSlopes, numHeads),
    t5Bias: t5Bias === undefined ? undefined : checkT5Bias(call, t5Bias, numHeads),
    bias: bias === undefined ? undefined : checkBias(call, bias, scores),
    mask: mask === undefined ? undefined : call.mask('mask', mask, scores, true),
    causal: causal === undefined ? undefined : wanted('causal', causal),
    window: window === undefined ? undefined : checkWindow('window', window),
    validLens: lengths(call, 'validLens', options.validLens, batch, numQueries, numKeys),
    keyLens: lengths(call, 'keyLens', options.keyLens, batch, undefined, numKeys),
    cuSeqlens: sequences(call, 'cuSeqlens', options.cuSeqlens, numQueries),
    cuSeqlensK: sequences(call, 'cuSeqlensK', options.cuSeqlensK, numKeys),
    sinks: ofHeads(call, 'sinks', options.sinks, numHeads),
    dropout: checkDropout(dropout),
    stages: {
      scaledScores: stage('scaledScores', 'needScaledScores', options.needScaledScores),
      cappedScores: stage('cappedScores', 'needCappedScores', options.needCappedScores),
      biasedScores: stage('biasedScores', 'needBiasedScores', options.needBiasedScores),
      weights: stage('weights', 'needWeights', options.needWeights),
      logSumExp: stage(
        'logSumExp',
        'needLogSumExp',
        options.needLogSumExp,
        [...leading],
        scores.slice(0, 3),
      ),
      columnSums: stage(
        'columnSums',
        'needColumnSums',
        options.needColumnSums,
        [...leading.slice(0, -1), numKeys],
        [batch, numHeads, numKeys],
      ),
    },
  };
}

/**
 * Describes queries, keys and values for C++, and checks that their ranks, batches and lengths
 * match.
 * @param {NativeCall} call
 * @param {ElementsLike | TensorHandle} query
 * @param {ElementsLike | TensorHandle} key
 * @param {ElementsLike | TensorHandle} value
 * @param {Ranks} ranks
 * @param {readonly ElementType[]} [types]  accepted element types
 */
export function checkInputs(call, query, key, value, ranks, types) {
  const q = call.tensor('query', query, ranks, undefined, types);
  const sameRank = kSameRank[q.shape.length];
  // Copies a tensor once, even if it is passed several times, as in self-attention.
  const k = key === query ? q : call.tensor('key', key, sameRank, undefined, types);
  const v = value === key ? k : call.tensor('value', value, sameRank, undefined, types);
  const queries = sizesOf(q.shape);
  const keys = sizesOf(k.shape);
  const values = sizesOf(v.shape);
  checkEqual('key', 'batch', keys.batch, 'the batch of query', queries.batch);
  checkEqual('value', 'batch', values.batch, 'the batch of query', queries.batch);
  checkEqual('key', 'length', keys.length, 'the length of value', values.length);
  return { q, k, v, queries, keys, values };
}

/**
 * Returns the options as a C++ object, or null if there are none. Call this function inside NativeCall.run().
 * @param {NativeCall} call
 * @param {CheckedAttentionOptions} checked
 */
export function nativeAttentionOptions(call, checked) {
  if (!checked) return null;
  const { stages, diagonal, window, dropout, t5Bias } = checked;
  const options = call.options('AttentionOptions');
  if (checked.scale !== undefined) options.setScale(checked.scale);
  if (diagonal !== undefined) setDiagonal(options, diagonal);
  if (checked.relativeKeys) options.setRelativeKeys(checked.relativeKeys.native);
  if (checked.relativeValues) options.setRelativeValues(checked.relativeValues.native);
  if (checked.softcap !== undefined) options.softcap = checked.softcap;
  if (checked.alibiSlopes) options.setAlibiSlopes(checked.alibiSlopes.native);
  if (t5Bias) options.setT5Bias(t5Bias.table.native, t5Bias.maxDistance, t5Bias.bidirectional);
  if (checked.bias) options.setBias(checked.bias.native);
  if (checked.mask) options.setMask(checked.mask.native);
  if (checked.causal !== undefined) options.causal = checked.causal;
  if (window) options.setWindow(window.left, window.right);
  if (checked.validLens) options.setValidLens(checked.validLens.native);
  if (checked.keyLens) options.setKeyLens(checked.keyLens.native);
  if (checked.cuSeqlens) options.setCuSeqlens(checked.cuSeqlens.native);
  if (checked.cuSeqlensK) options.setCuSeqlensK(checked.cuSeqlensK.native);
  if (checked.sinks) options.setSinks(checked.sinks.native);
  if (dropout.training) {
    options.setDropout(dropout.probability, dropout.random.seed, dropout.random.stream);
  }
  if (stages.scaledScores) options.setScaledScores(stages.scaledScores.tensor.native);
  if (stages.cappedScores) options.setCappedScores(stages.cappedScores.tensor.native);
  if (stages.biasedScores) options.setBiasedScores(stages.biasedScores.tensor.native);
  if (stages.weights) options.setWeights(stages.weights.tensor.native);
  if (stages.logSumExp) options.setLogSumExp(stages.logSumExp.tensor.native);
  if (stages.columnSums) options.setColumnSums(stages.columnSums.tensor.native);
  return options;
}

/**
 * Returns the requested results by name.
 * @param {NativeCall} call
 * @param {Record<string, NativeResult | undefined>} results
 * @returns {any}
 */
export function giveAll(call, results) {
  /** @type {Record<string, any>} */
  const given = {};
  for (const name in results) {
    const result = results[name];
    if (result) given[name] = call.give(result);
  }
  return given;
}

/**
 * @param {string} name
 * @param {number} [value]
 */
function finite(name, value) {
  if (value !== undefined && !Number.isFinite(value)) throw invalid(name, value, 'a finite number');
  return value;
}

/**
 * Returns `'bottomRight'` or the offset of the diagonal.
 * @param {Diagonal} diagonal
 */
export function checkDiagonal(diagonal) {
  if (diagonal === 'bottomRight') return diagonal;
  if (diagonal === 'topLeft') return 0;
  if (!Number.isSafeInteger(diagonal)) {
    throw invalid('diagonal', diagonal, "'topLeft', 'bottomRight' or a whole number of keys");
  }
  return diagonal;
}

/**
 * @param {Native.AttentionOptions} options
 * @param {ReturnType<typeof checkDiagonal>} diagonal
 */
export function setDiagonal(options, diagonal) {
  if (diagonal === 'bottomRight') options.setDiagonalToBottomRight();
  else options.setDiagonal(diagonal);
}

/**
 * @param {string} name
 * @param {Window} window
 */
export function checkWindow(name, window) {
  window = readOptions(window, kWindow, name);
  const side = (/** @type {'left' | 'right'} */ which) => {
    const { [which]: keys = Infinity } = window;
    if (keys === Infinity || (Number.isSafeInteger(keys) && keys >= 0)) return keys;
    throw invalid(`${name}.${which}`, keys, '0 or more keys');
  };
  return { left: side('left'), right: side('right') };
}

/**
 * @param {NativeCall} call
 * @param {T5BiasOptions} bias
 * @param {number} numHeads
 */
function checkT5Bias(call, bias, numHeads) {
  bias = readOptions(bias, kT5Bias, 't5Bias');
  const table = call.tensor('t5Bias.table', bias.table);
  checkShapeIs('t5Bias.table', table.shape, [-1, numHeads]);
  const { maxDistance = 128, bidirectional = true } = bias;
  checkInteger('t5Bias.maxDistance', maxDistance, 1);
  return { table, maxDistance, bidirectional: wanted('t5Bias.bidirectional', bidirectional) };
}

/**
 * @param {NativeCall} call
 * @param {TensorLike} bias
 * @param {readonly number[]} scores
 */
function checkBias(call, bias, scores) {
  const tensor = call.tensor('bias', bias);
  checkBroadcast('bias', tensor.shape, scores, true);
  return tensor;
}

/**
 * Checks lengths of shape (B,), and describes them for C++. If `numRows` is given, also accepts
 * shape (B, N).
 * @param {NativeCall} call
 * @param {string} name
 * @param {Integers | undefined} lens
 * @param {number} batch
 * @param {number | undefined} numRows
 * @param {number} most
 */
export function lengths(call, name, lens, batch, numRows, most) {
  if (lens === undefined) return undefined;
  const tensor = checkIntegers(
    name,
    lens,
    0,
    most,
    `a length from 0 to ${most}, the number of keys`,
  );
  const { shape } = tensor;
  const fits =
    shape[0] === batch && (shape.length === 1 || (shape.length === 2 && shape[1] === numRows));
  if (!fits) {
    const rows = numRows === undefined ? '' : ` or ${formatShape([batch, numRows])}`;
    throw wrongShape(name, shape, `${formatShape([batch])}${rows}`);
  }
  return call.numbers('ints', name, tensor);
}

/**
 * Describes the first rows of packed sequences for C++, which checks their order.
 * @param {NativeCall} call
 * @param {string} name
 * @param {Integers | undefined} starts
 * @param {number} numRows
 */
function sequences(call, name, starts, numRows) {
  if (starts === undefined) return undefined;
  const needs = `a row from 0 to ${numRows}`;
  return call.numbers('ints', name, checkIntegers(name, starts, 0, numRows, needs));
}

/**
 * Describes an option with one number per head for C++. The caller may pass a tensor or an array.
 * @param {NativeCall} call
 * @param {string} name
 * @param {TensorLike | ArrayLike<number> | undefined} values
 * @param {number} numHeads
 */
function ofHeads(call, name, values, numHeads) {
  if (values === undefined) return undefined;
  const isTensor = values !== null && typeof values === 'object' && 'shape' in values;
  const tensor = call.tensor(name, isTensor ? values : asTensor(name, values));
  checkShapeIs(name, tensor.shape, [numHeads]);
  return tensor;
}

/**
 * Describes a table of relative positions for C++.
 * @param {NativeCall} call
 * @param {string} name
 * @param {TensorLike | undefined} table
 * @param {number} numHeads
 * @param {number} width
 */
function relative(call, name, table, numHeads, width) {
  if (table === undefined) return undefined;
  const tensor = call.tensor(name, table);
  checkShapeIs(name, tensor.shape, [-1, width], [numHeads, -1, width]);
  const rows = tensor.shape[tensor.shape.length - 2];
  if (rows % 2 === 0) throw mismatch(name, `${rows} rows`, 'an odd number of rows, 2k + 1');
  return tensor;
}
