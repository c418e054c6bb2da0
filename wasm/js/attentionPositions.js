import { readOptions, flag, optionalNatural, writeOptions } from './options.js';
import { kRotaryRule, writeRotary } from './rotaryEmbedding.js';
import { kT5Options } from './t5Bias.js';

/** @import { Names, Rule } from './options.js' */
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

/** @type {Rule} */
const rotary = (call, name, value) => {
  call.has(value !== undefined);
  if (value === undefined) return undefined;
  value = readOptions(value, kRotary, name);
  const { rotaryDim = 0 } = value;
  call.integer(`${name}.rotaryDim`, rotaryDim, 0);
  return writeRotary(call, value, name);
};

/** @type {Rule} */
const t5Bias = (call, name, value) => {
  call.has(value !== undefined);
  return value === undefined ? undefined : writeOptions(call, value, kT5Options, name);
};

/** @type {Names<LayerRotaryOptions>} */
const kRotary = { rotaryDim: true, ...kRotaryRule };

const kPositions = { rotary, alibi: flag(false), t5Bias, maxRelativeDistance: optionalNatural };

/**
 * Positions, as attention_positions() in C++ reads them.
 * @type {Rule}
 */
export const positions = (call, name, value = {}) => writeOptions(call, value, kPositions, name);
