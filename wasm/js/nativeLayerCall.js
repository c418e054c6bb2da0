import { checkDropout } from './dropout.js';
import { checkText, invalid } from './errors.js';
import { addInterventions, checkInterventions } from './interventions.js';
import { nativeAttentionOptions } from './nativeAttentionOptions.js';
import { readArray } from './options.js';

/** @import { Dropout } from './dropout.js' */
/** @import { CheckedInterventions, InterventionOptions } from './interventions.js' */
/** @import { CheckedAttentionOptions } from './nativeAttentionOptions.js' */
/** @import { NativeCall, NativeResult, NativeTensor } from './nativeCall.js' */
/** @import * as Native from './native.js' */
/** @import { Integers } from './tensor.js' */

/**
 * Checked options of a layer's call, in the form that C++ takes. Options that were not passed are undefined.
 * @typedef {object} CheckedLayerCall
 * @property {CheckedAttentionOptions} [attention]  options of self-attention in decoders
 * @property {CheckedAttentionOptions} [crossAttention]
 * @property {NativeTensor} [positions]
 * @property {NativeTensor} [keyPositions]
 * @property {Native.Dropout} [dropout]
 * @property {readonly NativeResult[]} [weights]  one result for each layer of a stack
 * @property {readonly NativeResult[]} [crossWeights]
 * @property {readonly string[]} [intermediates]  names
 * @property {CheckedInterventions} [interventions]
 */

/**
 * Checks the options that all layers share.
 * @param {NativeCall} call
 * @param {{ dropout?: Dropout | number, positions?: Integers, keyPositions?: Integers,
 *   intermediates?: readonly string[] } & InterventionOptions} options
 * @returns {CheckedLayerCall}
 */
export const checkLayerCall = (
  call,
  { dropout, positions, keyPositions, intermediates, ...interventions },
) => ({
  positions: positions === undefined ? undefined : call.numbers('doubles', 'positions', positions),
  keyPositions:
    keyPositions === undefined ? undefined : call.numbers('doubles', 'keyPositions', keyPositions),
  dropout: dropout === undefined ? undefined : checkDropout(dropout),
  intermediates: intermediates === undefined ? undefined : checkNames(intermediates),
  interventions: checkInterventions(call, interventions),
});

/**
 * Returns the call's options as a C++ object, or null if there are none. Call this function inside NativeCall.run().
 * @param {NativeCall} call
 * @param {CheckedLayerCall} checked
 */
export function nativeLayerCall(call, checked) {
  if (Object.values(checked).every((part) => part === undefined)) return null;
  const { attention, crossAttention, weights = [], crossWeights = [], intermediates } = checked;
  const native = call.options('LayerCall');
  const self = nativeAttentionOptions(call, attention);
  if (self) native.setAttention(self);
  const cross = nativeAttentionOptions(call, crossAttention);
  if (cross) native.setCrossAttention(cross);
  if (checked.positions) native.setPositions(checked.positions.native);
  if (checked.keyPositions) native.setKeyPositions(checked.keyPositions.native);
  if (checked.dropout) native.dropout = checked.dropout;
  for (const { tensor } of weights) native.addWeights(tensor.native);
  for (const { tensor } of crossWeights) native.addCrossWeights(tensor.native);
  if (intermediates?.length) native.setIntermediates(call.intermediates(intermediates));
  if (checked.interventions) {
    addInterventions(native, checked.interventions);
    // The next call reuses this object. Free the copies of patched values before then.
    call.own({ delete: () => native.reset() });
  }
  return native;
}

/**
 * Returns the requested intermediates as an object to spread into the results.
 * @param {NativeCall} call
 * @param {CheckedLayerCall} checked
 * @returns {any}
 */
export const shown = (call, { intermediates }) =>
  intermediates && { intermediates: call.giveIntermediates(intermediates) };

/**
 * Returns the output alone or, if intermediates were requested, an object with the output and the
 * intermediates.
 * @param {NativeCall} call
 * @param {NativeResult} output
 * @param {CheckedLayerCall} checked
 * @returns {any}
 */
export function giveShown(call, output, checked) {
  const given = call.give(output);
  return checked.intermediates ? { output: given, ...shown(call, checked) } : given;
}

/** @param {readonly string[]} names */
function checkNames(names) {
  const needs = 'an array of names from intermediateNames()';
  if (!Array.isArray(names)) throw invalid('intermediates', names, needs);
  return readArray(names, (name) => {
    if (typeof name !== 'string') throw invalid('intermediates', names, needs);
    checkText('intermediates', name, needs);
  });
}
