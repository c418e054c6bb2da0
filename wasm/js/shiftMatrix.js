import { finite } from './checks.js';
import { checkInteger, invalid } from './errors.js';
import { readOptions } from './options.js';
import { checkSinusoids, kSinusoid } from './sinusoidalEncoding.js';

/** @import { Names } from './options.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { SinusoidOptions } from './sinusoidalEncoding.js' */
/** @import { TensorLike } from './tensor.js' */

/** @typedef {SinusoidOptions} ShiftOptions */

/**
 * @typedef {object} ShiftMatrixSizes
 * @property {number} dModel  width d of the encoding, even
 * @property {number} delta  number of positions to shift by; may be negative or fractional
 */

/** @typedef {ShiftMatrixSizes & ShiftOptions} ShiftMatrixOptions */

/** @type {Names<ShiftMatrixOptions>} */
const kOptions = { dModel: true, delta: true, ...kSinusoid };

/**
 * @param {Runtime} runtime
 * @param {ShiftMatrixOptions} options
 */
export function shiftMatrix(runtime, options) {
  options = readOptions(options, kOptions);
  const { dModel, delta } = options;
  checkInteger('dModel', dModel, 1);
  if (dModel % 2 !== 0) {
    throw invalid(
      'dModel',
      dModel,
      'an even width, because the last sine of an odd width has no cosine',
    );
  }
  return runtime.invoke((call) => {
    const output = call.result('output', [dModel, dModel]);
    finite('delta', delta);
    const checked = checkSinusoids(call, options);
    call.run((native) => native.shiftMatrix(output.tensor.native, delta, checked));
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
  options = readOptions(options, kSinusoid);
  return runtime.invoke((call) => {
    const rows = call.tensor('encoding', encoding, { 2: '(N, d)', 3: '(B, N, d)' });
    const output = call.result('output', rows.shape);
    finite('delta', delta);
    const checked = checkSinusoids(call, options);
    call.run((native) => native.applyShift(rows.native, delta, output.tensor.native, checked));
    return call.give(output);
  });
}
