import { checkInteger, checkOptions, checkTensor, invalid } from './tensor.js';

/** @import { Runtime } from './runtime.js' */
/** @import { TensorLike } from './tensor.js' */

/**
 * What is dropped in training. Leave it out for everything else: then nothing is dropped or scaled.
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

/** @param {RandomOptions} options */
export function checkRandom({ seed = 0, stream = 0 }) {
  checkInteger('seed', seed, 0);
  checkInteger('stream', stream, 0);
}

/** @param {Dropout} [dropout] */
export function checkDropout(dropout) {
  if (dropout === undefined) return;
  if (dropout === null || typeof dropout !== 'object') {
    throw invalid('dropout', dropout, 'an object { probability, seed, stream }');
  }
  const { probability } = dropout;
  if (!(probability >= 0 && probability <= 1)) {
    throw invalid('dropout.probability', probability, 'a number from 0 to 1');
  }
  checkRandom(dropout);
}

/**
 * @param {Runtime} runtime
 * @param {TensorLike} x
 * @param {Dropout} options
 */
export function applyDropout(runtime, x, options) {
  checkOptions(options);
  checkTensor('x', x);
  checkDropout(options);
  return runtime.call((call) => {
    call.floats('x', x);
    const output = call.result('output', x.shape);
    call.dropout(options);
    call.run(runtime.native.applyDropout);
    return call.give(output);
  });
}
