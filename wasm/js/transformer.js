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
 * Options of one Transformer layer, with PyTorch's names. The defaults match
 * torch.nn.TransformerEncoderLayer(batch_first=True). D2L's blocks use `attentionBias: false` and
 * `feedForwardDropout: false`. The options also cover the blocks of current language models, which
 * are called with `causal` attention. For example, these are the options of Llama:
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
 * @property {boolean} [gatedFeedForward]  uses GatedFeedForward instead of FeedForward; `false` by default
 * @property {number} [layerNormEps]  1e-5 by default
 * @property {RMSNormRule} [rmsNorm]  uses RMSNorm with these options instead of LayerNorm; none by default
 * @property {boolean} [normFirst]  uses pre-norm instead of post-norm; `false` by default
 * @property {boolean} [normOutputs]  normalises the outputs of attention and the feed-forward
 *   network before the residual addition. With `normFirst`, the inputs of both are normalised, too
 *   (Gemma 2 and 3); without `normFirst`, only the outputs are (OLMo 2). `false` by default
 * @property {boolean} [parallelResidual]  computes attention and the feed-forward network from the layer's input
 *   and adds both to it, as in GPT-NeoX; requires `normFirst`, and is an error in a decoder. `false` by default
 * @property {boolean} [bias]  adds biases to all linear layers and LayerNorms; `true` by default
 * @property {boolean} [attentionBias]  adds biases to attention's projections; `bias` by default
 * @property {boolean} [attentionOutputBias]  adds a bias to attention's output projection; `attentionBias` by
 *   default
 * @property {boolean} [feedForwardDropout]  also applies dropout between the two layers of the feed-forward
 *   network; `true` by default
 * @property {number} [numKvHeads]  attention's heads of keys and values, a divisor of `numHeads`; `numHeads` by
 *   default
 * @property {number} [headDim]  width of attention's heads; E / H by default, which must then be a whole number
 * @property {RMSNormRule} [qkNorm]  normalises attention's queries and keys, see MultiHeadAttention; none by
 *   default
 * @property {boolean} [qkNormAllHeads]  see MultiHeadAttention; `false` by default
 * @property {number} [scale]  attention's scale in calls that do not set it; 1/√D by default
 * @property {number} [softcap]  attention's softcap in calls that do not set it; none by default
 * @property {AttentionPositions} [positions]  positions of self-attention; none by default
 * @property {boolean} [sinks]  adds sinks to self-attention; `false` by default
 * @property {Window} [window]  window of self-attention in calls that set none; none by default
 */

/** @typedef {TransformerLayerSizes & InitOptions} TransformerLayerOptions */

/**
 * @typedef {object} StackSizes
 * @property {number} [numLayers]  1 by default, or the length of `layers`
 * @property {boolean} [finalNorm]  adds a norm after the last layer, of the same kind as in the layers; `false` by
 *   default
 * @property {readonly Partial<TransformerLayerSizes>[]} [layers]  for each layer, the options that
 *   differ from the options of the stack: windows, positions or sizes. `dModel` must be the same
 *   for all layers
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
  parallelResidual: flag(false),
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
 * Checks the option `layers`: for each layer, options that override the options of the stack.
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
 * Makes a layer. Call this function inside NativeCall.run().
 * @template {'TransformerEncoderLayer' | 'TransformerDecoderLayer'} C
 * @param {C} name  name of the class
 * @returns {(native: Native.MainModule, sizes: any, call: NativeCall) => InstanceType<Native.MainModule[C]>}
 */
export const makeBlock = (name) => (native, sizes, call) => {
  const Block = /** @type {any} */ (native[name]);
  return new Block(blockOf(native, sizes, call), firstWeights(native, sizes));
};

/**
 * Makes a stack. Call this function inside NativeCall.run().
 * @template {'TransformerEncoder' | 'TransformerDecoder'} C
 * @param {C} name  name of the class
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
 * Makes the layers of a stack.
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
 * Describes the attention weights of each layer of a stack for C++, if they were requested.
 * @param {NativeCall} call
 * @param {boolean} wanted
 * @param {{ numHeads: number, numLayers: number, layers: readonly any[] }} stack
 * @param {readonly number[]} x  shape of the input
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
