// How far predictions are from what they should be, as one number: on a tape it can be differentiated, and
// without one it comes with its gradient where that is wanted.

import { choice, readOptions, real, wanted, writeOptions, writeValues } from './options.js';
import { recordOn } from './recording.js';
import { checkShapeIs } from './shape.js';
import { checkIntegers } from './tensor.js';
import { isVariable } from './tape.js';

/** @import { AskedFor } from './attentionOptions.js' */
/** @import { Call } from './call.js' */
/** @import { OptionTable } from './options.js' */
/** @import { Operation, Runtime } from './runtime.js' */
/** @import { Integers } from './tensor.js' */
/** @import { ResultKind, ResultTensor } from './tensorHandle.js' */

/**
 * @typedef {object} CrossEntropyOptions
 * @property {number} [ignoreIndex]  targets of this value do not count; −100 by default
 * @property {number} [labelSmoothing]  from 0 to 1: how much of the target's probability is spread over all
 *   classes alike; 0 by default
 * @property {'mean' | 'sum'} [reduction]  `'mean'` by default: over the targets that count
 */

/**
 * @typedef {object} MseLossOptions
 * @property {'mean' | 'sum'} [reduction]  `'mean'` by default
 */

/**
 * Of a loss of tensors.
 * @template {boolean} [Gradient=boolean]
 * @typedef {object} NeedGradientOption
 * @property {Gradient} [needGradient]  whether to return the gradient, too, which the same pass computes;
 *   not by default
 */

/** @typedef {object} LossNumber @property {number} loss */

/**
 * @template {ResultKind} [As='array']
 * @typedef {object} LossGradient
 * @property {ResultTensor<As>} gradient  of the shape of the first argument, with `needGradient`
 */

/**
 * A loss of tensors.
 * @template {ResultKind} [As='array']
 * @template {boolean} [Gradient=boolean]
 * @typedef {LossNumber & AskedFor<LossGradient<As>, { gradient: Gradient }>} LossResult
 */

/** In the order of the C++ enumeration. */
const kReduction = { reduction: choice(['mean', 'sum']) };
/** @type {OptionTable} */
const kCrossEntropy = {
  ignoreIndex: (call, name, value = -100) => call.integer(name, value, kLeastInt),
  labelSmoothing: real(0),
  ...kReduction,
};
const kLeastInt = -(2 ** 31);

/**
 * @param {Runtime} runtime
 * @param {any} logits
 * @param {Integers} targets
 * @param {any} options
 */
export function crossEntropy(runtime, logits, targets, options) {
  const ids = checkIntegers('targets', targets, kLeastInt, 2 ** 31 - 1, 'a whole number');
  if (isVariable(logits)) {
    return recordOn('recordCrossEntropy', { logits }, (call) => {
      call.numbers('ints', 'targets', ids);
      writeOptions(call, options, kCrossEntropy);
    });
  }
  return lossOf(runtime, 'crossEntropy', options, kCrossEntropy, (call) => {
    const shape = call.floats('logits', logits);
    call.numbers('ints', 'targets', ids);
    return shape;
  });
}

/**
 * @param {Runtime} runtime
 * @param {any} prediction
 * @param {any} target
 * @param {any} options
 */
export function mseLoss(runtime, prediction, target, options) {
  if (isVariable(prediction) || isVariable(target)) {
    const other = isVariable(target) ? target : prediction.tape.input('target', target, true);
    return recordOn('recordMseLoss', { prediction, target: other }, (call) =>
      writeOptions(call, options, kReduction),
    );
  }
  return lossOf(runtime, 'mseLoss', options, kReduction, (call) => {
    const shape = call.floats('prediction', prediction);
    checkShapeIs('target', call.floats('target', target), shape);
    return shape;
  });
}

/**
 * A loss of tensors.
 * @param {Runtime} runtime
 * @param {Operation} operation
 * @param {any} options
 * @param {OptionTable} table
 * @param {(call: Call) => readonly number[]} writeInputs  gives the shape of the gradient
 */
function lossOf(runtime, operation, options, table, writeInputs) {
  options = readOptions(options, { ...table, needGradient: true });
  const needGradient = wanted('needGradient', options.needGradient);
  return runtime.call((call) => {
    const shape = writeInputs(call);
    writeValues(call, options, table);
    const gradient = call.resultIf(needGradient, 'gradient', shape);
    call.run(operation);
    return { loss: call.given(0), ...(gradient && { gradient: call.give(gradient) }) };
  });
}
