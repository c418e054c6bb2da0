import { make, NativeObject } from './nativeObject.js';
import { checkInteger, checkOptions, checkShape, checkTensorOf } from './tensor.js';

/** @import { Operation, Runtime } from './runtime.js' */
/** @import { TensorLike } from './tensor.js' */
/** @import { ResultKind, ResultTensor } from './tensorHandle.js' */

/**
 * @typedef {object} KeyValueCacheOptions
 * @property {number} [batch]  B; 1 by default
 * @property {number} numKvHeads  Hkv
 * @property {number} headDim  D, width of keys
 * @property {number} [valueDim]  Dv; `headDim` by default
 * @property {number} [capacity]  room for so many tokens at first; it doubles when it is used up
 */

/**
 * @typedef {object} CapacityOption
 * @property {number} [capacity]  room for so many tokens at first; 0 by default
 */

/** The sizes of a cache that a layer makes. @typedef {Required<Omit<KeyValueCacheOptions, 'capacity'>>} CacheSizes */

/**
 * Keys and values of past tokens, for decoding token by token. Made by the layers that need it, see
 * `MultiHeadAttention.makeCache()`, or by itself for `scaledDotProductAttention`.
 * @template {ResultKind} [As='array']
 */
export class KeyValueCache extends NativeObject {
  #sizes;

  /**
   * @param {Runtime} runtime
   * @param {KeyValueCacheOptions} options
   * @param {number} [address]  of one that a layer has made
   */
  constructor(runtime, options, address) {
    checkOptions(options);
    const { batch = 1, numKvHeads, headDim, valueDim = headDim, capacity = 0 } = options;
    checkInteger('batch', batch, 1);
    checkInteger('numKvHeads', numKvHeads, 1);
    checkInteger('headDim', headDim, 1);
    checkInteger('valueDim', valueDim, 1);
    checkInteger('capacity', capacity, 0);
    const own =
      address ??
      make(runtime, 'makeCache', (call) => {
        for (const size of [batch, numKvHeads, headDim, valueDim, capacity]) call.number(size);
      });
    super(runtime, 'deleteCache', own);
    this.#sizes = { batch, numKvHeads, headDim, valueDim };
  }

  /** Tokens kept. */
  get length() {
    return this.#read(0);
  }

  /** Tokens that there is room for. */
  get capacity() {
    return this.#read(1);
  }

  /**
   * A copy of the keys.
   * @returns {ResultTensor<As>} (B, Hkv, length, D)
   */
  keys() {
    return this.#cached(false, this.#sizes.headDim);
  }

  /**
   * A copy of the values.
   * @returns {ResultTensor<As>} (B, Hkv, length, Dv)
   */
  values() {
    return this.#cached(true, this.#sizes.valueDim);
  }

  /**
   * Appends keys and values of N tokens.
   * @param {TensorLike} key  (B, Hkv, N, D)
   * @param {TensorLike} value  (B, Hkv, N, Dv)
   * @throws {AttnError} `shape_mismatch`, `out_of_memory`, `disposed`; the cache is then as it was
   */
  append(key, value) {
    const { batch, numKvHeads, headDim, valueDim } = this.#sizes;
    checkTensorOf('key', key, [batch, numKvHeads, -1, headDim]);
    checkTensorOf('value', value, [batch, numKvHeads, key.shape[2], valueDim]);
    this.runtime.call((call) => {
      call.number(this.address);
      call.floats('key', key);
      call.floats('value', value);
      call.run(this.runtime.native.appendToCache);
    });
  }

  /**
   * Forgets all tokens from `length` on.
   * @param {number} length
   */
  truncate(length) {
    truncate(this.runtime, this.address, 'truncateCache', length);
  }

  /** Forgets all tokens. */
  clear() {
    this.truncate(0);
  }

  /** @param {number} index */
  #read(index) {
    return this.runtime.call((call) => {
      call.number(this.address);
      call.run(this.runtime.native.readCache);
      return call.given(index);
    });
  }

  /**
   * @param {boolean} values
   * @param {number} width
   */
  #cached(values, width) {
    const { batch, numKvHeads } = this.#sizes;
    const shape = [batch, numKvHeads, this.length, width];
    checkShape('cache', shape);
    return this.runtime.call((call) => {
      call.number(this.address);
      call.flag(values);
      const output = call.result('cache', shape);
      call.run(this.runtime.native.readCached);
      return call.give(output);
    });
  }
}

/** What a stack of layers keeps of past tokens. */
export class DecodingState extends NativeObject {
  #length;
  #truncate;

  /**
   * @param {Runtime} runtime
   * @param {{ remove: Operation, length: Operation, truncate: Operation }} operations
   * @param {number} address
   * @param {number} batch
   * @param {number} memoryLength  of the encoder's output; 0 without one
   */
  constructor(runtime, { remove, length, truncate }, address, batch, memoryLength = 0) {
    super(runtime, remove, address);
    this.#length = length;
    this.#truncate = truncate;
    /** B. @readonly */
    this.batch = batch;
    /** The length of the encoder's output, where there is one. @readonly */
    this.memoryLength = memoryLength;
  }

  /** Tokens decoded so far. */
  get length() {
    return this.runtime.call((call) => {
      call.number(this.address);
      call.run(this.runtime.native[this.#length]);
      return call.given(0);
    });
  }

  /**
   * Forgets all tokens from `length` on.
   * @param {number} length
   */
  truncate(length) {
    truncate(this.runtime, this.address, this.#truncate, length);
  }
}

/**
 * @param {Runtime} runtime
 * @param {number} address
 * @param {Operation} operation
 * @param {number} length
 */
function truncate(runtime, address, operation, length) {
  checkInteger('length', length, 0);
  runtime.call((call) => {
    call.number(address);
    call.number(length);
    call.run(runtime.native[operation]);
  });
}
