import { Layer } from './layer.js';
import { checkOptions, checkRows, invalid } from './tensor.js';

/** @import { InitOptions } from './layer.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { TensorLike } from './tensor.js' */
/** @import { ResultKind, ResultTensor } from './tensorHandle.js' */

/**
 * @typedef {object} Conv1dSizes
 * @property {number} inChannels
 * @property {number} outChannels
 * @property {number} [kernelSize]  k; 1 by default
 * @property {number} [stride]  1 by default
 * @property {number | 'same'} [padding]  zeros before and behind the sequence, or as many as keep its
 *   length; 0 by default
 * @property {number} [dilation]  distance between the tokens that one output sees; 1 by default
 * @property {boolean} [bias]  `true` by default
 */

/** @typedef {Conv1dSizes & InitOptions} Conv1dOptions */

/**
 * A convolution along a sequence (torch.nn.Conv1d, whose inputs are (B, channels, N) where these are
 * (B, N, channels), as for attention):
 *
 *   y[t, o] = b[o] + Σ_c Σ_κ weight[o, c, κ] · x[t·stride + κ·dilation − padding, c]
 *
 * Parameters: `weight` (outChannels, inChannels, k) and, with `bias`, `bias` (outChannels,).
 *
 * @template {ResultKind} [As='array']
 */
export class Conv1d extends Layer {
  #inChannels;
  #outChannels;

  /**
   * @param {Runtime} runtime
   * @param {Conv1dOptions} options
   */
  constructor(runtime, options) {
    checkOptions(options);
    const { inChannels, outChannels, kernelSize = 1, stride = 1, padding = 0 } = options;
    const { dilation = 1, bias = true } = options;
    const same = padding === 'same';
    if (!same && !(Number.isSafeInteger(padding) && padding >= 0)) {
      throw invalid('padding', padding, "a whole number of at least 0 or 'same'");
    }
    super(runtime, 'makeConv1d', (call) => {
      call.integer('inChannels', inChannels, 1);
      call.integer('outChannels', outChannels, 1);
      call.integer('kernelSize', kernelSize, 1);
      call.integer('stride', stride, 1);
      call.number(same ? 0 : padding);
      call.flag('padding', same);
      call.integer('dilation', dilation, 1);
      call.flag('bias', bias);
      call.init(options);
    });
    this.#inChannels = inChannels;
    this.#outChannels = outChannels;
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
   * @param {TensorLike} x  (B, N, inChannels) or (N, inChannels)
   * @returns {ResultTensor<As>} (B, outputLength(N), outChannels), or without B
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `size_overflow`, `out_of_memory`,
   *   `disposed`
   */
  forward(x) {
    checkRows('x', x, this.#inChannels, 'inChannels');
    const length = this.outputLength(x.shape[x.shape.length - 2]);
    const shape = x.shape.with(-2, length).with(-1, this.#outChannels);
    return this.map('forwardConv1d', (call) => {
      call.floats('x', x);
      return shape;
    });
  }
}
