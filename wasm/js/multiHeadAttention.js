import { kAttentionNames, sizesOf } from './attentionOptions.js';
import { nativeAttentionSizes, optionalWindow, positions } from './attentionPositions.js';
import { choice, flag, headDim, kRandomStream, like, optionalReal, real, size } from './checks.js';
import { kElementTypes } from './elementType.js';
import { invalid } from './errors.js';
import { kInterventions } from './interventions.js';
import { KeyValueCache, makeCache } from './keyValueCache.js';
import { firstWeights, Layer } from './layer.js';
import { checkAttentionOptions, checkInputs, giveAll } from './nativeAttentionOptions.js';
import { checkLayerCall, nativeLayerCall, shown } from './nativeLayerCall.js';
import { isObjectOf } from './nativeObject.js';
import { readOptions } from './options.js';
import { optionalRMSNorm } from './rmsNorm.js';
import { checkEqual } from './shape.js';
import { kRowRanks } from './tensor.js';

/** @import { AttentionOptions, Window } from './attentionOptions.js' */
/** @import { AttentionPositions, KeyPositionsOption, PositionsOption } from './attentionPositions.js' */
/** @import { RandomOptions } from './dropout.js' */
/** @import { ElementsLike, ElementType, OutputTypeOption } from './elementType.js' */
/** @import { InterventionOptions } from './interventions.js' */
/** @import { CapacityOption } from './keyValueCache.js' */
/** @import { Asked, IntermediatesOption, ShownIntermediates } from './layer.js' */
/** @import * as Native from './native.js' */
/** @import { NativeCall, NativeResult } from './nativeCall.js' */
/** @import { CheckedLayerCall } from './nativeLayerCall.js' */
/** @import { Names } from './options.js' */
/** @import { RMSNormRule } from './rmsNorm.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { AttentionResult } from './scaledDotProductAttention.js' */
/** @import { Given, Gives, ResultKind, TensorHandle } from './tensorHandle.js' */

/**
 * @typedef {object} MultiHeadAttentionSizes
 * @property {number} dModel  E, width of queries and output; D2L calls it num_hiddens
 * @property {number} [numHeads]  H; 1 by default
 * @property {number} [numKvHeads]  heads of keys and values, a divisor of `numHeads`; `numHeads` by default
 * @property {number} [headDim]  D; E / H by default, which must then be a whole number
 * @property {number} [keyDim]  width of the input keys; E by default
 * @property {number} [valueDim]  width of the input values; E by default
 * @property {boolean} [bias]  true if the projections have biases; `false` by default
 * @property {boolean} [outputBias]  true if the output projection has a bias; `bias` by default (Qwen 2: `false`)
 * @property {RMSNormRule} [qkNorm]  normalises each head of queries and keys after the projection
 *   and before the rotation (Qwen 3, Gemma 3); none by default
 * @property {boolean} [qkNormAllHeads]  normalises all heads together instead (OLMo 2); `false` by default
 * @property {AttentionPositions} [positions]  none by default
 * @property {boolean} [sinks]  adds one learned score per head to the softmax; this score has no
 *   value vector; `false` by default
 * @property {number} [scale]  default of the attention option `scale` in calls; `softcap` and
 *   `window` work the same way. Gemma uses 1/√query_pre_attn_scalar
 * @property {number} [softcap]  none by default
 * @property {Window} [window]  none by default
 * @property {'xavier' | 'identity' | 'zeros'} [init]  initial weights: `'xavier'` draws each projection
 *   with Xavier's uniform rule, `'identity'` makes each an identity, so that head h sees slice h of its
 *   inputs unchanged, and `'zeros'` sets all to zero; `'xavier'` by default
 */

/** @typedef {MultiHeadAttentionSizes & RandomOptions} MultiHeadAttentionOptions */

/**
 * @typedef {object} CacheOption
 * @property {KeyValueCache<any>} [cache]  from `makeCache()`. Keys and values belong to the next tokens of
 *   a sequence: they are appended, and the query attends to everything in the cache. Masks and lengths cover
 *   past + N keys, and the diagonal counts from the beginning of the sequence
 */

/**
 * @template {boolean} [Scaled=boolean]
 * @template {boolean} [Capped=boolean]
 * @template {boolean} [Biased=boolean]
 * @template {boolean} [Weights=boolean]
 * @template {boolean} [LogSumExp=boolean]
 * @template {boolean} [Sums=boolean]
 * @template {Asked} [N=Asked]
 * @template {ElementType} [Output=ElementType]
 * @typedef {AttentionOptions<Scaled, Capped, Biased, Weights, LogSumExp, Sums>
 *   & PositionsOption & KeyPositionsOption & CacheOption & OutputTypeOption<Output>
 *   & IntermediatesOption<N> & InterventionOptions} MultiHeadAttentionForwardOptions
 */

/**
 * @template {ResultKind} [As='array']
 * @template {boolean} [Scaled=boolean]
 * @template {boolean} [Capped=boolean]
 * @template {boolean} [Biased=boolean]
 * @template {boolean} [Weights=boolean]
 * @template {boolean} [LogSumExp=boolean]
 * @template {boolean} [Sums=boolean]
 * @template {Asked} [N=Asked]
 * @template {ElementType} [Output='float32']
 * @typedef {AttentionResult<As, Scaled, Capped, Biased, Weights, LogSumExp, Sums, Output>
 *   & ShownIntermediates<As, N>} MultiHeadAttentionResult
 */

const kOptions = {
  dModel: size(),
  numHeads: size(1),
  numKvHeads: like('numHeads', size()),
  headDim,
  keyDim: like('dModel', size()),
  valueDim: like('dModel', size()),
  bias: flag(false),
  outputBias: like('bias', flag()),
  qkNorm: optionalRMSNorm,
  qkNormAllHeads: flag(false),
  sinks: flag(false),
  scale: optionalReal,
  softcap: real(0),
  window: optionalWindow,
  positions,
  init: choice(['xavier', 'identity', 'zeros']),
  ...kRandomStream,
};

const kPositions = { positions: true };
/** @type {Names<AttentionOptions & PositionsOption & OutputTypeOption & IntermediatesOption>} */
const kAttendNames = {
  ...kAttentionNames,
  ...kPositions,
  outputType: true,
  intermediates: true,
};
/** @type {Names<MultiHeadAttentionForwardOptions>} */
const kForwardNames = { cache: true, ...kAttendNames, ...kInterventions, keyPositions: true };

/**
 * Multi-head attention (Vaswani et al. 2017; torch.nn.MultiheadAttention; D2L 11.5):
 *
 *   head_h = attention(query · W_qᵀ, key · W_kᵀ, value · W_vᵀ) over slice h of D columns
 *   output = concat(head_1 … head_H) · W_oᵀ
 *
 * The parameters have PyTorch's names and layouts:
 * - `in_proj_weight` (3·H·D, E), which stacks W_q, W_k and W_v. If keys or values have their own
 *   width or number of heads, there are three parameters instead: `q_proj_weight` (H·D, E),
 *   `k_proj_weight` (Hkv·D, keyDim) and `v_proj_weight` (Hkv·D, valueDim).
 * - `out_proj.weight` (E, H·D).
 * - With biases, `in_proj_bias` ((H + 2·Hkv)·D,) and `out_proj.bias` (E,).
 *
 * Parameters that PyTorch does not have:
 * - `relative_keys` and `relative_values` (2k+1, D) with Shaw's positions.
 * - `relative_attention_bias.weight` (numBuckets, H) with T5's positions.
 * - `sinks` (H,).
 * - `q_norm.weight` and `k_norm.weight` with `qkNorm`: (D,) as in Hugging Face's Qwen 3, or (H·D,) and
 *   (Hkv·D,) as in Hugging Face's OLMo 2.
 *
 * ```js
 * using mha = new attn.MultiHeadAttention({ dModel: 100, numHeads: 5 });
 * const { output, weights } = mha.forward(x, x, x, { validLens: [3, 2], needWeights: true });
 * ```
 *
 * @template {ResultKind} [As='array']
 * @extends {Layer<MultiHeadAttentionSizes, Native.MultiHeadAttention>}
 */
export class MultiHeadAttention extends Layer {
  /** @internal */
  static name = 'MultiHeadAttention';

  /**
   * @param {Runtime} runtime
   * @param {MultiHeadAttentionOptions} options
   */
  constructor(runtime, options) {
    super(
      runtime,
      (native, sizes, call) =>
        new native.MultiHeadAttention(
          nativeAttentionSizes(call, sizes),
          firstWeights(native, sizes),
        ),
      options,
      kOptions,
    );
  }

  /** E, the width of queries and output. */
  get dModel() {
    return this.sizes.dModel;
  }

  /** H, the number of query heads. */
  get numHeads() {
    return this.sizes.numHeads;
  }

  /** Hkv, the number of key and value heads. */
  get numKvHeads() {
    return this.sizes.numKvHeads;
  }

  /**
   * Projects queries, keys and values, attends in every head, and projects the concatenated heads. With only
   * `query` this is self-attention. `value` defaults to `key`.
   *
   * @template {boolean} [Scaled=false]
   * @template {boolean} [Capped=false]
   * @template {boolean} [Biased=false]
   * @template {boolean} [Weights=false]
   * @template {boolean} [LogSumExp=false]
   * @template {boolean} [Sums=false]
   * @template {Asked} [N=undefined]
   * @template {ElementType} [Output='float32']
   * @overload
   * @param {Given<As, ElementsLike | TensorHandle>} query  (B, Nq, E) or (Nq, E). All inputs may have any element type
   * @param {Given<As, ElementsLike | TensorHandle>} [key]  (B, Nk, keyDim), with the rank of `query`; `query` by default
   * @param {Given<As, ElementsLike | TensorHandle>} [value]  (B, Nk, valueDim), with the rank of `query`; `key` by default
   * @param {Given<As, MultiHeadAttentionForwardOptions<Scaled, Capped, Biased, Weights, LogSumExp, Sums, N, Output>>} [options]
   * @returns {Gives<As, MultiHeadAttentionResult<As, Scaled, Capped, Biased, Weights, LogSumExp, Sums, N, Output>>} `output` with
   *   the shape of `query`, and the requested stages, (B, H, Nq, Nk), or (H, Nq, Nk) without B
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `not_found`, `unsupported`, `size_overflow`,
   *   `out_of_memory`, `disposed`
   */
  /**
   * @param {any} query
   * @param {any} [key]
   * @param {any} [value]
   * @param {any} [options]
   * @returns {any}
   */
  forward(query, key = query, value = key, options = {}) {
    options = readOptions(options, kForwardNames);
    const { cache } = options;
    const past = cache === undefined ? 0 : lengthOf(cache);
    return this.invoke((call) => {
      const inputs = checkInputs(call, query, key, value, kRowRanks, kElementTypes);
      const { q, k, v, queries, keys, values } = inputs;
      checkEqual('query', 'width', queries.width, 'the dModel of this layer', this.sizes.dModel);
      this.#checkWidths(keys.width, values.width);
      const output = call.output(options.outputType, q.shape);
      /** @type {Native.KeyValueCache | null} */
      const kept = cache === undefined ? null : call.object('cache', cache);
      const checked = this.#checkCall(call, options, q.shape, past + keys.length);
      call.run(() =>
        this.native.forward(
          q.native,
          k.native,
          v.native,
          output.tensor.native,
          kept,
          nativeLayerCall(call, checked),
        ),
      );
      return giveWithStages(call, output, checked);
    });
  }

  /**
   * Makes an empty cache for decoding token by token.
   * @param {number} [batch]  1 by default
   * @param {CapacityOption} [options]
   * @returns {KeyValueCache<As>}
   */
  makeCache(batch = 1, options = {}) {
    return makeCache(this, this.sizes, batch, options);
  }

  /**
   * Projects keys and values and appends them to a cache. Use `append()` for cross attention, which
   * projects its keys and values once and attends to them in every step.
   * @param {ElementsLike | TensorHandle} key  (B, Nk, keyDim) or (Nk, keyDim), of any element type
   * @param {ElementsLike | TensorHandle} value  (B, Nk, valueDim) or (Nk, valueDim)
   * @param {KeyValueCache<any>} cache
   * @param {PositionsOption} [options]
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `out_of_memory`, `disposed`; an error leaves
   *   the cache unchanged
   */
  append(key, value, cache, options = {}) {
    options = readOptions(options, kPositions);
    lengthOf(cache);
    this.invoke((call) => {
      const keys = call.elements('key', key, kRowRanks);
      const values = call.elements('value', value, kRowRanks);
      const k = sizesOf(keys.shape);
      const v = sizesOf(values.shape);
      this.#checkWidths(k.width, v.width);
      checkEqual('value', 'batch', v.batch, 'the batch of key', k.batch);
      checkEqual('key', 'length', k.length, 'the length of value', v.length);
      const kept = call.object('cache', cache);
      const { positions } = checkLayerCall(call, options);
      call.run(() =>
        this.native.append(keys.native, values.native, kept, positions?.native ?? null),
      );
    });
  }

  /**
   * Attends to the keys and values in a cache. The cache's length does not shift the diagonal:
   * query i is aligned with key i + offset.
   * @template {boolean} [Scaled=false]
   * @template {boolean} [Capped=false]
   * @template {boolean} [Biased=false]
   * @template {boolean} [Weights=false]
   * @template {boolean} [LogSumExp=false]
   * @template {boolean} [Sums=false]
   * @template {Asked} [N=undefined]
   * @template {ElementType} [Output='float32']
   * @overload
   * @param {Given<As, ElementsLike | TensorHandle>} query  (B, Nq, E) or (Nq, E), of any element type
   * @param {Given<As, KeyValueCache<any>>} cache
   * @param {Given<As, AttentionOptions<Scaled, Capped, Biased, Weights, LogSumExp, Sums>
   *   & PositionsOption & OutputTypeOption<Output> & IntermediatesOption<N>>} [options]
   * @returns {Gives<As, MultiHeadAttentionResult<As, Scaled, Capped, Biased, Weights, LogSumExp, Sums, N, Output>>}
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `size_overflow`, `out_of_memory`,
   *   `disposed`
   */
  /**
   * @param {any} query
   * @param {any} cache
   * @param {any} [options]
   * @returns {any}
   */
  attend(query, cache, options = {}) {
    options = readOptions(options, kAttendNames);
    const numKeys = lengthOf(cache);
    return this.invoke((call) => {
      const q = call.rows('query', query, this.sizes.dModel, 'dModel', kElementTypes);
      /** @type {Native.KeyValueCache} */
      const kept = call.object('cache', cache);
      const output = call.output(options.outputType, q.shape);
      const checked = this.#checkCall(call, options, q.shape, numKeys);
      call.run(() =>
        this.native.attend(q.native, kept, output.tensor.native, nativeLayerCall(call, checked)),
      );
      return giveWithStages(call, output, checked);
    });
  }

  /**
   * @param {NativeCall} call
   * @param {MultiHeadAttentionForwardOptions} options
   * @param {readonly number[]} shape  shape of the queries
   * @param {number} numKeys
   */
  #checkCall(call, options, shape, numKeys) {
    const { positions, keyPositions, intermediates, ablate, patch, knockOut, ...attention } =
      options;
    const others = { positions, keyPositions, intermediates, ablate, patch, knockOut };
    return {
      attention: checkLayerAttention(call, attention, shape, this.sizes, numKeys),
      ...checkLayerCall(call, others),
    };
  }

  /**
   * @param {number} width  width of keys
   * @param {number} valueWidth  width of values
   */
  #checkWidths(width, valueWidth) {
    const { dModel, keyDim, valueDim } = this.sizes;
    const key = keyDim === dModel ? 'dModel' : 'keyDim';
    const value = valueDim === dModel ? 'dModel' : 'valueDim';
    checkEqual('key', 'width', width, `the ${key} of this layer`, keyDim);
    checkEqual('value', 'width', valueWidth, `the ${value} of this layer`, valueDim);
  }
}

/**
 * @param {KeyValueCache<any>} cache
 * @returns {number}
 */
export function lengthOf(cache) {
  if (isObjectOf(cache, KeyValueCache)) return cache.length;
  throw invalid('cache', cache, 'a KeyValueCache');
}

/**
 * Checks a layer's attention options.
 * @param {NativeCall} call
 * @param {AttentionOptions} options
 * @param {readonly number[]} shape  shape of the queries, (B, N, E) or (N, E)
 * @param {{ numHeads: number, headDim: number }} layer
 * @param {number} numKeys
 */
export function checkLayerAttention(call, options, shape, { numHeads, headDim }, numKeys) {
  const { batch, length } = sizesOf(shape);
  const sizes = { batch, numHeads, numQueries: length, numKeys, headDim, valueDim: headDim };
  return checkAttentionOptions(call, options, sizes, leadingOf(shape, numHeads));
}

/**
 * Returns the output with the requested stages of attention and intermediates.
 * @param {NativeCall} call
 * @param {NativeResult} output
 * @param {CheckedLayerCall} checked
 * @returns {any}
 */
export const giveWithStages = (call, output, checked) => ({
  ...giveAll(call, { output, ...checked.attention?.stages }),
  ...shown(call, checked),
});

/**
 * Returns (B, H, Nq), or (H, Nq) without B.
 * @param {readonly number[]} shape
 * @param {number} numHeads
 */
export const leadingOf = (shape, numHeads) =>
  shape.length === 3 ? [shape[0], numHeads, shape[1]] : [numHeads, shape[0]];
