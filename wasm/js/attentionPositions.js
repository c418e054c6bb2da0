import { checkRotary, writeRotary } from './rotaryEmbedding.js';
import { checkFlag, checkInteger, checkOptions } from './tensor.js';

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

/** @param {AttentionPositions} [positions] */
export function checkAttentionPositions(positions) {
  if (positions === undefined) return;
  checkOptions(positions, 'positions');
  const { rotary, alibi, t5Bias, maxRelativeDistance } = positions;
  if (rotary) {
    checkOptions(rotary, 'positions.rotary');
    if (rotary.rotaryDim !== undefined) checkInteger('rotaryDim', rotary.rotaryDim, 0);
    checkRotary(rotary);
  }
  if (alibi !== undefined) checkFlag('positions.alibi', alibi);
  if (t5Bias) {
    const { numBuckets = 32, maxDistance = 128 } = t5Bias;
    checkInteger('t5Bias.numBuckets', numBuckets, 1);
    checkInteger('t5Bias.maxDistance', maxDistance, 1);
  }
  if (maxRelativeDistance !== undefined) {
    checkInteger('maxRelativeDistance', maxRelativeDistance, 0);
  }
}

/**
 * Writes checked positions, as attention_positions() in C++ reads them.
 * @param {Call} call
 * @param {AttentionPositions} [positions]
 */
export function writeAttentionPositions(call, positions = {}) {
  const { rotary, alibi, t5Bias, maxRelativeDistance } = positions;
  call.flag(rotary);
  if (rotary) writeRotary(call, rotary.rotaryDim ?? 0, rotary);
  call.flag(alibi);
  call.flag(t5Bias);
  if (t5Bias) {
    call.number(t5Bias.numBuckets ?? 32);
    call.number(t5Bias.maxDistance ?? 128);
    call.flag(t5Bias.bidirectional ?? true);
  }
  call.optional(maxRelativeDistance);
}
