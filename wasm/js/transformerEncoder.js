import { checkAttentionOptions, giveStages, writeAttentionOptions } from './attentionOptions.js';
import { checkDropout } from './dropout.js';
import { DecodingState, KeyValueCache } from './keyValueCache.js';
import { checkRows, Layer } from './layer.js';
import { leadingOf } from './multiHeadAttention.js';
import { make } from './nativeObject.js';
import { checkInteger, checkOptions, checkShape, invalid } from './tensor.js';
import {
  checkLayer,
  checkStack,
  writeLayer,
  writeLayerWeights,
  writeStack,
} from './transformer.js';

/** @import { AttentionOptions } from './attentionOptions.js' */
/** @import { Dropout } from './dropout.js' */
/** @import { CapacityOption } from './keyValueCache.js' */
/** @import { NativeObject } from './nativeObject.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { AttentionResult } from './scaledDotProductAttention.js' */
/** @import { TensorLike } from './tensor.js' */
/** @import { ResultKind, ResultTensor } from './tensorHandle.js' */
/** @import { TransformerLayerOptions, TransformerOptions } from './transformer.js' */

/**
 * @typedef {object} EncoderLayerCall
 * @property {AttentionOptions} [attention]  of self-attention, its stages included
 * @property {Dropout} [dropout]  acts in four places, with streams stream … + 3; for training
 * @property {KeyValueCache<any>} [cache]  of `makeCache()`: `x` are then the next tokens of a
 *   sequence, which attend to all before them, too, and are appended
 */

/**
 * @typedef {object} EncoderCall
 * @property {AttentionOptions} [attention]  of self-attention in every layer, without its stages
 * @property {Dropout} [dropout]  layer l uses streams stream + 4·l … + 3; for training
 * @property {boolean} [needWeights]  whether to return the attention weights of every layer
 * @property {DecodingState} [caches]  of `makeCaches()`, as `cache` of a layer
 */

/**
 * @template {ResultKind} [As='array']
 * @typedef {object} EncoderResult
 * @property {ResultTensor<As>} output  the shape of `x`
 * @property {ResultTensor<As>[]} [weights]  of each layer (B, H, Nq, Nk), with `needWeights`
 */

/**
 * The sizes of self-attention over the rows of x.
 * @param {TensorLike} x
 * @param {number} dModel
 * @param {number} numHeads
 * @param {number} past
 */
export function selfSizes(x, dModel, numHeads, past) {
  const rank = x.shape.length;
  const batch = rank === 3 ? x.shape[0] : 1;
  const numQueries = x.shape[rank - 2];
  const headDim = dModel / numHeads;
  return { batch, numHeads, numQueries, numKeys: past + numQueries, headDim, valueDim: headDim };
}

/**
 * A layer of a Transformer's encoder (Vaswani et al. 2017; torch.nn.TransformerEncoderLayer):
 *
 *   post-norm:  h = norm1(x + dropout(self_attn(x, x, x)))
 *               output = norm2(h + dropout(feed_forward(h)))
 *   pre-norm:   h = x + dropout(self_attn(n, n, n)),  n = norm1(x)
 *               output = h + dropout(feed_forward(norm2(h)))
 *
 * Parameters, in PyTorch's order: `self_attn.…` (see `MultiHeadAttention`), `linear1.…`,
 * `linear2.…`, `norm1.…`, `norm2.…`.
 *
 * @template {ResultKind} [As='array']
 */
export class TransformerEncoderLayer extends Layer {
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
      place ? 'layerOfEncoder' : 'makeEncoderLayer',
      (call) => {
        if (!place) return writeLayer(call, options);
        call.number(place.owner.address);
        call.number(place.index);
      },
      place?.owner,
    );
    this.#options = { ...options };
    if (!place) this.initializeFrom('initializeEncoderLayer', options);
  }

  /**
   * @param {TensorLike} x  (B, N, E) or (N, E)
   * @param {EncoderLayerCall} [options]
   * @returns {AttentionResult<As>} `output` of the shape of `x`, and the stages of attention asked for
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `size_overflow`, `out_of_memory`,
   *   `disposed`
   */
  forward(x, options = {}) {
    checkOptions(options);
    const { attention = {}, dropout, cache } = options;
    const { dModel, numHeads = 1 } = this.#options;
    checkRows('x', x, dModel, 'dModel');
    if (cache && !(cache instanceof KeyValueCache))
      throw invalid('cache', cache, 'a KeyValueCache');
    checkDropout(dropout);
    const sizes = selfSizes(x, dModel, numHeads, cache ? cache.length : 0);
    checkAttentionOptions(attention, sizes);
    return this.runtime.call((call) => {
      call.number(this.address);
      call.floats('x', x);
      const output = call.result('output', x.shape);
      call.number(cache ? cache.address : 0);
      const stages = writeAttentionOptions(call, attention, sizes, leadingOf(x, numHeads));
      call.dropout(dropout);
      call.run(this.runtime.native.forwardEncoderLayer);
      return giveStages(call, output, stages);
    });
  }

  /**
   * An empty cache for `forward`.
   * @param {number} [batch]  1 by default
   * @param {CapacityOption} [options]
   * @returns {KeyValueCache<As>}
   */
  makeCache(batch = 1, { capacity = 0 } = {}) {
    checkInteger('batch', batch, 1);
    checkInteger('capacity', capacity, 0);
    const { dModel, numHeads = 1, numKvHeads = numHeads } = this.#options;
    const address = make(this.runtime, 'makeLayerCache', (call) => {
      call.number(this.address);
      call.number(batch);
      call.number(capacity);
    });
    return new KeyValueCache(
      this.runtime,
      { batch, numKvHeads, headDim: dModel / numHeads },
      address,
    );
  }
}

/**
 * A stack of such layers (torch.nn.TransformerEncoder). Parameters: `layers.0.…` and so on, and with
 * `finalNorm` `norm.weight` and `norm.bias`.
 *
 * @template {ResultKind} [As='array']
 */
export class TransformerEncoder extends Layer {
  #options;

  /**
   * @param {Runtime} runtime
   * @param {TransformerOptions} options
   */
  constructor(runtime, options) {
    checkStack(options);
    super(runtime, 'makeEncoder', (call) => writeStack(call, options));
    this.#options = { ...options };
    if (options.init !== 'zeros') {
      this.initialize('initializeEncoder', (call) => call.number(options.seed ?? 0));
    }
    /**
     * The layers, on the weights of the stack: each can be run by itself, for every stage of its
     * attention. They live as long as the stack.
     * @readonly
     * @type {readonly TransformerEncoderLayer<As>[]}
     */
    this.layers = Array.from(
      { length: options.numLayers ?? 1 },
      (_, index) => new TransformerEncoderLayer(runtime, options, { owner: this, index }),
    );
  }

  /**
   * @param {TensorLike} x  (B, N, E) or (N, E)
   * @param {EncoderCall} [options]
   * @returns {EncoderResult<As>}
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `size_overflow`, `out_of_memory`,
   *   `disposed`
   */
  forward(x, options = {}) {
    checkOptions(options);
    const { attention = {}, dropout, needWeights = false, caches } = options;
    const { dModel, numHeads = 1, numLayers = 1 } = this.#options;
    checkRows('x', x, dModel, 'dModel');
    if (caches && !(caches instanceof DecodingState)) {
      throw invalid('caches', caches, 'what makeCaches() gives');
    }
    checkDropout(dropout);
    const sizes = selfSizes(x, dModel, numHeads, caches ? caches.length : 0);
    checkAttentionOptions(attention, sizes);
    const leading = leadingOf(x, numHeads);
    const shape = [...leading, sizes.numKeys];
    const seenAs = [sizes.batch, numHeads, sizes.numQueries, sizes.numKeys];
    if (needWeights) checkShape('weights', seenAs);
    return this.runtime.call((call) => {
      call.number(this.address);
      call.floats('x', x);
      const output = call.result('output', x.shape);
      call.number(caches ? caches.address : 0);
      writeAttentionOptions(call, attention, sizes, leading);
      call.dropout(dropout);
      const weights = writeLayerWeights(call, needWeights, numLayers, 'weights', shape, seenAs);
      call.run(this.runtime.native.forwardEncoder);
      return {
        output: call.give(output),
        ...(needWeights && { weights: weights.map((result) => call.give(result)) }),
      };
    });
  }

  /**
   * An empty cache for each layer: with `causal` attention the stack is then a decoder without cross
   * attention, as GPT.
   * @param {number} [batch]  1 by default
   * @param {CapacityOption} [options]
   * @returns {DecodingState}
   */
  makeCaches(batch = 1, { capacity = 0 } = {}) {
    checkInteger('batch', batch, 1);
    checkInteger('capacity', capacity, 0);
    const address = make(this.runtime, 'makeCaches', (call) => {
      call.number(this.address);
      call.number(batch);
      call.number(capacity);
    });
    const operations = /** @type {const} */ ({
      remove: 'deleteCaches',
      length: 'lengthOfCaches',
      truncate: 'truncateCaches',
    });
    return new DecodingState(this.runtime, operations, address, batch);
  }
}
