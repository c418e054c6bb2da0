import { Layer } from './layer.js';
import { readOptions, flag, real, size } from './options.js';
import { checkShapeIs } from './shape.js';

/** @import { Call } from './call.js' */
/** @import { Dropout } from './dropout.js' */
/** @import { ElementsLike, ElementType, OutputTypeOption, ResultOfType } from './elementType.js' */
/** @import { Asked, IntermediatesOption, OutputOrShown } from './layer.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { TensorLike } from './tensor.js' */
/** @import { ResultKind, TensorHandle } from './tensorHandle.js' */

/**
 * @typedef {object} LayerNormOptions
 * @property {number} width  of the rows
 * @property {number} [eps]  added to the variance; 1e-5 by default
 * @property {boolean} [elementwiseAffine]  with weight (and bias); `true` by default
 * @property {boolean} [bias]  `true` by default
 */

/** @typedef {LayerNormOptions} AddNormOptions */

const kOptions = {
  width: size(),
  elementwiseAffine: flag(true),
  bias: flag(true),
  eps: real(1e-5),
};

const kCall = { dropout: true, intermediates: true };

/**
 * Two tensors of one shape.
 * @param {ElementsLike | TensorHandle} x
 * @param {ElementsLike | TensorHandle} y
 * @param {'floats' | 'elements'} types  that they may have
 */
const writePair = (x, y, types) => (/** @type {Call} */ call) => {
  const shape = call[types]('x', x);
  checkShapeIs('y', call[types]('y', y), shape);
  return shape;
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
  /** @internal */
  static name = 'LayerNorm';

  /**
   * @param {Runtime} runtime
   * @param {LayerNormOptions} options
   */
  constructor(runtime, options) {
    super(runtime, 'LayerNorm', options, kOptions);
  }

  /**
   * Normalises each row to mean 0 and variance 1, then applies weight and bias.
   *
   * @template {ElementType} [Output='float32']
   * @param {ElementsLike | TensorHandle} x  (…, width), of any element type
   * @param {OutputTypeOption<Output>} [options]
   * @returns {ResultOfType<As, Output>} the shape of `x`
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `out_of_memory`, `disposed`
   */
  forward(x, options = {}) {
    return this.mapElements('forwardLayerNorm', options, (call) => call.elements('x', x));
  }

  /**
   * The same of x + y, which a residual connection needs.
   * @template {ElementType} [Output='float32']
   * @param {ElementsLike | TensorHandle} x  (…, width), of any element type
   * @param {ElementsLike | TensorHandle} y  of the same shape
   * @param {OutputTypeOption<Output>} [options]
   * @returns {ResultOfType<As, Output>} the shape of `x`
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `out_of_memory`, `disposed`
   */
  forwardSum(x, y, options = {}) {
    return this.mapElements('forwardLayerNormOfSum', options, writePair(x, y, 'elements'));
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
  /** @internal */
  static name = 'AddNorm';

  /**
   * @param {Runtime} runtime
   * @param {AddNormOptions} options
   */
  constructor(runtime, options) {
    super(runtime, 'AddNorm', options, kOptions);
  }

  /**
   * Computes LayerNorm(x + dropout(y)): a residual connection with normalisation.
   *
   * @param {TensorLike} x  (…, width)
   * @param {TensorLike} y  of the same shape
   * @template {Asked} [N=undefined]
   * @param {{ dropout?: Dropout | number } & IntermediatesOption<N>} [options]
   * @returns {OutputOrShown<As, N>} the shape of `x`; with `intermediates` that is `output`, and they
   *   stand beside it
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `out_of_memory`, `disposed`
   */
  forward(x, y, options = {}) {
    options = readOptions(options, kCall);
    const write = writePair(x, y, 'floats');
    return this.show('forwardAddNorm', (call) => call.result('output', write(call)), options);
  }
}
