import { checkChoice, invalid } from './errors.js';
import { checkShape, formatShape, mismatch, wrongShape } from './shape.js';
import { TensorHandle } from './tensorHandle.js';
import { isA } from './realm.js';

/** @import { ElementsLike, ElementType } from './elementType.js' */
/** @import { Memory } from './memory.js' */

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
 * @typedef {ArrayLike<number> | BigInts | NumbersLike | { readonly data: BigInts,
 *   readonly shape: readonly number[] }} Integers
 */

/** @typedef {BigInt64Array | BigUint64Array} BigInts */

/**
 * Accepted ranks, each with its shape in letters.
 * @typedef {Record<number, string>} Ranks
 */

/** @type {Ranks} */
export const kHeadRanks = { 2: '(N, D)', 3: '(B, N, D)', 4: '(B, H, N, D)' };
/** @type {Ranks} */
export const kRowRanks = { 2: '(N, E)', 3: '(B, N, E)' };

/** @param {string} width  what it is called */
export const rowsOf = (width) => ({ 2: `(N, ${width})`, 3: `(B, N, ${width})` });

/** @type {readonly ElementType[]} */
const kFloat32 = ['float32'];

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
 * @param {string} name
 * @param {Mask} mask
 */
export function checkMask(name, mask) {
  checkHasData(name, mask, 'mask');
  const { data, shape } = mask;
  const length = checkShape(name, shape);
  if (!(isA(data, 'Uint8Array') || Array.isArray(data))) {
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
  const tensor = asTensor(name, withoutBigInts(integers));
  const { data } = tensor;
  for (let i = 0; i < data.length; ++i) {
    if (!Number.isInteger(data[i]) || data[i] < least || data[i] > most) {
      throw invalid(`${name}[${i}]`, data[i], what);
    }
  }
  return tensor;
}

/**
 * Integers with BigInts, such as other libraries' ids, as numbers: beyond 2^53 rounded, which is far out of
 * any range that is checked afterwards.
 * @param {Integers} integers
 * @returns {ArrayLike<number> | NumbersLike}
 */
function withoutBigInts(integers) {
  const isBig = (/** @type {any} */ data) =>
    ArrayBuffer.isView(data) && typeof (/** @type {any} */ (data)[0]) === 'bigint';
  const toNumbers = (/** @type {any} */ data) => Float64Array.from(data, Number);
  const given = /** @type {any} */ (integers);
  if (isBig(given)) return toNumbers(given);
  return isBig(given?.data) ? { ...given, data: toNumbers(given.data) } : given;
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
 * A handle of a copy.
 * @param {Memory} memory
 * @param {ArrayLike<number>} data
 * @param {readonly number[]} shape
 */
export function tensor(memory, data, shape) {
  checkTensor('tensor', { data, shape });
  const bytes = 4 * data.length;
  const address = memory.allocate('tensor', bytes);
  memory.part('floats', address, data.length).set(data);
  return new TensorHandle(memory, { address, handles: 0 }, address, shape);
}
