import { kActivations } from './activation.js';
import { choice, flag, like, size } from './checks.js';
import { kElementTypes } from './elementType.js';
import { firstWeights, kFirstWeights, Layer } from './layer.js';
import { checkLayerCall, giveShown, nativeLayerCall } from './nativeLayerCall.js';
import { readOptions } from './options.js';

/** @import { Activation } from './activation.js' */
/** @import { Dropout } from './dropout.js' */
/** @import { ElementsLike, ElementType, OutputTypeOption } from './elementType.js' */
/** @import { Asked, InitOptions, IntermediatesOption, OutputOrShown } from './layer.js' */
/** @import * as Native from './native.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { Given, Gives, ResultKind, TensorHandle } from './tensorHandle.js' */

/**
 * @typedef {object} FeedForwardSizes
 * @property {number} dModel  width of the input
 * @property {number} dimFeedforward  width between the two layers
 * @property {number} [outFeatures]  width of the output; `dModel` by default
 * @property {Activation} [activation]  `'relu'` by default
 * @property {boolean} [bias]  `true` by default
 */

/** @typedef {FeedForwardSizes & InitOptions} FeedForwardOptions */

const kOptions = {
  dModel: size(),
  dimFeedforward: size(),
  outFeatures: like('dModel', size()),
  activation: choice(kActivations),
  bias: flag(true),
  ...kFirstWeights,
};

const kCall = { outputType: true, dropout: true, intermediates: true };

/**
 * The position-wise feed-forward network of a Transformer (Vaswani et al. 2017; D2L 11.7.2,
 * `PositionWiseFFN`):
 *
 *   output = dropout(f(x · W_1ᵀ + b_1)) · W_2ᵀ + b_2
 *
 * Parameters: `linear1.weight` (dimFeedforward, dModel), `linear2.weight` (outFeatures,
 * dimFeedforward), and, if `bias` is set, `linear1.bias` and `linear2.bias`.
 *
 * @template {ResultKind} [As='array']
 * @extends {Layer<FeedForwardSizes, Native.FeedForward>}
 */
export class FeedForward extends Layer {
  /** @internal */
  static name = 'FeedForward';

  /**
   * @param {Runtime} runtime
   * @param {FeedForwardOptions} options
   */
  constructor(runtime, options) {
    super(
      runtime,
      (native, sizes) => {
        const activation = native.Activation[/** @type {Activation} */ (sizes.activation)];
        return new native.FeedForward({ ...sizes, activation }, firstWeights(native, sizes));
      },
      options,
      kOptions,
    );
  }

  /**
   * Computes linear2(activation(linear1(x))) for each row, with dropout after the activation.
   *
   * @template {Asked} [N=undefined]
   * @template {ElementType} [Output='float32']
   * @overload
   * @param {Given<As, ElementsLike | TensorHandle>} x  (N, dModel) or (B, N, dModel), of any element type
   * @param {Given<As, { dropout?: Dropout | number } & OutputTypeOption<Output>
   *   & IntermediatesOption<N>>} [options]
   * @returns {Gives<As, OutputOrShown<As, N, Output>>} (N, outFeatures) or (B, N, outFeatures); with `intermediates`,
   *   an object with `output` and `intermediates`
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `size_overflow`, `out_of_memory`,
   *   `disposed`
   */
  /**
   * @param {any} x
   * @param {any} [options]
   * @returns {any}
   */
  forward(x, options = {}) {
    options = readOptions(options, kCall);
    const { dModel, outFeatures } = this.sizes;
    return this.invoke((call) => {
      const input = call.rows('x', x, dModel, 'dModel', kElementTypes);
      const output = call.output(options.outputType, input.shape.with(-1, outFeatures));
      const checked = checkLayerCall(call, options);
      call.run(() =>
        this.native.forward(input.native, output.tensor.native, nativeLayerCall(call, checked)),
      );
      return giveShown(call, output, checked);
    });
  }
}
