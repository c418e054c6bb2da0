import { finite } from './checks.js';
import { checkChoice, checkInteger, explainedError } from './errors.js';
import { readOptions } from './options.js';
import { asTensor } from './tensor.js';

/** @import * as Native from './native.js' */
/** @import { NativeCall } from './nativeCall.js' */
/** @import { Names } from './options.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { ResultKind, ResultTensor } from './tensorHandle.js' */

/**
 * The order of sines and cosines: `'interleaved'` for sin, cos, sin, cos, … (Vaswani et al., D2L), or
 * `'concatenated'` for all ⌈d/2⌉ sines before all cosines (tensor2tensor).
 * @typedef {'interleaved' | 'concatenated'} SinusoidalLayout
 */

const kLayouts = ['interleaved', 'concatenated'];

/**
 * @typedef {object} SinusoidOptions
 * @property {number} [base]  10000 by default
 * @property {SinusoidalLayout} [layout]  `'interleaved'` by default
 */

/**
 * @typedef {object} EvenPositions
 * @property {number} length  N, the number of positions
 * @property {number} dModel  d, the number of columns; may be odd
 * @property {number} [start]  position of row 0; 0 by default
 * @property {number} [step]  distance between the positions of two rows; 1 by default
 */

/**
 * @typedef {object} GivenPositions
 * @property {ArrayLike<number>} positions  N positions, which may be fractional or negative
 * @property {number} dModel  d, the number of columns; may be odd
 */

/** @typedef {EvenPositions & SinusoidOptions} SinusoidalTableOptions */

/** @typedef {SinusoidalTableOptions | (GivenPositions & SinusoidOptions)} SinusoidalEncodingOptions */

/**
 * @template {ResultKind} [As='array']
 * @typedef {object} SinusoidalEncodingInFloat32
 * @property {ResultTensor<As>} encoding  (N, d)
 * @property {ResultTensor<As>} error  (N, d): the values in `encoding` minus the exact values
 */

/** @type {Names<SinusoidOptions>} */
export const kSinusoid = { base: true, layout: true };
/** @type {Names<SinusoidalTableOptions>} */
const kTable = { length: true, dModel: true, start: true, step: true, ...kSinusoid };
const kOptions = { positions: true, ...kTable };

/**
 * @param {Runtime} runtime
 * @param {SinusoidalEncodingOptions} options
 */
export function sinusoidalEncoding(runtime, options) {
  options = readOptions(options, kOptions);
  if ('positions' in options && options.positions !== undefined) {
    return sinusoidalEncodingAt(runtime, options);
  }
  const table = /** @type {SinusoidalTableOptions} */ (options);
  const shape = shapeOf(table);
  return runtime.invoke((call) => {
    const output = call.result('output', shape);
    const checked = checkTable(call, table);
    call.run((native) => native.sinusoidalEncoding(output.tensor.native, checked));
    return call.give(output);
  });
}

/**
 * @param {Runtime} runtime
 * @param {GivenPositions & SinusoidOptions} options
 */
function sinusoidalEncodingAt(runtime, options) {
  const { dModel } = options;
  const positions = asTensor('positions', options.positions);
  checkInteger('dModel', dModel, 1);
  for (const other of ['length', 'start', 'step']) {
    const got = /** @type {Record<string, unknown>} */ (options)[other];
    if (got === undefined) continue;
    const sentence = 'cannot be combined with positions; leave it out';
    throw explainedError('invalid_argument', other, sentence);
  }
  return runtime.invoke((call) => {
    const numbers = call.numbers('doubles', 'positions', positions.data);
    const output = call.result('output', [positions.data.length, dModel]);
    const checked = checkSinusoids(call, options);
    call.run((native) =>
      native.sinusoidalEncodingAt(numbers.native, output.tensor.native, checked),
    );
    return call.give(output);
  });
}

/**
 * @param {Runtime} runtime
 * @param {SinusoidalTableOptions} options
 */
export function sinusoidalEncodingInFloat32(runtime, options) {
  options = readOptions(options, kTable);
  const shape = shapeOf(options);
  return runtime.invoke((call) => {
    const encoding = call.result('encoding', shape);
    const error = call.result('error', shape);
    const checked = checkTable(call, options);
    call.run((native) =>
      native.sinusoidalEncodingInFloat32(encoding.tensor.native, error.tensor.native, checked),
    );
    return { encoding: call.give(encoding), error: call.give(error) };
  });
}

/** @param {SinusoidalTableOptions} options */
function shapeOf({ length, dModel }) {
  checkInteger('length', length, 0);
  checkInteger('dModel', dModel, 1);
  return [length, dModel];
}

/**
 * @param {NativeCall} call
 * @param {SinusoidalTableOptions} options
 * @returns {Native.SinusoidalEncodingOptions}
 */
function checkTable(call, { start = 0, step = 1, ...options }) {
  return {
    ...checkSinusoids(call, options),
    start: finite('start', start),
    step: finite('step', step),
  };
}

/**
 * Checks the options that all sinusoidal functions share.
 * @param {NativeCall} call
 * @param {SinusoidOptions} options
 * @returns {Native.SinusoidalPositionsOptions}
 */
export function checkSinusoids(call, { base = 10000, layout = 'interleaved' }) {
  finite('base', base);
  checkChoice('layout', layout, kLayouts);
  return { base, layout: call.native.SinusoidalLayout[layout] };
}
