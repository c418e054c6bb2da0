import { checkAttentionOptions, giveEach, writeAttentionOptions } from './attentionOptions.js';
import { checkDropout } from './dropout.js';
import { DecodingState } from './keyValueCache.js';
import { checkRows, Layer } from './layer.js';
import { leadingOf } from './multiHeadAttention.js';
import { make } from './nativeObject.js';
import { checkEqual, checkInteger, checkOptions, checkShape } from './tensor.js';
import {
  checkLayer,
  checkStack,
  writeLayer,
  writeLayerWeights,
  writeStack,
} from './transformer.js';
import { selfSizes } from './transformerEncoder.js';

/** @import { AttentionOptions, AttentionStages, ScoreSizes } from './attentionOptions.js' */
/** @import { Dropout } from './dropout.js' */
/** @import { CapacityOption } from './keyValueCache.js' */
/** @import { NativeObject } from './nativeObject.js' */
/** @import { Operation, Runtime } from './runtime.js' */
/** @import { TensorLike } from './tensor.js' */
/** @import { ResultKind, ResultTensor } from './tensorHandle.js' */
/** @import { TransformerLayerOptions, TransformerOptions } from './transformer.js' */

/**
 * @typedef {object} DecoderLayerCall
 * @property {AttentionOptions} [selfAttention]  its stages included. Nothing is causal unless it is
 *   asked for: `{ causal: true }`
 * @property {AttentionOptions} [crossAttention]  its stages included
 * @property {Dropout} [dropout]  acts in six places, with streams stream … + 5; for training
 */

/** @typedef {DecoderLayerCall & { needWeights?: boolean }} DecoderCall  of every layer, without stages */

/**
 * @template {ResultKind} [As='array']
 * @typedef {object} DecoderLayerResult
 * @property {ResultTensor<As>} output  the shape of `x`
 * @property {AttentionStages<As>} selfAttention  the stages asked for
 * @property {AttentionStages<As>} crossAttention  the stages asked for
 */

/**
 * @template {ResultKind} [As='array']
 * @typedef {object} DecoderResult
 * @property {ResultTensor<As>} output  the shape of `x`
 * @property {ResultTensor<As>[]} [selfAttentionWeights]  of each layer (B, H, N, past + N)
 * @property {ResultTensor<As>[]} [crossAttentionWeights]  of each layer (B, H, N, M)
 */

/**
 * @param {TensorLike} x
 * @param {TensorLike | DecodingState} memory
 * @param {TransformerLayerOptions} options
 * @returns {{ self: ScoreSizes, cross: ScoreSizes }}
 */
function checkInputs(x, memory, { dModel, numHeads = 1 }) {
  checkRows('x', x, dModel, 'dModel');
  const isState = memory instanceof DecodingState;
  const self = selfSizes(x, dModel, numHeads, isState ? memory.length : 0);
  if (isState) {
    checkEqual('x', 'batch', self.batch, 'batch of the state', memory.batch);
    return { self, cross: { ...self, numKeys: memory.memoryLength } };
  }
  checkRows('memory', memory, dModel, 'dModel');
  const rank = x.shape.length;
  checkEqual('memory', 'rank', memory.shape.length, 'rank of x', rank);
  if (rank === 3) checkEqual('memory', 'batch', memory.shape[0], 'batch of x', self.batch);
  return { self, cross: { ...self, numKeys: memory.shape[rank - 2] } };
}

/**
 * @param {Runtime} runtime
 * @param {number} decoder
 * @param {Operation} start
 * @param {{ remove: Operation, length: Operation, truncate: Operation }} operations
 * @param {TensorLike} memory
 * @param {number} dModel
 * @param {CapacityOption} options
 */
function startState(runtime, decoder, start, operations, memory, dModel, { capacity = 0 }) {
  checkRows('memory', memory, dModel, 'dModel');
  checkInteger('capacity', capacity, 0);
  const address = make(runtime, start, (call) => {
    call.number(decoder);
    call.floats('memory', memory);
    call.number(capacity);
  });
  const rank = memory.shape.length;
  const batch = rank === 3 ? memory.shape[0] : 1;
  return new DecodingState(runtime, operations, address, batch, memory.shape[rank - 2]);
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
 */
export class TransformerDecoderLayer extends Layer {
  #options;

  /**
   * @param {Runtime} runtime
   * @param {TransformerLayerOptions} options
   * @param {{ owner: NativeObject, index: number }} [place]  of a layer of a stack
   */
  constructor(runtime, options, place) {
    if (!place) checkLayer(options);
    super(
      runtime,
      place ? 'layerOfDecoder' : 'makeDecoderLayer',
      (call) => {
        if (!place) return writeLayer(call, options);
        call.number(place.owner.address);
        call.number(place.index);
      },
      place?.owner,
    );
    this.#options = { ...options };
    if (!place) this.initializeFrom('initializeDecoderLayer', options);
  }

  /**
   * @param {TensorLike} x  (B, N, E) or (N, E)
   * @param {TensorLike | DecodingState} memory  the encoder's output (B, M, E) or (M, E), or the state
   *   that `start()` made of it: `x` are then the next tokens, which attend to all before them
   * @param {DecoderLayerCall} [options]
   * @returns {DecoderLayerResult<As>}
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `size_overflow`, `out_of_memory`,
   *   `disposed`
   */
  forward(x, memory, options = {}) {
    checkOptions(options);
    const { selfAttention = {}, crossAttention = {}, dropout } = options;
    const { self, cross } = checkInputs(x, memory, this.#options);
    checkAttentionOptions(selfAttention, self);
    checkAttentionOptions(crossAttention, cross);
    checkDropout(dropout);
    const leading = leadingOf(x, self.numHeads);
    return this.runtime.call((call) => {
      call.number(this.address);
      call.floats('x', x);
      const output = call.result('output', x.shape);
      const isState = memory instanceof DecodingState;
      call.number(isState ? memory.address : 0);
      call.floats('memory', isState ? undefined : memory);
      const selfStages = writeAttentionOptions(call, selfAttention, self, leading);
      const crossStages = writeAttentionOptions(call, crossAttention, cross, leading);
      call.dropout(dropout);
      call.number(0);
      call.number(0);
      call.run(this.runtime.native.forwardDecoderLayer);
      return {
        output: call.give(output),
        selfAttention: giveEach(call, selfStages ?? {}),
        crossAttention: giveEach(call, crossStages ?? {}),
      };
    });
  }

  /**
   * A state that holds the projections of `memory`, and no tokens yet.
   * @param {TensorLike} memory  (B, M, E) or (M, E)
   * @param {CapacityOption} [options]
   * @returns {DecodingState}
   */
  start(memory, options = {}) {
    const operations = /** @type {const} */ ({
      remove: 'deleteDecoderLayerState',
      length: 'lengthOfDecoderLayerState',
      truncate: 'truncateDecoderLayerState',
    });
    const { dModel } = this.#options;
    const start = 'startDecoderLayer';
    return startState(this.runtime, this.address, start, operations, memory, dModel, options);
  }
}

/**
 * A stack of such layers (torch.nn.TransformerDecoder). Parameters: `layers.0.…` and so on, and with
 * `finalNorm` `norm.weight` and `norm.bias`.
 *
 * @template {ResultKind} [As='array']
 */
export class TransformerDecoder extends Layer {
  #options;

  /**
   * @param {Runtime} runtime
   * @param {TransformerOptions} options
   */
  constructor(runtime, options) {
    checkStack(options);
    super(runtime, 'makeDecoder', (call) => writeStack(call, options));
    this.#options = { ...options };
    if (options.init !== 'zeros') {
      this.initialize('initializeDecoder', (call) => call.number(options.seed ?? 0));
    }
    /**
     * The layers, on the weights of the stack: each can be run by itself, for every stage of its
     * attentions. They live as long as the stack.
     * @readonly
     * @type {readonly TransformerDecoderLayer<As>[]}
     */
    this.layers = Array.from(
      { length: options.numLayers ?? 1 },
      (_, index) => new TransformerDecoderLayer(runtime, options, { owner: this, index }),
    );
  }

  /**
   * @param {TensorLike} x  (B, N, E) or (N, E)
   * @param {TensorLike | DecodingState} memory  the encoder's output (B, M, E) or (M, E), or the state
   *   that `start()` made of it: `x` are then the next tokens, which attend to all before them
   * @param {DecoderCall} [options]
   * @returns {DecoderResult<As>}
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `size_overflow`, `out_of_memory`,
   *   `disposed`
   */
  forward(x, memory, options = {}) {
    checkOptions(options);
    const { selfAttention = {}, crossAttention = {}, dropout, needWeights = false } = options;
    const { numLayers = 1 } = this.#options;
    const { self, cross } = checkInputs(x, memory, this.#options);
    checkAttentionOptions(selfAttention, self);
    checkAttentionOptions(crossAttention, cross);
    checkDropout(dropout);
    const leading = leadingOf(x, self.numHeads);
    const seen = (/** @type {ScoreSizes} */ { batch, numHeads, numQueries, numKeys }) => [
      batch,
      numHeads,
      numQueries,
      numKeys,
    ];
    if (needWeights) {
      checkShape('selfAttentionWeights', seen(self));
      checkShape('crossAttentionWeights', seen(cross));
    }
    return this.runtime.call((call) => {
      call.number(this.address);
      call.floats('x', x);
      const output = call.result('output', x.shape);
      const isState = memory instanceof DecodingState;
      call.number(isState ? memory.address : 0);
      call.floats('memory', isState ? undefined : memory);
      writeAttentionOptions(call, selfAttention, self, leading);
      writeAttentionOptions(call, crossAttention, cross, leading);
      call.dropout(dropout);
      const [selfWeights, crossWeights] = [self, cross].map((sizes) => {
        const shape = [...leading, sizes.numKeys];
        return writeLayerWeights(call, needWeights, numLayers, 'weights', shape, seen(sizes));
      });
      call.run(this.runtime.native.forwardDecoder);
      return {
        output: call.give(output),
        ...(needWeights && {
          selfAttentionWeights: selfWeights.map((result) => call.give(result)),
          crossAttentionWeights: crossWeights.map((result) => call.give(result)),
        }),
      };
    });
  }

  /**
   * A state that holds the projections of `memory`, and no tokens yet.
   * @param {TensorLike} memory  (B, M, E) or (M, E)
   * @param {CapacityOption} [options]
   * @returns {DecodingState}
   */
  start(memory, options = {}) {
    const operations = /** @type {const} */ ({
      remove: 'deleteDecoderState',
      length: 'lengthOfDecoderState',
      truncate: 'truncateDecoderState',
    });
    const { dModel } = this.#options;
    const start = 'startDecoder';
    return startState(this.runtime, this.address, start, operations, memory, dModel, options);
  }
}
