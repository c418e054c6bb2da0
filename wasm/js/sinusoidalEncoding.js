import { checkChoice, checkInteger, checkNumber, checkOptions, checkShape } from './tensor.js';

/** @import { Runtime } from './runtime.js' */
/** @import { Tensor } from './tensor.js' */

/**
 * Where sines and cosines lie: `'interleaved'` as sin, cos, sin, cos, … (Vaswani et al., D2L), or
 * `'concatenated'`, all ⌈d/2⌉ sines before all cosines (tensor2tensor).
 * @typedef {'interleaved' | 'concatenated'} SinusoidalLayout
 */

/**
 * @typedef {object} SinusoidalEncodingOptions
 * @property {number} length  how many positions, N
 * @property {number} dModel  how many columns, d; odd ones too
 * @property {number} [base]  10000 by default
 * @property {number} [start]  position of row 0; 0 by default
 * @property {number} [step]  from one row to the next; 1 by default
 * @property {SinusoidalLayout} [layout]  `'interleaved'` by default
 */

/**
 * @param {Runtime} runtime
 * @param {SinusoidalEncodingOptions} options
 * @returns {Tensor}
 */
export function sinusoidalEncoding(runtime, options) {
  checkOptions(options);
  const { length, dModel, base = 10000, start = 0, step = 1, layout = 'interleaved' } = options;
  checkInteger('length', length, 0);
  checkInteger('dModel', dModel, 1);
  checkNumber('start', start);
  checkNumber('step', step);
  checkSinusoids(base, layout);
  const shape = [length, dModel];
  checkShape('output', shape);
  return runtime.call((memory, native) => {
    const output = memory.result('output', shape);
    runtime.check(
      native.sinusoidalEncoding(output.record, base, start, step, layout === 'concatenated'),
    );
    return memory.copyOut(output);
  });
}

/**
 * Checks the options that everything sinusoidal has.
 * @param {number} base
 * @param {SinusoidalLayout} layout
 */
export function checkSinusoids(base, layout) {
  checkNumber('base', base);
  checkChoice('layout', layout, ['interleaved', 'concatenated']);
}
