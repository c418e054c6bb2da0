import { checkExclusion, copyIn, setExclusion } from './attentionOptions.js';
import { Layer } from './layer.js';
import {
  checkChoice,
  checkEqual,
  checkInteger,
  checkOptions,
  checkShape,
  checkTensor,
} from './tensor.js';

/** @import { ExclusionOptions } from './attentionOptions.js' */
/** @import { NativeMultiHeadAttention, Runtime } from './runtime.js' */
/** @import { AttentionResult } from './scaledDotProductAttention.js' */
/** @import { TensorLike } from './tensor.js' */

/**
 * @typedef {object} MultiHeadAttentionOptions
 * @property {number} dModel  E, width of inputs and output; D2L calls it num_hiddens
 * @property {number} numHeads  H, divides E
 * @property {boolean} [bias]  whether the projections have biases; none by default
 * @property {'xavier' | 'identity'} [init]  the first weights: each projection drawn by Xavier's
 *   uniform rule, or all of them identical, so that head h sees slice h of its inputs as they are;
 *   `'xavier'` by default
 * @property {number} [seed]  of the Xavier weights; 0 by default
 */

/**
 * @typedef {object} WeightsOption
 * @property {boolean} [needWeights]  whether to return the attention weights as well
 */

/** @typedef {ExclusionOptions & WeightsOption} MultiHeadAttentionForwardOptions */

const kRanks = { 2: '(N, E)', 3: '(B, N, E)' };

/**
 * Multi-head attention (Vaswani et al. 2017; torch.nn.MultiheadAttention; D2L 11.5):
 *
 *   head_h = attention(query · W_qᵀ, key · W_kᵀ, value · W_vᵀ) of slice h,  D = E / H
 *   output = concat(head_1 … head_H) · W_oᵀ
 *
 * Parameters, with PyTorch's names and layouts: `in_proj_weight` (3·E, E), which is W_q, W_k and
 * W_v one below the other, `out_proj.weight` (E, E), and with `bias` also `in_proj_bias` (3·E,) and
 * `out_proj.bias` (E,).
 *
 * ```js
 * using mha = new attn.MultiHeadAttention({ dModel: 100, numHeads: 5 });
 * const { output, weights } = mha.forward(x, x, x, { validLens: [3, 2], needWeights: true });
 * ```
 *
 * @extends {Layer<NativeMultiHeadAttention>}
 */
export class MultiHeadAttention extends Layer {
  #runtime;
  #dModel;
  #numHeads;

  /**
   * @param {Runtime} runtime
   * @param {MultiHeadAttentionOptions} options
   */
  constructor(runtime, options) {
    checkOptions(options);
    const { dModel, numHeads, bias = false, init = 'xavier', seed = 0 } = options;
    checkInteger('dModel', dModel, 1);
    checkInteger('numHeads', numHeads, 1);
    checkChoice('init', init, ['xavier', 'identity']);
    checkInteger('seed', seed, 0);
    checkShape('in_proj_weight', [3 * dModel, dModel]);
    super(runtime, runtime.native.makeMultiHeadAttention(dModel, numHeads, Boolean(bias)));
    this.#runtime = runtime;
    this.#dModel = dModel;
    this.#numHeads = numHeads;
    try {
      this.call((_, native) =>
        runtime.check(
          init === 'identity' ? native.initializeIdentity() : native.initializeXavier(seed),
        ),
      );
    } catch (error) {
      this.dispose();
      throw error;
    }
  }

  /** E, the width of inputs and output. */
  get dModel() {
    return this.#dModel;
  }

  /** H. */
  get numHeads() {
    return this.#numHeads;
  }

  /**
   * @param {TensorLike} query  (B, Nq, E) or (Nq, E)
   * @param {TensorLike} [key]  (B, Nk, E), of the same rank; `query` by default
   * @param {TensorLike} [value]  (B, Nk, E), of the same rank; `key` by default
   * @param {MultiHeadAttentionForwardOptions} [options]
   * @returns {AttentionResult} `output` of the shape of `query` and, with `needWeights`, `weights`
   *   (B, H, Nq, Nk), or (H, Nq, Nk) without B
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `size_overflow`, `out_of_memory`,
   *   `disposed`
   */
  forward(query, key = query, value = key, options = {}) {
    checkOptions(options);
    checkTensor('query', query, kRanks);
    const rank = query.shape.length;
    checkTensor('key', key, { [rank]: 'as query has' });
    checkTensor('value', value, { [rank]: 'as query has' });
    const [batch, numQueries, width] = withBatch(query.shape);
    const [keyBatch, numKeys, keyWidth] = withBatch(key.shape);
    const [valueBatch, valueLength, valueWidth] = withBatch(value.shape);
    checkEqual('query', 'width', width, 'dModel', this.#dModel);
    checkEqual('key', 'width', keyWidth, 'dModel', this.#dModel);
    checkEqual('value', 'width', valueWidth, 'dModel', this.#dModel);
    checkEqual('key', 'batch', keyBatch, 'query batch', batch);
    checkEqual('value', 'batch', valueBatch, 'query batch', batch);
    checkEqual('key', 'length', numKeys, 'value length', valueLength);
    const numHeads = this.#numHeads;
    checkExclusion(options, { batch, numHeads, numQueries, numKeys });
    const scoreShape = [batch, numHeads, numQueries, numKeys];
    if (options.needWeights) checkShape('weights', scoreShape);

    return this.call((memory, native) => {
      const output = memory.result('output', query.shape);
      const weights = options.needWeights ? memory.result('weights', scoreShape) : undefined;
      const nativeOptions = this.#runtime.attentionOptions;
      nativeOptions.reset();
      if (weights) nativeOptions.setWeights(weights.record);
      setExclusion(nativeOptions, memory, options);
      this.#runtime.check(
        native.forward(...copyIn(memory, query, key, value), output.record, nativeOptions),
      );
      return {
        output: memory.copyOut(output),
        ...(weights && {
          weights: { ...memory.copyOut(weights), shape: scoreShape.slice(rank === 2 ? 1 : 0) },
        }),
      };
    });
  }
}

/** @param {readonly number[]} shape */
const withBatch = (shape) => (shape.length === 2 ? [1, ...shape] : shape);
