import { Layer } from './layer.js';
import { kRowRanks } from './tensor.js';
import { readOptions, natural, real, size } from './options.js';

/** @import { StartAndDropout } from './positionalEncoding.js' */
/** @import { Names } from './options.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { TensorLike } from './tensor.js' */
/** @import { ResultKind, ResultTensor } from './tensorHandle.js' */

/**
 * @typedef {object} LearnedPositionalEncodingOptions
 * @property {number} maxLength  rows of the table
 * @property {number} dModel  E
 * @property {number} [seed]  of the table; 0 by default
 * @property {number} [deviation]  of the normal distribution that it is drawn from: 0.02 by default, as
 *   in BERT and GPT-2; torch.nn.Embedding has 1
 */

const kOptions = {
  maxLength: size(),
  dModel: size(),
  seed: natural(0),
  deviation: real(0.02),
};

/** @type {Names<StartAndDropout>} */
const kCall = { start: true, dropout: true };

/**
 * Positions as a learned table, as in BERT and GPT-2:
 *
 *   output[b, i] = dropout(x[b, i] + weight[start + i])
 *
 * Parameter: `weight` (maxLength, E).
 *
 * @template {ResultKind} [As='array']
 * @extends {Layer<LearnedPositionalEncodingOptions>}
 */
export class LearnedPositionalEncoding extends Layer {
  /** @internal */
  static name = 'LearnedPositionalEncoding';

  /**
   * @param {Runtime} runtime
   * @param {LearnedPositionalEncodingOptions} options
   */
  constructor(runtime, options) {
    super(runtime, 'LearnedPositionalEncoding', options, kOptions);
  }

  /**
   * Adds the vector of its position to each row, then applies dropout.
   *
   * @param {TensorLike} x  (B, N, E) or (N, E)
   * @param {StartAndDropout} [options]
   * @returns {ResultTensor<As>} the shape of `x`
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `out_of_memory`, `disposed`
   */
  forward(x, options = {}) {
    options = readOptions(options, kCall);
    const { start = 0, dropout } = options;
    return this.map(
      'forwardLearnedPositionalEncoding',
      (call) => call.floats('x', x, kRowRanks),
      (call) => {
        call.integer('start', start, 0);
        call.dropout(dropout);
      },
    );
  }
}
