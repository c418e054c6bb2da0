// Schedules of the learning rate.

import { natural, real, size, writeOptions } from './options.js';

/** @import { OptionTable } from './options.js' */
/** @import { Runtime } from './runtime.js' */

/**
 * Linear warm-up to `peak`, then constant.
 * @typedef {object} ConstantScheduleOptions
 * @property {number} peak
 * @property {number} [warmupSteps]  0 by default
 */

/**
 * Linear warm-up to `peak`, then half a cosine down to `last`, which is reached at `totalSteps`.
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

/** @satisfies {Record<string, OptionTable>} */
const kSchedules = {
  constantLearningRate: { peak: real(), warmupSteps: natural(0) },
  cosineLearningRate: {
    peak: real(),
    warmupSteps: natural(),
    totalSteps: natural(),
    last: real(0),
  },
  inverseSqrtLearningRate: { dModel: size(), warmupSteps: size(), factor: real(1) },
};

/**
 * @param {Runtime} runtime
 * @param {keyof typeof kSchedules} schedule
 * @param {number} step  from 1 on
 * @param {object} options
 * @returns {number}
 */
export const scheduledRate = (runtime, schedule, step, options) =>
  runtime.ask(schedule, (call) => {
    call.integer('step', step, 1);
    writeOptions(call, options, kSchedules[schedule]);
  });
