import { checkDropout, checkRandom } from './dropout.js';
import { Layer } from './layer.js';
import { checkInteger, checkNumber, checkOptions, checkShape, checkTensor } from './tensor.js';

/** @import { StartAndDropout } from './positionalEncoding.js' */
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

/**
 * Positions as a learned table, as in BERT and GPT-2:
 *
 *   output[b, i] = dropout(x[b, i] + weight[start + i])
 *
 * Parameter: `weight` (maxLength, E).
 *
 * @template {ResultKind} [As='array']
 */
export class LearnedPositionalEncoding extends Layer {
  /**
   * @param {Runtime} runtime
   * @param {LearnedPositionalEncodingOptions} options
   */
  constructor(runtime, options) {
    checkOptions(options);
    const { maxLength, dModel, seed = 0, deviation = 0.02 } = options;
    checkInteger('maxLength', maxLength, 1);
    checkInteger('dModel', dModel, 1);
    checkRandom({ seed });
    checkNumber('deviation', deviation);
    checkShape('weight', [maxLength, dModel]);
    super(runtime, 'makeLearnedPositionalEncoding', (call) => {
      call.number(maxLength);
      call.number(dModel);
    });
    this.initialize('initializeLearnedPositionalEncoding', (call) => {
      call.number(seed);
      call.number(deviation);
    });
  }

  /**
   * @param {TensorLike} x  (B, N, E) or (N, E)
   * @param {StartAndDropout} [options]
   * @returns {ResultTensor<As>} the shape of `x`
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `out_of_memory`, `disposed`
   */
  forward(x, options = {}) {
    checkOptions(options);
    const { start = 0, dropout } = options;
    checkTensor('x', x, { 2: '(N, E)', 3: '(B, N, E)' });
    checkInteger('start', start, 0);
    checkDropout(dropout);
    return this.runtime.call((call) => {
      call.number(this.address);
      call.floats('x', x);
      const output = call.result('output', x.shape);
      call.number(start);
      call.dropout(dropout);
      call.run(this.runtime.native.forwardLearnedPositionalEncoding);
      return call.give(output);
    });
  }
}
