import { pointAtCallers } from './callers.js';
import { invalid } from './errors.js';
import { isObjectOf, NativeObject, runtimeOf, oldNative } from './nativeObject.js';
import { choice, like, natural, size, writeOptions } from './options.js';
import { checkShapeIs } from './shape.js';

/** @import { Call } from './call.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { ElementsLike } from './elementType.js' */
/** @import { ResultKind, ResultTensor, TensorHandle } from './tensorHandle.js' */

/**
 * @typedef {object} KeyValueCacheOptions
 * @property {number} [batch]  B; 1 by default
 * @property {number} numKvHeads  Hkv
 * @property {number} headDim  D, width of keys
 * @property {number} [valueDim]  Dv; `headDim` by default
 * @property {number} [capacity]  room for so many tokens at first; it doubles when it is used up
 * @property {CacheType} [type]  how numbers are stored; `float32` by default
 */

/**
 * How a cache stores its numbers: in four bytes, in two, or in one, with a scale for each token and
 * head. What decoding reads shrinks with it.
 * @typedef {'float32' | 'float16' | 'bfloat16' | 'int8'} CacheType
 */

/**
 * @typedef {object} CapacityOption
 * @property {number} [capacity]  room for so many tokens at first; 0 by default
 * @property {CacheType} [type]  how numbers are stored; `float32` by default
 */

/** The sizes of a cache that a layer makes. @typedef {Required<Omit<KeyValueCacheOptions, 'capacity'>>} CacheSizes */

/** What is kept of past tokens. */
class State extends NativeObject {
  /**
   * @param {Runtime} runtime
   * @param {number} address
   */
  constructor(runtime, address) {
    super(runtime, oldNative(runtime, 'deleteState', address));
  }

  /** Tokens kept. */
  get length() {
    return this.ask('lengthOfState');
  }

  /**
   * Forgets all tokens from `length` on.
   * @param {number} length
   */
  truncate(length) {
    this.ask('truncateState', (call) => call.integer('length', length, 0));
  }
}

export const kCapacity = {
  capacity: natural(0),
  type: choice(['float32', 'float16', 'bfloat16', 'int8']),
};

const kOptions = {
  batch: size(1),
  numKvHeads: size(),
  headDim: size(),
  valueDim: like('headDim', size()),
  ...kCapacity,
};

/**
 * Keys and values of past tokens, for decoding token by token. Made by the layers that need it, see
 * `MultiHeadAttention.makeCache()`, or by itself for `scaledDotProductAttention`.
 * @template {ResultKind} [As='array']
 */
export class KeyValueCache extends State {
  /** @internal */
  static name = 'KeyValueCache';

  #sizes;

  /**
   * @param {Runtime} runtime
   * @param {KeyValueCacheOptions} options
   * @param {number} [address]  of one that a layer has made, with all sizes given
   */
  constructor(runtime, options, address) {
    let sizes = options;
    const make = (/** @type {Call} */ call) => {
      sizes = writeOptions(call, options, kOptions);
    };
    super(runtime, address ?? runtime.ask('makeCache', make));
    this.#sizes = Object.freeze(/** @type {CacheSizes} */ (sizes));
  }

  /** B, Hkv, D and Dv, and how numbers are stored. @internal */
  get sizes() {
    runtimeOf(this);
    return this.#sizes;
  }

  /** How numbers are stored. */
  get type() {
    return this.#sizes.type;
  }

  /** Tokens that there is room for. */
  get capacity() {
    return this.ask('capacityOfCache');
  }

  /**
   * A copy of the keys, as float32.
   * @returns {ResultTensor<As>} (B, Hkv, length, D)
   */
  keys() {
    return this.#cached(false, this.#sizes.headDim);
  }

  /**
   * A copy of the values, as float32.
   * @returns {ResultTensor<As>} (B, Hkv, length, Dv)
   */
  values() {
    return this.#cached(true, this.#sizes.valueDim);
  }

  /** @protected */
  facts() {
    const { type, ...sizes } = this.#sizes;
    return { ...sizes, elementType: type, length: this.length };
  }

  /**
   * Appends keys and values of N tokens, of any element types.
   * @param {ElementsLike | TensorHandle} key  (B, Hkv, N, D)
   * @param {ElementsLike | TensorHandle} value  (B, Hkv, N, Dv)
   * @throws {AttnError} `shape_mismatch`, `out_of_memory`, `disposed`; the cache is then as it was
   */
  append(key, value) {
    const { batch, numKvHeads, headDim, valueDim } = this.#sizes;
    this.ask('appendToCache', (call) => {
      const keyShape = call.elements('key', key);
      checkShapeIs('key', keyShape, [batch, numKvHeads, -1, headDim]);
      const valueShape = call.elements('value', value);
      checkShapeIs('value', valueShape, [batch, numKvHeads, keyShape[2], valueDim]);
    });
  }

  /** Forgets all tokens. */
  clear() {
    this.truncate(0);
  }

  /**
   * @param {boolean} values
   * @param {number} width
   */
  #cached(values, width) {
    const { batch, numKvHeads } = this.#sizes;
    const shape = [batch, numKvHeads, this.length, width];
    return this.map('readCached', (call) => {
      call.has(values);
      return shape;
    });
  }
}

/** What the layers of a stack keep of past tokens: a cache each. */
export class LayerCaches extends State {
  /** @internal */
  static name = 'LayerCaches';

  static {
    pointAtCallers(this);
  }

  #batch;

  /**
   * @param {Runtime} runtime
   * @param {number} address
   * @param {number} batch
   */
  constructor(runtime, address, batch) {
    super(runtime, address);
    this.#batch = batch;
  }

  /** B. */
  get batch() {
    return this.#batch;
  }

  /** @protected */
  facts() {
    const { batch, length } = this;
    return { batch, length };
  }
}

/** What a decoder keeps of past tokens, and of the encoder's output. */
export class DecodingState extends State {
  /** @internal */
  static name = 'DecodingState';

  static {
    pointAtCallers(this);
  }

  /**
   * @param {Runtime} runtime
   * @param {number} address
   * @param {number} batch
   * @param {number} memoryLength
   */
  constructor(runtime, address, batch, memoryLength) {
    super(runtime, address);
    /** B. @readonly */
    this.batch = batch;
    /** The length of the encoder's output. @readonly */
    this.memoryLength = memoryLength;
  }

  /** @protected */
  facts() {
    const { batch, length, memoryLength } = this;
    return { batch, length, memoryLength };
  }
}

/**
 * Asked for before a call begins, since it is a call of its own.
 * @param {LayerCaches} [caches]
 */
export function lengthOfCaches(caches) {
  if (caches === undefined) return 0;
  if (isObjectOf(caches, LayerCaches)) return caches.length;
  throw invalid('caches', caches, 'what makeCaches() gives');
}

/**
 * The cache that a layer has made.
 * @param {Runtime} runtime
 * @param {{ numKvHeads: number, headDim: number }} layer
 * @param {number} batch
 * @param {number} address
 * @param {CapacityOption} options  with which it was made
 * @returns {KeyValueCache<any>}
 */
export function cacheOf(runtime, { numKvHeads, headDim }, batch, address, { type = 'float32' }) {
  const sizes = { batch, numKvHeads, headDim, valueDim: headDim, type };
  return new KeyValueCache(runtime, sizes, address);
}

/**
 * @param {number} batch
 * @param {CapacityOption} options
 */
export const writeCapacity = (batch, options) => (/** @type {Call} */ call) => {
  call.integer('batch', batch, 1);
  writeOptions(call, options, kCapacity);
};
