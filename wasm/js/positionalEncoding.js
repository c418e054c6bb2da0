import { checkSinusoids } from './sinusoidalEncoding.js';
import { checkNumber, checkOptions, checkTensor } from './tensor.js';

/** @import { Runtime } from './runtime.js' */
/** @import { SinusoidalLayout } from './sinusoidalEncoding.js' */
/** @import { Tensor, TensorLike } from './tensor.js' */

/**
 * @typedef {object} PositionalEncodingOptions
 * @property {number} [base]  10000 by default
 * @property {number} [start]  position of the first token; 0 by default
 * @property {SinusoidalLayout} [layout]  `'interleaved'` by default
 */

/**
 * @param {Runtime} runtime
 * @param {TensorLike} x
 * @param {PositionalEncodingOptions} options
 * @returns {Tensor}
 */
export function positionalEncoding(runtime, x, options) {
  checkOptions(options);
  const { base = 10000, start = 0, layout = 'interleaved' } = options;
  checkTensor('x', x, { 2: '(N, E)', 3: '(B, N, E)' });
  checkNumber('start', start);
  checkSinusoids(base, layout);
  return runtime.call((memory, native) => {
    const output = memory.result('output', x.shape);
    const input = memory.floats('x', x);
    runtime.check(
      native.positionalEncoding(input, output.record, base, start, layout === 'concatenated'),
    );
    return memory.copyOut(output);
  });
}
