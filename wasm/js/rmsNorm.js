import { checkOptions, flag, real, size } from './checks.js';
import { Layer } from './layer.js';

/** @import { ElementsLike, ElementType, OutputTypeOption, ResultOfType } from './elementType.js' */
/** @import { Check } from './checks.js' */
/** @import * as Native from './native.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { Given, Gives, ResultKind, TensorHandle } from './tensorHandle.js' */

/**
 * @typedef {object} RMSNormRule
 * @property {number} [eps]  added to the mean square; 2⁻²³ by default, like PyTorch. Llama uses 1e-5 or 1e-6,
 *   Qwen and Gemma use 1e-6
 * @property {boolean} [elementwiseAffine]  multiplies by a weight; `true` by default
 * @property {boolean} [zeroCentredWeight]  multiplies by 1 + weight, like Gemma; `false` by default
 */

/** @typedef {{ width: number } & RMSNormRule} RMSNormOptions  `width` is the width of the rows */

const kRule = {
  elementwiseAffine: flag(true),
  zeroCentredWeight: flag(false),
  eps: real(2 ** -23),
};
const kOptions = { width: size(), ...kRule };

/**
 * Checks the options of a norm inside another layer, if they are given.
 * @type {Check}
 */
export const optionalRMSNorm = (name, value) =>
  value === undefined ? undefined : checkOptions(value, kRule, name);

/**
 * Normalises the last dimension by its root mean square (Zhang and Sennrich 2019), like torch.nn.RMSNorm and
 * the norms of Llama, Qwen and Gemma:
 *
 *   y = x / √(mean(x²) + eps) · weight
 *
 * Parameter: `weight` (width,), initialised to ones, or to zeros with `zeroCentredWeight`.
 *
 * @template {ResultKind} [As='array']
 * @extends {Layer<RMSNormOptions, Native.RMSNorm>}
 */
export class RMSNorm extends Layer {
  /** @internal */
  static name = 'RMSNorm';

  /**
   * @param {Runtime} runtime
   * @param {RMSNormOptions} options
   */
  constructor(runtime, options) {
    super(runtime, (native, sizes) => new native.RMSNorm(sizes.width, sizes), options, kOptions);
  }

  /**
   * Divides each row by the root of its mean square, then applies the weight.
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
}
