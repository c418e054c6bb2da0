import { sizesOf } from './attentionOptions.js';
import { flag, size } from './checks.js';
import { checkInteger, invalid } from './errors.js';
import { firstWeights, kFirstWeights, Layer } from './layer.js';

/** @import { InitOptions } from './layer.js' */
/** @import { Check } from './checks.js' */
/** @import * as Native from './native.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { TensorLike } from './tensor.js' */
/** @import { ResultKind, ResultTensor } from './tensorHandle.js' */

/**
 * @typedef {object} Conv1dSizes
 * @property {number} inChannels
 * @property {number} outChannels
 * @property {number} [kernelSize]  k; 1 by default
 * @property {number} [stride]  1 by default
 * @property {number | 'same'} [padding]  number of zeros before and after the sequence, or `'same'` to
 *   keep its length; 0 by default
 * @property {number} [dilation]  distance between the tokens that one output sees; 1 by default
 * @property {boolean} [bias]  `true` by default
 */

/** @typedef {Conv1dSizes & InitOptions} Conv1dOptions */

/** @type {Check} */
const padding = (name, value = 0) => {
  if (value !== 'same' && !(Number.isSafeInteger(value) && value >= 0)) {
    throw invalid(name, value, "a whole number of at least 0, or 'same'");
  }
  return value;
};

const kOptions = {
  inChannels: size(),
  outChannels: size(),
  kernelSize: size(1),
  stride: size(1),
  dilation: size(1),
  bias: flag(true),
  padding,
  ...kFirstWeights,
};

/**
 * A convolution along a sequence, like torch.nn.Conv1d, but for inputs of shape (B, N, channels)
 * instead of (B, channels, N):
 *
 *   y[t, o] = b[o] + Σ_c Σ_κ weight[o, c, κ] · x[t·stride + κ·dilation − padding, c]
 *
 * Parameters: `weight` (outChannels, inChannels, k), and `bias` (outChannels,) if the option `bias`
 * is true.
 *
 * @template {ResultKind} [As='array']
 * @extends {Layer<Conv1dSizes, Native.Conv1d>}
 */
export class Conv1d extends Layer {
  /** @internal */
  static name = 'Conv1d';

  /**
   * @param {Runtime} runtime
   * @param {Conv1dOptions} options
   */
  constructor(runtime, options) {
    super(
      runtime,
      (native, sizes) => {
        const same = sizes.padding === 'same';
        const padded = { ...sizes, same, padding: same ? 0 : sizes.padding };
        return new native.Conv1d(padded, firstWeights(native, sizes));
      },
      options,
      kOptions,
    );
  }

  /**
   * Returns the length of the output for a sequence of `length` tokens.
   * @param {number} length
   * @returns {number}
   * @throws {AttnError} `invalid_argument` if the sequence is too short for one output
   */
  outputLength(length) {
    checkInteger('length', length, 0);
    return this.enter((native) => native.outputLength(length));
  }

  /**
   * Computes the convolution of each sequence with the kernels.
   *
   * @param {TensorLike} x  (B, N, inChannels) or (N, inChannels)
   * @returns {ResultTensor<As>} (B, outputLength(N), outChannels), or without B
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `size_overflow`, `out_of_memory`,
   *   `disposed`
   */
  forward(x) {
    const { inChannels, outChannels } = this.sizes;
    return this.invoke((call) => {
      const input = call.rows('x', x, inChannels, 'inChannels');
      const { shape } = input;
      const length = this.outputLength(sizesOf(shape).length);
      const output = call.result('output', shape.with(-2, length).with(-1, outChannels));
      call.run(() => this.native.forward(input.native, output.tensor.native));
      return call.give(output);
    });
  }
}
