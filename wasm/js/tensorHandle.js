/// <reference lib="esnext.disposable" preserve="true" />

import { pointAtCallers } from './callers.js';
import {
  AttnError,
  checkInteger,
  explainedError,
  invalid,
  notItself,
  ofAnotherModule,
} from './errors.js';
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
 * The kind of results. With `'array'`, results are copied into new arrays. With `'handle'`, they are handles of
 * tensors that stay in WebAssembly memory. The other two kinds are for a module in a worker.
 * @typedef {'array' | 'handle' | 'remoteArray' | 'remoteHandle'} ResultKind
 */

/**
 * A result: a `TensorHandle` from `attn.handles`, otherwise a `Tensor`.
 * @template {ResultKind} [As='array']
 * @typedef {As extends 'handle' | 'remoteHandle' ? TensorHandle : Tensor} ResultTensor
 */

/**
 * An argument as the caller passes it. For a module in a worker, this is the form that is sent.
 * @template {ResultKind} As
 * @template T
 * @typedef {As extends 'remoteArray' | 'remoteHandle' ? Sent<T> : T} Given
 */

/**
 * The result of a call. For a module in a worker, this is a promise.
 * @template {ResultKind} As
 * @template T
 * @typedef {As extends 'remoteArray' | 'remoteHandle' ? Promise<Sent<T>> : T} Gives
 */

/**
 * A block of WebAssembly memory.
 * @typedef {object} Block
 * @property {number} address
 * @property {number} handles  number of handles that share the block
 */

/**
 * Returns the memory of a handle, or undefined after dispose().
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
 * A tensor of float32 in WebAssembly memory. Calls read it in place, without a copy. `attn.tensor()` and
 * `attn.handles` create handles.
 *
 * `reshape`, `slice`, `select` and `splitHeads` return more handles to the same numbers. A handle is released by
 * `dispose()`, by `using`, or when it is garbage-collected. The memory is freed when its last handle is released.
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

  /** True after `dispose()`. */
  get disposed() {
    return blockOf(this) === undefined;
  }

  /** True if the numbers are row-major without gaps, which `view()` and `reshape()` require. */
  get contiguous() {
    let expected = 1;
    for (let i = this.#shape.length - 1; i >= 0; --i) {
      if (this.#shape[i] !== 1 && this.#strides[i] !== expected) return sizeOf(this.#shape) === 0;
      expected *= this.#shape[i];
    }
    return true;
  }

  /**
   * Returns a copy of the numbers, row-major.
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
   * Returns a copy as a plain tensor.
   * @returns {Tensor}
   */
  toTensor() {
    return { data: this.data(), shape: [...this.#shape] };
  }

  /** Formats the numbers as text, row by row. */
  toString() {
    if (this.disposed) return TensorHandle.name;
    return printTensor(this.contiguous ? this.view() : this.data(), this.#shape);
  }

  /**
   * Returns a view of the numbers, without a copy. Writing to the view changes the tensor. The view becomes invalid
   * after `dispose()` and when the memory grows. Any other call may grow the memory, so get a new view each time. The
   * tensor itself remains valid when the memory grows.
   * @returns {Float32Array}
   * @throws {AttnError} `disposed`, and `invalid_argument` unless `contiguous`
   */
  view() {
    live(this);
    this.#requireContiguous('view');
    return this.#floats(sizeOf(this.#shape));
  }

  /**
   * Returns a handle to the same numbers with a different shape.
   * @param {readonly number[]} given  a shape with the same number of elements
   * @returns {TensorHandle}
   * @throws {AttnError} `shape_mismatch`, `disposed`, and `invalid_argument` unless `contiguous`
   */
  reshape(given) {
    live(this);
    const shape = readShape('reshape', given);
    const length = sizeOf(shape);
    if (length !== sizeOf(this.#shape)) {
      const needs = `${sizeOf(this.#shape)}, as many as shape ${formatShape(this.#shape)} has`;
      throw mismatch('shape', `${formatShape(shape)} with ${length} elements`, needs);
    }
    this.#requireContiguous('reshape');
    return this.#part(shape);
  }

  /**
   * Returns a handle to the part [begin, end) of a dimension.
   * @param {number} dimension  negative dimensions count from the end
   * @param {number} begin
   * @param {number} [end]  the end of the dimension by default
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
   * Returns a handle to one entry of a dimension, and drops that dimension.
   * @param {number} dimension  negative dimensions count from the end
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
   * Returns a handle that views (B, N, H·D) as (B, H, N, D).
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
   * Returns the handle's class and shape, which JSON.stringify() writes.
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
   * @internal returns the address, shape and strides
   * @param {Memory} memory  memory of the module that is called
   * @param {string} name
   */
  placeIn(memory, name) {
    live(this, name);
    if (memory !== this.#memory) throw ofAnotherModule(name);
    return { address: this.#address, shape: this.#shape, strides: this.#strides };
  }

  /**
   * Returns another handle to the same numbers, or to a part of them.
   * @param {readonly number[]} shape
   * @param {readonly number[]} [strides]
   * @param {number} [offset]  number of elements before the first one
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
    const sentence = 'the handle is not contiguous; data() returns a contiguous copy';
    throw explainedError('invalid_argument', method, sentence);
  }

  /**
   * @param {string} method
   * @param {number} dimension
   */
  #dimension(method, dimension) {
    return checkDimension(method, dimension, this.#shape);
  }
}
