import { pointAtCallers } from './callers.js';
import { checkOptions, choice, like, natural, size } from './checks.js';
import { checkInteger, invalid } from './errors.js';
import { isObjectOf, NativeObject, nativeOf, runtimeOf } from './nativeObject.js';
import { checkShapeIs } from './shape.js';

/** @import * as Native from './native.js' */
/** @import { NativeHandle } from './nativeObject.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { ElementsLike } from './elementType.js' */
/** @import { ResultKind, ResultTensor, TensorHandle } from './tensorHandle.js' */

/**
 * @typedef {object} KeyValueCacheOptions
 * @property {number} [batch]  B; 1 by default
 * @property {number} numKvHeads  Hkv
 * @property {number} headDim  D, width of keys
 * @property {number} [valueDim]  Dv; `headDim` by default
 * @property {number} [capacity]  initial capacity in tokens; it doubles when new tokens do not fit
 * @property {CacheType} [type]  how numbers are stored; `float32` by default
 */

/**
 * Type of the numbers in a cache: four bytes, two bytes, or one byte with a scale for each token
 * and head. Smaller types also reduce the data that decoding reads.
 * @typedef {'float32' | 'float16' | 'bfloat16' | 'int8'} CacheType
 */

/**
 * @typedef {object} CapacityOption
 * @property {number} [capacity]  initial capacity in tokens; 0 by default
 * @property {CacheType} [type]  how numbers are stored; `float32` by default
 */

/** The sizes of a cache that a layer makes. @typedef {Required<Omit<KeyValueCacheOptions, 'capacity'>>} CacheSizes */

/** @typedef {Native.TransformerDecoderLayerState | Native.TransformerDecoderState} NativeDecodingState */

/**
 * Base class of the states that decoding keeps for past tokens.
 * @template {Native.KeyValueCache | Native.LayerCaches | NativeDecodingState} N
 * @extends {NativeObject<N>}
 */
class State extends NativeObject {
  /**
   * Number of past tokens.
   * @returns {number}
   */
  get length() {
    return this.enter((native) => native.length());
  }

  /**
   * Removes all tokens from position `length` onwards.
   * @param {number} length
   */
  truncate(length) {
    this.enter((native) => {
      checkInteger('length', length, 0);
      native.truncate(length);
    });
  }
}

const kCapacity = {
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
 * Keys and values of past tokens, for decoding token by token. Layers make their own caches (see
 * `MultiHeadAttention.makeCache()`). To use a cache with `scaledDotProductAttention`, construct it yourself.
 * @template {ResultKind} [As='array']
 * @extends {State<Native.KeyValueCache>}
 */
export class KeyValueCache extends State {
  /** @internal */
  static name = 'KeyValueCache';

  #sizes;

  /**
   * @param {Runtime} runtime
   * @param {KeyValueCacheOptions} options
   * @param {Native.KeyValueCache} [native]  the C++ cache if a layer created it; `options` then
   *   contains all sizes
   */
  constructor(runtime, options, native) {
    const sizes = native ? options : checkOptions(options, kOptions);
    const { batch, numKvHeads, headDim, valueDim, capacity } = sizes;
    const type = /** @type {CacheType} */ (sizes.type);
    const make = (/** @type {Native.MainModule} */ { KeyValueCache, ElementType }) =>
      new KeyValueCache(batch, numKvHeads, headDim, valueDim, capacity, ElementType[type]);
    super(runtime, native ?? runtime.memory.enter(make));
    this.#sizes = Object.freeze(/** @type {CacheSizes} */ (sizes));
  }

  /** The sizes B, Hkv, D and Dv, and the type of the stored numbers. @internal */
  get sizes() {
    runtimeOf(this);
    return this.#sizes;
  }

  /** Type of the stored numbers. */
  get type() {
    return this.#sizes.type;
  }

  /** Number of tokens that fit before the cache has to grow. */
  get capacity() {
    return this.enter((native) => native.capacity());
  }

  /**
   * Returns a copy of the keys, as float32.
   * @returns {ResultTensor<As>} (B, Hkv, length, D)
   */
  keys() {
    return this.#read('readKeys', this.#sizes.headDim);
  }

  /**
   * Returns a copy of the values, as float32.
   * @returns {ResultTensor<As>} (B, Hkv, length, Dv)
   */
  values() {
    return this.#read('readValues', this.#sizes.valueDim);
  }

  /** @protected */
  facts() {
    const { type, ...sizes } = this.#sizes;
    return { ...sizes, elementType: type, length: this.length };
  }

  /**
   * Appends the keys and values of N tokens. Keys and values may have any element type.
   * @param {ElementsLike | TensorHandle} key  (B, Hkv, N, D)
   * @param {ElementsLike | TensorHandle} value  (B, Hkv, N, Dv)
   * @throws {AttnError} `shape_mismatch`, `out_of_memory`, `disposed`; the cache is then unchanged
   */
  append(key, value) {
    const { batch, numKvHeads, headDim, valueDim } = this.#sizes;
    this.invoke((call) => {
      const keys = call.elements('key', key);
      checkShapeIs('key', keys.shape, [batch, numKvHeads, -1, headDim]);
      const values = call.elements('value', value);
      checkShapeIs('value', values.shape, [batch, numKvHeads, keys.shape[2], valueDim]);
      call.run(() => this.native.append(keys.native, values.native));
    });
  }

  /** Forgets all tokens. */
  clear() {
    this.truncate(0);
  }

  /**
   * @param {'readKeys' | 'readValues'} read
   * @param {number} width
   */
  #read(read, width) {
    const { batch, numKvHeads } = this.#sizes;
    return this.invoke((call) => {
      const output = call.result('output', [batch, numKvHeads, this.length, width]);
      call.run(() => this.native[read](output.tensor.native));
      return call.give(output);
    });
  }
}

/**
 * The caches of a stack, one for each layer.
 * @extends {State<Native.LayerCaches>}
 */
export class LayerCaches extends State {
  /** @internal */
  static name = 'LayerCaches';

  static {
    pointAtCallers(this);
  }

  #batch;

  /**
   * @param {Runtime} runtime
   * @param {Native.LayerCaches} native
   * @param {number} batch
   */
  constructor(runtime, native, batch) {
    super(runtime, native);
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

/**
 * A decoder's state: its past tokens and the encoder's output.
 * @extends {State<NativeDecodingState>}
 */
export class DecodingState extends State {
  /** @internal */
  static name = 'DecodingState';

  static {
    pointAtCallers(this);
  }

  #kind;

  /**
   * @param {Runtime} runtime
   * @param {NativeDecodingState} native
   * @param {string} kind  name of the state in errors
   * @param {number} batch
   * @param {number} memoryLength
   */
  constructor(runtime, native, kind, batch, memoryLength) {
    super(runtime, native);
    this.#kind = kind;
    /** B. @readonly */
    this.batch = batch;
    /** The length of the encoder's output. @readonly */
    this.memoryLength = memoryLength;
  }

  /** Name of the state in errors. @internal */
  get kind() {
    return this.#kind;
  }

  /** @protected */
  facts() {
    const { batch, length, memoryLength } = this;
    return { batch, length, memoryLength };
  }
}

/**
 * Returns the number of past tokens. Reading the number calls C++, so read it before another call
 * to C++ begins.
 * @param {LayerCaches} [caches]
 */
export function lengthOfCaches(caches) {
  if (caches === undefined) return 0;
  if (isObjectOf(caches, LayerCaches)) return caches.length;
  throw invalid('caches', caches, 'caches from makeCaches()');
}

/** @typedef {{ makeCache(batch: number, capacity: number, type: any): Native.KeyValueCache | null }} MakesCache */
/** @typedef {{ makeCaches(batch: number, capacity: number, type: any): Native.LayerCaches | null }} MakesCaches */

/**
 * Makes an empty cache for a layer.
 * @param {NativeObject<MakesCache & NativeHandle>} layer
 * @param {{ numKvHeads: number, headDim: number }} sizes
 * @param {number} batch
 * @param {CapacityOption} options
 * @returns {KeyValueCache<any>}
 */
export function makeCache(layer, { numKvHeads, headDim }, batch, options) {
  const runtime = runtimeOf(layer);
  checkInteger('batch', batch, 1);
  const { capacity, type } = checkCapacity(options);
  const native = runtime.memory.enter(({ ElementType }) =>
    nativeOf(layer).makeCache(batch, capacity, ElementType[type]),
  );
  const whole = { batch, numKvHeads, headDim, valueDim: headDim, type };
  return new KeyValueCache(runtime, whole, /** @type {Native.KeyValueCache} */ (native));
}

/**
 * Makes an empty cache for each layer of a stack or a model.
 * @param {NativeObject<MakesCaches & NativeHandle>} stack
 * @param {number} batch
 * @param {CapacityOption} options
 */
export function makeCaches(stack, batch, options) {
  const runtime = runtimeOf(stack);
  checkInteger('batch', batch, 1);
  const { capacity, type } = checkCapacity(options);
  const native = runtime.memory.enter(({ ElementType }) =>
    nativeOf(stack).makeCaches(batch, capacity, ElementType[type]),
  );
  return new LayerCaches(runtime, /** @type {Native.LayerCaches} */ (native), batch);
}

/**
 * @param {CapacityOption} options
 * @returns {{ capacity: number, type: CacheType }}
 */
export const checkCapacity = (options) => checkOptions(options, kCapacity);
