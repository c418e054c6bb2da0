import { giveStages, writeInputs } from './attentionOptions.js';
import { checkPooling, writeOutput, writePoolingOptions } from './attentionPooling.js';
import { checkInit, Layer } from './layer.js';
import { checkEqual, checkInteger, checkOptions, checkShape, checkTensor } from './tensor.js';

/** @import { AttentionPoolingResult, PoolingOptions } from './attentionPooling.js' */
/** @import { InitOptions } from './layer.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { TensorLike } from './tensor.js' */
/** @import { ResultKind, ResultTensor } from './tensorHandle.js' */

/**
 * @typedef {object} AdditiveAttentionSizes
 * @property {number} queryDim  width of queries
 * @property {number} keyDim  width of keys
 * @property {number} numHiddens  width that both are projected to
 */

/** @typedef {AdditiveAttentionSizes & InitOptions} AdditiveAttentionOptions */

/**
 * Additive attention (Bahdanau et al. 2015; D2L 11.3.3):
 *
 *   a(q, k) = w_vᵀ tanh(W_q q + W_k k),   output_i = Σ_j softmax_j(a(q_i, k_j)) v_j
 *
 * Parameters, with D2L's names: `W_k.weight` (numHiddens, keyDim), `W_q.weight` (numHiddens,
 * queryDim), `w_v.weight` (1, numHiddens).
 *
 * @template {ResultKind} [As='array']
 */
export class AdditiveAttention extends Layer {
  #options;

  /**
   * @param {Runtime} runtime
   * @param {AdditiveAttentionOptions} options
   */
  constructor(runtime, options) {
    checkOptions(options);
    const { queryDim, keyDim, numHiddens } = options;
    checkInteger('queryDim', queryDim, 1);
    checkInteger('keyDim', keyDim, 1);
    checkInteger('numHiddens', numHiddens, 1);
    checkShape('W_q.weight', [numHiddens, queryDim]);
    checkShape('W_k.weight', [numHiddens, keyDim]);
    checkInit(options);
    super(runtime, 'makeAdditiveAttention', (call) => {
      call.number(queryDim);
      call.number(keyDim);
      call.number(numHiddens);
    });
    this.#options = { queryDim, keyDim, numHiddens };
    if (options.init !== 'zeros') {
      this.initialize('initializeAdditiveAttention', (call) => call.random(options));
    }
  }

  /**
   * @param {TensorLike} query  (B, Nq, queryDim), or without B, as all
   * @param {TensorLike} key  (B, Nk, keyDim)
   * @param {TensorLike} value  (B, Nk, Dv)
   * @param {PoolingOptions} [options]
   * @returns {AttentionPoolingResult<As>}
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `size_overflow`, `out_of_memory`,
   *   `disposed`
   */
  forward(query, key, value, options = {}) {
    return this.#forward(query, key, value, options, this.#options.keyDim, false);
  }

  /**
   * W_k · key, for keys that many calls share.
   * @param {TensorLike} key  (B, Nk, keyDim) or (Nk, keyDim)
   * @returns {ResultTensor<As>} (B, Nk, numHiddens) or (Nk, numHiddens)
   */
  projectKeys(key) {
    checkTensor('key', key, { 2: '(Nk, keyDim)', 3: '(B, Nk, keyDim)' });
    const shape = key.shape.with(-1, this.#options.numHiddens);
    checkShape('projectedKeys', shape);
    return this.runtime.call((call) => {
      call.number(this.address);
      call.floats('key', key);
      const output = call.result('projectedKeys', shape);
      call.run(this.runtime.native.projectKeys);
      return call.give(output);
    });
  }

  /**
   * As `forward`, with keys that projectKeys() gave; the same bits.
   * @param {TensorLike} query  (B, Nq, queryDim), or without B, as all
   * @param {TensorLike} projectedKeys  (B, Nk, numHiddens)
   * @param {TensorLike} value  (B, Nk, Dv)
   * @param {PoolingOptions} [options]
   * @returns {AttentionPoolingResult<As>}
   */
  forwardProjected(query, projectedKeys, value, options = {}) {
    return this.#forward(query, projectedKeys, value, options, this.#options.numHiddens, true);
  }

  /**
   * @param {TensorLike} query
   * @param {TensorLike} key
   * @param {TensorLike} value
   * @param {PoolingOptions} options
   * @param {number} keyWidth
   * @param {boolean} projected
   */
  #forward(query, key, value, options, keyWidth, projected) {
    checkOptions(options);
    checkPooling(query, key, value, options);
    const queryWidth = query.shape[query.shape.length - 1];
    checkEqual('query', 'width', queryWidth, 'queryDim', this.#options.queryDim);
    const what = projected ? 'numHiddens' : 'keyDim';
    checkEqual('key', 'width', key.shape[key.shape.length - 1], what, keyWidth);
    return this.runtime.call((call) => {
      call.number(this.address);
      call.flag(projected);
      writeInputs(call, query, key, value);
      const output = writeOutput(call, query, value);
      const further = writePoolingOptions(call, query, key, options);
      call.run(this.runtime.native.forwardAdditiveAttention);
      return giveStages(call, output, further);
    });
  }
}
