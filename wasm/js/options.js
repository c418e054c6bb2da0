import { explainedError, formatChoices, invalid } from './errors.js';
import { kOtherNames } from './hints.js';

// Reads options and checks their names.

/**
 * The names of all options, as keys.
 * @template {object} [Options=any]
 * @typedef {Readonly<Record<keyof Options, unknown>>} Names
 */

/** @type {any} */
const kNone = Object.freeze({});

/**
 * Reads each option once, and checks that `options` is an object with no names other than `names`.
 * The caller's getters run here and may do anything. The returned copy does not change.
 * @template {object} O
 * @param {O} options
 * @param {Names} names
 * @param {string} [path]  path of the option that contains these options; undefined if the options
 *   are an argument
 * @param {boolean} [allowsOthers]  true to accept and read options with other names, too
 * @returns {O}
 */
export function readOptions(options, names, path = 'options', allowsOthers = false) {
  if (options === null || typeof options !== 'object' || Symbol.iterator in options) {
    throw invalid(path, options, 'a plain object');
  }
  /** @type {any} */
  const values = {};
  let count = 0;
  for (const name in options) {
    // Assigning to `__proto__` would set the prototype.
    if (allowsOthers ? name === '__proto__' : !Object.hasOwn(names, name)) {
      throw unknownName(path, name, Object.keys(names));
    }
    values[name] = options[name];
    ++count;
  }
  // The loop above skips properties that are not enumerable, such as the getters of a class.
  if (
    Object.getPrototypeOf(options) !== Object.prototype ||
    Object.getOwnPropertyNames(options).length !== count
  ) {
    for (const name in names) {
      if (!(name in values) && name in options) values[name] = /** @type {any} */ (options)[name];
    }
    return values;
  }
  return count === 0 ? kNone : values;
}

/**
 * Reads each index of an array once. The array's methods and iterator are not used, because the
 * caller may have replaced them.
 * @template T
 * @param {readonly T[]} array
 * @param {(value: T, index: number) => unknown} check  throws if the value is invalid
 * @returns {T[]}
 */
export function readArray(array, check) {
  const { length } = array;
  /** @type {T[]} */
  const values = [];
  for (let i = 0; i < length; ++i) {
    const value = array[i];
    check(value, i);
    values.push(value);
  }
  return values;
}

/**
 * @param {string} path
 * @param {string} name
 * @param {string[]} known
 */
function unknownName(path, name, known) {
  const other = (kOtherNames[plain(name)] ?? []).filter((meant) => known.includes(meant));
  const meant = other.length > 0 ? formatChoices(other) : nearestName(name, known);
  const instead = meant ? `use ${meant}` : 'no option is accepted here';
  return explainedError('invalid_argument', path, `'${name}' is not an option; ${instead}`);
}

/**
 * Returns a suggestion for an unknown name: the nearest known name or, if none is near, a list of
 * all known names. Returns '' if there are no known names.
 * @param {string} name
 * @param {string[]} known
 */
export function nearestName(name, known) {
  const start = plain(name.slice(0, kLongestName));
  const distances = known.map((other) => distance(start, plain(other)));
  const nearest = known[distances.indexOf(Math.min(...distances))] ?? '';
  const isNear = Math.min(...distances) < Math.max(name.length, nearest.length) / 2;
  return isNear ? `'${nearest}'` : formatChoices(known);
}

/** Only the first 100 characters of a name are compared with the known names. */
const kLongestName = 100;

/** Normalises naming styles: num_heads matches numHeads. @param {string} name */
const plain = (name) => name.toLowerCase().replaceAll('_', '');

/**
 * Returns the number of letters to insert, delete or change to turn one word into the other
 * (Levenshtein 1966).
 * @param {string} from
 * @param {string} to
 */
function distance(from, to) {
  let row = Array.from({ length: to.length + 1 }, (_, j) => j);
  for (let i = 0; i < from.length; ++i) {
    const next = [i + 1];
    for (let j = 0; j < to.length; ++j) {
      const changed = row[j] + (from[i] === to[j] ? 0 : 1);
      next.push(Math.min(changed, row[j + 1] + 1, next[j] + 1));
    }
    row = next;
  }
  return row[to.length];
}

/**
 * Checks a switch that is off by default.
 * @param {string} name
 * @param {boolean} [value]
 */
export function wanted(name, value = false) {
  if (typeof value !== 'boolean') throw invalid(name, value, 'true or false');
  return value;
}
