import { checkChoice, checkInteger, invalid } from './errors.js';
import { readOptions } from './options.js';

/**
 * Checks an option, and returns its value or the default. `values` contains the options that were
 * checked earlier. `options` contains all options that were passed.
 * @typedef {(name: string, value: any, values: Record<string, any>, options: any) => unknown} Check
 */

/** @typedef {Readonly<Record<string, Check>>} CheckTable */

/**
 * Checks the names and the values of options.
 * @param {object} options
 * @param {CheckTable} table
 * @param {string} [path]  name of the option that contains `options`
 * @returns {any} each option of the table with its value
 */
export function checkOptions(options, table, path) {
  return checkValues(readOptions(options, table, path), table, path);
}

/**
 * Checks the values of options. Options that are not in the table are left out.
 * @param {object} options
 * @param {CheckTable} table
 * @param {string} [path]
 * @returns {any} each option of the table with its value
 */
export function checkValues(options, table, path) {
  /** @type {Record<string, any>} */
  const values = {};
  for (const [name, check] of Object.entries(table)) {
    const { [name]: value } = /** @type {Record<string, any>} */ (options);
    const whole = path === undefined ? name : `${path}.${name}`;
    values[name] = check(whole, value, values, options);
  }
  return values;
}

/**
 * @param {string} name
 * @param {number} value
 * @param {number} least
 */
function integer(name, value, least) {
  checkInteger(name, value, least);
  return value;
}

/**
 * @param {string} name
 * @param {number} value
 */
export function finite(name, value) {
  if (!Number.isFinite(value)) throw invalid(name, value, 'a finite number');
  return value;
}

/**
 * @param {string} name
 * @param {string} value
 */
export function checkText(name, value) {
  if (typeof value !== 'string') throw invalid(name, value, 'a string');
}

/**
 * A whole number of at least 1.
 * @param {number} [fallback]  the default; if undefined, the option is required
 * @returns {Check}
 */
export const size =
  (fallback) =>
  (name, value = fallback) =>
    integer(name, value, 1);

/**
 * A whole number of at least 0.
 * @param {number} [fallback]
 * @returns {Check}
 */
export const natural =
  (fallback) =>
  (name, value = fallback) =>
    integer(name, value, 0);

/**
 * A finite number.
 * @param {number} [fallback]
 * @returns {Check}
 */
export const real =
  (fallback) =>
  (name, value = fallback) =>
    finite(name, value);

/** A finite number, or NaN if the option is not given. In C++, NaN means no value. @type {Check} */
export const optionalReal = (name, value) => (value === undefined ? NaN : finite(name, value));

/** A whole number of at least 0, or NaN if the option is not given. @type {Check} */
export const optionalNatural = (name, value) =>
  value === undefined ? NaN : integer(name, value, 0);

/**
 * @param {boolean} [fallback]
 * @returns {Check}
 */
export const flag =
  (fallback) =>
  (name, value = fallback) => {
    if (typeof value !== 'boolean') throw invalid(name, value, 'true or false');
    return value;
  };

/**
 * One of several strings; the first is the default. The C++ enumeration has values with these names.
 * @param {readonly string[]} choices
 * @returns {Check}
 */
export const choice =
  (choices) =>
  (name, value = choices[0]) => {
    checkChoice(name, value, choices);
    return value;
  };

/**
 * An option that defaults to the value of another option.
 * @param {string} other
 * @param {Check} check
 * @returns {Check}
 */
export const like = (other, check) => (name, value, values, options) =>
  check(name, value === undefined ? values[other] : value, values, options);

/** The width of a head: dModel / numHeads by default; C++ checks the division. @type {Check} */
export const headDim = (name, value, { dModel, numHeads }) =>
  value === undefined ? dModel / numHeads : integer(name, value, 1);

/** Seed and stream of random numbers. */
export const kRandomStream = { seed: natural(0), stream: natural(0) };
