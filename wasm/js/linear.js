import { checkInit, checkRows, Layer } from './layer.js';
import { checkInteger, checkOptions, checkShape } from './tensor.js';

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
    checkInteger('inFeatures', inFeatures, 1);
    checkInteger('outFeatures', outFeatures, 1);
    checkShape('weight', [outFeatures, inFeatures]);
    checkInit(options);
    super(runtime, 'makeLinear', (call) => {
      call.number(inFeatures);
      call.number(outFeatures);
      call.flag(bias);
    });
    this.#inFeatures = inFeatures;
    this.#outFeatures = outFeatures;
    this.initializeFrom('initializeLinear', options);
  }

  /**
   * @param {TensorLike} x  (N, inFeatures) or (B, N, inFeatures)
   * @returns {ResultTensor<As>} (N, outFeatures) or (B, N, outFeatures)
   * @throws {AttnError} `shape_mismatch`, `size_overflow`, `out_of_memory`, `disposed`
   */
  forward(x) {
    checkRows('x', x, this.#inFeatures, 'inFeatures');
    return this.rows('forwardLinear', x, x.shape.with(-1, this.#outFeatures));
  }
}
