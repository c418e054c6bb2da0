// Learning-rate schedules.

import { checkOptions, natural, real, size } from './checks.js';
import { checkInteger } from './errors.js';

/** @import { CheckTable } from './checks.js' */
/** @import { Runtime } from './runtime.js' */

/**
 * Linear warm-up to `peak`, then constant.
 * @typedef {object} ConstantScheduleOptions
 * @property {number} peak
 * @property {number} [warmupSteps]  0 by default
 */

/**
 * Linear warm-up to `peak`, then half a cosine down to `last`, reached at `totalSteps`.
 * @typedef {object} CosineScheduleOptions
 * @property {number} peak
 * @property {number} warmupSteps
 * @property {number} totalSteps
 * @property {number} [last]  0 by default
 */

/**
 * @typedef {object} InverseSqrtScheduleOptions
 * @property {number} dModel
 * @property {number} warmupSteps
 * @property {number} [factor]  1 by default
 */

/** @type {CheckTable} */
const kConstant = { peak: real(), warmupSteps: natural(0) };
/** @type {CheckTable} */
const kCosine = { peak: real(), warmupSteps: natural(), totalSteps: natural(), last: real(0) };
/** @type {CheckTable} */
const kInverseSqrt = { dModel: size(), warmupSteps: size(), factor: real(1) };

/**
 * @param {Runtime} runtime
 * @param {number} step  starts at 1, as in all schedules
 * @param {ConstantScheduleOptions} options
 */
export function constantLearningRate(runtime, step, options) {
  checkInteger('step', step, 1);
  const { peak, warmupSteps } = checkOptions(options, kConstant);
  return runtime.memory.enter((native) => native.constantLearningRate(step, peak, warmupSteps));
}

/**
 * @param {Runtime} runtime
 * @param {number} step
 * @param {CosineScheduleOptions} options
 */
export function cosineLearningRate(runtime, step, options) {
  checkInteger('step', step, 1);
  const { peak, warmupSteps, totalSteps, last } = checkOptions(options, kCosine);
  return runtime.memory.enter((native) =>
    native.cosineLearningRate(step, peak, warmupSteps, totalSteps, last),
  );
}

/**
 * @param {Runtime} runtime
 * @param {number} step
 * @param {InverseSqrtScheduleOptions} options
 */
export function inverseSqrtLearningRate(runtime, step, options) {
  checkInteger('step', step, 1);
  const { dModel, warmupSteps, factor } = checkOptions(options, kInverseSqrt);
  return runtime.memory.enter((native) =>
    native.inverseSqrtLearningRate(step, dModel, warmupSteps, factor),
  );
}
