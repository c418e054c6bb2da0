import { finite } from './checks.js';
import { checkDropout } from './dropout.js';
import { readOptions } from './options.js';
import { checkSinusoids, kSinusoid } from './sinusoidalEncoding.js';
import { kRowRanks } from './tensor.js';

/** @import { Dropout } from './dropout.js' */
/** @import { Names } from './options.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { SinusoidOptions } from './sinusoidalEncoding.js' */
/** @import { TensorLike } from './tensor.js' */

/**
 * @typedef {object} StartAndDropout
 * @property {number} [start]  position of the first token: with a key/value cache, the past length;
 *   0 by default
 * @property {Dropout | number} [dropout]  dropout on the sum, for training
 */

/** @typedef {SinusoidOptions & StartAndDropout} PositionalEncodingOptions */

/** @type {Names<PositionalEncodingOptions>} */
const kOptions = { start: true, dropout: true, ...kSinusoid };

/**
 * @param {Runtime} runtime
 * @param {TensorLike} x
 * @param {PositionalEncodingOptions} options
 */
export function positionalEncoding(runtime, x, options) {
  options = readOptions(options, kOptions);
  const { start = 0 } = options;
  return runtime.invoke((call) => {
    const rows = call.tensor('x', x, kRowRanks);
    const output = call.result('output', rows.shape);
    const sinusoids = checkSinusoids(call, options);
    finite('start', start);
    const dropout = checkDropout(options.dropout);
    call.run((native) =>
      native.positionalEncoding(rows.native, output.tensor.native, sinusoids, start, dropout),
    );
    return call.give(output);
  });
}
