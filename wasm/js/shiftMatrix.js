import { checkSinusoids, writeSinusoids } from './sinusoidalEncoding.js';
import {
  checkInteger,
  checkNumber,
  checkOptions,
  checkShape,
  checkTensor,
  invalid,
} from './tensor.js';

/** @import { Runtime } from './runtime.js' */
/** @import { SinusoidOptions } from './sinusoidalEncoding.js' */
/** @import { TensorLike } from './tensor.js' */

/** @typedef {SinusoidOptions} ShiftOptions */

/**
 * @typedef {object} ShiftMatrixSizes
 * @property {number} dModel  width d of the encoding, even
 * @property {number} delta  by how many positions to shift; may be negative or fractional
 */

/** @typedef {ShiftMatrixSizes & ShiftOptions} ShiftMatrixOptions */

/**
 * @param {Runtime} runtime
 * @param {ShiftMatrixOptions} options
 */
export function shiftMatrix(runtime, options) {
  checkOptions(options);
  const { dModel, delta } = options;
  checkInteger('dModel', dModel, 1);
  if (dModel % 2 !== 0) {
    throw invalid('dModel', dModel, 'an even width: the last sine of an odd one has no cosine');
  }
  checkNumber('delta', delta);
  checkSinusoids(options);
  const shape = [dModel, dModel];
  checkShape('output', shape);
  return runtime.call((call) => {
    const output = call.result('output', shape);
    call.number(delta);
    writeSinusoids(call, options);
    call.run(runtime.native.shiftMatrix);
    return call.give(output);
  });
}

/**
 * @param {Runtime} runtime
 * @param {TensorLike} encoding
 * @param {number} delta
 * @param {ShiftOptions} options
 */
export function applyShift(runtime, encoding, delta, options) {
  checkOptions(options);
  checkTensor('encoding', encoding, { 2: '(N, d)', 3: '(B, N, d)' });
  checkNumber('delta', delta);
  checkSinusoids(options);
  return runtime.call((call) => {
    call.floats('encoding', encoding);
    const output = call.result('output', encoding.shape);
    call.number(delta);
    writeSinusoids(call, options);
    call.run(runtime.native.applyShift);
    return call.give(output);
  });
}
