import {
  checkAttentionOptions,
  giveStages,
  writeAttentionOptions,
  writeInputs,
} from './attentionOptions.js';
import { checkAttentionPositions, writeAttentionPositions } from './attentionPositions.js';
import { checkRandom } from './dropout.js';
import { Layer } from './layer.js';
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

/** @typedef {AttentionOptions} MultiHeadAttentionForwardOptions */

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
    checkTensor('query', query, kRanks);
    const rank = query.shape.length;
    if (key !== query) checkTensor('key', key, sameRank(rank));
    if (value !== key) checkTensor('value', value, sameRank(rank));
    const { dModel, numHeads, keyDim, valueDim } = this.#sizes;
    const batch = rank === 3 ? query.shape[0] : 1;
    const numQueries = query.shape[rank - 2];
    const numKeys = key.shape[rank - 2];
    checkEqual('query', 'width', query.shape[rank - 1], 'dModel', dModel);
    checkEqual(
      'key',
      'width',
      key.shape[rank - 1],
      keyDim === dModel ? 'dModel' : 'keyDim',
      keyDim,
    );
    checkEqual(
      'value',
      'width',
      value.shape[rank - 1],
      valueDim === dModel ? 'dModel' : 'valueDim',
      valueDim,
    );
    checkEqual('key', 'batch', rank === 3 ? key.shape[0] : 1, 'query batch', batch);
    checkEqual('value', 'batch', rank === 3 ? value.shape[0] : 1, 'query batch', batch);
    checkEqual('key', 'length', numKeys, 'value length', value.shape[rank - 2]);
    const headDim = dModel / numHeads;
    const sizes = { batch, numHeads, numQueries, numKeys, headDim, valueDim: headDim };
    checkAttentionOptions(options, sizes);
    const leading = rank === 3 ? [batch, numHeads, numQueries] : [numHeads, numQueries];

    return this.runtime.call((call) => {
      call.number(this.address);
      writeInputs(call, query, key, value);
      const output = call.result('output', query.shape);
      const stages = writeAttentionOptions(call, options, sizes, leading);
      call.run(this.runtime.native.forwardMultiHeadAttention);
      return giveStages(call, output, stages);
    });
  }
}

/** @param {number} rank */
const sameRank = (rank) => ({ [rank]: 'as query has' });
