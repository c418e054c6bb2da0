// Records function calls. Each call is recorded on the tape of its variables.

import { invalid } from './errors.js';
import { isVariable } from './tape.js';

/** @import { NativeCall } from './nativeCall.js' */
/** @import * as Native from './native.js' */
/** @import { Variable } from './tape.js' */
/** @import { Ranks } from './tensor.js' */

/**
 * Checks the arguments that are not variables, and returns a function that calls C++ with the
 * variables.
 * @template {string} Name
 * @template Result
 * @typedef {(call: NativeCall, variables: Record<Name, Native.Variable>)
 *   => (native: Native.MainModule) => Result} CheckFunction
 */

/**
 * Records a function that returns one variable.
 * @template {string} Name
 * @param {Record<Name, Variable>} variables
 * @param {CheckFunction<Name, Native.Variable>} check
 * @param {Ranks} [ranks]  accepted ranks; any by default
 */
export function recordOn(variables, check, ranks) {
  const tape = tapeOf(variables);
  return tape.record((call) => check(call, tape.nativesIn(call, variables, ranks)));
}

/**
 * Records a function that returns several variables by name.
 * @template {string} Name
 * @template {object} Result
 * @param {Record<Name, Variable>} variables
 * @param {CheckFunction<Name, Result>} check
 * @param {Ranks} [ranks]
 */
export function recordEachOn(variables, check, ranks) {
  const tape = tapeOf(variables);
  return tape.recordEach((call) => check(call, tape.nativesIn(call, variables, ranks)));
}

/** @param {Record<string, Variable>} variables */
function tapeOf(variables) {
  const tape = Object.values(variables).find(isVariable)?.tape;
  if (tape) return tape;
  const [[name, value]] = Object.entries(variables);
  throw invalid(name, value, 'a Variable');
}
