import { checkDropout } from './dropout.js';
import { Layer, sameShape } from './layer.js';
import { checkFlag, checkInteger, checkNumber, checkOptions, checkTensor } from './tensor.js';

/** @import { Call } from './call.js' */
/** @import { Dropout } from './dropout.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { TensorLike } from './tensor.js' */
/** @import { ResultKind, ResultTensor } from './tensorHandle.js' */

/**
 * @typedef {object} LayerNormOptions
 * @property {number} width  of the rows
 * @property {number} [eps]  added to the variance; 1e-5 by default
 * @property {boolean} [elementwiseAffine]  with weight (and bias); `true` by default
 * @property {boolean} [bias]  `true` by default
 */

/** @typedef {LayerNormOptions} AddNormOptions */

/** @param {LayerNormOptions} options */
function checkNorm(options) {
  checkOptions(options);
  const { width, eps = 1e-5, elementwiseAffine = true, bias = true } = options;
  checkInteger('width', width, 1);
  checkNumber('eps', eps);
  checkFlag('elementwiseAffine', elementwiseAffine);
  checkFlag('bias', bias);
}

/** @param {LayerNormOptions} options */
const writeNorm = (options) => (/** @type {Call} */ call) => {
  call.number(options.width);
  call.number(options.eps ?? 1e-5);
  call.flag(options.elementwiseAffine ?? true);
  call.flag(options.bias ?? true);
};

/**
 * Layer normalisation over the last dimension (Ba et al. 2016), as torch.nn.LayerNorm:
 *
 *   y = (x − mean(x)) / √(var(x) + eps) · weight + bias
 *
 * Parameters: `weight` (width,), ones at first, and `bias` (width,), zeros at first.
 *
 * @template {ResultKind} [As='array']
 */
export class LayerNorm extends Layer {
  /**
   * @param {Runtime} runtime
   * @param {LayerNormOptions} options
   */
  constructor(runtime, options) {
    checkNorm(options);
    super(runtime, 'makeLayerNorm', writeNorm(options));
  }

  /**
   * @param {TensorLike} x  (…, width)
   * @returns {ResultTensor<As>} the shape of `x`
   * @throws {AttnError} `shape_mismatch`, `out_of_memory`, `disposed`
   */
  forward(x) {
    checkTensor('x', x);
    return this.rows('forwardLayerNorm', x, x.shape);
  }

  /**
   * The same of x + y, which a residual connection needs.
   * @param {TensorLike} x  (…, width)
   * @param {TensorLike} y  of the same shape
   * @returns {ResultTensor<As>} the shape of `x`
   * @throws {AttnError} `shape_mismatch`, `out_of_memory`, `disposed`
   */
  forwardSum(x, y) {
    sameShape('y', y, 'x', x);
    return this.runtime.call((call) => {
      call.number(this.address);
      call.floats('x', x);
      call.floats('y', y);
      const output = call.result('output', x.shape);
      call.run(this.runtime.native.forwardLayerNormOfSum);
      return call.give(output);
    });
  }
}

/**
 * Residual connection and layer normalisation (D2L 11.7.3, `AddNorm`):
 *
 *   output = LayerNorm(dropout(y) + x)
 *
 * Parameters: `ln.weight` and `ln.bias` (width,), as in D2L.
 *
 * @template {ResultKind} [As='array']
 */
export class AddNorm extends Layer {
  /**
   * @param {Runtime} runtime
   * @param {AddNormOptions} options
   */
  constructor(runtime, options) {
    checkNorm(options);
    super(runtime, 'makeAddNorm', writeNorm(options));
  }

  /**
   * @param {TensorLike} x  (…, width)
   * @param {TensorLike} y  of the same shape
   * @param {{ dropout?: Dropout }} [options]
   * @returns {ResultTensor<As>} the shape of `x`
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `out_of_memory`, `disposed`
   */
  forward(x, y, options = {}) {
    checkOptions(options);
    sameShape('y', y, 'x', x);
    checkDropout(options.dropout);
    return this.runtime.call((call) => {
      call.number(this.address);
      call.floats('x', x);
      call.floats('y', y);
      const output = call.result('output', x.shape);
      call.dropout(options.dropout);
      call.run(this.runtime.native.forwardAddNorm);
      return call.give(output);
    });
  }
}
