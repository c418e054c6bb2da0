// Creates tensors from values and from other tensors.

import { invalid } from './errors.js';
import { printTensor } from './printTensor.js';
import { checkDimension, checkRange, checkSize, mismatch, readShape, sizeOf } from './shape.js';
import { asTensor, tensor } from './tensor.js';

/** @import { Runtime } from './runtime.js' */
/** @import { NumbersLike, Ranks, TensorLike } from './tensor.js' */

/** @type {Ranks} */
const kMatrixRanks = { 2: '(M, K)', 3: '(B, M, K)', 4: '(B, H, M, K)' };

/**
 * Turns data into a result of the kind that the module returns: a plain tensor or a handle.
 * @param {Runtime} runtime
 * @param {Float32Array} data
 * @param {number[]} shape
 * @returns {any}
 */
const give = (runtime, data, shape) =>
  runtime.as === 'handle' ? tensor(runtime.memory, data, shape) : { data, shape };

/**
 * @param {Runtime} runtime
 * @param {readonly number[]} shape
 * @param {number} value
 */
export function full(runtime, shape, value) {
  const own = readShape('shape', shape);
  if (typeof value !== 'number') throw invalid('value', value, 'a number');
  return give(runtime, new Float32Array(sizeOf(own)).fill(value), own);
}

/**
 * @param {Runtime} runtime
 * @param {number} start
 * @param {number} [end]
 * @param {number} [step]
 */
export function arange(runtime, start, end, step = 1) {
  const [first, last] = end === undefined ? [0, start] : [start, end];
  for (const [name, value] of Object.entries({ start: first, end: last, step })) {
    if (!Number.isFinite(value)) throw invalid(name, value, 'a finite number');
  }
  if (step === 0) throw invalid('step', step, 'a number other than 0');
  const length = Math.max(0, Math.ceil((last - first) / step));
  checkSize('arange', [length]);
  const data = Float32Array.from({ length }, (_, i) => first + i * step);
  return give(runtime, data, [length]);
}

/**
 * @param {Runtime} runtime
 * @param {NumbersLike} x
 * @param {number} dimension
 * @param {number} begin
 * @param {number} [end]
 */
export function slice(runtime, x, dimension, begin, end) {
  const { data, shape } = asTensor('x', x);
  const d = checkDimension('slice', dimension, shape);
  const size = shape[d];
  const stop = end ?? size;
  checkRange(begin, stop, size);
  const inner = sizeOf(shape.slice(d + 1));
  const part = (stop - begin) * inner;
  const result = new Float32Array(sizeOf(shape.slice(0, d)) * part);
  for (let i = 0; i < result.length; ++i) {
    const row = Math.floor(i / part);
    result[i] = data[(row * size + begin) * inner + (i - row * part)];
  }
  return give(runtime, result, shape.with(d, stop - begin));
}

/**
 * @param {Runtime} runtime
 * @param {TensorLike} a
 * @param {TensorLike} b
 */
export function matmul(runtime, a, b) {
  return runtime.invoke((call) => {
    const left = call.tensor('a', a, kMatrixRanks);
    const right = call.tensor('b', b, kMatrixRanks);
    const output = call.result('output', left.shape.with(-1, right.shape[right.shape.length - 1]));
    call.run((native) => native.matmul(left.native, right.native, output.tensor.native));
    return call.give(output);
  });
}

/** @typedef {readonly ArrayLike<number>[]} Rows */

/**
 * Nested arrays of numbers. The type is not recursive, because the compiler would not terminate
 * when `Remote` maps it.
 * @typedef {Rows | readonly Rows[] | readonly (readonly Rows[])[]} NestedNumbers
 */

/**
 * Returns a tensor unchanged, and converts nested arrays to a tensor.
 * @param {any} given
 * @returns {NumbersLike}
 */
export function asNumbers(given) {
  /** @type {(value: any) => boolean} */
  const isList = (value) => Array.isArray(value) || ArrayBuffer.isView(value);
  if (!isList(given)) return asTensor('data', given);
  /** @type {number[]} */
  const shape = [];
  for (let at = given; isList(at); at = at[0]) shape.push(at.length);
  /** @type {number[]} */
  const data = [];
  const visit = (/** @type {any} */ value, /** @type {number} */ dimension) => {
    if (dimension === shape.length) return data.push(value);
    const length = isList(value) ? value.length : 0;
    if (length !== shape[dimension]) {
      const needs = `${shape[dimension]}, the length of the first`;
      throw mismatch('data', `a row of length ${length} in dimension ${dimension}`, needs);
    }
    for (const part of value) visit(part, dimension + 1);
  };
  visit(given, 0);
  return { data, shape };
}

/**
 * @param {any} x
 * @returns {string}
 */
export function formatTensor(x) {
  const isOwn = 'toJSON' in Object(x) && typeof x.shape === 'object';
  if (isOwn) return x.toString();
  const { data, shape } = asTensor('x', x);
  return printTensor(data, shape);
}
