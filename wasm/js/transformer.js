import { kActivations } from './activation.js';
import { positions } from './attentionPositions.js';
import { Kind } from './kind.js';
import { choice, flag, kInit, like, real, size } from './options.js';

/** @import { Activation } from './activation.js' */
/** @import { AttentionPositions } from './attentionPositions.js' */
/** @import { Call, Result } from './call.js' */
/** @import { ScoreSizes } from './attentionOptions.js' */
/** @import { InitOptions, Layer, Place } from './layer.js' */

/**
 * Of one layer of a Transformer; the names are PyTorch's. The defaults are those of
 * torch.nn.TransformerEncoderLayer(batch_first=True); D2L's blocks are `attentionBias: false` and
 * `feedForwardDropout: false`.
 * @typedef {object} TransformerLayerSizes
 * @property {number} dModel  E
 * @property {number} [numHeads]  PyTorch's nhead; 1 by default
 * @property {number} [dimFeedforward]  2048 by default
 * @property {Activation} [activation]  `'relu'` by default
 * @property {number} [layerNormEps]  1e-5 by default
 * @property {boolean} [normFirst]  pre-norm instead of post-norm; not by default
 * @property {boolean} [bias]  of all linear layers and norms; `true` by default
 * @property {boolean} [attentionBias]  of attention's projections; `bias` by default
 * @property {boolean} [feedForwardDropout]  drop out between the two layers of the feed-forward
 *   network, too; `true` by default
 * @property {number} [numKvHeads]  of attention; divides `numHeads`, which is the default
 * @property {AttentionPositions} [positions]  of self-attention
 * @property {boolean} [sinks]  of self-attention; none by default
 */

/** @typedef {TransformerLayerSizes & InitOptions} TransformerLayerOptions */

/**
 * @typedef {object} StackSizes
 * @property {number} [numLayers]  1 by default
 * @property {boolean} [finalNorm]  a LayerNorm after the last layer; none by default
 */

/** @typedef {TransformerLayerSizes & StackSizes} TransformerSizes */

/** @typedef {TransformerLayerOptions & StackSizes} TransformerOptions */

const kBlock = {
  dModel: size(),
  numHeads: size(1),
  dimFeedforward: size(2048),
  activation: choice(kActivations),
  layerNormEps: real(1e-5),
  normFirst: flag(false),
  bias: flag(true),
  attentionBias: like('bias', flag()),
  feedForwardDropout: flag(true),
  numKvHeads: like('numHeads', size()),
  sinks: flag(false),
  positions,
};

export const kLayerOptions = { ...kBlock, ...kInit };

export const kStackOptions = { ...kBlock, numLayers: size(1), finalNorm: flag(false), ...kInit };

/**
 * The layers of a stack.
 * @template T
 * @param {Layer} owner
 * @param {number} numLayers
 * @param {(place: Place) => T} layer
 */
export const layersOf = (owner, numLayers, layer) =>
  Array.from({ length: numLayers }, (_, index) => layer({ owner, index }));

/**
 * Makes room for the weights of layers.
 * @param {Call} call
 * @param {number} length  of how many
 * @param {ScoreSizes} sizes
 * @param {readonly number[]} leading  the shape of the weights without their last dimension, as the
 *   caller is to see it
 * @returns {Result[]}
 */
export function writeLayerWeights(call, length, sizes, leading) {
  const { batch, numHeads, numQueries, numKeys } = sizes;
  const shape = [...leading, numKeys];
  const seenAs = [batch, numHeads, numQueries, numKeys];
  call.put(Kind.integer, length);
  return Array.from({ length }, () => call.result('weights', shape, seenAs));
}
