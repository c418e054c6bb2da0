// How far predictions are from what they should be, as one number that can be differentiated.

import { choice, real, writeOptions } from './options.js';
import { recordOn } from './recording.js';
import { Variable } from './tape.js';
import { checkIntegers } from './tensor.js';

/** @import { OptionTable } from './options.js' */
/** @import { Integers, TensorLike } from './tensor.js' */

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
 * @param {Variable} logits
 * @param {Integers} targets
 * @param {CrossEntropyOptions} options
 */
export function crossEntropy(logits, targets, options) {
  const ids = checkIntegers('targets', targets, kLeastInt, 2 ** 31 - 1, 'a whole number');
  return recordOn('recordCrossEntropy', { logits }, (call) => {
    call.numbers('ints', 'targets', ids);
    writeOptions(call, options, kCrossEntropy);
  });
}

/**
 * @param {Variable} prediction
 * @param {Variable | TensorLike} target
 * @param {MseLossOptions} options
 */
export function mseLoss(prediction, target, options) {
  const other =
    prediction instanceof Variable && !(target instanceof Variable)
      ? prediction.tape.input('target', target, true)
      : /** @type {Variable} */ (target);
  return recordOn('recordMseLoss', { prediction, target: other }, (call) =>
    writeOptions(call, options, kReduction),
  );
}
