// Loss functions. On a tape, the loss can be differentiated. Without a tape, the loss functions return the
// gradient on request.

import { checkOptions, checkValues, choice, real } from './checks.js';
import { checkInteger } from './errors.js';
import { readOptions, wanted } from './options.js';
import { recordOn } from './recording.js';
import { checkShapeIs } from './shape.js';
import { checkIntegers } from './tensor.js';
import { isVariable } from './tape.js';

/** @import { AskedFor } from './attentionOptions.js' */
/** @import { CheckTable } from './checks.js' */
/** @import { NativeCall } from './nativeCall.js' */
/** @import * as Native from './native.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { Integers } from './tensor.js' */
/** @import { ResultKind, ResultTensor } from './tensorHandle.js' */

/**
 * @typedef {object} CrossEntropyOptions
 * @property {number} [ignoreIndex]  targets with this value are ignored; −100 by default
 * @property {number} [labelSmoothing]  from 0 to 1: share of the target's probability that is spread evenly
 *   over all classes; 0 by default
 * @property {'mean' | 'sum'} [reduction]  `'mean'`, the default, averages over the
 *   targets that are not ignored
 */

/**
 * @typedef {object} MseLossOptions
 * @property {'mean' | 'sum'} [reduction]  `'mean'` by default
 */

/**
 * Option of a loss function that is called with tensors.
 * @template {boolean} [Gradient=boolean]
 * @typedef {object} NeedGradientOption
 * @property {Gradient} [needGradient]  also return the gradient, which the same pass computes; `false` by
 *   default
 */

/** @typedef {object} LossNumber @property {number} loss */

/**
 * @template {ResultKind} [As='array']
 * @typedef {object} LossGradient
 * @property {ResultTensor<As>} gradient  with `needGradient`; has the shape of the first argument
 */

/**
 * Result of a loss function that is called with tensors.
 * @template {ResultKind} [As='array']
 * @template {boolean} [Gradient=boolean]
 * @typedef {LossNumber & AskedFor<LossGradient<As>, { gradient: Gradient }>} LossResult
 */

const kReduction = { reduction: choice(['mean', 'sum']) };
const kLeastInt = -(2 ** 31);
/** @type {CheckTable} */
const kCrossEntropy = {
  ignoreIndex: (name, value = -100) => (checkInteger(name, value, kLeastInt), value),
  labelSmoothing: real(0),
  ...kReduction,
};

/**
 * @param {Native.MainModule} native
 * @param {Required<MseLossOptions>} options
 */
const reductionIn = ({ LossReduction }, { reduction }) => LossReduction[reduction];

/**
 * @param {Runtime} runtime
 * @param {any} logits
 * @param {Integers} targets
 * @param {any} options
 */
export function crossEntropy(runtime, logits, targets, options) {
  const ids = checkIntegers('targets', targets, kLeastInt, 2 ** 31 - 1, 'a whole number');
  if (isVariable(logits)) {
    return recordOn({ logits }, (call, variables) => {
      const classes = call.numbers('ints', 'targets', ids);
      const values = checkOptions(options, kCrossEntropy);
      return (native) =>
        native.recordCrossEntropy(variables.logits, classes.native, {
          ...values,
          reduction: reductionIn(native, values),
        });
    });
  }
  return lossOf(runtime, options, kCrossEntropy, (call) => {
    const input = call.tensor('logits', logits);
    const classes = call.numbers('ints', 'targets', ids);
    return {
      shape: input.shape,
      compute: (native, values, gradient) =>
        native.crossEntropy(input.native, classes.native, values, gradient),
    };
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
    return recordOn({ prediction, target: other }, (_, variables) => {
      const values = checkOptions(options, kReduction);
      return (native) =>
        native.recordMseLoss(variables.prediction, variables.target, reductionIn(native, values));
    });
  }
  return lossOf(runtime, options, kReduction, (call) => {
    const input = call.tensor('prediction', prediction);
    const wanted = call.tensor('target', target);
    checkShapeIs('target', wanted.shape, input.shape);
    return {
      shape: input.shape,
      compute: (native, { reduction }, gradient) =>
        native.mseLoss(input.native, wanted.native, reduction, gradient),
    };
  });
}

/**
 * Checked inputs of a loss.
 * @typedef {object} LossInputs
 * @property {readonly number[]} shape  shape of the gradient
 * @property {(native: Native.MainModule, options: any, gradient: Native.Tensor | null) => number} compute
 */

/**
 * Computes a loss from tensors.
 * @param {Runtime} runtime
 * @param {any} options
 * @param {CheckTable} table
 * @param {(call: NativeCall) => LossInputs} checkInputs
 */
function lossOf(runtime, options, table, checkInputs) {
  options = readOptions(options, { ...table, needGradient: true });
  const needGradient = wanted('needGradient', options.needGradient);
  return runtime.invoke((call) => {
    const { shape, compute } = checkInputs(call);
    const values = checkValues(options, table);
    const gradient = needGradient ? call.result('gradient', shape) : undefined;
    const loss = call.run((native) => {
      const given = { ...values, reduction: reductionIn(native, values) };
      return compute(native, given, gradient?.tensor.native ?? null);
    });
    return { loss, ...(gradient && { gradient: call.give(gradient) }) };
  });
}
