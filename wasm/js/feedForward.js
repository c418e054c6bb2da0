import { activationIndex } from './activation.js';
import { checkDropout } from './dropout.js';
import { checkInit, checkRows, Layer } from './layer.js';
import { checkInteger, checkOptions, checkShape } from './tensor.js';

/** @import { Activation } from './activation.js' */
/** @import { Dropout } from './dropout.js' */
/** @import { InitOptions } from './layer.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { TensorLike } from './tensor.js' */
/** @import { ResultKind, ResultTensor } from './tensorHandle.js' */

/**
 * @typedef {object} FeedForwardSizes
 * @property {number} dModel  width of the input
 * @property {number} dimFeedforward  width between the two layers
 * @property {number} [outFeatures]  width of the output; `dModel` by default
 * @property {Activation} [activation]  `'relu'` by default
 * @property {boolean} [bias]  `true` by default
 */

/** @typedef {FeedForwardSizes & InitOptions} FeedForwardOptions */

/**
 * The position-wise feed-forward network of a Transformer (Vaswani et al. 2017; D2L 11.7.2,
 * `PositionWiseFFN`):
 *
 *   output = dropout(f(x · W_1ᵀ + b_1)) · W_2ᵀ + b_2
 *
 * Parameters: `linear1.weight` (dimFeedforward, dModel), `linear2.weight` (outFeatures,
 * dimFeedforward), and with `bias` `linear1.bias` and `linear2.bias`.
 *
 * @template {ResultKind} [As='array']
 */
export class FeedForward extends Layer {
  #sizes;

  /**
   * @param {Runtime} runtime
   * @param {FeedForwardOptions} options
   */
  constructor(runtime, options) {
    checkOptions(options);
    const { dModel, dimFeedforward, outFeatures = dModel } = options;
    const { activation = 'relu', bias = true } = options;
    checkInteger('dModel', dModel, 1);
    checkInteger('dimFeedforward', dimFeedforward, 1);
    checkInteger('outFeatures', outFeatures, 1);
    checkShape('linear1.weight', [dimFeedforward, dModel]);
    checkShape('linear2.weight', [outFeatures, dimFeedforward]);
    const index = activationIndex(activation);
    checkInit(options);
    super(runtime, 'makeFeedForward', (call) => {
      call.number(dModel);
      call.number(dimFeedforward);
      call.number(outFeatures);
      call.number(index);
      call.flag(bias);
    });
    this.#sizes = { dModel, outFeatures };
    this.initializeFrom('initializeFeedForward', options);
  }

  /**
   * @param {TensorLike} x  (N, dModel) or (B, N, dModel)
   * @param {{ dropout?: Dropout }} [options]
   * @returns {ResultTensor<As>} (N, outFeatures) or (B, N, outFeatures)
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `size_overflow`, `out_of_memory`,
   *   `disposed`
   */
  forward(x, options = {}) {
    checkOptions(options);
    checkRows('x', x, this.#sizes.dModel, 'dModel');
    checkDropout(options.dropout);
    const shape = x.shape.with(-1, this.#sizes.outFeatures);
    return this.rows('forwardFeedForward', x, shape, (call) => call.dropout(options.dropout));
  }
}
