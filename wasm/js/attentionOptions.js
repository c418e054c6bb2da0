import { checkBroadcast, checkNumbers, checkShape, formatShape, invalid } from './tensor.js';
import { AttnError } from './errors.js';

/** @import { Memory } from './memory.js' */
/** @import { NativeAttentionOptions } from './runtime.js' */
/** @import { TensorLike } from './tensor.js' */

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
 * A boolean tensor: `true`, or anything but 0, attends.
 * @typedef {object} Mask
 * @property {Uint8Array | readonly (boolean | number)[]} data  row-major
 * @property {readonly number[]} shape
 */

/**
 * Which keys a query attends to: those that every option given lets through. A query left with none
 * has output 0 and weights 0. NaN and infinity in what is excluded have no effect.
 * @typedef {object} ExclusionOptions
 * @property {boolean | Diagonal} [causal]  attend to keys `j ≤ i + offset` only; `true` is
 *   `'topLeft'`
 * @property {Window} [window]
 * @property {ArrayLike<number> | TensorLike} [validLens]  how many keys are attended to, from the
 *   first on: B lengths, or a tensor of shape (B,) or (B, Nq)
 * @property {Mask} [mask]  broadcasts to (B, H, Nq, Nk) from the right
 */

/**
 * @typedef {object} ScoreSizes
 * @property {number} batch
 * @property {number} numHeads
 * @property {number} numQueries
 * @property {number} numKeys
 */

/**
 * Checks the options against the sizes of a call. Copies nothing.
 * @param {ExclusionOptions} options
 * @param {ScoreSizes} sizes
 */
export function checkExclusion({ causal, window, validLens, mask }, sizes) {
  const { batch, numHeads, numQueries, numKeys } = sizes;
  if (causal !== undefined && typeof causal !== 'boolean') checkDiagonal('causal', causal);
  if (window) {
    checkSide('window.left', window.left);
    checkSide('window.right', window.right);
    if (window.diagonal !== undefined) checkDiagonal('window.diagonal', window.diagonal);
  }
  if (validLens) {
    const { data, shape } = lengths(validLens);
    checkNumbers('validLens', data);
    const length = checkShape('validLens', shape);
    const fits =
      (shape.length === 1 || (shape.length === 2 && shape[1] === numQueries)) &&
      shape[0] === batch &&
      data.length === length;
    if (!fits) {
      const needs = `${formatShape([batch])} or ${formatShape([batch, numQueries])}`;
      const message = `validLens: got shape ${formatShape(shape)}, needs ${needs}`;
      throw new AttnError('shape_mismatch', message);
    }
    for (let i = 0; i < length; ++i) {
      if (!Number.isInteger(data[i]) || data[i] < 0 || data[i] > numKeys) {
        const needs = `a length between 0 and the ${numKeys} keys`;
        throw invalid(`validLens[${i}]`, data[i], needs);
      }
    }
  }
  if (mask) {
    const length = checkShape('mask', mask.shape);
    if (!(mask.data instanceof Uint8Array || Array.isArray(mask.data))) {
      throw invalid('mask.data', mask.data, 'a Uint8Array or an array of booleans');
    }
    if (mask.data.length !== length) {
      const message = `mask: data has length ${mask.data.length}, shape ${formatShape(mask.shape)} needs ${length}`;
      throw new AttnError('shape_mismatch', message);
    }
    checkBroadcast('mask', mask.shape, [batch, numHeads, numQueries, numKeys]);
  }
}

/**
 * Copies checked options in.
 * @param {NativeAttentionOptions} native
 * @param {Memory} memory
 * @param {ExclusionOptions} options
 */
export function setExclusion(native, memory, { causal, window, validLens, mask }) {
  const diagonal = typeof causal === 'boolean' ? 'topLeft' : causal;
  if (causal !== undefined && causal !== false) native.setCausal(...split(diagonal));
  if (window) {
    const { left = Infinity, right = Infinity } = window;
    native.setWindow(left, right, ...split(window.diagonal ?? diagonal));
  }
  if (validLens) native.setValidLens(memory.ints('validLens', lengths(validLens)));
  if (mask) {
    const { data, shape } = mask;
    const bytes = data instanceof Uint8Array ? data : Uint8Array.from(data, (x) => (x ? 1 : 0));
    native.setMask(memory.bytes('mask', { data: bytes, shape }));
  }
}

/**
 * Copies the inputs of attention in; what is given as two of them, once.
 * @param {Memory} memory
 * @param {TensorLike} query
 * @param {TensorLike} key
 * @param {TensorLike} value
 * @returns {[query: number, key: number, value: number]} the addresses of their records
 */
export function copyIn(memory, query, key, value) {
  const q = memory.floats('query', query);
  const k = key === query ? q : memory.floats('key', key);
  const v = value === key ? k : value === query ? q : memory.floats('value', value);
  return [q, k, v];
}

/**
 * @param {Diagonal} [diagonal]
 * @returns {[bottomRight: boolean, offset: number]}
 */
function split(diagonal) {
  return [diagonal === 'bottomRight', typeof diagonal === 'number' ? diagonal : 0];
}

/**
 * @param {ArrayLike<number> | TensorLike} validLens
 * @returns {TensorLike}
 */
function lengths(validLens) {
  if ('data' in validLens) return validLens;
  return { data: validLens, shape: [validLens.length] };
}

/**
 * @param {string} name
 * @param {Diagonal} diagonal
 */
function checkDiagonal(name, diagonal) {
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
