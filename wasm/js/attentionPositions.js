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
 * @typedef {RotaryRule & { rotaryDim?: number }} LayerRotaryOptions  by default the whole head is
 *   rotated
 */

/**
 * How a layer's attention knows positions: by none of these, any one, or several together. All take
 * query i to be at key i + offset of `diagonal`.
 * @typedef {object} AttentionPositions
 * @property {LayerRotaryOptions} [rotary]  rotates projected queries and keys
 * @property {boolean} [alibi]  the slopes of `alibiSlopes()`
 * @property {T5BucketOptions} [t5Bias]  with a table of the layer's own
 * @property {number} [maxRelativeDistance]  k of Shaw's relative keys and values, with tables of the
 *   layer's own
 */

/**
 * Where the tokens of a call stand, for a layer with rotary positions.
 * @typedef {object} PositionsOption
 * @property {ArrayLike<number> | NumbersLike} [positions]  by default those that follow from the order of
 *   the tokens, the diagonal and a cache. (N,), or (B, N); along several axes, which the layer's
 *   `sections` are for, (A, B, N), or (A, 1, N) for those that the batch shares, as Qwen2-VL's
 *   position_ids. The causal order, windows and all other positions go by the order of the tokens as ever
 */

/**
 * @typedef {object} KeyPositionsOption
 * @property {ArrayLike<number> | NumbersLike} [keyPositions]  those of the keys; `positions` by default
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
 * The options of a layer that attends as C++ takes them, inside run(). NaN stands for none.
 * @param {NativeCall} call
 * @param {any} sizes  that were checked
 */
export function nativeAttentionSizes(call, { headDim, positions, window, ...others }) {
  return {
    ...others,
    // Of a fraction C++ says what is wrong with it.
    headDim: Number.isInteger(headDim) ? headDim : NaN,
    positions: { ...positions, rotary: positions.rotary && nativeRotary(call, positions.rotary) },
    window: window && { left: bound(window.left), right: bound(window.right) },
  };
}

/** @param {number} keys */
const bound = (keys) => (keys === Infinity ? NaN : keys);
