import {
  asTensor,
  checkChoice,
  checkInteger,
  checkNumber,
  checkOptions,
  checkShape,
  invalid,
} from './tensor.js';

/** @import { Call } from './call.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { ResultKind, ResultTensor } from './tensorHandle.js' */

/**
 * Where sines and cosines lie: `'interleaved'` as sin, cos, sin, cos, … (Vaswani et al., D2L), or
 * `'concatenated'`, all ⌈d/2⌉ sines before all cosines (tensor2tensor).
 * @typedef {'interleaved' | 'concatenated'} SinusoidalLayout
 */

/** In the order of the C++ enumeration. */
const kLayouts = ['interleaved', 'concatenated'];

/**
 * @typedef {object} SinusoidOptions
 * @property {number} [base]  10000 by default
 * @property {SinusoidalLayout} [layout]  `'interleaved'` by default
 */

/**
 * @typedef {object} EvenPositions
 * @property {number} length  how many positions, N
 * @property {number} dModel  how many columns, d; odd ones too
 * @property {number} [start]  position of row 0; 0 by default
 * @property {number} [step]  from one row to the next; 1 by default
 */

/**
 * @typedef {object} GivenPositions
 * @property {ArrayLike<number>} positions  N of them, fractional and negative ones too
 * @property {number} dModel  how many columns, d; odd ones too
 */

/** @typedef {EvenPositions & SinusoidOptions} SinusoidalTableOptions */

/** @typedef {SinusoidalTableOptions | (GivenPositions & SinusoidOptions)} SinusoidalEncodingOptions */

/**
 * @template {ResultKind} [As='array']
 * @typedef {object} SinusoidalEncodingInFloat32
 * @property {ResultTensor<As>} encoding  (N, d)
 * @property {ResultTensor<As>} error  (N, d): its values less the exact ones
 */

/**
 * @param {Runtime} runtime
 * @param {SinusoidalEncodingOptions} options
 */
export function sinusoidalEncoding(runtime, options) {
  checkOptions(options);
  if ('positions' in options) return sinusoidalEncodingAt(runtime, options);
  const shape = checkTable(options);
  return runtime.call((call) => {
    const output = call.result('output', shape);
    writeTable(call, options);
    call.run(runtime.native.sinusoidalEncoding);
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
  checkSinusoids(options);
  const shape = [positions.data.length, dModel];
  checkShape('output', shape);
  for (const other of ['length', 'start', 'step']) {
    const got = /** @type {Record<string, unknown>} */ (options)[other];
    if (got !== undefined) throw invalid(other, got, 'to be left out where positions are given');
  }
  return runtime.call((call) => {
    call.doubles('positions', positions);
    const output = call.result('output', shape);
    writeSinusoids(call, options);
    call.run(runtime.native.sinusoidalEncodingAt);
    return call.give(output);
  });
}

/**
 * @param {Runtime} runtime
 * @param {SinusoidalTableOptions} options
 */
export function sinusoidalEncodingInFloat32(runtime, options) {
  checkOptions(options);
  const shape = checkTable(options);
  return runtime.call((call) => {
    const encoding = call.result('encoding', shape);
    const error = call.result('error', shape);
    writeTable(call, options);
    call.run(runtime.native.sinusoidalEncodingInFloat32);
    return { encoding: call.give(encoding), error: call.give(error) };
  });
}

/** @param {SinusoidalTableOptions} options */
function checkTable(options) {
  const { length, dModel, start = 0, step = 1 } = options;
  checkInteger('length', length, 0);
  checkInteger('dModel', dModel, 1);
  checkNumber('start', start);
  checkNumber('step', step);
  checkSinusoids(options);
  const shape = [length, dModel];
  checkShape('output', shape);
  return shape;
}

/**
 * @param {Call} call
 * @param {SinusoidalTableOptions} options
 */
function writeTable(call, options) {
  writeSinusoids(call, options);
  call.number(options.start ?? 0);
  call.number(options.step ?? 1);
}

/**
 * Checks the options that everything sinusoidal has.
 * @param {SinusoidOptions} options
 */
export function checkSinusoids({ base = 10000, layout = 'interleaved' }) {
  checkNumber('base', base);
  checkChoice('layout', layout, kLayouts);
}

/**
 * @param {Call} call
 * @param {SinusoidOptions} options
 */
export function writeSinusoids(call, { base = 10000, layout = 'interleaved' }) {
  call.number(base);
  call.number(kLayouts.indexOf(layout));
}
