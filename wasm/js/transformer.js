import { activationIndex } from './activation.js';
import { checkAttentionPositions, writeAttentionPositions } from './attentionPositions.js';
import { checkInit } from './layer.js';
import { checkInteger, checkNumber, checkOptions, checkShape, invalid } from './tensor.js';

/** @import { Activation } from './activation.js' */
/** @import { AttentionPositions } from './attentionPositions.js' */
/** @import { Call, Result } from './call.js' */
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

/** @param {TransformerLayerOptions} options */
export function checkLayer(options) {
  checkOptions(options);
  const { dModel, numHeads = 1, dimFeedforward = 2048, layerNormEps = 1e-5 } = options;
  checkInteger('dModel', dModel, 1);
  checkInteger('numHeads', numHeads, 1);
  if (dModel % numHeads !== 0) throw invalid('numHeads', numHeads, `a divisor of dModel ${dModel}`);
  if (options.numKvHeads !== undefined) checkInteger('numKvHeads', options.numKvHeads, 1);
  checkInteger('dimFeedforward', dimFeedforward, 1);
  checkNumber('layerNormEps', layerNormEps);
  checkAttentionPositions(options.positions);
  checkShape('in_proj_weight', [3 * dModel, dModel]);
  checkShape('linear1.weight', [dimFeedforward, dModel]);
  checkInit(options);
}

/**
 * @param {Call} call
 * @param {TransformerLayerOptions} options
 */
export function writeLayer(call, options) {
  const { bias = true } = options;
  call.number(options.dModel);
  call.number(options.numHeads ?? 1);
  call.number(options.dimFeedforward ?? 2048);
  call.number(activationIndex(options.activation ?? 'relu'));
  call.number(options.layerNormEps ?? 1e-5);
  call.flag(options.normFirst);
  call.flag(bias);
  call.flag(options.attentionBias ?? bias);
  call.flag(options.feedForwardDropout ?? true);
  call.optional(options.numKvHeads);
  call.flag(options.sinks);
  writeAttentionPositions(call, options.positions);
}

/** @param {TransformerOptions} options */
export function checkStack(options) {
  checkLayer(options);
  checkInteger('numLayers', options.numLayers ?? 1, 1);
}

/**
 * @param {Call} call
 * @param {TransformerOptions} options
 */
export function writeStack(call, options) {
  writeLayer(call, options);
  call.number(options.numLayers ?? 1);
  call.flag(options.finalNorm);
}

/**
 * Makes room for the weights of each layer, if they are wanted.
 * @param {Call} call
 * @param {unknown} wanted
 * @param {number} numLayers
 * @param {string} name
 * @param {readonly number[]} shape  as the caller sees it
 * @param {readonly number[]} seenAs  as the core does
 * @returns {Result[]}
 */
export function writeLayerWeights(call, wanted, numLayers, name, shape, seenAs) {
  call.number(wanted ? numLayers : 0);
  if (!wanted) return [];
  return Array.from({ length: numLayers }, () => call.result(name, shape, seenAs));
}
