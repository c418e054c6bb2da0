import { natural, real, size } from './checks.js';
import { checkDropout } from './dropout.js';
import { checkInteger } from './errors.js';
import { Layer } from './layer.js';
import { readOptions } from './options.js';
import { kRowRanks } from './tensor.js';

/** @import { StartAndDropout } from './positionalEncoding.js' */
/** @import * as Native from './native.js' */
/** @import { Names } from './options.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { TensorLike } from './tensor.js' */
/** @import { ResultKind, ResultTensor } from './tensorHandle.js' */

/**
 * @typedef {object} LearnedPositionalEncodingOptions
 * @property {number} maxLength  rows of the table
 * @property {number} dModel  E
 * @property {number} [seed]  seed of the initial table; 0 by default
 * @property {number} [deviation]  standard deviation of the initial table, drawn from a normal
 *   distribution: 0.02 by default, as in BERT and GPT-2; torch.nn.Embedding uses 1
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
 * @extends {Layer<LearnedPositionalEncodingOptions, Native.LearnedPositionalEncoding>}
 */
export class LearnedPositionalEncoding extends Layer {
  /** @internal */
  static name = 'LearnedPositionalEncoding';

  /**
   * @param {Runtime} runtime
   * @param {LearnedPositionalEncodingOptions} options
   */
  constructor(runtime, options) {
    super(
      runtime,
      (native, { maxLength, dModel, seed, deviation }) =>
        new native.LearnedPositionalEncoding(maxLength, dModel, seed, deviation),
      options,
      kOptions,
    );
  }

  /**
   * Adds to each row the vector of the row's position, then applies dropout.
   *
   * @param {TensorLike} x  (B, N, E) or (N, E)
   * @param {StartAndDropout} [options]
   * @returns {ResultTensor<As>} the shape of `x`
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `out_of_memory`, `disposed`
   */
  forward(x, options = {}) {
    options = readOptions(options, kCall);
    const { start = 0 } = options;
    return this.invoke((call) => {
      const rows = call.tensor('x', x, kRowRanks);
      const output = call.result('output', rows.shape);
      checkInteger('start', start, 0);
      const dropout = checkDropout(options.dropout);
      call.run(() => this.native.forward(rows.native, output.tensor.native, start, dropout));
      return call.give(output);
    });
  }
}
