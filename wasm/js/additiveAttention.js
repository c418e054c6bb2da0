import { giveEach } from './attentionOptions.js';
import { kPooling, writePooling } from './attentionPooling.js';
import { Layer } from './layer.js';
import { readOptions, kInit, size } from './options.js';
import { checkEqual } from './shape.js';

/** @import { AttentionPoolingResult, PoolingOptions } from './attentionPooling.js' */
/** @import { Asked, InitOptions, IntermediatesOption, ShownIntermediates } from './layer.js' */
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

const kCall = { ...kPooling, intermediates: true };
const kOptions = { queryDim: size(), keyDim: size(), numHiddens: size(), ...kInit };

/**
 * Additive attention (Bahdanau et al. 2015; D2L 11.3.3):
 *
 *   a(q, k) = w_vᵀ tanh(W_q q + W_k k),   output_i = Σ_j softmax_j(a(q_i, k_j)) v_j
 *
 * Parameters, with D2L's names: `W_k.weight` (numHiddens, keyDim), `W_q.weight` (numHiddens,
 * queryDim), `w_v.weight` (1, numHiddens).
 *
 * @template {ResultKind} [As='array']
 * @extends {Layer<AdditiveAttentionSizes>}
 */
export class AdditiveAttention extends Layer {
  /** @internal */
  static name = 'AdditiveAttention';

  /**
   * @param {Runtime} runtime
   * @param {AdditiveAttentionOptions} options
   */
  constructor(runtime, options) {
    super(runtime, 'AdditiveAttention', options, kOptions);
  }

  /**
   * Attends: scores w_v · tanh(W_q q_i + W_k k_j), their softmax, and the weighted sum of the values.
   *
   * @template {boolean} [Scores=false]
   * @template {boolean} [Weights=false]
   * @template {Asked} [N=undefined]
   * @param {TensorLike} query  (B, Nq, queryDim), or without B, as all
   * @param {TensorLike} key  (B, Nk, keyDim)
   * @param {TensorLike} value  (B, Nk, Dv)
   * @param {PoolingOptions<Scores, Weights> & IntermediatesOption<N>} [options]
   * @returns {AttentionPoolingResult<As, Scores, Weights> & ShownIntermediates<As, N>}
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `size_overflow`, `out_of_memory`,
   *   `disposed`
   */
  forward(query, key, value, options = {}) {
    return this.#forward(query, key, value, options, 'keyDim');
  }

  /**
   * W_k · key, for keys that many calls share.
   * @param {TensorLike} key  (B, Nk, keyDim) or (Nk, keyDim)
   * @returns {ResultTensor<As>} (B, Nk, numHiddens) or (Nk, numHiddens)
   */
  projectKeys(key) {
    return this.map('projectKeys', (call) =>
      call
        .floats('key', key, { 2: '(Nk, keyDim)', 3: '(B, Nk, keyDim)' })
        .with(-1, this.sizes.numHiddens),
    );
  }

  /**
   * As `forward`, with keys that projectKeys() gave; the same bits.
   * @template {boolean} [Scores=false]
   * @template {boolean} [Weights=false]
   * @template {Asked} [N=undefined]
   * @param {TensorLike} query  (B, Nq, queryDim), or without B, as all
   * @param {TensorLike} projectedKeys  (B, Nk, numHiddens)
   * @param {TensorLike} value  (B, Nk, Dv)
   * @param {PoolingOptions<Scores, Weights> & IntermediatesOption<N>} [options]
   * @returns {AttentionPoolingResult<As, Scores, Weights> & ShownIntermediates<As, N>}
   */
  forwardProjected(query, projectedKeys, value, options = {}) {
    return this.#forward(query, projectedKeys, value, options, 'numHiddens');
  }

  /**
   * @param {TensorLike} query
   * @param {TensorLike} key
   * @param {TensorLike} value
   * @param {PoolingOptions & IntermediatesOption} options
   * @param {'keyDim' | 'numHiddens'} keyWidth  that of keys as they are, or projected
   */
  #forward(query, key, value, options, keyWidth) {
    options = readOptions(options, kCall);
    return this.call((call) => {
      call.has(keyWidth === 'numHiddens');
      const results = writePooling(call, query, key, value, options, (queryWidth, width) => {
        checkEqual('query', 'width', queryWidth, 'the queryDim of this layer', this.sizes.queryDim);
        checkEqual('key', 'width', width, `the ${keyWidth} of this layer`, this.sizes[keyWidth]);
      });
      const names = call.intermediates(options.intermediates);
      call.run('forwardAdditiveAttention');
      return { ...giveEach(call, results), ...call.shown(names) };
    });
  }
}
