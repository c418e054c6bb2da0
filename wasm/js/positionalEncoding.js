import { checkDropout } from './dropout.js';
import { checkSinusoids, writeSinusoids } from './sinusoidalEncoding.js';
import { checkNumber, checkOptions, checkTensor } from './tensor.js';

/** @import { Dropout } from './dropout.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { SinusoidOptions } from './sinusoidalEncoding.js' */
/** @import { TensorLike } from './tensor.js' */

/**
 * @typedef {object} StartAndDropout
 * @property {number} [start]  position of the first token: with a key/value cache, the past length;
 *   0 by default
 * @property {Dropout} [dropout]  of the sum; for training
 */

/** @typedef {SinusoidOptions & StartAndDropout} PositionalEncodingOptions */

/**
 * @param {Runtime} runtime
 * @param {TensorLike} x
 * @param {PositionalEncodingOptions} options
 */
export function positionalEncoding(runtime, x, options) {
  checkOptions(options);
  const { start = 0, dropout } = options;
  checkTensor('x', x, { 2: '(N, E)', 3: '(B, N, E)' });
  checkNumber('start', start);
  checkSinusoids(options);
  checkDropout(dropout);
  return runtime.call((call) => {
    call.floats('x', x);
    const output = call.result('output', x.shape);
    writeSinusoids(call, options);
    call.number(start);
    call.dropout(dropout);
    call.run(runtime.native.positionalEncoding);
    return call.give(output);
  });
}
