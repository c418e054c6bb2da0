import { Layer } from './layer.js';
import { checkOptions } from './tensor.js';

/** @import { InitOptions } from './layer.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { TensorLike } from './tensor.js' */
/** @import { ResultKind, ResultTensor } from './tensorHandle.js' */

/**
 * @typedef {object} LinearSizes
 * @property {number} inFeatures  width of the input
 * @property {number} outFeatures  width of the output
 * @property {boolean} [bias]  `true` by default
 */

/** @typedef {LinearSizes & InitOptions} LinearOptions */

/**
 * A dense layer, as torch.nn.Linear: y = x · Wᵀ + b.
 *
 * Parameters: `weight` (outFeatures, inFeatures) and, with `bias`, `bias` (outFeatures,).
 *
 * @template {ResultKind} [As='array']
 */
export class Linear extends Layer {
  #inFeatures;
  #outFeatures;

  /**
   * @param {Runtime} runtime
   * @param {LinearOptions} options
   */
  constructor(runtime, options) {
    checkOptions(options);
    const { inFeatures, outFeatures, bias = true } = options;
    super(runtime, 'makeLinear', (call) => {
      call.integer('inFeatures', inFeatures, 1);
      call.integer('outFeatures', outFeatures, 1);
      call.flag('bias', bias);
      call.init(options);
    });
    this.#inFeatures = inFeatures;
    this.#outFeatures = outFeatures;
  }

  /**
   * @param {TensorLike} x  (N, inFeatures) or (B, N, inFeatures)
   * @returns {ResultTensor<As>} (N, outFeatures) or (B, N, outFeatures)
   * @throws {AttnError} `shape_mismatch`, `size_overflow`, `out_of_memory`, `disposed`
   */
  forward(x) {
    return this.map('forwardLinear', (call) =>
      call.rows('x', x, this.#inFeatures, 'inFeatures').with(-1, this.#outFeatures),
    );
  }
}
