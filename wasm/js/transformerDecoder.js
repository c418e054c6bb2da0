import { giveEach, kLayerAttentionNames, kScoreNames, sizesOf } from './attentionOptions.js';
import { DecodingState, kCapacity } from './keyValueCache.js';
import { Layer } from './layer.js';
import { writeLayerAttention } from './multiHeadAttention.js';
import { isObjectOf, runtimeOf } from './nativeObject.js';
import { readOptions, wanted, writeOptions } from './options.js';
import { checkEqual } from './shape.js';
import { kLayerOptions, kStackOptions, layersOf, writeLayerWeights } from './transformer.js';

/** @import { AskedFor, AttentionOptions, AttentionStages, ExclusionOptions, LayerAttentionOptions, ScoreOptions, StageResults } from './attentionOptions.js' */
/** @import { PositionsOption } from './attentionPositions.js' */
/** @import { Call, Result } from './call.js' */
/** @import { Dropout } from './dropout.js' */
/** @import { ElementsLike, ElementType, OutputTypeOption, ResultOfType } from './elementType.js' */
/** @import { CapacityOption } from './keyValueCache.js' */
/** @import { Asked, IntermediatesOption, Place, ShownIntermediates } from './layer.js' */
/** @import { Names } from './options.js' */
/** @import { Operation, Runtime } from './runtime.js' */
/** @import { ResultKind, ResultTensor, TensorHandle } from './tensorHandle.js' */
/** @import { TransformerLayerOptions, TransformerOptions, TransformerSizes } from './transformer.js' */

/**
 * @template {boolean} [SelfScaled=boolean]
 * @template {boolean} [SelfCapped=boolean]
 * @template {boolean} [SelfBiased=boolean]
 * @template {boolean} [SelfWeights=boolean]
 * @template {boolean} [SelfLogSumExp=boolean]
 * @template {boolean} [CrossScaled=boolean]
 * @template {boolean} [CrossCapped=boolean]
 * @template {boolean} [CrossBiased=boolean]
 * @template {boolean} [CrossWeights=boolean]
 * @template {boolean} [CrossLogSumExp=boolean]
 * @typedef {object} DecoderLayerCall
 * @property {LayerAttentionOptions<SelfScaled, SelfCapped, SelfBiased, SelfWeights, SelfLogSumExp>
 *   } [selfAttention]  its stages included. Nothing is causal unless it is asked for:
 *   `{ causal: true }`
 * @property {LayerAttentionOptions<CrossScaled, CrossCapped, CrossBiased, CrossWeights, CrossLogSumExp>
 *   } [crossAttention]  its stages included
 * @property {Dropout | number} [dropout]  acts in six places, with streams stream … + 5; for training
 */

/**
 * @template {boolean} [Weights=boolean]
 * @typedef {object} DecoderCall
 * @property {ScoreOptions & ExclusionOptions} [selfAttention]  of every layer, as of one
 * @property {ScoreOptions & ExclusionOptions} [crossAttention]  of every layer
 * @property {Dropout | number} [dropout]  layer l uses streams stream + 6·l … + 5; for training
 * @property {Weights} [needWeights]  whether to return the attention weights of every layer
 */

/**
 * @template {ResultKind} [As='array']
 * @template {boolean} [SelfScaled=boolean]
 * @template {boolean} [SelfCapped=boolean]
 * @template {boolean} [SelfBiased=boolean]
 * @template {boolean} [SelfWeights=boolean]
 * @template {boolean} [SelfLogSumExp=boolean]
 * @template {boolean} [CrossScaled=boolean]
 * @template {boolean} [CrossCapped=boolean]
 * @template {boolean} [CrossBiased=boolean]
 * @template {boolean} [CrossWeights=boolean]
 * @template {boolean} [CrossLogSumExp=boolean]
 * @template {ElementType} [Output='float32']
 * @typedef {object} DecoderLayerResult
 * @property {ResultOfType<As, Output>} output  the shape of `x`
 * @property {AttentionStages<As, SelfScaled, SelfCapped, SelfBiased, SelfWeights, SelfLogSumExp>
 *   } selfAttention  the stages asked for
 * @property {AttentionStages<As, CrossScaled, CrossCapped, CrossBiased, CrossWeights, CrossLogSumExp>
 *   } crossAttention  the stages asked for
 */

/**
 * @template {ResultKind} [As='array']
 * @template {ElementType} [Output='float32']
 * @typedef {object} DecoderOutput
 * @property {ResultOfType<As, Output>} output  the shape of `x`
 */

/**
 * With `needWeights`.
 * @template {ResultKind} [As='array']
 * @typedef {object} DecoderStages
 * @property {ResultTensor<As>[]} selfAttentionWeights  of each layer (B, H, N, past + N)
 * @property {ResultTensor<As>[]} crossAttentionWeights  of each layer (B, H, N, M)
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

/**
 * The results of an attention: its stages, or its weights in each layer.
 * @typedef {{ stages?: StageResults, weights: Result[] }} Attended
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
 * What a layer and a stack of them have in common.
 * @template {ResultKind} [As='array']
 * @extends {Layer<TransformerSizes>}
 */
class Decoder extends Layer {
  /**
   * A state that holds the projections of `memory`, and no tokens yet.
   * @param {ElementsLike | TensorHandle} memory  (B, M, E) or (M, E), of any element type
   * @param {CapacityOption} [options]
   * @returns {DecodingState}
   */
  start(memory, options = {}) {
    let [batch, length] = [0, 0];
    const address = this.ask(/** @type {Operation} */ (`start${this.kind}`), (call) => {
      const shape = call.rows('memory', memory, this.sizes.dModel, 'dModel', 'elements');
      ({ batch, length } = sizesOf(shape));
      writeOptions(call, options, kCapacity);
    });
    return new DecodingState(runtimeOf(this), address, batch, length);
  }

  /**
   * @protected
   * @template R
   * @param {ElementsLike | TensorHandle} x
   * @param {ElementsLike | TensorHandle | DecodingState} memory
   * @param {DecoderLayerCall & PositionsOption & OutputTypeOption & IntermediatesOption} options
   * @param {Names} names  of what attention may be given
   * @param {boolean | undefined} needWeights  of a stack's layers
   * @param {(call: Call, output: Result, self: Attended, cross: Attended, names: Asked) => R} give
   * @returns {R}
   */
  run(x, memory, options, names, needWeights, give) {
    const { selfAttention: self = {}, crossAttention: cross = {}, dropout } = options;
    const selfAttention = readOptions(self, names, 'selfAttention');
    const crossAttention = readOptions(cross, names, 'crossAttention');
    const { dModel } = this.sizes;
    const state = isObjectOf(memory, DecodingState) ? memory : undefined;
    const past = state ? state.length : 0;
    return this.call((call) => {
      const shape = call.rows('x', x, dModel, 'dModel', 'elements');
      const rank = shape.length;
      const { batch, length } = sizesOf(shape);
      const output = call.resultOfType(options.outputType, shape);
      call.object('memory', state);
      let numKeys;
      if (state) {
        checkEqual('x', 'batch', batch, 'the batch of state', state.batch);
        numKeys = state.memoryLength;
      } else {
        const given = /** @type {ElementsLike} */ (memory);
        const other = call.rows('memory', given, dModel, 'dModel', 'elements');
        checkEqual('memory', 'rank', other.length, 'the rank of x', rank);
        if (rank === 3) checkEqual('memory', 'batch', other[0], 'the batch of x', batch);
        numKeys = other[rank - 2];
      }
      const write = (/** @type {AttentionOptions} */ attention, /** @type {number} */ keys) =>
        writeLayerAttention(call, attention, shape, this.sizes, keys);
      const selfStages = write(selfAttention, past + length);
      const crossStages = write(crossAttention, numKeys);
      call.positions(options.positions);
      call.dropout(dropout);
      const weightsOf = (/** @type {number} */ keys) =>
        needWeights === undefined
          ? []
          : writeLayerWeights(call, needWeights, this.sizes, shape, keys);
      const selfWeights = weightsOf(past + length);
      const crossWeights = weightsOf(numKeys);
      const names = call.intermediates(options.intermediates);
      call.run(/** @type {Operation} */ (`forward${this.kind}`));
      return give(
        call,
        output,
        { stages: selfStages, weights: selfWeights },
        { stages: crossStages, weights: crossWeights },
        names,
      );
    });
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
 * @extends {Decoder<As>}
 */
export class TransformerDecoderLayer extends Decoder {
  /** @internal */
  static name = 'TransformerDecoderLayer';

  /**
   * @param {Runtime} runtime
   * @param {TransformerLayerOptions} options
   * @param {Place} [place]  of a layer of a stack
   */
  constructor(runtime, options, place) {
    super(runtime, 'TransformerDecoderLayer', options, kLayerOptions, place);
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
   * @template {boolean} [CrossScaled=false]
   * @template {boolean} [CrossCapped=false]
   * @template {boolean} [CrossBiased=false]
   * @template {boolean} [CrossWeights=false]
   * @template {boolean} [CrossLogSumExp=false]
   * @template {Asked} [N=undefined]
   * @template {ElementType} [Output='float32']
   * @param {ElementsLike | TensorHandle} x  (B, N, E) or (N, E); it and `memory` of any element type
   * @param {ElementsLike | TensorHandle | DecodingState} memory  the encoder's output (B, M, E) or (M, E), or the state
   *   that `start()` made of it: `x` are then the next tokens, which attend to all before them
   * @param {DecoderLayerCall<SelfScaled, SelfCapped, SelfBiased, SelfWeights, SelfLogSumExp,
   *   CrossScaled, CrossCapped, CrossBiased, CrossWeights, CrossLogSumExp> & PositionsOption
   *   & OutputTypeOption<Output> & IntermediatesOption<N>} [options]  `positions` are for self-attention
   * @returns {DecoderLayerResult<As, SelfScaled, SelfCapped, SelfBiased, SelfWeights, SelfLogSumExp,
   *   CrossScaled, CrossCapped, CrossBiased, CrossWeights, CrossLogSumExp, Output>
   *   & ShownIntermediates<As, N>}
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `size_overflow`, `out_of_memory`,
   *   `disposed`
   */
  forward(x, memory, options = {}) {
    options = readOptions(options, kLayerCall);
    return this.run(
      x,
      memory,
      options,
      kLayerAttentionNames,
      undefined,
      (call, output, self, cross, names) =>
        /** @type {any} */ ({
          output: call.give(output),
          selfAttention: giveEach(call, self.stages),
          crossAttention: giveEach(call, cross.stages),
          ...call.shown(names),
        }),
    );
  }
}

/**
 * A stack of such layers (torch.nn.TransformerDecoder). Parameters: `layers.0.…` and so on, and with
 * `finalNorm` `norm.weight` and, of a LayerNorm, `norm.bias`.
 *
 * @template {ResultKind} [As='array']
 * @extends {Decoder<As>}
 */
export class TransformerDecoder extends Decoder {
  /** @internal */
  static name = 'TransformerDecoder';

  /**
   * @param {Runtime} runtime
   * @param {TransformerOptions} options
   */
  constructor(runtime, options) {
    super(runtime, 'TransformerDecoder', options, kStackOptions);
    /**
     * The layers, on the weights of the stack: each can be run by itself, for every stage of its
     * attentions. They live as long as the stack.
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
   * @param {ElementsLike | TensorHandle} x  (B, N, E) or (N, E); it and `memory` of any element type
   * @param {ElementsLike | TensorHandle | DecodingState} memory  the encoder's output (B, M, E) or (M, E), or the state
   *   that `start()` made of it: `x` are then the next tokens, which attend to all before them
   * @param {DecoderCall<Weights> & PositionsOption & OutputTypeOption<Output>
   *   & IntermediatesOption<N>} [options]  `positions` are for the self-attention of each layer that has
   *   rotary ones
   * @returns {DecoderResult<As, Weights, Output> & ShownIntermediates<As, N>}
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `size_overflow`, `out_of_memory`,
   *   `disposed`
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
      (call, output, self, cross, names) => {
        return /** @type {any} */ ({
          output: call.give(output),
          ...(needWeights && {
            selfAttentionWeights: self.weights.map((result) => call.give(result)),
            crossAttentionWeights: cross.weights.map((result) => call.give(result)),
          }),
          ...call.shown(names),
        });
      },
    );
  }
}
