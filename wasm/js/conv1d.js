import { sizesOf } from './attentionOptions.js';
import { invalid } from './errors.js';
import { Kind } from './kind.js';
import { Layer } from './layer.js';
import { flag, kInit, size } from './options.js';

/** @import { InitOptions } from './layer.js' */
/** @import { Rule } from './options.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { TensorLike } from './tensor.js' */
/** @import { ResultKind, ResultTensor } from './tensorHandle.js' */

/**
 * @typedef {object} Conv1dSizes
 * @property {number} inChannels
 * @property {number} outChannels
 * @property {number} [kernelSize]  k; 1 by default
 * @property {number} [stride]  1 by default
 * @property {number | 'same'} [padding]  zeros before and after the sequence, or as many as keep its
 *   length; 0 by default
 * @property {number} [dilation]  distance between the tokens that one output sees; 1 by default
 * @property {boolean} [bias]  `true` by default
 */

/** @typedef {Conv1dSizes & InitOptions} Conv1dOptions */

/** @type {Rule} */
const padding = (call, name, value = 0) => {
  call.has(value === 'same');
  if (value === 'same') return;
  if (!Number.isSafeInteger(value) || value < 0) {
    throw invalid(name, value, "a whole number of at least 0 or 'same'");
  }
  call.put(Kind.integer, value);
};

const kOptions = {
  inChannels: size(),
  outChannels: size(),
  kernelSize: size(1),
  stride: size(1),
  dilation: size(1),
  bias: flag(true),
  padding,
  ...kInit,
};

/**
 * A convolution along a sequence (torch.nn.Conv1d, whose inputs are (B, channels, N) where these are
 * (B, N, channels), as for attention):
 *
 *   y[t, o] = b[o] + Σ_c Σ_κ weight[o, c, κ] · x[t·stride + κ·dilation − padding, c]
 *
 * Parameters: `weight` (outChannels, inChannels, k) and, with `bias`, `bias` (outChannels,).
 *
 * @template {ResultKind} [As='array']
 * @extends {Layer<Conv1dSizes>}
 */
export class Conv1d extends Layer {
  /** @internal */
  static name = 'Conv1d';

  /**
   * @param {Runtime} runtime
   * @param {Conv1dOptions} options
   */
  constructor(runtime, options) {
    super(runtime, 'Conv1d', options, kOptions);
  }

  /**
   * What comes of a sequence of `length` tokens.
   * @param {number} length
   * @returns {number}
   * @throws {AttnError} `invalid_argument` when not even one output does
   */
  outputLength(length) {
    return this.ask('conv1dOutputLength', (call) => call.integer('length', length, 0));
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
    return this.map('forwardConv1d', (call) => {
      const shape = call.rows('x', x, inChannels, 'inChannels');
      return shape.with(-2, this.outputLength(sizesOf(shape).length)).with(-1, outChannels);
    });
  }
}
