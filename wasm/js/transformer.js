import { kActivations } from './activation.js';
import { writeAttentionPositions } from './attentionPositions.js';
import { checkOptions } from './tensor.js';

/** @import { Activation } from './activation.js' */
/** @import { AttentionPositions } from './attentionPositions.js' */
/** @import { Call, Result } from './call.js' */
/** @import { ScoreSizes } from './attentionOptions.js' */
/** @import { NativeObject } from './nativeObject.js' */
/** @import { InitOptions } from './layer.js' */

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
 * @property {boolean} [finalNorm]  a LayerNorm behind the last layer; none by default
 */

/** @typedef {TransformerLayerOptions & StackSizes} TransformerOptions */

/**
 * Where a layer of a stack is found.
 * @typedef {object} Place
 * @property {NativeObject} owner
 * @property {number} index
 */

/**
 * What a layer is made of.
 * @param {TransformerLayerOptions} options
 * @param {Place} [place]
 */
export const writeLayer = (options, place) => (/** @type {Call} */ call) => {
  if (place) {
    call.number(place.owner.address);
    call.number(place.index);
  } else {
    writeLayerOptions(call, options);
    call.init(options);
  }
};

/**
 * @param {Call} call
 * @param {TransformerLayerOptions} options
 */
function writeLayerOptions(call, options) {
  checkOptions(options);
  const { dModel, numHeads = 1, dimFeedforward = 2048, activation = 'relu' } = options;
  const { layerNormEps = 1e-5, normFirst = false, bias = true, attentionBias = bias } = options;
  const { feedForwardDropout = true, numKvHeads = numHeads, sinks = false } = options;
  call.integer('dModel', dModel, 1);
  call.integer('numHeads', numHeads, 1);
  call.integer('dimFeedforward', dimFeedforward, 1);
  call.choice('activation', activation, kActivations);
  call.real('layerNormEps', layerNormEps);
  call.flag('normFirst', normFirst);
  call.flag('bias', bias);
  call.flag('attentionBias', attentionBias);
  call.flag('feedForwardDropout', feedForwardDropout);
  call.integer('numKvHeads', numKvHeads, 1);
  call.flag('sinks', sinks);
  writeAttentionPositions(call, options.positions);
}

/**
 * @param {Call} call
 * @param {TransformerOptions} options
 */
export function writeStack(call, options) {
  writeLayerOptions(call, options);
  const { numLayers = 1, finalNorm = false } = options;
  call.integer('numLayers', numLayers, 1);
  call.flag('finalNorm', finalNorm);
  call.init(options);
}

/**
 * The layers of a stack.
 * @template T
 * @param {NativeObject} owner
 * @param {TransformerOptions} options
 * @param {(place: Place) => T} layer
 */
export const layersOf = (owner, { numLayers = 1 }, layer) =>
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
  call.number(length);
  return Array.from({ length }, () => call.result('weights', shape, seenAs));
}
