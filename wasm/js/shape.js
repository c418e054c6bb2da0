// Checks tensor shapes, and creates the errors for wrong shapes.

import { argumentError, invalid } from './errors.js';

/** Must equal TensorView::kMaxRank in C++. */
const kMaxRank = 6;
const kMaxSize = 2 ** 31 - 1;
/** Number of float32 elements in the 4 GiB that WebAssembly can address. */
const kMaxElements = 2 ** 30;

/**
 * Returns the number of elements.
 * @param {readonly number[]} shape
 */
export function sizeOf(shape) {
  let size = 1;
  for (let i = 0; i < shape.length; ++i) size *= shape[i];
  return size;
}

/**
 * Returns the strides of a contiguous row-major tensor.
 * @param {readonly number[]} shape
 */
export function rowMajor(shape) {
  /** @type {number[]} */
  const strides = new Array(shape.length);
  let stride = 1;
  for (let i = shape.length - 1; i >= 0; --i) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

/** @param {readonly number[]} shape */
export const formatShape = (shape) => `(${shape.join(', ')}${shape.length === 1 ? ',' : ''})`;

/**
 * @param {string} name
 * @param {string} got
 * @param {string} needs
 */
export const mismatch = (name, got, needs) => argumentError('shape_mismatch', name, got, needs);

/**
 * @param {string} name
 * @param {readonly number[]} shape
 * @param {string} needs
 */
export const wrongShape = (name, shape, needs) =>
  mismatch(name, `shape ${formatShape(shape)}`, needs);

/**
 * Reads each size of a shape once, and checks the shape.
 * @param {string} name  name of the tensor, or 'shape' if the shape is an argument
 * @param {readonly number[]} given
 * @returns {number[]}
 */
export function readShape(name, given) {
  const argument = name === 'shape' ? name : `${name}.shape`;
  if (!Array.isArray(given)) throw invalid(argument, given, 'an array of sizes');
  const { length: rank } = given;
  if (rank > kMaxRank) throw mismatch(name, `rank ${rank}`, `rank ${kMaxRank} or less`);
  const shape = new Array(rank);
  for (let i = 0; i < rank; ++i) {
    const size = given[i];
    if (!Number.isInteger(size) || size < 0) {
      throw invalid(argument, size, 'sizes that are whole numbers of at least 0');
    }
    shape[i] = size;
  }
  checkSize(name, shape);
  return shape;
}

/**
 * Checks that tensors of a shape can be addressed, and returns their number of elements.
 * @param {string} name
 * @param {readonly number[]} shape  must contain only whole numbers
 */
export function checkSize(name, shape) {
  let length = 1;
  let largest = 0;
  for (let i = 0; i < shape.length; ++i) {
    length *= shape[i];
    if (shape[i] > largest) largest = shape[i];
  }
  if (length > kMaxElements || largest > kMaxSize) {
    const needs = 'no more than the 4 GiB that WebAssembly can address';
    throw argumentError('size_overflow', name, `shape ${formatShape(shape)}`, needs);
  }
  return length;
}

/**
 * Checks a shape; a size of −1 in `needed` accepts any size.
 * @param {string} name
 * @param {readonly number[]} shape
 * @param {...readonly number[]} needed  accepted shapes
 */
export function checkShapeIs(name, shape, ...needed) {
  const fits = needed.some(
    (want) =>
      want.length === shape.length && want.every((size, i) => size === -1 || size === shape[i]),
  );
  if (fits) return;
  throw wrongShape(name, shape, needed.map(formatShape).join(' or ').replaceAll('-1', '·'));
}

/**
 * Checks that `shape` broadcasts to `target` from the right, as in NumPy. With `lastMayBeLess`, the
 * last size may be smaller than the target's, and the elements beyond it are excluded.
 * @param {string} name
 * @param {readonly number[]} shape
 * @param {readonly number[]} target
 * @param {boolean} [lastMayBeLess]
 */
export function checkBroadcast(name, shape, target, lastMayBeLess = false) {
  const missing = target.length - shape.length;
  const last = shape.length - 1;
  const fits = shape.every(
    (size, i) =>
      size === 1 ||
      size === target[missing + i] ||
      (lastMayBeLess && i === last && 1 < size && size < target[missing + i]),
  );
  if (missing < 0 || !fits) {
    throw wrongShape(name, shape, `one that broadcasts to ${formatShape(target)}`);
  }
}

/**
 * Returns the index of a dimension. Negative dimensions count from the end.
 * @param {string} method
 * @param {number} dimension
 * @param {readonly number[]} shape
 */
export function checkDimension(method, dimension, shape) {
  if (Number.isInteger(dimension)) {
    const d = dimension < 0 ? dimension + shape.length : dimension;
    if (0 <= d && d < shape.length) return d;
  }
  const needs = `the index of a dimension of shape ${formatShape(shape)}`;
  throw invalid(`${method}: dimension`, dimension, needs);
}

/**
 * Checks the part [begin, end) of a dimension.
 * @param {number} begin
 * @param {number} end
 * @param {number} size
 */
export function checkRange(begin, end, size) {
  for (const place of [begin, end]) {
    if (!Number.isInteger(place)) throw invalid('slice', place, 'whole numbers');
  }
  if (0 <= begin && begin <= end && end <= size) return;
  const needs = `0 ≤ begin ≤ end ≤ ${size}`;
  throw argumentError('invalid_argument', 'slice', `[${begin}, ${end})`, needs);
}

/**
 * @param {string} name
 * @param {string} what
 * @param {number} got
 * @param {string} source  where the needed number comes from, for the message
 * @param {number} needed
 */
export function checkEqual(name, what, got, source, needed) {
  if (got === needed) return;
  throw mismatch(name, `${what} ${got}`, `${needed}, ${source}`);
}
