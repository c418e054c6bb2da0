import { kActivations } from './activation.js';
import { sizesOf } from './attentionOptions.js';
import { nativeAttentionSizes, optionalWindow, positions } from './attentionPositions.js';
import { checkValues, choice, flag, headDim, like, optionalReal, real, size } from './checks.js';
import { invalid } from './errors.js';
import { firstWeights, kFirstWeights } from './layer.js';
import { leadingOf } from './multiHeadAttention.js';
import { readArray, readOptions } from './options.js';
import { optionalRMSNorm } from './rmsNorm.js';

/** @import { Activation } from './activation.js' */
/** @import { AttentionPositions } from './attentionPositions.js' */
/** @import { Check } from './checks.js' */
/** @import { Window } from './attentionOptions.js' */
/** @import { InitOptions, Layer, Place } from './layer.js' */
/** @import * as Native from './native.js' */
/** @import { NativeCall } from './nativeCall.js' */
/** @import { RMSNormRule } from './rmsNorm.js' */

/**
 * Of one layer of a Transformer; the names are PyTorch's. The defaults are those of
 * torch.nn.TransformerEncoderLayer(batch_first=True); D2L's blocks are `attentionBias: false` and
 * `feedForwardDropout: false`. The blocks of today's language models are options, too, each with
 * `causal` attention: Llama, for example, is
 *
 * ```js
 * { dModel, numHeads, numKvHeads, dimFeedforward, activation: 'silu', gatedFeedForward: true,
 *   rmsNorm: { eps: 1e-5 }, normFirst: true, bias: false, positions: { rotary: { base: 500000 } } }
 * ```
 *
 * @typedef {object} TransformerLayerSizes
 * @property {number} dModel  E
 * @property {number} [numHeads]  PyTorch's nhead; 1 by default
 * @property {number} [dimFeedforward]  2048 by default
 * @property {Activation} [activation]  `'relu'` by default
 * @property {boolean} [gatedFeedForward]  GatedFeedForward in place of FeedForward; not by default
 * @property {number} [layerNormEps]  1e-5 by default
 * @property {RMSNormRule} [rmsNorm]  RMSNorm in place of LayerNorm; not by default
 * @property {boolean} [normFirst]  pre-norm instead of post-norm; not by default
 * @property {boolean} [normOutputs]  normalises what attention and the feed-forward network give before
 *   it is added: with `normFirst` as well as their inputs (Gemma 2 and 3), without it instead
 *   (OLMo 2); not by default
 * @property {boolean} [bias]  of all linear layers and LayerNorms; `true` by default
 * @property {boolean} [attentionBias]  of attention's projections; `bias` by default
 * @property {boolean} [attentionOutputBias]  of the last one of them; `attentionBias` by default
 * @property {boolean} [feedForwardDropout]  drop out between the two layers of the feed-forward
 *   network, too; `true` by default
 * @property {number} [numKvHeads]  of attention; divides `numHeads`, which is the default
 * @property {number} [headDim]  of attention; E / H by default, which then has to be a whole number
 * @property {RMSNormRule} [qkNorm]  of attention, see MultiHeadAttention; none by default
 * @property {boolean} [qkNormAllHeads]  of attention; not by default
 * @property {number} [scale]  of attention, for calls that give none; 1/√D by default
 * @property {number} [softcap]  the same; none by default
 * @property {AttentionPositions} [positions]  of self-attention
 * @property {boolean} [sinks]  of self-attention; none by default
 * @property {Window} [window]  of self-attention, for calls that give none; none by default
 */

/** @typedef {TransformerLayerSizes & InitOptions} TransformerLayerOptions */

/**
 * @typedef {object} StackSizes
 * @property {number} [numLayers]  1 by default, or as many as `layers`
 * @property {boolean} [finalNorm]  a norm of the layers' kind after the last one; none by default
 * @property {readonly Partial<TransformerLayerSizes>[]} [layers]  for each layer, the options in which
 *   it differs from the others: windows, positions or sizes; `dModel` is the same for all
 */

/** @typedef {TransformerLayerSizes & StackSizes} TransformerSizes */

/** @typedef {TransformerLayerOptions & StackSizes} TransformerOptions */

const kBlock = {
  dModel: size(),
  numHeads: size(1),
  dimFeedforward: size(2048),
  activation: choice(kActivations),
  gatedFeedForward: flag(false),
  layerNormEps: real(1e-5),
  rmsNorm: optionalRMSNorm,
  normFirst: flag(false),
  normOutputs: flag(false),
  bias: flag(true),
  attentionBias: like('bias', flag()),
  attentionOutputBias: like('attentionBias', flag()),
  feedForwardDropout: flag(true),
  numKvHeads: like('numHeads', size()),
  headDim,
  qkNorm: optionalRMSNorm,
  qkNormAllHeads: flag(false),
  sinks: flag(false),
  scale: optionalReal,
  softcap: real(0),
  window: optionalWindow,
  positions,
};

/**
 * What each layer has in place of the stack's own options, or none.
 * @type {Check}
 */
const layers = (name, value = [], _, options) => {
  if (!Array.isArray(value)) throw invalid(name, value, 'an array of options');
  /** @type {any[]} */
  const own = [];
  readArray(value, (each, l) => own.push(readOptions(each, kBlock, `${name}[${l}]`)));
  return own.map((each, l) => checkValues({ ...options, ...each }, kBlock, `${name}[${l}]`));
};

export const kLayerOptions = { ...kBlock, ...kFirstWeights };

export const kStackOptions = {
  ...kBlock,
  numLayers: size(1),
  finalNorm: flag(false),
  layers,
  ...kFirstWeights,
};

/**
 * Makes a layer, inside run().
 * @template {'TransformerEncoderLayer' | 'TransformerDecoderLayer'} C
 * @param {C} name  of its class
 * @returns {(native: Native.MainModule, sizes: any, call: NativeCall) => InstanceType<Native.MainModule[C]>}
 */
export const makeBlock = (name) => (native, sizes, call) => {
  const Block = /** @type {any} */ (native[name]);
  return new Block(blockOf(native, sizes, call), firstWeights(native, sizes));
};

/**
 * Makes a stack, inside run().
 * @template {'TransformerEncoder' | 'TransformerDecoder'} C
 * @param {C} name  of its class
 * @returns {(native: Native.MainModule, sizes: any, call: NativeCall) => InstanceType<Native.MainModule[C]>}
 */
export const makeStack = (name) => (native, sizes, call) => {
  const Stack = /** @type {any} */ (native[name]);
  /** @type {Native.TransformerOptions} */
  const options = {
    layer: blockOf(native, sizes, call),
    numLayers: sizes.numLayers,
    finalNorm: sizes.finalNorm,
    layers: sizes.layers.map((/** @type {any} */ layer) => blockOf(native, layer, call)),
  };
  return new Stack(options, firstWeights(native, sizes));
};

/**
 * @param {Native.MainModule} native
 * @param {any} sizes
 * @param {NativeCall} call
 * @returns {Native.TransformerLayerOptions}
 */
const blockOf = ({ Activation }, sizes, call) => ({
  ...nativeAttentionSizes(call, sizes),
  activation: Activation[/** @type {Activation} */ (sizes.activation)],
});

/**
 * @param {{ numLayers: number, layers: readonly unknown[] }} stack
 */
const countOf = ({ numLayers, layers }) => layers.length || numLayers;

/**
 * The layers of a stack.
 * @template T
 * @param {Layer} owner
 * @param {TransformerOptions} options
 * @param {{ numLayers: number, layers: readonly unknown[] }} stack
 * @param {(options: TransformerLayerOptions, place: Place) => T} layer
 */
export const layersOf = (owner, options, stack, layer) =>
  Array.from({ length: countOf(stack) }, (_, index) =>
    layer({ ...options, ...options.layers?.[index] }, { owner, index }),
  );

/**
 * The weights of a stack's layers as results, if they are wanted.
 * @param {NativeCall} call
 * @param {boolean} wanted
 * @param {{ numHeads: number, numLayers: number, layers: readonly any[] }} stack
 * @param {readonly number[]} x  its shape
 * @param {number} numKeys
 */
export function layerWeights(call, wanted, stack, x, numKeys) {
  if (!wanted) return undefined;
  const { batch, length } = sizesOf(x);
  return Array.from({ length: countOf(stack) }, (_, l) => {
    const { numHeads } = stack.layers[l] ?? stack;
    const shape = [...leadingOf(x, numHeads), numKeys];
    return call.result('weights', shape, [batch, numHeads, length, numKeys]);
  });
}
