import { invalid } from './errors.js';
import { readOptions, kRandom, real, writeValues } from './options.js';
import { readShape } from './shape.js';

/** @import { RandomOptions } from './dropout.js' */
/** @import { OptionTable } from './options.js' */
/** @import { Operation, Runtime } from './runtime.js' */

/**
 * @typedef {object} UniformRange
 * @property {readonly number[]} shape
 * @property {number} [low]  the least number; 0 by default
 * @property {number} [high]  what all numbers lie below; 1 by default
 */

/** @typedef {UniformRange & RandomOptions} UniformOptions */

/**
 * @typedef {object} NormalDistribution
 * @property {readonly number[]} shape
 * @property {number} [mean]  0 by default
 * @property {number} [deviation]  1 by default
 */

/** @typedef {NormalDistribution & RandomOptions} NormalOptions */

/**
 * @typedef {object} XavierRange
 * @property {readonly number[]} shape  (fan out, fan in)
 * @property {number} [gain]  1 by default
 */

/** @typedef {XavierRange & RandomOptions} XavierOptions */

/**
 * @param {Runtime} runtime
 * @param {UniformOptions} options
 */
export const randomUniform = (runtime, options) =>
  random(runtime, 'fillUniform', options, { low: real(0), high: real(1) });

/**
 * @param {Runtime} runtime
 * @param {NormalOptions} options
 */
export const randomNormal = (runtime, options) =>
  random(runtime, 'fillNormal', options, { mean: real(0), deviation: real(1) });

/**
 * @param {Runtime} runtime
 * @param {XavierOptions} options
 */
export const xavierUniform = (runtime, options) =>
  random(runtime, 'xavierUniform', options, { gain: real(1) }, true);

/**
 * @param {Runtime} runtime
 * @param {Operation} operation
 * @param {{ shape: readonly number[] } & RandomOptions} options
 * @param {OptionTable} parameters
 * @param {boolean} [isMatrix]  whether it is of matrices only
 */
function random(runtime, operation, options, parameters, isMatrix = false) {
  const table = { ...kRandom, ...parameters };
  options = readOptions(options, { shape: true, ...table });
  const shape = readShape('shape', options.shape);
  if (isMatrix && shape.length !== 2) {
    throw invalid('shape', `(${shape})`, 'two sizes: fan out and fan in');
  }
  return runtime.map(
    operation,
    () => shape,
    (call) => writeValues(call, options, table),
  );
}
