import { invalid } from './errors.js';
import { isA, typedArrayName } from './realm.js';

/** @import { ResultKind, ResultTensor } from './tensorHandle.js' */

/**
 * Type of the numbers in a tensor. Each number has four bytes or two bytes. Two-byte numbers are
 * stored in a `Float16Array`, if the engine has that class, or as bits in a `Uint16Array` with the
 * name of their type.
 * @typedef {'float32' | 'float16' | 'bfloat16'} ElementType
 */

/**
 * Numbers of any element type.
 * @typedef {object} ElementsLike
 * @property {ArrayLike<number>} data  row-major; for a two-byte `type`, a `Uint16Array` of bits or
 *   a `Float16Array`
 * @property {readonly number[]} shape
 * @property {ElementType} [type]  by default float16 for a `Float16Array`, otherwise float32
 */

/**
 * Two-byte numbers, stored as bits.
 * @typedef {object} HalfTensor
 * @property {Uint16Array} data  row-major; `new Float16Array(data.buffer)` shows float16 data as
 *   numbers, if the engine has Float16Array
 * @property {number[]} shape
 * @property {'float16' | 'bfloat16'} type
 */

/**
 * @template {ElementType} [Output=ElementType]
 * @typedef {object} OutputTypeOption
 * @property {Output} [outputType]  float32 by default; a two-byte type gives a {@link HalfTensor},
 *   rounded once
 */

/**
 * A result of the requested type.
 * @template {ResultKind} [As='array']
 * @template {ElementType} [Output='float32']
 * @typedef {Output extends 'float32' ? ResultTensor<As> : HalfTensor} ResultOfType
 */

/** The element types, in the order of ElementType in C++. */
export const kElementTypes = /** @type {const} */ (['float32', 'float16', 'bfloat16']);

/**
 * True for a Float16Array, which not every engine has.
 * @param {unknown} data
 * @returns {data is ArrayBufferView & ArrayLike<number>}
 */
const isFloat16Array = (data) => typedArrayName(data) === 'Float16Array';

/**
 * Returns the element type of a tensor. Throws if the tensor's array cannot store that type.
 * @param {string} name
 * @param {unknown} data
 * @param {ElementType} [type]  the given type, if any
 * @returns {ElementType}
 */
export function elementTypeOf(name, data, type = isFloat16Array(data) ? 'float16' : 'float32') {
  if (type === 'float32' || isA(data, 'Uint16Array')) return type;
  if (type === 'float16' && isFloat16Array(data)) return type;
  const needs = type === 'float16' ? 'a Float16Array or a Uint16Array' : 'a Uint16Array';
  throw invalid(`${name}.data`, data, `${needs} with the bits of ${type} numbers`);
}

/**
 * Returns the bits of two-byte numbers.
 * @param {any} data  a Uint16Array or Float16Array
 * @returns {Uint16Array}
 */
export const bitsOf = (data) =>
  isA(data, 'Uint16Array') ? data : new Uint16Array(data.buffer, data.byteOffset, data.length);
