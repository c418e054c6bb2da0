import { argumentError, invalid } from './errors.js';
import { TensorHandle } from './tensorHandle.js';

/** @import { ElementsLike, ElementType } from './elementType.js' */

/**
 * A tensor of float32.
 * @typedef {object} Tensor
 * @property {Float32Array} data  the elements, row-major
 * @property {number[]} shape  the size of each dimension
 */

/**
 * Anything that holds numbers.
 * @typedef {object} NumbersLike
 * @property {ArrayLike<number>} data  the elements, row-major; a `Float32Array` is fastest
 * @property {readonly number[]} shape  the size of each dimension
 */

/**
 * What is accepted as a tensor: anything that holds numbers, or a handle of a tensor that lies in
 * WebAssembly memory.
 * @typedef {NumbersLike | TensorHandle} TensorLike
 */

/**
 * A boolean tensor: `true`, or anything but 0, attends.
 * @typedef {object} Mask
 * @property {Uint8Array | readonly (boolean | number)[]} data  row-major
 * @property {readonly number[]} shape
 */

/**
 * Whole numbers, for example the indices of tokens: N of them, or a tensor of them.
 * @typedef {ArrayLike<number> | NumbersLike} Integers
 */

/**
 * Accepted ranks, each with its shape in letters.
 * @typedef {Record<number, string>} Ranks
 */

/** @type {Ranks} */
export const kHeadRanks = { 2: '(N, D)', 3: '(B, N, D)', 4: '(B, H, N, D)' };
/** @type {Ranks} */
export const kRowRanks = { 2: '(N, E)', 3: '(B, N, E)' };

/** As TensorView::kMaxRank in C++. */
/** @param {string} width  what it is called */
export const rowsOf = (width) => ({ 2: `(N, ${width})`, 3: `(B, N, ${width})` });

/** @type {readonly ElementType[]} */
const kFloat32 = ['float32'];

const kMaxRank = 6;
const kMaxSize = 2 ** 31 - 1;
/** WebAssembly addresses 4 GiB. */
const kMaxElements = 2 ** 30;

/**
 * The number of elements.
 * @param {readonly number[]} shape
 */
export function sizeOf(shape) {
  let size = 1;
  for (let i = 0; i < shape.length; ++i) size *= shape[i];
  return size;
}

/**
 * Strides of elements that lie without gaps.
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
 * Checks a shape and returns its number of elements.
 * @param {string} name
 * @param {readonly number[]} shape
 */
export function checkShape(name, shape) {
  if (!Array.isArray(shape)) throw invalid(`${name}.shape`, shape, 'an array of sizes');
  if (shape.length > kMaxRank) throw wrongShape(name, shape, `rank ${kMaxRank} or less`);
  let length = 1;
  let largest = 0;
  for (let i = 0; i < shape.length; ++i) {
    const size = shape[i];
    if (!Number.isInteger(size) || size < 0) {
      throw invalid(`${name}.shape`, size, 'sizes that are whole numbers of at least 0');
    }
    length *= size;
    if (size > largest) largest = size;
  }
  if (length > kMaxElements || largest > kMaxSize) {
    const needs = 'no more than the 4 GiB that WebAssembly can address';
    throw argumentError('size_overflow', name, `shape ${formatShape(shape)}`, needs);
  }
  return length;
}

/**
 * Checks that `tensor` is one, of an accepted rank and element type.
 * @param {string} name
 * @param {ElementsLike | TensorHandle} tensor
 * @param {Ranks} [ranks]  any by default
 * @param {readonly ElementType[]} [types]
 */
export function checkTensor(name, tensor, ranks, types = kFloat32) {
  checkHasData(name, tensor, 'tensor');
  if ('type' in tensor && tensor.type !== undefined)
    checkChoice(`${name}.type`, tensor.type, types);
  const { shape } = tensor;
  const isHandle = tensor instanceof TensorHandle;
  const length = isHandle ? 0 : checkShape(name, shape);
  if (ranks && ranks[shape.length] === undefined) {
    const needs = Object.entries(ranks).map(([rank, letters]) => `rank ${rank} ${letters}`);
    throw wrongShape(name, shape, needs.join(' or '));
  }
  if (isHandle) return;
  checkNumbers(`${name}.data`, tensor.data);
  checkLength(name, tensor.data.length, shape, length);
}

/**
 * Checks a shape; a size of −1 in `needed` accepts any.
 * @param {string} name
 * @param {readonly number[]} shape
 * @param {...readonly number[]} needed  the shapes accepted
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
 * @param {string} name
 * @param {Mask} mask
 */
export function checkMask(name, mask) {
  checkHasData(name, mask, 'mask');
  const { data, shape } = mask;
  const length = checkShape(name, shape);
  if (!(data instanceof Uint8Array || Array.isArray(data))) {
    throw invalid(`${name}.data`, data, 'a Uint8Array or an array of booleans');
  }
  checkLength(name, data.length, shape, length);
}

/**
 * @param {string} name
 * @param {TensorLike | Mask} tensor
 * @param {string} what  it should be
 */
function checkHasData(name, tensor, what) {
  if (tensor === null || typeof tensor !== 'object' || tensor.data === undefined) {
    throw invalid(name, tensor, `a ${what} { data, shape }`);
  }
}

/**
 * @param {string} name
 * @param {number} got
 * @param {readonly number[]} shape
 * @param {number} needed
 */
function checkLength(name, got, shape, needed) {
  if (got === needed) return;
  throw mismatch(name, `data of length ${got}`, `${needed} for shape ${formatShape(shape)}`);
}

/**
 * Whole numbers as a tensor of them, checked.
 * @param {string} name
 * @param {Integers} integers
 * @param {number} least
 * @param {number} most
 * @param {string} what  they are, as a message is to say it
 * @returns {NumbersLike}
 */
export function checkIntegers(name, integers, least, most, what) {
  const tensor = asTensor(name, integers);
  const { data } = tensor;
  for (let i = 0; i < data.length; ++i) {
    if (!Number.isInteger(data[i]) || data[i] < least || data[i] > most) {
      throw invalid(`${name}[${i}]`, data[i], what);
    }
  }
  return tensor;
}

/**
 * Numbers that may be given without a shape as a tensor of rank 1.
 * @param {string} name
 * @param {ArrayLike<number> | NumbersLike} numbers
 * @returns {NumbersLike}
 */
export function asTensor(name, numbers) {
  if (numbers === null || typeof numbers !== 'object') {
    throw invalid(name, numbers, 'numbers, or a tensor { data, shape } of them');
  }
  if (!('data' in numbers)) {
    checkNumbers(name, numbers);
    return { data: numbers, shape: [numbers.length] };
  }
  if (numbers instanceof TensorHandle) throw invalid(name, numbers, 'numbers, not a handle');
  checkTensor(name, numbers);
  return numbers;
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
  // Neither a DataView nor BigInts.
  const isNumeric =
    ArrayBuffer.isView(data) && data.length >= 0 && typeof (data[0] ?? 0) === 'number';
  if (!isNumeric) throw invalid(name, data, 'a Float32Array or another array of numbers');
}

/**
 * Checks that `shape` broadcasts to `target` from the right, as NumPy's do. The last size may be
 * less than that of the target where what lies beyond is excluded.
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
 * @param {string} name
 * @param {string} what
 * @param {number} got
 * @param {string} source  of the number that is needed: what else has it
 * @param {number} needed
 */
export function checkEqual(name, what, got, source, needed) {
  if (got === needed) return;
  throw mismatch(name, `${what} ${got}`, `${needed}, ${source}`);
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
