import { checkInteger } from './errors.js';
import { checkLayerAttention } from './multiHeadAttention.js';
import { checkLayerCall, nativeLayerCall } from './nativeLayerCall.js';
import { kScoreNames } from './attentionOptions.js';
import { readOptions } from './options.js';

/** @import { ExclusionOptions, ScoreOptions } from './attentionOptions.js' */
/** @import { PositionsOption } from './attentionPositions.js' */
/** @import { CheckedLayerCall } from './nativeLayerCall.js' */
/** @import * as Native from './native.js' */
/** @import { NativeCall } from './nativeCall.js' */
/** @import { Names } from './options.js' */

/**
 * @typedef {object} LayerContributions
 * @property {Float64Array} heads  each head's output, without the bias of the output projection
 * @property {number} feedForward  the feed-forward network, with all biases
 */

/**
 * A logit split into parts that add up to it. This is direct logit attribution (Elhage et al. 2021, A Mathematical
 * Framework for Transformer Circuits). If the final norm's scale is treated as a constant, the logit is a linear
 * function of the residual stream, which is the sum of all parts. A contribution is not the effect of removing the
 * part: without it, later layers and the norm's scale would change, too. To measure that effect, use `ablate`.
 * @typedef {object} Contributions
 * @property {number} embedding  the input of the first layer, including positions
 * @property {readonly LayerContributions[]} layers
 * @property {number} bias  biases of attention's output projections, of the norms after them, of the final norm, and of
 *   the output layer
 * @property {number} total  the value that the parts add up to, computed from the output of the last layer. For a
 *   language model, this is the logit before the final softcap
 */

/**
 * @typedef {object} ContributionOptions
 * @property {number} [position]  position of the row, by default the last one
 * @property {ScoreOptions & ExclusionOptions} [attention]  options for the attention of every layer
 */

/** @type {Names<ContributionOptions & PositionsOption>} */
export const kContributionOptions = { position: true, attention: true, positions: true };

/**
 * Checks the options of `contributions()`, computes the parts, and names them.
 * @param {NativeCall} call
 * @param {ContributionOptions & PositionsOption} options  already read with `kContributionOptions`
 * @param {readonly number[]} shape  (N, E)
 * @param {{ numHeads: number, headDim: number }} sizes
 * @param {readonly number[]} heads  number of heads of each layer
 * @param {(position: number, given: Native.LayerCall | null) => ArrayLike<number>} compute
 * @returns {Contributions}
 */
export function computeContributions(call, options, shape, sizes, heads, compute) {
  const { position = Math.max(0, shape[0] - 1), attention = {}, positions } = options;
  checkInteger('position', position, 0);
  /** @type {CheckedLayerCall} */
  const checked = {
    attention: checkLayerAttention(
      ...[call, readOptions(attention, kScoreNames, 'attention'), shape, sizes, shape[0]],
    ),
    ...checkLayerCall(call, { positions }),
  };
  const [embedding, bias, total, ...parts] = Array.from(
    call.run(() => compute(position, nativeLayerCall(call, checked))),
  );
  let at = 0;
  return {
    embedding,
    layers: heads.map((numHeads) => ({
      heads: Float64Array.from(parts.slice(at, (at += numHeads))),
      feedForward: parts[at++],
    })),
    ...{ bias, total },
  };
}
