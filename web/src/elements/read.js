// Reads and checks the properties of the elements. Every error names the property, says what is
// wrong with it, and what to pass instead.

import { AttnError } from 'attn';

/** @typedef {{ data: Float32Array, shape: number[] }} Numbers */

/**
 * @param {string} name name of the property
 * @param {string} sentence
 * @param {'invalid_argument' | 'shape_mismatch'} [code]
 */
export const wrong = (name, sentence, code = 'invalid_argument') =>
  new AttnError(code, `${name}: ${sentence}`, { argument: name });

/** @param {string} name @param {string} sentence */
export const mismatch = (name, sentence) => wrong(name, sentence, 'shape_mismatch');

/** @param {readonly number[]} shape */
export const written = (shape) => `(${shape.join(', ')})`;

/**
 * The error for a tensor that is `undefined`, often because the call that should return it was not
 * asked to.
 * @param {string} name
 */
export const missing = (name) =>
  wrong(
    name,
    name === 'weights'
      ? 'got undefined; attention returns weights if you pass { needWeights: true }'
      : `got undefined, needs ${kTensorForms}`,
  );

/** Describes a value in a message. @param {unknown} value */
function described(value) {
  if (typeof value === 'string') return `'${value.slice(0, 30)}'`;
  if (value === null || typeof value !== 'object') return String(value);
  if (Array.isArray(value)) return 'an array';
  return `an object of class ${value.constructor?.name ?? 'Object'}`;
}

const kTensorForms =
  'a tensor { data, shape }, nested arrays of numbers, or a typed array with the property shape';

/** @param {unknown} value @returns {value is ArrayLike<number>} */
const isTyped = (value) => ArrayBuffer.isView(value) && !(value instanceof DataView);

/**
 * @param {string} name
 * @param {unknown[]} values nested arrays
 * @returns {Numbers}
 */
function fromNested(name, values) {
  /** @type {number[]} */
  const shape = [];
  for (let at = /** @type {unknown} */ (values); Array.isArray(at) || isTyped(at); at = at[0])
    shape.push(at.length);
  const data = new Float32Array(shape.reduce((product, size) => product * size, 1));
  let next = 0;
  /** @param {unknown} value @param {number} depth @param {string} path */
  const add = (value, depth, path) => {
    if (depth === shape.length) {
      if (typeof value !== 'number') throw wrong(path, `got ${described(value)}, needs a number`);
      data[next++] = value;
      return;
    }
    const { length } = /** @type {ArrayLike<unknown>} */ (value ?? {});
    if (!(Array.isArray(value) || isTyped(value)) || length !== shape[depth]) {
      const got = Array.isArray(value) || isTyped(value) ? `length ${length}` : described(value);
      throw mismatch(path, `got ${got}, needs ${shape[depth]} entries like the first row`);
    }
    for (let i = 0; i < length; i++)
      add(/** @type {ArrayLike<unknown>} */ (value)[i], depth + 1, `${path}[${i}]`);
  };
  add(values, 0, name);
  return { data, shape };
}

/**
 * Copies numbers from a tensor of attn, from nested arrays, or from a typed array with a shape.
 * @param {string} name
 * @param {any} value
 * @param {Record<number, string>} ranks the accepted ranks, each with its shape in letters
 * @param {readonly number[] | null} [given] shape of a typed array
 * @returns {Numbers}
 */
export function readTensor(name, value, ranks, given = null) {
  let tensor;
  if (isTyped(value)) {
    if (!given) throw wrong(name, `got a typed array without a shape; also set the property shape`);
    tensor = { data: value, shape: [...given] };
  } else if (Array.isArray(value)) {
    tensor = fromNested(name, value);
  } else if (value !== null && typeof value === 'object' && value.data && value.shape) {
    const { data, shape, type = 'float32' } = value;
    if (type !== 'float32') throw wrong(name, `got type '${type}', needs 'float32'`);
    if (!isTyped(data) && !Array.isArray(data)) {
      throw wrong(`${name}.data`, `got ${described(data)}, needs a typed array`);
    }
    tensor = { data, shape: Array.from(shape, Number) };
  } else {
    const hasIt = value !== null && typeof value === 'object' && value[name]?.shape;
    const advice = hasIt ? `; pass its property ${name}` : '';
    throw wrong(name, `got ${described(value)}, needs ${kTensorForms}${advice}`);
  }
  const { data, shape } = tensor;
  if (!ranks[shape.length]) {
    const needs = Object.values(ranks).join(' or ');
    throw mismatch(name, `got shape ${written(shape)}, needs ${needs}`);
  }
  const length = shape.reduce((product, size) => product * size, 1);
  if (data.length !== length) {
    throw mismatch(name, `got ${data.length} numbers, needs ${length} for shape ${written(shape)}`);
  }
  if (!(length > 0)) throw mismatch(name, `got shape ${written(shape)}, needs at least one number`);
  return { data: Float32Array.from(data), shape };
}

/**
 * Names for the rows or columns of a tensor.
 * @param {string} name
 * @param {unknown} value
 * @param {number} length
 * @param {string} what what each name belongs to, in the plural
 * @returns {string[] | null} null if there are none
 */
export function readNames(name, value, length, what) {
  if (value === null || value === undefined) return null;
  if (!Array.isArray(value)) {
    const advice = typeof value === 'string' ? `, such as ${described(value)}.split(' ')` : '';
    throw wrong(name, `got ${described(value)}, needs an array of strings${advice}`);
  }
  value.forEach((each, i) => {
    if (typeof each !== 'string') {
      throw wrong(`${name}[${i}]`, `got ${described(each)}, needs a string`);
    }
  });
  if (value.length !== length) {
    throw mismatch(
      name,
      `got an array of length ${value.length}, needs ${length}, the number of ${what}`,
    );
  }
  return [...value];
}

/**
 * @param {string} name
 * @param {unknown} value
 * @returns {number[] | null} null if there are none
 */
export function readNumbers(name, value) {
  if (value === null || value === undefined) return null;
  if (!Array.isArray(value) && !isTyped(value)) {
    throw wrong(name, `got ${described(value)}, needs an array of numbers`);
  }
  const numbers = Array.from(/** @type {ArrayLike<unknown>} */ (value));
  numbers.forEach((each, i) => {
    if (typeof each !== 'number' || !Number.isFinite(each)) {
      throw wrong(`${name}[${i}]`, `got ${described(each)}, needs a finite number`);
    }
  });
  return /** @type {number[]} */ (numbers);
}

/**
 * A whole number in a range.
 * @param {string} name
 * @param {unknown} value
 * @param {number} least
 * @param {number} most
 */
export function readInteger(name, value, least, most) {
  const number = Number(value);
  if (value === null || typeof value === 'boolean' || !Number.isInteger(number)) {
    throw wrong(name, `got ${described(value)}, needs a whole number`);
  }
  if (number < least || number > most) {
    throw wrong(name, `got ${number}, needs a whole number from ${least} to ${most}`);
  }
  return number;
}

/**
 * @template {string} Choice
 * @param {string} name
 * @param {unknown} value
 * @param {readonly Choice[]} choices the first one is the default
 * @returns {Choice}
 */
export function readChoice(name, value, choices) {
  if (value === null || value === undefined) return choices[0];
  const choice = choices.find((each) => each === value);
  if (choice === undefined) {
    const needs = choices.map((each) => `'${each}'`).join(' or ');
    throw wrong(name, `got ${described(value)}, needs ${needs}`);
  }
  return choice;
}

/**
 * Reads an attribute. Lists are JSON; names may also be separated by spaces, and numbers by commas
 * or spaces.
 * @param {string} name
 * @param {'tensor' | 'names' | 'numbers' | 'number' | 'flag' | 'text'} kind
 * @param {string | null} text
 * @returns {unknown}
 */
export function readAttribute(name, kind, text) {
  if (kind === 'flag') return text !== null;
  if (text === null || kind === 'text') return text;
  if (kind === 'number') return text.trim() === '' ? NaN : Number(text);
  const trimmed = text.trim();
  if (/^[[{]/.test(trimmed)) {
    try {
      return JSON.parse(trimmed);
    } catch (error) {
      const { message } = /** @type {Error} */ (error);
      throw wrong(name, `is not valid JSON: ${message}`);
    }
  }
  if (kind === 'tensor') throw wrong(name, `got ${described(text)}, needs JSON such as [[1, 0]]`);
  const parts = trimmed.split(kind === 'names' ? /\s+/ : /[\s,]+/).filter(Boolean);
  return kind === 'names' ? parts : parts.map(Number);
}
