import { checkSinusoids } from './sinusoidalEncoding.js';
import {
  checkInteger,
  checkNumber,
  checkOptions,
  checkShape,
  checkTensor,
  invalid,
} from './tensor.js';

/** @import { Runtime } from './runtime.js' */
/** @import { SinusoidalLayout } from './sinusoidalEncoding.js' */
/** @import { Tensor, TensorLike } from './tensor.js' */

/**
 * @typedef {object} ShiftOptions
 * @property {number} [base]  10000 by default
 * @property {SinusoidalLayout} [layout]  `'interleaved'` by default
 */

/**
 * @typedef {object} ShiftMatrixSizes
 * @property {number} dModel  width d of the encoding, even
 * @property {number} delta  by how many positions to shift; may be negative or fractional
 */

/** @typedef {ShiftMatrixSizes & ShiftOptions} ShiftMatrixOptions */

/**
 * @param {Runtime} runtime
 * @param {ShiftMatrixOptions} options
 * @returns {Tensor}
 */
export function shiftMatrix(runtime, options) {
  checkOptions(options);
  const { dModel, delta, base = 10000, layout = 'interleaved' } = options;
  checkInteger('dModel', dModel, 1);
  if (dModel % 2 !== 0) {
    throw invalid('dModel', dModel, 'an even width: the last sine of an odd one has no cosine');
  }
  checkNumber('delta', delta);
  checkSinusoids(base, layout);
  const shape = [dModel, dModel];
  checkShape('output', shape);
  return runtime.call((memory, native) => {
    const output = memory.result('output', shape);
    runtime.check(native.shiftMatrix(output.record, delta, base, layout === 'concatenated'));
    return memory.copyOut(output);
  });
}

/**
 * @param {Runtime} runtime
 * @param {TensorLike} encoding
 * @param {number} delta
 * @param {ShiftOptions} options
 * @returns {Tensor}
 */
export function applyShift(runtime, encoding, delta, options) {
  checkOptions(options);
  const { base = 10000, layout = 'interleaved' } = options;
  checkTensor('encoding', encoding, { 2: '(N, d)', 3: '(B, N, d)' });
  checkNumber('delta', delta);
  checkSinusoids(base, layout);
  return runtime.call((memory, native) => {
    const output = memory.result('output', encoding.shape);
    const input = memory.floats('encoding', encoding);
    runtime.check(native.applyShift(input, delta, output.record, base, layout === 'concatenated'));
    return memory.copyOut(output);
  });
}
