import { checkPooling, kPooling, nativePoolingOptions } from './attentionPooling.js';
import { size } from './checks.js';
import { firstWeights, kFirstWeights, Layer } from './layer.js';
import { giveAll } from './nativeAttentionOptions.js';
import { checkLayerCall, nativeLayerCall, shown } from './nativeLayerCall.js';
import { readOptions } from './options.js';
import { checkEqual } from './shape.js';

/** @import { AttentionPoolingResult, PoolingOptions } from './attentionPooling.js' */
/** @import { Asked, InitOptions, IntermediatesOption, ShownIntermediates } from './layer.js' */
/** @import * as Native from './native.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { TensorLike } from './tensor.js' */
/** @import { Given, Gives, ResultKind, ResultTensor } from './tensorHandle.js' */

/**
 * @typedef {object} AdditiveAttentionSizes
 * @property {number} queryDim  width of queries
 * @property {number} keyDim  width of keys
 * @property {number} numHiddens  width to which queries and keys are projected
 */

/** @typedef {AdditiveAttentionSizes & InitOptions} AdditiveAttentionOptions */

const kCall = { ...kPooling, intermediates: true };
const kOptions = { queryDim: size(), keyDim: size(), numHiddens: size(), ...kFirstWeights };

/**
 * Additive attention (Bahdanau et al. 2015; D2L 11.3.3):
 *
 *   a(q, k) = w_vᵀ tanh(W_q q + W_k k),   output_i = Σ_j softmax_j(a(q_i, k_j)) v_j
 *
 * Parameters, with D2L's names: `W_k.weight` (numHiddens, keyDim), `W_q.weight` (numHiddens,
 * queryDim), `w_v.weight` (1, numHiddens).
 *
 * @template {ResultKind} [As='array']
 * @extends {Layer<AdditiveAttentionSizes, Native.AdditiveAttention>}
 */
export class AdditiveAttention extends Layer {
  /** @internal */
  static name = 'AdditiveAttention';

  /**
   * @param {Runtime} runtime
   * @param {AdditiveAttentionOptions} options
   */
  constructor(runtime, options) {
    super(
      runtime,
      (native, sizes) => {
        const { queryDim, keyDim, numHiddens } = sizes;
        const weights = firstWeights(native, sizes);
        return new native.AdditiveAttention(queryDim, keyDim, numHiddens, weights);
      },
      options,
      kOptions,
    );
  }

  /**
   * Computes the scores w_v · tanh(W_q q_i + W_k k_j), their softmax, and the weighted sum of
   * the values.
   *
   * @template {boolean} [Scores=false]
   * @template {boolean} [Weights=false]
   * @template {Asked} [N=undefined]
   * @overload
   * @param {Given<As, TensorLike>} query  (B, Nq, queryDim), or all inputs without B
   * @param {Given<As, TensorLike>} key  (B, Nk, keyDim)
   * @param {Given<As, TensorLike>} value  (B, Nk, Dv)
   * @param {Given<As, PoolingOptions<Scores, Weights> & IntermediatesOption<N>>} [options]
   * @returns {Gives<As, AttentionPoolingResult<As, Scores, Weights> & ShownIntermediates<As, N>>}
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `size_overflow`, `out_of_memory`,
   *   `disposed`
   */
  /**
   * @param {any} query
   * @param {any} key
   * @param {any} value
   * @param {any} [options]
   * @returns {any}
   */
  forward(query, key, value, options = {}) {
    return this.#forward(query, key, value, options, false);
  }

  /**
   * Computes W_k · key once, for keys that several calls share.
   * @param {TensorLike} key  (B, Nk, keyDim) or (Nk, keyDim)
   * @returns {ResultTensor<As>} (B, Nk, numHiddens) or (Nk, numHiddens)
   */
  projectKeys(key) {
    return this.invoke((call) => {
      const keys = call.tensor('key', key, { 2: '(Nk, keyDim)', 3: '(B, Nk, keyDim)' });
      const output = call.result('output', keys.shape.with(-1, this.sizes.numHiddens));
      call.run(() => this.native.projectKeys(keys.native, output.tensor.native));
      return call.give(output);
    });
  }

  /**
   * Like `forward`, but takes keys from `projectKeys()`. The results are bit-identical.
   * @template {boolean} [Scores=false]
   * @template {boolean} [Weights=false]
   * @template {Asked} [N=undefined]
   * @overload
   * @param {Given<As, TensorLike>} query  (B, Nq, queryDim), or all inputs without B
   * @param {Given<As, TensorLike>} projectedKeys  (B, Nk, numHiddens)
   * @param {Given<As, TensorLike>} value  (B, Nk, Dv)
   * @param {Given<As, PoolingOptions<Scores, Weights> & IntermediatesOption<N>>} [options]
   * @returns {Gives<As, AttentionPoolingResult<As, Scores, Weights> & ShownIntermediates<As, N>>}
   */
  /**
   * @param {any} query
   * @param {any} projectedKeys
   * @param {any} value
   * @param {any} [options]
   * @returns {any}
   */
  forwardProjected(query, projectedKeys, value, options = {}) {
    return this.#forward(query, projectedKeys, value, options, true);
  }

  /**
   * @param {TensorLike} query
   * @param {TensorLike} key
   * @param {TensorLike} value
   * @param {PoolingOptions & IntermediatesOption} options
   * @param {boolean} projected  true if the keys are already projected
   */
  #forward(query, key, value, options, projected) {
    options = readOptions(options, kCall);
    return this.invoke((call) => {
      const pooling = checkPooling(call, query, key, value, options);
      const { q, k, v, output, queries, keys } = pooling;
      const { sizes } = this;
      checkEqual('query', 'width', queries.width, 'the queryDim of this layer', sizes.queryDim);
      const keyWidth = projected ? 'numHiddens' : 'keyDim';
      checkEqual('key', 'width', keys.width, `the ${keyWidth} of this layer`, sizes[keyWidth]);
      const checked = checkLayerCall(call, options);
      call.run(() =>
        this.native.forward(
          q.native,
          k.native,
          v.native,
          output.tensor.native,
          projected,
          nativePoolingOptions(call, pooling),
          nativeLayerCall(call, checked),
        ),
      );
      return { ...giveAll(call, { output, ...pooling.stages }), ...shown(call, checked) };
    });
  }
}
