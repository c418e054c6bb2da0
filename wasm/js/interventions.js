import { checkOptions, choice, natural, optionalNatural } from './checks.js';
import { checkText, invalid } from './errors.js';
import { readArray } from './options.js';

/** @import { Check } from './checks.js' */
/** @import * as Native from './native.js' */
/** @import { NativeCall, NativeTensor } from './nativeCall.js' */
/** @import { TensorLike } from './tensor.js' */

/**
 * The part of an intermediate that a call changes; by default, all of it.
 * @typedef {object} ValuePart
 * @property {number} [head]  one head of a value with heads, such as `head_output` or `q`
 * @property {number} [position]  one token
 */

/**
 * A value to remove.
 * @typedef {{ name: string, replacement?: 'zero' | 'mean' } & ValuePart} AblatedValue  `name` is a name from
 *   `intermediateNames()`. `'zero'`, the default, sets the value to 0; `'mean'` sets each column to its mean
 *   over all tokens, including padding
 */

/**
 * A value to replace.
 * @typedef {{ name: string, values: TensorLike } & ValuePart} PatchedValue  `values` has the shape of the
 *   intermediate. If you pass `head` or `position`, leave out its dimension
 */

/**
 * A key to exclude from the softmax of a query. The query's other weights are normalised again.
 * @typedef {object} KnockedOutKey
 * @property {string} [attention]  path of the attention, such as `'layers.0.self_attn'`; `''`, the default, for
 *   MultiHeadAttention itself
 * @property {number} [head]  one head; all by default
 * @property {number} query  position of the query
 * @property {number} key  position of the key
 */

/**
 * Changes that a call makes to its own intermediates, to show which of them a result depends on. All later values
 * are computed from the changed values. Ablations are made before patches. Without changes, every bit of the result
 * stays the same. The names are the names of intermediates, without the stages of attention from `scaled_scores` to
 * `log_sum_exp`, which `knockOut` changes. A wrong name is the error `not_found`, which lists valid names. A call
 * with a cache accepts no changes.
 * @typedef {object} InterventionOptions
 * @property {readonly AblatedValue[]} [ablate]
 * @property {readonly PatchedValue[]} [patch]
 * @property {readonly KnockedOutKey[]} [knockOut]
 */

/** The option names, which calls add to the names of their other options. */
export const kInterventions = { ablate: true, patch: true, knockOut: true };

/** @type {Check} */
const text = (name, value = '') => {
  checkText(name, value, 'a string');
  return value;
};
const kPart = { name: text, head: optionalNatural, position: optionalNatural };
const kAblated = { ...kPart, replacement: choice(['zero', 'mean']) };
const kPatched = {
  ...kPart,
  values: (/** @type {string} */ _, /** @type {any} */ values) => values,
};
const kKnockedOut = { attention: text, head: optionalNatural, query: natural(), key: natural() };

/**
 * Checked interventions, in the form that C++ takes.
 * @typedef {object} CheckedInterventions
 * @property {readonly { name: string, replacement: 'zero' | 'mean', head: number, position: number }[]} ablate
 * @property {readonly { name: string, values: NativeTensor, head: number, position: number }[]} patch
 * @property {readonly { attention: string, head: number, query: number, key: number }[]} knockOut
 */

/**
 * Checks the interventions of a call. Returns undefined if there are none.
 * @param {NativeCall} call
 * @param {InterventionOptions} options
 * @returns {CheckedInterventions | undefined}
 */
export function checkInterventions(call, { ablate, patch, knockOut }) {
  if (ablate === undefined && patch === undefined && knockOut === undefined) return undefined;
  return {
    ablate: checkEach('ablate', ablate, (value, path) => checkOptions(value, kAblated, path)),
    patch: checkEach('patch', patch, (value, path) => {
      const { values, ...part } = checkOptions(value, kPatched, path);
      return { ...part, values: call.tensor(`${path}.values`, values) };
    }),
    knockOut: checkEach('knockOut', knockOut, (key, path) => checkOptions(key, kKnockedOut, path)),
  };
}

/**
 * Adds the interventions to the options of a call. Call this function inside NativeCall.run().
 * @param {Native.LayerCall} call
 * @param {CheckedInterventions} checked
 */
export function addInterventions(call, { ablate, patch, knockOut }) {
  for (const { name, replacement, head, position } of ablate) {
    call.ablate(name, replacement === 'mean', { head, position });
  }
  for (const { name, values, head, position } of patch) {
    call.patch(name, values.native, { head, position });
  }
  for (const { attention, head, query, key } of knockOut) {
    call.knockOut(attention, { head, position: query }, key);
  }
}

/**
 * @param {string} name
 * @param {readonly any[] | undefined} list
 * @param {(value: any, path: string) => any} check
 * @returns {any[]}
 */
function checkEach(name, list, check) {
  if (list === undefined) return [];
  if (!Array.isArray(list)) throw invalid(name, list, 'an array of objects');
  return readArray(list, () => {}).map((value, i) => check(value, `${name}[${i}]`));
}
