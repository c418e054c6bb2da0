import { checkOptions } from './errors.js';
import { writeOptions } from './options.js';
import { writeRotary } from './rotaryEmbedding.js';
import { kT5Options } from './t5Bias.js';

/** @import { Call } from './call.js' */
/** @import { RotaryRule } from './rotaryEmbedding.js' */
/** @import { T5BucketOptions } from './t5Bias.js' */

/**
 * @typedef {RotaryRule & { rotaryDim?: number }} LayerRotaryOptions  by default the whole head is
 *   rotated
 */

/**
 * How a layer's attention knows positions: by none of these, any one, or several together. All take
 * query i to be at key i + offset of `relativeDiagonal`.
 * @typedef {object} AttentionPositions
 * @property {LayerRotaryOptions} [rotary]  rotates projected queries and keys
 * @property {boolean} [alibi]  the slopes of `alibiSlopes()`
 * @property {T5BucketOptions} [t5Bias]  with a table of the layer's own
 * @property {number} [maxRelativeDistance]  k of Shaw's relative keys and values, with tables of the
 *   layer's own
 */

/**
 * Writes positions, as attention_positions() in C++ reads them.
 * @param {Call} call
 * @param {string} name
 * @param {AttentionPositions} [positions]
 */
export function writeAttentionPositions(call, name, positions = {}) {
  checkOptions(positions, name);
  const { rotary, alibi = false, t5Bias, maxRelativeDistance } = positions;
  call.has(rotary);
  if (rotary) {
    checkOptions(rotary, 'positions.rotary');
    const { rotaryDim = 0 } = rotary;
    call.integer('rotaryDim', rotaryDim, 0);
    writeRotary(call, rotary);
  }
  call.flag('positions.alibi', alibi);
  call.has(t5Bias);
  if (t5Bias) writeOptions(call, t5Bias, kT5Options, 't5Bias.');
  call.optionalInteger('maxRelativeDistance', maxRelativeDistance, 0);
}
