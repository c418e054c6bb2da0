import { readOptions, kDropout } from './options.js';

/** @import { Runtime } from './runtime.js' */
/** @import { TensorLike } from './tensor.js' */

/**
 * Dropout in training. Without this option nothing is dropped or scaled. A number
 * in its place is the probability, with the default seed and stream: every call drops the same elements.
 * @typedef {object} Dropout
 * @property {number} probability  with which a value becomes 0, from 0 to 1; the others are divided
 *   by 1 − probability
 * @property {number} [seed]  0 by default; change it, or `stream`, from step to step
 * @property {number} [stream]  one of the sequences of a seed; 0 by default
 */

/**
 * Which random numbers.
 * @typedef {object} RandomOptions
 * @property {number} [seed]  0 by default
 * @property {number} [stream]  one of the independent sequences of a seed; 0 by default
 */

/**
 * @param {Runtime} runtime
 * @param {TensorLike} x
 * @param {Dropout | number} options
 */
export function applyDropout(runtime, x, options) {
  if (typeof options !== 'number') options = readOptions(options, kDropout);
  return runtime.map(
    'applyDropout',
    (call) => call.floats('x', x),
    (call) => call.dropout(options),
  );
}
