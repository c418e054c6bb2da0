import {
  checkAttentionOptions,
  giveStages,
  writeAttentionOptions,
  writeInputs,
} from './attentionOptions.js';
import { checkAttentionPositions, writeAttentionPositions } from './attentionPositions.js';
import { checkRandom } from './dropout.js';
import { KeyValueCache } from './keyValueCache.js';
import { Layer } from './layer.js';
import { make } from './nativeObject.js';
import {
  checkChoice,
  checkEqual,
  checkInteger,
  checkOptions,
  checkShape,
  checkTensor,
  invalid,
} from './tensor.js';

/** @import { AttentionOptions } from './attentionOptions.js' */
/** @import { AttentionPositions } from './attentionPositions.js' */
/** @import { RandomOptions } from './dropout.js' */
/** @import { CapacityOption } from './keyValueCache.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { AttentionResult } from './scaledDotProductAttention.js' */
/** @import { TensorLike } from './tensor.js' */
/** @import { ResultKind } from './tensorHandle.js' */

/**
 * @typedef {object} MultiHeadAttentionSizes
 * @property {number} dModel  E, width of queries and of the output; D2L calls it num_hiddens
 * @property {number} [numHeads]  H, divides E; 1 by default
 * @property {number} [numKvHeads]  heads of keys and values, divides `numHeads`, which is the default
 * @property {number} [keyDim]  width of the keys given; E by default
 * @property {number} [valueDim]  width of the values given; E by default
 * @property {boolean} [bias]  whether the projections have biases; none by default
 * @property {AttentionPositions} [positions]  none by default
 * @property {boolean} [sinks]  a learned score per head that has no value; none by default
 * @property {'xavier' | 'identity' | 'zeros'} [init]  the first weights: each projection drawn by
 *   Xavier's uniform rule, all of them identical, so that head h sees slice h of its inputs as they
 *   are, or zeros; `'xavier'` by default
 */

/** @typedef {MultiHeadAttentionSizes & RandomOptions} MultiHeadAttentionOptions */

/**
 * @typedef {object} CacheOption
 * @property {KeyValueCache<any>} [cache]  of `makeCache()`: keys and values are those of the next tokens
 *   of a sequence; they are appended, and the query attends to all that the cache holds. Masks and
 *   lengths are over past + N keys, and diagonals count from the beginning of the sequence
 */

/** @typedef {AttentionOptions & CacheOption} MultiHeadAttentionForwardOptions */

const kRanks = { 2: '(N, E)', 3: '(B, N, E)' };

/**
 * Multi-head attention (Vaswani et al. 2017; torch.nn.MultiheadAttention; D2L 11.5):
 *
 *   head_h = attention(query · W_qᵀ, key · W_kᵀ, value · W_vᵀ) of slice h,  D = E / H
 *   output = concat(head_1 … head_H) · W_oᵀ
 *
 * Parameters, with PyTorch's names and layouts: `in_proj_weight` (3·E, E), which is W_q, W_k and
 * W_v one below the other; where keys and values have their own width or number of heads instead
 * `q_proj_weight` (E, E), `k_proj_weight` (Hkv·D, keyDim) and `v_proj_weight` (Hkv·D, valueDim);
 * `out_proj.weight` (E, E); and with `bias` also `in_proj_bias` (E + 2·Hkv·D,) and `out_proj.bias`
 * (E,). Then what PyTorch does not have: `relative_keys` and `relative_values` (2k+1, D) of Shaw's
 * positions, `relative_attention_bias.weight` (numBuckets, H) of T5's, and `sinks` (H,).
 *
 * ```js
 * using mha = new attn.MultiHeadAttention({ dModel: 100, numHeads: 5 });
 * const { output, weights } = mha.forward(x, x, x, { validLens: [3, 2], needWeights: true });
 * ```
 *
 * @template {ResultKind} [As='array']
 */
export class MultiHeadAttention extends Layer {
  #sizes;

  /**
   * @param {Runtime} runtime
   * @param {MultiHeadAttentionOptions} options
   */
  constructor(runtime, options) {
    checkOptions(options);
    const { dModel, numHeads = 1, numKvHeads = numHeads, init = 'xavier' } = options;
    const { keyDim = dModel, valueDim = dModel, bias = false, sinks = false } = options;
    checkInteger('dModel', dModel, 1);
    checkInteger('numHeads', numHeads, 1);
    if (dModel % numHeads !== 0) {
      throw invalid('numHeads', numHeads, `a divisor of dModel ${dModel}`);
    }
    checkInteger('numKvHeads', numKvHeads, 1);
    checkInteger('keyDim', keyDim, 1);
    checkInteger('valueDim', valueDim, 1);
    checkAttentionPositions(options.positions);
    checkChoice('init', init, ['xavier', 'identity', 'zeros']);
    checkRandom(options);
    checkShape('in_proj_weight', [3 * dModel, dModel]);
    checkShape('k_proj_weight', [numKvHeads, dModel / numHeads, keyDim]);
    checkShape('v_proj_weight', [numKvHeads, dModel / numHeads, valueDim]);
    super(runtime, 'makeMultiHeadAttention', (call) => {
      call.number(dModel);
      call.number(numHeads);
      call.optional(options.numKvHeads);
      call.optional(options.keyDim);
      call.optional(options.valueDim);
      call.flag(bias);
      call.flag(sinks);
      writeAttentionPositions(call, options.positions);
    });
    this.#sizes = { dModel, numHeads, numKvHeads, keyDim, valueDim };
    if (init === 'identity') this.initialize('initializeIdentity');
    if (init === 'xavier') {
      this.initialize('initializeMultiHeadAttention', (call) => call.random(options));
    }
  }

  /** E, the width of inputs and output. */
  get dModel() {
    return this.#sizes.dModel;
  }

  /** H. */
  get numHeads() {
    return this.#sizes.numHeads;
  }

  /** Hkv, the number of heads of keys and values. */
  get numKvHeads() {
    return this.#sizes.numKvHeads;
  }

  /**
   * @param {TensorLike} query  (B, Nq, E) or (Nq, E)
   * @param {TensorLike} [key]  (B, Nk, keyDim), of the same rank; `query` by default
   * @param {TensorLike} [value]  (B, Nk, valueDim), of the same rank; `key` by default
   * @param {MultiHeadAttentionForwardOptions} [options]
   * @returns {AttentionResult<As>} `output` of the shape of `query`, and the stages asked for, (B, H,
   *   Nq, Nk), or (H, Nq, Nk) without B
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `size_overflow`, `out_of_memory`,
   *   `disposed`
   */
  forward(query, key = query, value = key, options = {}) {
    checkOptions(options);
    const { cache } = options;
    const batch = this.#checkQuery(query);
    this.#checkKeys(key, value, query.shape.length, batch);
    if (cache) checkCache(cache);
    const numKeys = (cache ? cache.length : 0) + key.shape[key.shape.length - 2];
    const sizes = this.#scoreSizes(query, batch, numKeys);
    checkAttentionOptions(options, sizes);
    return this.runtime.call((call) => {
      call.number(this.address);
      writeInputs(call, query, key, value);
      const output = call.result('output', query.shape);
      if (cache) call.number(cache.address);
      const leading = leadingOf(query, sizes.numHeads);
      const stages = writeAttentionOptions(call, options, sizes, leading);
      const { native } = this.runtime;
      call.run(cache ? native.forwardWithCache : native.forwardMultiHeadAttention);
      return giveStages(call, output, stages);
    });
  }

  /**
   * An empty cache for decoding token by token.
   * @param {number} [batch]  1 by default
   * @param {CapacityOption} [options]
   * @returns {KeyValueCache<As>}
   */
  makeCache(batch = 1, { capacity = 0 } = {}) {
    checkInteger('batch', batch, 1);
    checkInteger('capacity', capacity, 0);
    const { dModel, numHeads, numKvHeads } = this.#sizes;
    const address = make(this.runtime, 'makeAttentionCache', (call) => {
      call.number(this.address);
      call.number(batch);
      call.number(capacity);
    });
    const headDim = dModel / numHeads;
    return new KeyValueCache(this.runtime, { batch, numKvHeads, headDim }, address);
  }

  /**
   * Projects keys and values and appends them: for cross attention, whose keys and values are
   * projected once and then attended to in every step.
   * @param {TensorLike} key  (B, Nk, keyDim) or (Nk, keyDim)
   * @param {TensorLike} value  (B, Nk, valueDim) or (Nk, valueDim)
   * @param {KeyValueCache<any>} cache
   * @throws {AttnError} `shape_mismatch`, `out_of_memory`, `disposed`; the cache is then as it was
   */
  append(key, value, cache) {
    checkTensor('key', key, kRanks);
    const rank = key.shape.length;
    this.#checkKeys(key, value, rank, rank === 3 ? key.shape[0] : 1);
    checkCache(cache);
    this.runtime.call((call) => {
      call.number(this.address);
      call.floats('key', key);
      call.floats('value', value);
      call.number(cache.address);
      call.run(this.runtime.native.appendKeys);
    });
  }

  /**
   * Attends to what a cache holds. Diagonals are as given: query i is at key i + offset.
   * @param {TensorLike} query  (B, Nq, E) or (Nq, E)
   * @param {KeyValueCache<any>} cache
   * @param {AttentionOptions} [options]
   * @returns {AttentionResult<As>}
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `size_overflow`, `out_of_memory`,
   *   `disposed`
   */
  attend(query, cache, options = {}) {
    checkOptions(options);
    const batch = this.#checkQuery(query);
    checkCache(cache);
    const sizes = this.#scoreSizes(query, batch, cache.length);
    checkAttentionOptions(options, sizes);
    return this.runtime.call((call) => {
      call.number(this.address);
      call.floats('query', query);
      call.number(cache.address);
      const output = call.result('output', query.shape);
      const leading = leadingOf(query, sizes.numHeads);
      const stages = writeAttentionOptions(call, options, sizes, leading);
      call.run(this.runtime.native.attend);
      return giveStages(call, output, stages);
    });
  }

  /**
   * @param {TensorLike} query
   * @returns {number} the batch
   */
  #checkQuery(query) {
    checkTensor('query', query, kRanks);
    const rank = query.shape.length;
    checkEqual('query', 'width', query.shape[rank - 1], 'dModel', this.#sizes.dModel);
    return rank === 3 ? query.shape[0] : 1;
  }

  /**
   * @param {TensorLike} key
   * @param {TensorLike} value
   * @param {number} rank
   * @param {number} batch
   */
  #checkKeys(key, value, rank, batch) {
    const { dModel, keyDim, valueDim } = this.#sizes;
    checkTensor('key', key, sameRank(rank));
    if (value !== key) checkTensor('value', value, sameRank(rank));
    const width = key.shape[rank - 1];
    checkEqual('key', 'width', width, keyDim === dModel ? 'dModel' : 'keyDim', keyDim);
    const valueWidth = value.shape[rank - 1];
    checkEqual('value', 'width', valueWidth, valueDim === dModel ? 'dModel' : 'valueDim', valueDim);
    checkEqual('key', 'batch', rank === 3 ? key.shape[0] : 1, 'query batch', batch);
    checkEqual('value', 'batch', rank === 3 ? value.shape[0] : 1, 'query batch', batch);
    checkEqual('key', 'length', key.shape[rank - 2], 'value length', value.shape[rank - 2]);
  }

  /**
   * @param {TensorLike} query
   * @param {number} batch
   * @param {number} numKeys
   */
  #scoreSizes(query, batch, numKeys) {
    const { dModel, numHeads } = this.#sizes;
    const headDim = dModel / numHeads;
    const numQueries = query.shape[query.shape.length - 2];
    return { batch, numHeads, numQueries, numKeys, headDim, valueDim: headDim };
  }
}

/** @param {KeyValueCache<any>} cache */
function checkCache(cache) {
  if (!(cache instanceof KeyValueCache)) throw invalid('cache', cache, 'a KeyValueCache');
}

/**
 * (B, H, Nq), or (H, Nq) without B.
 * @param {TensorLike} x
 * @param {number} numHeads
 */
export const leadingOf = ({ shape }, numHeads) =>
  shape.length === 3 ? [shape[0], numHeads, shape[1]] : [numHeads, shape[0]];

/** @param {number} rank */
const sameRank = (rank) => ({ [rank]: 'as query has' });
