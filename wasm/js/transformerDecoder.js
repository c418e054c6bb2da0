import { kLayerAttentionNames, kScoreNames, sizesOf } from './attentionOptions.js';
import { kElementTypes } from './elementType.js';
import { argumentError } from './errors.js';
import { checkCapacity, DecodingState } from './keyValueCache.js';
import { Layer } from './layer.js';
import { checkLayerAttention } from './multiHeadAttention.js';
import { giveAll } from './nativeAttentionOptions.js';
import { checkLayerCall, nativeLayerCall, shown } from './nativeLayerCall.js';
import { isObjectOf, runtimeOf } from './nativeObject.js';
import { readOptions, wanted } from './options.js';
import { checkEqual } from './shape.js';
import {
  kLayerOptions,
  kStackOptions,
  layersOf,
  layerWeights,
  makeBlock,
  makeStack,
} from './transformer.js';

/** @import { AskedFor, AttentionStages, ExclusionOptions, LayerAttentionOptions, ScoreOptions } from './attentionOptions.js' */
/** @import { PositionsOption } from './attentionPositions.js' */
/** @import { Dropout } from './dropout.js' */
/** @import { ElementsLike, ElementType, OutputTypeOption, ResultOfType } from './elementType.js' */
/** @import { CapacityOption } from './keyValueCache.js' */
/** @import { Asked, IntermediatesOption, Place, ShownIntermediates } from './layer.js' */
/** @import * as Native from './native.js' */
/** @import { NativeCall, NativeResult } from './nativeCall.js' */
/** @import { CheckedLayerCall } from './nativeLayerCall.js' */
/** @import { Names } from './options.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { Given, Gives, ResultKind, ResultTensor, TensorHandle } from './tensorHandle.js' */
/** @import { TransformerLayerOptions, TransformerOptions, TransformerSizes } from './transformer.js' */

/**
 * @template {boolean} [SelfScaled=boolean]
 * @template {boolean} [SelfCapped=boolean]
 * @template {boolean} [SelfBiased=boolean]
 * @template {boolean} [SelfWeights=boolean]
 * @template {boolean} [SelfLogSumExp=boolean]
 * @template {boolean} [SelfSums=boolean]
 * @template {boolean} [CrossScaled=boolean]
 * @template {boolean} [CrossCapped=boolean]
 * @template {boolean} [CrossBiased=boolean]
 * @template {boolean} [CrossWeights=boolean]
 * @template {boolean} [CrossLogSumExp=boolean]
 * @template {boolean} [CrossSums=boolean]
 * @typedef {object} DecoderLayerCall
 * @property {LayerAttentionOptions<SelfScaled, SelfCapped, SelfBiased, SelfWeights, SelfLogSumExp, SelfSums>
 *   } [selfAttention]  options of self-attention, including its stages. It is not causal unless you pass
 *   `{ causal: true }`
 * @property {LayerAttentionOptions<CrossScaled, CrossCapped, CrossBiased, CrossWeights, CrossLogSumExp, CrossSums>
 *   } [crossAttention]  options of cross attention, including its stages
 * @property {Dropout | number} [dropout]  applied in six places, with the streams `stream` to `stream + 5`; for training
 */

/**
 * @template {boolean} [Weights=boolean]
 * @typedef {object} DecoderCall
 * @property {ScoreOptions & ExclusionOptions} [selfAttention]  self-attention in every layer. It is not causal
 *   unless you pass `{ causal: true }`
 * @property {ScoreOptions & ExclusionOptions} [crossAttention]  cross attention in every layer
 * @property {Dropout | number} [dropout]  layer l uses the streams `stream + 6·l` to `stream + 6·l + 5`; for training
 * @property {Weights} [needWeights]  true to return the attention weights of every layer
 */

/**
 * @template {ResultKind} [As='array']
 * @template {boolean} [SelfScaled=boolean]
 * @template {boolean} [SelfCapped=boolean]
 * @template {boolean} [SelfBiased=boolean]
 * @template {boolean} [SelfWeights=boolean]
 * @template {boolean} [SelfLogSumExp=boolean]
 * @template {boolean} [SelfSums=boolean]
 * @template {boolean} [CrossScaled=boolean]
 * @template {boolean} [CrossCapped=boolean]
 * @template {boolean} [CrossBiased=boolean]
 * @template {boolean} [CrossWeights=boolean]
 * @template {boolean} [CrossLogSumExp=boolean]
 * @template {boolean} [CrossSums=boolean]
 * @template {ElementType} [Output='float32']
 * @typedef {object} DecoderLayerResult
 * @property {ResultOfType<As, Output>} output  the shape of `x`
 * @property {AttentionStages<As, SelfScaled, SelfCapped, SelfBiased, SelfWeights, SelfLogSumExp, SelfSums>
 *   } selfAttention  the requested stages of self-attention
 * @property {AttentionStages<As, CrossScaled, CrossCapped, CrossBiased, CrossWeights, CrossLogSumExp, CrossSums>
 *   } crossAttention  the requested stages of cross attention
 */

/**
 * @template {ResultKind} [As='array']
 * @template {ElementType} [Output='float32']
 * @typedef {object} DecoderOutput
 * @property {ResultOfType<As, Output>} output  the shape of `x`
 */

/**
 * Additional results with `needWeights`.
 * @template {ResultKind} [As='array']
 * @typedef {object} DecoderStages
 * @property {ResultTensor<As>[]} selfAttentionWeights  for each layer, (B, H, N, past + N)
 * @property {ResultTensor<As>[]} crossAttentionWeights  for each layer, (B, H, N, M)
 */

/**
 * @template {ResultKind} [As='array']
 * @template {boolean} [Weights=boolean]
 * @template {ElementType} [Output='float32']
 * @typedef {DecoderOutput<As, Output> & AskedFor<DecoderStages<As>, {
 *   selfAttentionWeights: Weights,
 *   crossAttentionWeights: Weights,
 * }>} DecoderResult
 */

/** @type {Names<DecoderLayerCall & PositionsOption & OutputTypeOption & IntermediatesOption>} */
const kLayerCall = {
  positions: true,
  selfAttention: true,
  crossAttention: true,
  dropout: true,
  outputType: true,
  intermediates: true,
};
/** @type {Names<DecoderCall & PositionsOption & OutputTypeOption & IntermediatesOption>} */
const kCall = { ...kLayerCall, needWeights: true };

/**
 * Base class of a decoder layer and a stack of decoder layers.
 * @template {ResultKind} [As='array']
 * @template {Native.TransformerDecoderLayer | Native.TransformerDecoder} [N=any]
 * @extends {Layer<TransformerSizes, N>}
 */
class Decoder extends Layer {
  /**
   * The name of the states in errors.
   * @protected
   * @returns {string}
   */
  get stateKind() {
    return 'a state of a decoder layer';
  }

  /**
   * Starts decoding: returns a state with the projected `memory` and no tokens yet.
   * @param {ElementsLike | TensorHandle} memory  (B, M, E) or (M, E), of any element type
   * @param {CapacityOption} [options]
   * @returns {DecodingState}
   */
  start(memory, options = {}) {
    return this.invoke((call) => {
      const rows = call.rows('memory', memory, this.sizes.dModel, 'dModel', kElementTypes);
      const { batch, length } = sizesOf(rows.shape);
      const { capacity, type } = checkCapacity(options);
      const state = call.run(({ ElementType }) =>
        /** @type {any} */ (this.native).start(rows.native, capacity, ElementType[type]),
      );
      return new DecodingState(runtimeOf(this), state, this.stateKind, batch, length);
    });
  }

  /**
   * @protected
   * @template R
   * @param {ElementsLike | TensorHandle} x
   * @param {ElementsLike | TensorHandle | DecodingState} memory
   * @param {DecoderLayerCall & PositionsOption & OutputTypeOption & IntermediatesOption} options
   * @param {Names} names  accepted options of attention
   * @param {boolean} needWeights  true to return the attention weights of each layer
   * @param {(call: NativeCall, output: NativeResult, checked: CheckedLayerCall) => R} give
   * @returns {R}
   */
  run(x, memory, options, names, needWeights, give) {
    const { selfAttention: self = {}, crossAttention: cross = {} } = options;
    const selfAttention = readOptions(self, names, 'selfAttention');
    const crossAttention = readOptions(cross, names, 'crossAttention');
    const { dModel } = this.sizes;
    const state = isObjectOf(memory, DecodingState) ? memory : undefined;
    const past = state ? state.length : 0;
    return this.invoke((call) => {
      const input = call.rows('x', x, dModel, 'dModel', kElementTypes);
      const { shape } = input;
      const { batch, length } = sizesOf(shape);
      const output = call.output(options.outputType, shape);
      const kept = state ? this.#checkState(call, state, batch) : null;
      const encoded = state
        ? undefined
        : this.#checkMemory(call, /** @type {ElementsLike | TensorHandle} */ (memory), shape);
      const numKeys = state ? state.memoryLength : sizesOf(encoded?.shape ?? []).length;
      const attentions = {
        attention: checkLayerAttention(call, selfAttention, shape, this.sizes, past + length),
        crossAttention: checkLayerAttention(call, crossAttention, shape, this.sizes, numKeys),
      };
      const checked = {
        ...attentions,
        ...checkLayerCall(call, options),
        weights: layerWeights(call, needWeights, this.sizes, shape, past + length),
        crossWeights: layerWeights(call, needWeights, this.sizes, shape, numKeys),
      };
      call.run(() =>
        /** @type {any} */ (this.native).forward(
          input.native,
          encoded?.native ?? null,
          kept,
          output.tensor.native,
          nativeLayerCall(call, checked),
        ),
      );
      return give(call, output, checked);
    });
  }

  /**
   * @param {NativeCall} call
   * @param {DecodingState} state
   * @param {number} batch  batch of `x`
   */
  #checkState(call, state, batch) {
    const native = call.object('memory', state);
    if (state.kind !== this.stateKind) {
      throw argumentError('invalid_argument', 'memory', state.kind, this.stateKind);
    }
    checkEqual('x', 'batch', batch, 'the batch of the state', state.batch);
    return native;
  }

  /**
   * @param {NativeCall} call
   * @param {ElementsLike | TensorHandle} memory
   * @param {readonly number[]} x  shape of `x`
   */
  #checkMemory(call, memory, x) {
    const encoded = call.rows('memory', memory, this.sizes.dModel, 'dModel', kElementTypes);
    const { shape } = encoded;
    checkEqual('memory', 'rank', shape.length, 'the rank of x', x.length);
    if (x.length === 3) checkEqual('memory', 'batch', shape[0], 'the batch of x', x[0]);
    return encoded;
  }
}

/**
 * A layer of a Transformer's decoder (Vaswani et al. 2017; torch.nn.TransformerDecoderLayer):
 *
 *   post-norm:  g = norm1(x + dropout(self_attn(x, x, x)))
 *               h = norm2(g + dropout(multihead_attn(g, memory, memory)))
 *               output = norm3(h + dropout(feed_forward(h)))
 *   pre-norm:   g = x + dropout(self_attn(n, n, n)),  n = norm1(x)
 *               h = g + dropout(multihead_attn(norm2(g), memory, memory))
 *               output = h + dropout(feed_forward(norm3(h)))
 *
 * Parameters, in PyTorch's order: `self_attn.…`, `multihead_attn.…`, `linear1.…`, `linear2.…`,
 * `norm1.…`, `norm2.…`, `norm3.…`.
 *
 * @template {ResultKind} [As='array']
 * @extends {Decoder<As, Native.TransformerDecoderLayer>}
 */
export class TransformerDecoderLayer extends Decoder {
  /** @internal */
  static name = 'TransformerDecoderLayer';

  /**
   * @param {Runtime} runtime
   * @param {TransformerLayerOptions} options
   * @param {Place} [place]  the layer's position in its stack, if it belongs to a stack
   */
  constructor(runtime, options, place) {
    super(runtime, makeBlock('TransformerDecoderLayer'), options, kLayerOptions, place);
  }

  /**
   * Runs one layer: self-attention, attention to the memory, and the feed-forward network, each with its
   * residual connection and norm.
   *
   * @template {boolean} [SelfScaled=false]
   * @template {boolean} [SelfCapped=false]
   * @template {boolean} [SelfBiased=false]
   * @template {boolean} [SelfWeights=false]
   * @template {boolean} [SelfLogSumExp=false]
   * @template {boolean} [SelfSums=false]
   * @template {boolean} [CrossScaled=false]
   * @template {boolean} [CrossCapped=false]
   * @template {boolean} [CrossBiased=false]
   * @template {boolean} [CrossWeights=false]
   * @template {boolean} [CrossLogSumExp=false]
   * @template {boolean} [CrossSums=false]
   * @template {Asked} [N=undefined]
   * @template {ElementType} [Output='float32']
   * @overload
   * @param {Given<As, ElementsLike | TensorHandle>} x  (B, N, E) or (N, E), of any element type,
   *   like `memory`
   * @param {Given<As, ElementsLike | TensorHandle | DecodingState>} memory  the encoder's output
   *   (B, M, E) or (M, E), or the state that `start()` made from that output. With a state, `x`
   *   contains the next tokens, which attend to all tokens before them
   * @param {Given<As, DecoderLayerCall<SelfScaled, SelfCapped, SelfBiased, SelfWeights, SelfLogSumExp, SelfSums,
   *   CrossScaled, CrossCapped, CrossBiased, CrossWeights, CrossLogSumExp, CrossSums> & PositionsOption
   *   & OutputTypeOption<Output>
   *   & IntermediatesOption<N>>} [options]  `positions` apply to self-attention
   * @returns {Gives<As, DecoderLayerResult<As, SelfScaled, SelfCapped, SelfBiased, SelfWeights, SelfLogSumExp, SelfSums,
   *   CrossScaled, CrossCapped, CrossBiased, CrossWeights, CrossLogSumExp, CrossSums, Output>
   *   & ShownIntermediates<As, N>>}
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `size_overflow`, `out_of_memory`,
   *   `disposed`
   */
  /**
   * @param {any} x
   * @param {any} memory
   * @param {any} [options]
   * @returns {any}
   */
  forward(x, memory, options = {}) {
    options = readOptions(options, kLayerCall);
    return this.run(
      x,
      memory,
      options,
      kLayerAttentionNames,
      false,
      (call, output, checked) =>
        /** @type {any} */ ({
          output: call.give(output),
          selfAttention: giveAll(call, { ...checked.attention?.stages }),
          crossAttention: giveAll(call, { ...checked.crossAttention?.stages }),
          ...shown(call, checked),
        }),
    );
  }
}

/**
 * A stack of Transformer decoder layers (torch.nn.TransformerDecoder). Parameters: `layers.0.…` and so on.
 * With `finalNorm` there is also `norm.weight` and, for a LayerNorm, `norm.bias`.
 *
 * @template {ResultKind} [As='array']
 * @extends {Decoder<As, Native.TransformerDecoder>}
 */
export class TransformerDecoder extends Decoder {
  /** @internal */
  static name = 'TransformerDecoder';

  /**
   * @param {Runtime} runtime
   * @param {TransformerOptions} options
   */
  constructor(runtime, options) {
    super(runtime, makeStack('TransformerDecoder'), options, kStackOptions);
    /**
     * The layers, which share the weights of the stack. To get every stage of a layer's attention,
     * run that layer alone. The layers live as long as the stack.
     * @readonly
     * @type {readonly TransformerDecoderLayer<As>[]}
     */
    this.layers = layersOf(this, options, this.sizes, (layer, place) => {
      return new TransformerDecoderLayer(runtime, layer, place);
    });
  }

  /**
   * Runs all layers of the decoder, one after the other.
   *
   * @template {boolean} [Weights=false]
   * @template {Asked} [N=undefined]
   * @template {ElementType} [Output='float32']
   * @overload
   * @param {Given<As, ElementsLike | TensorHandle>} x  (B, N, E) or (N, E), of any element type,
   *   like `memory`
   * @param {Given<As, ElementsLike | TensorHandle | DecodingState>} memory  the encoder's output
   *   (B, M, E) or (M, E), or the state that `start()` made from that output. With a state, `x`
   *   contains the next tokens, which attend to all tokens before them
   * @param {Given<As, DecoderCall<Weights> & PositionsOption & OutputTypeOption<Output>
   *   & IntermediatesOption<N>>} [options]  `positions` apply to self-attention in each layer with rotary
   *   positions
   * @returns {Gives<As, DecoderResult<As, Weights, Output> & ShownIntermediates<As, N>>}
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `size_overflow`, `out_of_memory`,
   *   `disposed`
   */
  /**
   * @param {any} x
   * @param {any} memory
   * @param {any} [options]
   * @returns {any}
   */
  forward(x, memory, options = {}) {
    options = readOptions(options, kCall);
    const needWeights = wanted('needWeights', options.needWeights);
    return this.run(
      x,
      memory,
      options,
      kScoreNames,
      needWeights,
      (call, output, { weights, crossWeights, ...checked }) =>
        /** @type {any} */ ({
          output: call.give(output),
          ...(weights && { selfAttentionWeights: weights.map((result) => call.give(result)) }),
          ...(crossWeights && {
            crossAttentionWeights: crossWeights.map((result) => call.give(result)),
          }),
          ...shown(call, checked),
        }),
    );
  }

  /** @protected */
  get stateKind() {
    return 'a state of a stack of decoder layers';
  }
}
