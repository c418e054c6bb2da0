import { flag, real, size } from './checks.js';
import { kElementTypes } from './elementType.js';
import { kOutputType, Layer } from './layer.js';
import { checkLayerCall, giveShown, nativeLayerCall } from './nativeLayerCall.js';
import { readOptions } from './options.js';
import { checkShapeIs } from './shape.js';

/** @import { Dropout } from './dropout.js' */
/** @import { ElementsLike, ElementType, OutputTypeOption, ResultOfType } from './elementType.js' */
/** @import { Asked, IntermediatesOption, OutputOrShown } from './layer.js' */
/** @import * as Native from './native.js' */
/** @import { NativeCall } from './nativeCall.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { TensorLike } from './tensor.js' */
/** @import { Given, Gives, ResultKind, TensorHandle } from './tensorHandle.js' */

/**
 * @typedef {object} LayerNormOptions
 * @property {number} width  width of each row
 * @property {number} [eps]  added to the variance; 1e-5 by default
 * @property {boolean} [elementwiseAffine]  multiplies by weight (and adds bias); `true` by default
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
 * Checks that two tensors have the same shape.
 * @param {NativeCall} call
 * @param {ElementsLike | TensorHandle} x
 * @param {ElementsLike | TensorHandle} y
 * @param {readonly ElementType[]} [types]  allowed element types
 */
function checkPair(call, x, y, types) {
  const first = call.tensor('x', x, undefined, undefined, types);
  const second = call.tensor('y', y, undefined, undefined, types);
  checkShapeIs('y', second.shape, first.shape);
  return { first, second };
}

/**
 * Layer normalisation over the last dimension (Ba et al. 2016), like torch.nn.LayerNorm:
 *
 *   y = (x − mean(x)) / √(var(x) + eps) · weight + bias
 *
 * Parameters: `weight` (width,), initialised to ones, and `bias` (width,), initialised to zeros.
 *
 * @template {ResultKind} [As='array']
 * @extends {Layer<LayerNormOptions, Native.LayerNorm>}
 */
export class LayerNorm extends Layer {
  /** @internal */
  static name = 'LayerNorm';

  /**
   * @param {Runtime} runtime
   * @param {LayerNormOptions} options
   */
  constructor(runtime, options) {
    super(runtime, (native, sizes) => new native.LayerNorm(sizes.width, sizes), options, kOptions);
  }

  /**
   * Normalises each row to mean 0 and variance 1, then applies weight and bias.
   *
   * @template {ElementType} [Output='float32']
   * @overload
   * @param {Given<As, ElementsLike | TensorHandle>} x  (…, width), of any element type
   * @param {Given<As, OutputTypeOption<Output>>} [options]
   * @returns {Gives<As, ResultOfType<As, Output>>} the shape of `x`
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `out_of_memory`, `disposed`
   */
  /**
   * @param {any} x
   * @param {any} [options]
   * @returns {any}
   */
  forward(x, options = {}) {
    return this.forwardElements(options, (call) => {
      const input = call.elements('x', x);
      return { input, shape: input.shape };
    });
  }

  /**
   * Normalises x + y, for a residual connection.
   * @template {ElementType} [Output='float32']
   * @overload
   * @param {Given<As, ElementsLike | TensorHandle>} x  (…, width), of any element type
   * @param {Given<As, ElementsLike | TensorHandle>} y  numbers in the same shape
   * @param {Given<As, OutputTypeOption<Output>>} [options]
   * @returns {Gives<As, ResultOfType<As, Output>>} the shape of `x`
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `out_of_memory`, `disposed`
   */
  /**
   * @param {any} x
   * @param {any} y
   * @param {any} [options]
   * @returns {any}
   */
  forwardSum(x, y, options = {}) {
    const { outputType } = readOptions(options, kOutputType);
    return this.invoke((call) => {
      const { first, second } = checkPair(call, x, y, kElementTypes);
      const output = call.output(outputType, first.shape);
      call.run(() => this.native.forwardSum(first.native, second.native, output.tensor.native));
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
 * @extends {Layer<AddNormOptions, Native.AddNorm>}
 */
export class AddNorm extends Layer {
  /** @internal */
  static name = 'AddNorm';

  /**
   * @param {Runtime} runtime
   * @param {AddNormOptions} options
   */
  constructor(runtime, options) {
    super(runtime, (native, sizes) => new native.AddNorm(sizes.width, sizes), options, kOptions);
  }

  /**
   * Computes LayerNorm(x + dropout(y)): a residual connection with normalisation.
   *
   * @template {Asked} [N=undefined]
   * @overload
   * @param {Given<As, TensorLike>} x  (…, width)
   * @param {Given<As, TensorLike>} y  numbers in the same shape
   * @param {Given<As, { dropout?: Dropout | number } & IntermediatesOption<N>>} [options]
   * @returns {Gives<As, OutputOrShown<As, N>>} the shape of `x`; with `intermediates`, an
   *   object with `output` and `intermediates`
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `out_of_memory`, `disposed`
   */
  /**
   * @param {any} x
   * @param {any} y
   * @param {any} [options]
   * @returns {any}
   */
  forward(x, y, options = {}) {
    options = readOptions(options, kCall);
    return this.invoke((call) => {
      const { first, second } = checkPair(call, x, y);
      const output = call.result('output', first.shape);
      const checked = checkLayerCall(call, options);
      call.run(() =>
        this.native.forward(
          first.native,
          second.native,
          output.tensor.native,
          nativeLayerCall(call, checked),
        ),
      );
      return giveShown(call, output, checked);
    });
  }
}
