import { checkOptions, kRandomStream, real } from './checks.js';
import { readOptions } from './options.js';

/** @import * as Native from './native.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { TensorLike } from './tensor.js' */

/**
 * Dropout in training. Without this option nothing is dropped or scaled. You can pass the probability as a
 * number; then the default seed and stream apply, and every call drops the same elements.
 * @typedef {object} Dropout
 * @property {number} probability  from 0 to 1: each value becomes 0 with this probability, and the
 *   other values are divided by 1 − probability
 * @property {number} [seed]  0 by default; change it, or `stream`, from step to step
 * @property {number} [stream]  selects one of the sequences of a seed; 0 by default
 */

/**
 * Seed and stream of random numbers.
 * @typedef {object} RandomOptions
 * @property {number} [seed]  0 by default
 * @property {number} [stream]  selects one of the independent sequences of a seed; 0 by default
 */

export const kDropout = { probability: real(), ...kRandomStream };

/** @type {Native.Dropout} */
const kNone = { training: false, probability: 0, random: { seed: 0, stream: 0 } };

/**
 * Checks the option `dropout`.
 * @param {Dropout | number} [given]
 * @returns {Native.Dropout}
 */
export function checkDropout(given) {
  if (given === undefined) return kNone;
  const options = typeof given === 'number' ? { probability: given } : given;
  const { probability, ...random } = checkOptions(options, kDropout, 'dropout');
  return { training: true, probability, random };
}

/**
 * @param {Runtime} runtime
 * @param {TensorLike} x
 * @param {Dropout | number} options
 */
export function applyDropout(runtime, x, options) {
  if (typeof options !== 'number') options = readOptions(options, kDropout);
  return runtime.invoke((call) => {
    const input = call.tensor('x', x);
    const output = call.result('output', input.shape);
    const dropout = checkDropout(options);
    call.run((native) => native.applyDropout(input.native, output.tensor.native, dropout));
    return call.give(output);
  });
}
