/// <reference lib="esnext.disposable" preserve="true" />

import { pointAtCallers } from './callers.js';
import { AttnError, checkInteger, invalid, notItself } from './errors.js';
import { printsByRows, printTensor } from './printTensor.js';
import {
  checkDimension,
  checkRange,
  formatShape,
  mismatch,
  readShape,
  rowMajor,
  sizeOf,
  wrongShape,
} from './shape.js';

/** @import { Memory } from './memory.js' */
/** @import { Tensor } from './tensor.js' */
/** @import { Sent } from './worker.js' */

/**
 * What results are: `'array'`, copies in arrays of their own, or `'handle'`, handles of tensors that
 * stay in WebAssembly memory. The other two are those of a module in a worker.
 * @typedef {'array' | 'handle' | 'remoteArray' | 'remoteHandle'} ResultKind
 */

/**
 * A result: of `attn.handles` a `TensorHandle`, else a `Tensor`.
 * @template {ResultKind} [As='array']
 * @typedef {As extends 'handle' | 'remoteHandle' ? TensorHandle : Tensor} ResultTensor
 */

/**
 * An argument, as the caller has it: where the module is in a worker, what it is sent as.
 * @template {ResultKind} As
 * @template T
 * @typedef {As extends 'remoteArray' | 'remoteHandle' ? Sent<T> : T} Given
 */

/**
 * What a call gives: where the module is in a worker, a promise.
 * @template {ResultKind} As
 * @template T
 * @typedef {As extends 'remoteArray' | 'remoteHandle' ? Promise<Sent<T>> : T} Gives
 */

/**
 * A block of WebAssembly memory.
 * @typedef {object} Block
 * @property {number} address
 * @property {number} handles  how many share it
 */

/**
 * Returns the memory of a handle, or nothing after dispose().
 * @type {(handle: TensorHandle, name?: string) => Block | undefined}
 */
let blockOf;

/** @param {TensorHandle} handle @param {string} [name] */
function live(handle, name = TensorHandle.name) {
  const block = blockOf(handle, name);
  if (!block) throw new AttnError('disposed', `${name}: used after dispose()`);
  return block;
}

/**
 * A tensor of float32 in WebAssembly memory: passed to a call it is not copied. Made by
 * `attn.tensor()` and `attn.handles`.
 *
 * `reshape`, `slice`, `select` and `splitHeads` give further handles on the same numbers. The memory
 * is freed when the last of them is: by `dispose()`, by `using`, or at last when it is
 * garbage-collected.
 */
export class TensorHandle {
  /** @internal */
  static name = 'TensorHandle';

  #memory;
  /** @type {Block | undefined} */
  #block;
  #address;
  #shape;
  #strides;

  /**
   * @internal
   * @param {Memory} memory
   * @param {Block} block
   * @param {number} address
   * @param {readonly number[]} shape
   * @param {readonly number[]} [strides]  row-major by default
   */
  constructor(memory, block, address, shape, strides = rowMajor(shape)) {
    this.#memory = memory;
    this.#block = block;
    this.#address = address;
    this.#shape = Object.freeze([...shape]);
    this.#strides = strides;
    ++block.handles;
    memory.droppedHandles.register(this, block, this);
  }

  /** The size of each dimension. */
  get shape() {
    blockOf(this);
    return this.#shape;
  }

  /** Whether `dispose()` was called. */
  get disposed() {
    return blockOf(this) === undefined;
  }

  /** Whether the numbers lie row-major without gaps, as `view()` and `reshape()` need them. */
  get contiguous() {
    let expected = 1;
    for (let i = this.#shape.length - 1; i >= 0; --i) {
      if (this.#shape[i] !== 1 && this.#strides[i] !== expected) return sizeOf(this.#shape) === 0;
      expected *= this.#shape[i];
    }
    return true;
  }

  /**
   * A copy of the numbers, row-major.
   * @returns {Float32Array}
   */
  data() {
    live(this);
    const length = sizeOf(this.#shape);
    if (this.contiguous) return this.#floats(length).slice();
    const shape = this.#shape;
    const strides = this.#strides;
    const source = this.#floats(
      1 + shape.reduce((last, size, d) => last + (size - 1) * strides[d], 0),
    );
    const result = new Float32Array(length);
    let to = 0;
    const copy = (/** @type {number} */ d, /** @type {number} */ from) => {
      if (d === shape.length) {
        result[to++] = source[from];
      } else {
        for (let i = 0; i < shape[d]; ++i) copy(d + 1, from + i * strides[d]);
      }
    };
    copy(0, 0);
    return result;
  }

  /**
   * A copy as a plain tensor.
   * @returns {Tensor}
   */
  toTensor() {
    return { data: this.data(), shape: [...this.#shape] };
  }

  /** Formats the numbers as text by rows. */
  toString() {
    if (this.disposed) return TensorHandle.name;
    return printTensor(this.contiguous ? this.view() : this.data(), this.#shape);
  }

  /**
   * The numbers themselves, not copied: what is written to the view is in the tensor. A growth of
   * the memory, which any other call may cause, ends the life of a view, and `dispose()` does, too:
   * fetch it where it is used. A view fetched after a growth is as valid as one fetched before.
   * @returns {Float32Array}
   * @throws {AttnError} `disposed`, and `invalid_argument` unless `contiguous`
   */
  view() {
    live(this);
    this.#requireContiguous('view');
    return this.#floats(sizeOf(this.#shape));
  }

  /**
   * The same numbers in another shape.
   * @param {readonly number[]} given  a shape of as many elements
   * @returns {TensorHandle}
   * @throws {AttnError} `shape_mismatch`, `disposed`, and `invalid_argument` unless `contiguous`
   */
  reshape(given) {
    live(this);
    const shape = readShape('reshape', given);
    const length = sizeOf(shape);
    if (length !== sizeOf(this.#shape)) {
      const needs = `as many as shape ${formatShape(this.#shape)} has, ${sizeOf(this.#shape)}`;
      throw mismatch('shape', `${formatShape(shape)} of ${length} elements`, needs);
    }
    this.#requireContiguous('reshape');
    return this.#part(shape);
  }

  /**
   * The part [begin, end) of a dimension.
   * @param {number} dimension  a negative one counts from the last
   * @param {number} begin
   * @param {number} [end]  to the end by default
   * @returns {TensorHandle}
   * @throws {AttnError} `invalid_argument`, `disposed`
   */
  slice(dimension, begin, end) {
    live(this);
    const d = this.#dimension('slice', dimension);
    const stop = end ?? this.#shape[d];
    checkRange(begin, stop, this.#shape[d]);
    return this.#part(this.#shape.with(d, stop - begin), this.#strides, begin * this.#strides[d]);
  }

  /**
   * One entry of a dimension, without that dimension.
   * @param {number} dimension  a negative one counts from the last
   * @param {number} index
   * @returns {TensorHandle}
   * @throws {AttnError} `invalid_argument`, `disposed`
   */
  select(dimension, index) {
    live(this);
    const d = this.#dimension('select', dimension);
    checkInteger('select', index, 0);
    if (index >= this.#shape[d]) throw invalid('select', index, `an index below ${this.#shape[d]}`);
    const without = (/** @type {readonly number[]} */ list) => list.filter((_, i) => i !== d);
    return this.#part(without(this.#shape), without(this.#strides), index * this.#strides[d]);
  }

  /**
   * (B, N, H·D) seen as (B, H, N, D).
   * @param {number} numHeads  H
   * @returns {TensorHandle}
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `disposed`
   */
  splitHeads(numHeads) {
    live(this);
    checkInteger('numHeads', numHeads, 1);
    if (this.#shape.length !== 3 || this.#shape[2] % numHeads !== 0) {
      throw wrongShape('splitHeads', this.#shape, `(B, N, H·D) with H = ${numHeads}`);
    }
    const [batch, length, width] = this.#shape;
    const [batchStride, rowStride, stride] = this.#strides;
    const headDim = width / numHeads;
    return this.#part(
      [batch, numHeads, length, headDim],
      [batchStride, headDim * stride, rowStride, stride],
    );
  }

  /** Frees the memory, unless other handles share it. A second call does nothing. */
  dispose() {
    const block = blockOf(this);
    if (!block) return;
    this.#memory.droppedHandles.unregister(this);
    this.#memory.release(block);
    this.#block = undefined;
  }

  [Symbol.dispose]() {
    this.dispose();
  }

  /**
   * What prints in place of the handle.
   * @returns {{ type: string }}
   */
  toJSON() {
    const facts = this.disposed ? { disposed: true } : { shape: this.#shape };
    return { type: TensorHandle.name, ...facts };
  }

  static {
    printsByRows(this.prototype);
    pointAtCallers(this);
    blockOf = (handle, name) => {
      if (#block in handle) return handle.#block;
      throw notItself(TensorHandle.name, name);
    };
  }

  /**
   * @internal where the core finds it
   * @param {Memory} memory  the module's that is called
   * @param {string} name
   */
  placeIn(memory, name) {
    live(this, name);
    if (memory !== this.#memory) throw invalid(name, this, 'a handle of the module that is called');
    return { address: this.#address, shape: this.#shape, strides: this.#strides };
  }

  /**
   * A further handle on the same numbers, or part of them.
   * @param {readonly number[]} shape
   * @param {readonly number[]} [strides]
   * @param {number} [offset]  of the first number
   */
  #part(shape, strides, offset = 0) {
    const address = this.#address + 4 * offset;
    return new TensorHandle(this.#memory, live(this), address, shape, strides);
  }

  /** @param {number} length */
  #floats(length) {
    return this.#memory.part('floats', this.#address, length);
  }

  /** @param {string} method */
  #requireContiguous(method) {
    if (this.contiguous) return;
    throw invalid(method, 'numbers with gaps between them', 'contiguous ones; data() copies');
  }

  /**
   * @param {string} method
   * @param {number} dimension
   */
  #dimension(method, dimension) {
    return checkDimension(method, dimension, this.#shape);
  }
}
