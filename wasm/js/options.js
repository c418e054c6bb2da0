import { checkOptions } from './errors.js';

// How the options of what is made once are read: tables of rules, in the order in which C++ takes the
// options. What is called often reads its own, which is faster.

/** @import { Call } from './call.js' */

/**
 * Checks and writes an option, and gives its value; `values` are those of the options before it.
 * @typedef {(call: Call, name: string, value: any, values: Record<string, any>) => unknown} Rule
 */

/** @typedef {Readonly<Record<string, Rule>>} OptionTable */

/**
 * A whole number of at least 1.
 * @param {number} [fallback]  without one the number has to be given, here and below
 * @returns {Rule}
 */
export const size =
  (fallback) =>
  (call, name, value = fallback) =>
    call.integer(name, value, 1);

/**
 * A whole number of at least 0.
 * @param {number} [fallback]
 * @returns {Rule}
 */
export const natural =
  (fallback) =>
  (call, name, value = fallback) =>
    call.integer(name, value, 0);

/**
 * A finite number.
 * @param {number} [fallback]
 * @returns {Rule}
 */
export const real =
  (fallback) =>
  (call, name, value = fallback) =>
    call.real(name, value);

/**
 * @param {boolean} [fallback]
 * @returns {Rule}
 */
export const flag =
  (fallback) =>
  (call, name, value = fallback) =>
    call.flag(name, value);

/**
 * What has the value of another option by default.
 * @param {string} other
 * @param {Rule} rule
 * @returns {Rule}
 */
export const like = (other, rule) => (call, name, value, values) =>
  rule(call, name, value === undefined ? values[other] : value, values);

/**
 * One of several texts, of which the first is the default.
 * @param {readonly string[]} choices  in the order of the C++ enumeration
 * @returns {Rule}
 */
export const choice =
  (choices) =>
  (call, name, value = choices[0]) =>
    call.choice(name, value, choices);

export const kRandom = { seed: natural(0), stream: natural(0) };

/** The first weights of a layer: drawn from a stream, or zeros. */
export const kInit = { init: choice(['xavier', 'zeros']), ...kRandom };

/**
 * Writes options as a table says.
 * @param {Call} call
 * @param {object} options
 * @param {OptionTable} table
 * @param {string} [prefix]  of their names in messages
 * @returns {any} each with its value
 */
export function writeOptions(call, options, table, prefix = '') {
  checkOptions(options);
  /** @type {Record<string, any>} */
  const values = {};
  for (const [name, rule] of Object.entries(table)) {
    const { [name]: value } = /** @type {Record<string, any>} */ (options);
    values[name] = rule(call, prefix + name, value, values);
  }
  return values;
}
