import { checkValues, kRandomStream, real } from './checks.js';
import { argumentError } from './errors.js';
import { readOptions } from './options.js';
import { formatShape, readShape } from './shape.js';

/** @import { RandomOptions } from './dropout.js' */
/** @import { CheckTable } from './checks.js' */
/** @import * as Native from './native.js' */
/** @import { Runtime } from './runtime.js' */

/**
 * @typedef {object} UniformRange
 * @property {readonly number[]} shape
 * @property {number} [low]  inclusive lower bound; 0 by default
 * @property {number} [high]  exclusive upper bound; 1 by default
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
export function randomUniform(runtime, options) {
  const { shape, random, low, high } = check(options, { low: real(0), high: real(1) });
  return fill(runtime, shape, (native, output) => native.fillUniform(output, random, low, high));
}

/**
 * @param {Runtime} runtime
 * @param {NormalOptions} options
 */
export function randomNormal(runtime, options) {
  const { shape, random, mean, deviation } = check(options, { mean: real(0), deviation: real(1) });
  return fill(runtime, shape, (native, output) =>
    native.fillNormal(output, random, mean, deviation),
  );
}

/**
 * @param {Runtime} runtime
 * @param {XavierOptions} options
 */
export function xavierUniform(runtime, options) {
  const { shape, random, gain } = check(options, { gain: real(1) });
  if (shape.length !== 2)
    throw argumentError(
      'invalid_argument',
      'shape',
      formatShape(shape),
      'two sizes: fan-out and fan-in',
    );
  return fill(runtime, shape, (native, output) => native.xavierUniform(output, random, gain));
}

/**
 * @param {{ shape: readonly number[] } & RandomOptions} options
 * @param {CheckTable} parameters  parameters of the distribution
 */
function check(options, parameters) {
  const table = { ...kRandomStream, ...parameters };
  options = readOptions(options, { shape: true, ...table });
  const shape = readShape('shape', options.shape);
  const { seed, stream, ...values } = checkValues(options, table);
  return { shape, random: { seed, stream }, ...values };
}

/**
 * @param {Runtime} runtime
 * @param {readonly number[]} shape
 * @param {(native: Native.MainModule, output: Native.Tensor) => void} draw
 */
const fill = (runtime, shape, draw) =>
  runtime.invoke((call) => {
    const output = call.result('output', shape);
    call.run((native) => draw(native, output.tensor.native));
    return call.give(output);
  });
