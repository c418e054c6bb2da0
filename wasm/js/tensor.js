import { elementTypeOf } from './elementType.js';
import { checkChoice, invalid } from './errors.js';
import { outOfMemory } from './memory.js';
import { isA, typedArrayLength, typedArrayName } from './realm.js';
import { checkSize, formatShape, mismatch, readShape, sizeOf, wrongShape } from './shape.js';
import { TensorHandle } from './tensorHandle.js';

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
 * Anything that is accepted as a tensor: an object with numbers and a shape, or a handle of a tensor in
 * WebAssembly memory.
 * @typedef {NumbersLike | TensorHandle} TensorLike
 */

/**
 * A boolean tensor. Elements that are `true` or not 0 take part in attention.
 * @typedef {object} Mask
 * @property {Uint8Array | readonly (boolean | number)[]} data  row-major
 * @property {readonly number[]} shape
 */

/**
 * Whole numbers, for example token ids: an array of N numbers, or a tensor.
 * @typedef {ArrayLike<number> | BigInts | NumbersLike | { readonly data: BigInts,
 *   readonly shape: readonly number[] }} Integers
 */

/** @typedef {BigInt64Array | BigUint64Array} BigInts */

/**
 * Accepted ranks. The value for each rank describes its shape, for example `(N, D)`.
 * @typedef {Record<number, string>} Ranks
 */

/** @type {Ranks} */
export const kHeadRanks = { 2: '(N, D)', 3: '(B, N, D)', 4: '(B, H, N, D)' };
/** @type {Ranks} */
export const kRowRanks = { 2: '(N, E)', 3: '(B, N, E)' };

/** @param {string} width  symbol for the width, for example E */
export const rowsOf = (width) => ({ 2: `(N, ${width})`, 3: `(B, N, ${width})` });

/** @type {readonly ElementType[]} */
const kFloat32 = ['float32'];

/**
 * A copy of a tensor's description that only attn can change.
 * @typedef {object} ReadTensor
 * @property {any} data  a typed array
 * @property {number[]} shape
 */

/**
 * Reads each property of a tensor once, and checks that the rank and element type are accepted.
 * @param {string} name
 * @param {ElementsLike} tensor
 * @param {Ranks} [ranks]  any by default
 * @param {readonly ElementType[]} [types]
 * @returns {ReadTensor & { type: ElementType }}
 */
export function readTensor(name, tensor, ranks, types = kFloat32) {
  const { data, shape: given, type } = readObject(name, tensor, 'tensor');
  if (type !== undefined) checkChoice(`${name}.type`, type, types);
  const shape = readShape(name, given);
  checkRank(name, shape, ranks);
  const numbers = readNumbers(`${name}.data`, data, name, shape);
  return { data: numbers, shape, type: elementTypeOf(name, data, type) };
}

/**
 * @param {string} name
 * @param {readonly number[]} shape
 * @param {Ranks} [ranks]
 */
export function checkRank(name, shape, ranks) {
  if (ranks === undefined || ranks[shape.length] !== undefined) return;
  const needs = Object.entries(ranks).map(([rank, letters]) => `rank ${rank} ${letters}`);
  throw wrongShape(name, shape, needs.join(' or '));
}

/**
 * @param {string} name
 * @param {Mask} mask
 * @returns {ReadTensor}
 */
export function readMask(name, mask) {
  const { data, shape: given } = readObject(name, mask, 'mask');
  const shape = readShape(name, given);
  if (isA(data, 'Uint8Array')) {
    checkLength(name, typedArrayLength(data), shape);
    return { data, shape };
  }
  if (!Array.isArray(data)) {
    const added = name === 'mask' ? '; to add numbers to the scores, use the option bias' : '';
    throw invalid(`${name}.data`, data, `a Uint8Array or an array of booleans${added}`);
  }
  const { length } = data;
  checkLength(name, length, shape);
  const bytes = newArray(name, Uint8Array, length);
  for (let i = 0; i < length; ++i) bytes[i] = data[i] ? 1 : 0;
  return { data: bytes, shape };
}

/**
 * @param {string} name
 * @param {any} tensor
 * @param {string} what  the expected value, for the error message
 * @returns {{ data: any, shape: any, type: any }}
 */
function readObject(name, tensor, what) {
  const { data, shape, type } = Object(tensor);
  if (data === undefined) {
    const advice = Array.isArray(tensor) && what === 'tensor' ? ', such as attn.tensor(array)' : '';
    throw invalid(name, tensor, `a ${what} { data, shape }${advice}`);
  }
  return { data, shape, type };
}

/**
 * @param {string} name
 * @param {number} got
 * @param {readonly number[]} shape
 */
function checkLength(name, got, shape) {
  const needed = sizeOf(shape);
  if (got === needed) return;
  throw mismatch(name, `data of length ${got}`, `${needed} for shape ${formatShape(shape)}`);
}

/**
 * Checks integers and copies them into a tensor, so that they cannot change after the check.
 * @param {string} name
 * @param {Integers} integers
 * @param {number} least
 * @param {number} most
 * @param {string} what  the expected integers, for the error message
 * @returns {ReadTensor}
 */
export function checkIntegers(name, integers, least, most, what) {
  const { data: given, shape } = asTensor(name, integers, true);
  const data = newArray(name, Float64Array, sizeOf(shape));
  for (let i = 0; i < data.length; ++i) {
    // Number() rounds BigInts beyond 2^53, but no accepted range extends that far.
    const value = Number(given[i]);
    if (!Number.isInteger(value) || value < least || value > most) {
      throw invalid(`${name}[${i}]`, given[i], what);
    }
    data[i] = value;
  }
  return { data, shape };
}

/**
 * Returns numbers as a tensor. Numbers without a shape become a tensor of rank 1.
 * @param {string} name
 * @param {Integers} numbers
 * @param {boolean} [bigInts]  true to accept typed arrays of BigInts, in which some libraries return
 *   token ids
 * @returns {ReadTensor}
 */
export function asTensor(name, numbers, bigInts = false) {
  if (numbers === null || typeof numbers !== 'object') {
    throw invalid(name, numbers, 'numbers, or a tensor { data, shape }');
  }
  if (numbers instanceof TensorHandle) throw invalid(name, numbers, 'numbers, not a handle');
  const isTensor = !Array.isArray(numbers) && !ArrayBuffer.isView(numbers) && 'data' in numbers;
  if (!isTensor) {
    const data = readNumbers(name, /** @type {any} */ (numbers), name, undefined, bigInts);
    return { data, shape: [typedArrayLength(data)] };
  }
  const { data, shape: given, type } = readObject(name, numbers, 'tensor');
  if (type !== undefined) checkChoice(`${name}.type`, type, kFloat32);
  const shape = readShape(name, given);
  return { data: readNumbers(`${name}.data`, data, name, shape, bigInts), shape };
}

/**
 * Copies numbers, so that they cannot change after the check.
 * @param {string} name
 * @param {ArrayLike<number>} numbers
 */
export function copyNumbers(name, numbers) {
  const { data } = asTensor(name, numbers);
  const copy = newArray(name, Float64Array, typedArrayLength(data));
  copy.set(data);
  return copy;
}

/**
 * Reads each number of a plain array once. Typed arrays need no copy, because reading their elements cannot run the
 * caller's code.
 * @param {string} name  name of the numbers in errors
 * @param {ArrayLike<number>} data
 * @param {string} argument  the argument that contains the numbers
 * @param {readonly number[]} [shape]  the shape that the numbers must fill
 * @param {boolean} [bigInts]
 * @returns {any} a typed array
 */
function readNumbers(name, data, argument, shape, bigInts = false) {
  const type = typedArrayName(data);
  if (type !== undefined && (bigInts || !type.startsWith('Big'))) {
    if (shape) checkLength(argument, typedArrayLength(data), shape);
    return data;
  }
  if (!Array.isArray(data)) {
    throw invalid(name, data, 'a Float32Array or another array of numbers');
  }
  const { length } = data;
  if (shape) checkLength(argument, length, shape);
  else checkSize(argument, [length]);
  const numbers = newArray(name, Float64Array, length);
  for (let i = 0; i < length; ++i) {
    const value = data[i];
    if (typeof value !== 'number') throw invalid(`${name}[${i}]`, value, 'a number');
    numbers[i] = value;
  }
  return numbers;
}

/**
 * @template {Float64Array | Uint8Array} T
 * @param {string} name
 * @param {{ new (length: number): T, BYTES_PER_ELEMENT: number }} Class
 * @param {number} length
 */
function newArray(name, Class, length) {
  try {
    return new Class(length);
  } catch (error) {
    throw outOfMemory(name, Class.BYTES_PER_ELEMENT * length, error);
  }
}

/**
 * Copies numbers into WebAssembly memory and returns a handle.
 * @param {Memory} memory
 * @param {ArrayLike<number>} data
 * @param {readonly number[]} shape
 */
export function tensor(memory, data, shape) {
  const read = readTensor('tensor', { data, shape });
  const numbers = memory.kept('floats', read.data);
  const length = sizeOf(read.shape);
  const address = memory.allocate('tensor', 4 * length);
  memory.part('floats', address, length).set(numbers);
  return new TensorHandle(memory, { address, handles: 0 }, address, read.shape);
}
