import { AttnError } from './errors.js';

/**
 * A tensor of float32.
 * @typedef {object} Tensor
 * @property {Float32Array} data  the elements, row-major
 * @property {number[]} shape  the size of each dimension
 */

/**
 * What is accepted as a tensor: anything that holds numbers.
 * @typedef {object} TensorLike
 * @property {ArrayLike<number>} data  the elements, row-major; a `Float32Array` is fastest
 * @property {readonly number[]} shape  the size of each dimension
 */

/** As TensorView::kMaxRank in C++. */
const kMaxRank = 6;
const kMaxSize = 2 ** 31 - 1;
/** WebAssembly addresses 4 GiB. */
const kMaxElements = 2 ** 30;

/** @param {readonly number[]} shape */
export const formatShape = (shape) => `(${shape.join(', ')}${shape.length === 1 ? ',' : ''})`;

/** @param {object} options */
export function checkOptions(options) {
  if (options === null || typeof options !== 'object') {
    throw invalid('options', options, 'an object');
  }
}

/**
 * A value as a message names it.
 * @param {unknown} value
 */
export function describe(value) {
  if (value === null || value === undefined) return `${value}`;
  if (typeof value === 'string') return `'${value}'`;
  if (typeof value !== 'object' && typeof value !== 'function') return String(value);
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'function'
    ? 'a function'
    : `an object ${value.constructor?.name ?? ''}`.trim();
}

/**
 * @param {string} name
 * @param {unknown} got
 * @param {string} needs
 * @returns {AttnError}
 */
export function invalid(name, got, needs) {
  return new AttnError('invalid_argument', `${name}: got ${describe(got)}, needs ${needs}`);
}

/**
 * Checks a shape and returns its number of elements.
 * @param {string} name
 * @param {readonly number[]} shape
 */
export function checkShape(name, shape) {
  if (!Array.isArray(shape)) throw invalid(`${name}.shape`, shape, 'an array of sizes');
  if (shape.length > kMaxRank) {
    const message = `${name}: got shape ${formatShape(shape)}, needs rank ${kMaxRank} or less`;
    throw new AttnError('shape_mismatch', message);
  }
  let length = 1;
  for (const size of shape) {
    if (!Number.isInteger(size) || size < 0) {
      throw invalid(`${name}.shape`, size, 'sizes that are whole numbers of at least 0');
    }
    length *= size;
  }
  if (length > kMaxElements || shape.some((size) => size > kMaxSize)) {
    throw new AttnError(
      'size_overflow',
      `${name}: shape ${formatShape(shape)} needs more than the 4 GiB that WebAssembly can address`,
    );
  }
  return length;
}

/**
 * Checks that `tensor` is one, of an accepted rank.
 * @param {string} name
 * @param {TensorLike} tensor
 * @param {Record<number, string>} ranks  accepted ranks, each with its shape in letters
 */
export function checkTensor(name, tensor, ranks) {
  if (tensor === null || typeof tensor !== 'object' || tensor.data === undefined) {
    throw invalid(name, tensor, 'a tensor { data, shape }');
  }
  const { data, shape } = tensor;
  const length = checkShape(name, shape);
  if (!(shape.length in ranks)) {
    const needs = Object.entries(ranks).map(([rank, letters]) => `rank ${rank} ${letters}`);
    throw new AttnError(
      'shape_mismatch',
      `${name}: got shape ${formatShape(shape)}, needs ${needs.join(' or ')}`,
    );
  }
  checkNumbers(`${name}.data`, data);
  if (data.length !== length) {
    throw new AttnError(
      'shape_mismatch',
      `${name}: data has length ${data.length}, shape ${formatShape(shape)} needs ${length}`,
    );
  }
}

/**
 * @param {string} name
 * @param {ArrayLike<number>} data
 */
export function checkNumbers(name, data) {
  if (data instanceof Float32Array) return;
  if (Array.isArray(data)) {
    const wrong = data.findIndex((value) => typeof value !== 'number');
    if (wrong >= 0) throw invalid(`${name}[${wrong}]`, data[wrong], 'a number');
    return;
  }
  const isNumeric =
    ArrayBuffer.isView(data) &&
    !(data instanceof DataView) &&
    !(data instanceof BigInt64Array) &&
    !(data instanceof BigUint64Array);
  if (!isNumeric) throw invalid(name, data, 'a Float32Array or another array of numbers');
}

/**
 * Checks that `shape` broadcasts to `target` from the right, as NumPy's do.
 * @param {string} name
 * @param {readonly number[]} shape
 * @param {readonly number[]} target
 */
export function checkBroadcast(name, shape, target) {
  const missing = target.length - shape.length;
  const fits = shape.every((size, i) => size === 1 || size === target[missing + i]);
  if (missing < 0 || !fits) {
    throw new AttnError(
      'shape_mismatch',
      `${name}: got shape ${formatShape(shape)}, needs one that broadcasts to ${formatShape(target)}`,
    );
  }
}

/**
 * @param {string} name
 * @param {string} what
 * @param {number} got
 * @param {string} other
 * @param {number} needed
 */
export function checkEqual(name, what, got, other, needed) {
  if (got === needed) return;
  throw new AttnError(
    'shape_mismatch',
    `${name}: ${what} ${got} does not match ${other} ${needed}`,
  );
}

/**
 * @param {string} name
 * @param {number} value
 */
export function checkNumber(name, value) {
  if (!Number.isFinite(value)) throw invalid(name, value, 'a finite number');
}

/**
 * @param {string} name
 * @param {number} value
 * @param {number} least
 */
export function checkInteger(name, value, least) {
  if (Number.isSafeInteger(value) && value >= least) return;
  throw invalid(name, value, `a whole number of at least ${least}`);
}

/**
 * @param {string} name
 * @param {string} value
 * @param {readonly string[]} choices
 */
export function checkChoice(name, value, choices) {
  if (choices.includes(value)) return;
  throw invalid(name, value, choices.map((choice) => `'${choice}'`).join(' or '));
}
