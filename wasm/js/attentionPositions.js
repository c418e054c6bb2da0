import { checkOptions, flag, optionalNatural } from './checks.js';
import { checkInteger } from './errors.js';
import { checkWindow } from './nativeAttentionOptions.js';
import { readOptions } from './options.js';
import { checkRotary, kRotaryRule, nativeRotary } from './rotaryEmbedding.js';
import { kBuckets } from './t5Bias.js';

/** @import { Check } from './checks.js' */
/** @import * as Native from './native.js' */
/** @import { NativeCall } from './nativeCall.js' */
/** @import { Names } from './options.js' */
/** @import { NumbersLike } from './tensor.js' */
/** @import { RotaryRule } from './rotaryEmbedding.js' */
/** @import { T5BucketOptions } from './t5Bias.js' */

/**
 * @typedef {RotaryRule & { rotaryDim?: number }} LayerRotaryOptions  `rotaryDim` is the whole
 *   head by default
 */

/**
 * Ways in which a layer's attention uses positions. You can combine them or use none. Every way
 * aligns query i with key i + offset, where `diagonal` sets the offset.
 * @typedef {object} AttentionPositions
 * @property {LayerRotaryOptions} [rotary]  rotates projected queries and keys
 * @property {boolean} [alibi]  adds ALiBi with the slopes of `alibiSlopes()`
 * @property {T5BucketOptions} [t5Bias]  adds T5's bias, with a table that belongs to the layer
 * @property {number} [maxRelativeDistance]  adds Shaw's relative keys and values for distances up
 *   to this number, k, with tables that belong to the layer
 */

/**
 * Positions of the tokens in a call, for a layer with rotary positions.
 * @typedef {object} PositionsOption
 * @property {ArrayLike<number> | NumbersLike} [positions]  (N,) or (B, N). With several axes (see
 *   the layer's `sections`), (A, B, N), or (A, 1, N) if the batch shares the positions, like
 *   Qwen2-VL's position_ids. By default, positions follow from the token order, the diagonal and a
 *   cache. Causal order, windows and all other positions always follow the order of the tokens
 */

/**
 * @typedef {object} KeyPositionsOption
 * @property {ArrayLike<number> | NumbersLike} [keyPositions]  positions of the keys; `positions` by default
 */

/** @type {Names<LayerRotaryOptions>} */
const kRotary = { rotaryDim: true, ...kRotaryRule };

/** @type {Check} */
const rotary = (name, value) => {
  if (value === undefined) return undefined;
  value = readOptions(value, kRotary, name);
  const { rotaryDim = 0 } = value;
  checkInteger(`${name}.rotaryDim`, rotaryDim, 0);
  return checkRotary(value, rotaryDim, name);
};

/** @type {Check} */
const t5Bias = (name, value) =>
  value === undefined ? undefined : checkOptions(value, kBuckets, name);

const kPositions = { rotary, alibi: flag(false), t5Bias, maxRelativeDistance: optionalNatural };

/** @type {Check} */
export const positions = (name, value = {}) => checkOptions(value, kPositions, name);

/** @type {Check} */
export const optionalWindow = (name, value) =>
  value === undefined ? undefined : checkWindow(name, value);

/**
 * Returns the options of an attention layer in the form that C++ expects, where NaN means that an
 * option has no value. Call this function inside NativeCall.run().
 * @param {NativeCall} call
 * @param {any} sizes  checked sizes
 */
export function nativeAttentionSizes(call, { headDim, positions, window, ...others }) {
  return {
    ...others,
    // The default, dModel / numHeads, may be a fraction. C++ then reports the error.
    headDim: Number.isInteger(headDim) ? headDim : NaN,
    positions: { ...positions, rotary: positions.rotary && nativeRotary(call, positions.rotary) },
    window: window && { left: bound(window.left), right: bound(window.right) },
  };
}

/** @param {number} keys */
const bound = (keys) => (keys === Infinity ? NaN : keys);
