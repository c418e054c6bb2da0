import { Layer } from './layer.js';
import { flag, kInit, size } from './options.js';

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

const kOptions = { inFeatures: size(), outFeatures: size(), bias: flag(true), ...kInit };

/**
 * A dense layer, as torch.nn.Linear: y = x · Wᵀ + b.
 *
 * Parameters: `weight` (outFeatures, inFeatures) and, with `bias`, `bias` (outFeatures,).
 *
 * @template {ResultKind} [As='array']
 * @extends {Layer<LinearSizes>}
 */
export class Linear extends Layer {
  /** @internal */
  static name = 'Linear';

  /**
   * @param {Runtime} runtime
   * @param {LinearOptions} options
   */
  constructor(runtime, options) {
    super(runtime, 'Linear', options, kOptions);
  }

  /**
   * @param {TensorLike} x  (N, inFeatures) or (B, N, inFeatures)
   * @returns {ResultTensor<As>} (N, outFeatures) or (B, N, outFeatures)
   * @throws {AttnError} `shape_mismatch`, `size_overflow`, `out_of_memory`, `disposed`
   */
  forward(x) {
    return this.map('forwardLinear', (call) =>
      call.rows('x', x, this.sizes.inFeatures, 'inFeatures').with(-1, this.sizes.outFeatures),
    );
  }
}
