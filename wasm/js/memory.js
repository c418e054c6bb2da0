import { argumentError, AttnError, explainedError } from './errors.js';

/** @import { AttnErrorCode } from './errors.js' */
/** @import * as NativeTypes from './native.js' */
/** @import { Native } from './runtime.js' */
/** @import { Block } from './tensorHandle.js' */

/** Tensors start at multiples of a cache line. */
const kAlignment = 64;
/**
 * Scratch memory of up to 16 MiB is kept from call to call. A larger block is freed when the call
 * ends.
 */
const kKeptBytes = 1 << 24;
/** Pointers have 32 bits. */
const kAddressableBytes = 2 ** 32;

/** @typedef {Pick<Memory, 'bytes' | 'halves' | 'ints' | 'floats' | 'doubles'>} Views */

/**
 * The WebAssembly memory of one module: views of it, and a stack of memory for the current call. The
 * stack is kept between calls, so small calls never need malloc.
 *
 * Only this class creates views of the memory. Call reach() before reading or writing, because
 * growing the memory invalidates the views.
 */
export class Memory {
  /** @type {Native | undefined} */
  #native;
  #workers;
  /** The error that closed the module. */
  #end = 'used after dispose()';
  /** @type {{ start: number, size: number }[]} */
  #blocks = [];
  /** Start, size and used bytes of the last block. */
  #start = 0;
  #size = 0;
  #used = 0;
  /** @type {NativeTypes.Tensor[]} */
  #tensors = [];
  /** C++ objects of options, keyed by the name of their class. @type {Record<string, any[]>} */
  #options = {};
  /** The error that C++ reported. @type {{ error?: AttnError }} */
  #reported = {};
  /** Minimum size of the next block. */
  #nextSize = 1 << 16;

  /**
   * @param {Native} native
   * @param {readonly Pick<Worker, 'terminate'>[]} workers  the worker threads
   */
  constructor(native, workers) {
    this.#native = native;
    this.#workers = workers;
    native.setErrorHandler(keepErrorIn(this.#reported));
    this.bytes = new Uint8Array();
    this.halves = new Uint16Array();
    this.ints = new Int32Array();
    this.floats = new Float32Array();
    this.doubles = new Float64Array();
    /**
     * Frees the blocks of handles that were dropped without dispose().
     * @type {FinalizationRegistry<Block>}
     */
    this.droppedHandles = new FinalizationRegistry((block) => {
      try {
        this.release(block);
      } catch {
        // A finalizer has no caller. If an error here stopped the module, the next call reports it.
      }
    });
  }

  /** @throws {AttnError} `disposed` */
  get native() {
    if (!this.#native) throw this.disposedError();
    return this.#native;
  }

  /** Returns the error for a call after the end of the module. */
  disposedError() {
    return new AttnError('disposed', `attn: ${this.#end}`);
  }

  get disposed() {
    return this.#native === undefined;
  }

  /** Ends the module and its threads, and frees its memory. A second call does nothing. */
  dispose() {
    const native = this.#native;
    this.#letGo();
    try {
      native?.endThreads();
    } finally {
      for (const worker of this.#workers) worker.terminate();
    }
  }

  /**
   * Closes the module after a trap. The module's state may be inconsistent, so attn does not use
   * the module again.
   * @param {any} cause  the exception from the module
   * @returns {AttnError} the error to throw instead
   */
  stop(cause) {
    this.#letGo();
    for (const worker of this.#workers) worker.terminate();
    const why = String(cause?.message ?? cause);
    this.#end = `the module stopped after "${why}"; load a new one with load()`;
    return new AttnError('internal', `attn: ${this.#end}`, { cause });
  }

  /**
   * Runs `function_`, which calls C++. If C++ reports an error, further calls to C++ do nothing,
   * and `enter()` throws that error. Otherwise, any exception except an AttnError stops the module.
   * @template T
   * @param {(native: Native) => T} function_
   * @returns {T}
   */
  enter(function_) {
    const { native } = this;
    let result;
    try {
      result = function_(native);
    } catch (cause) {
      // After C++ has reported an error, calls to C++ return undefined instead of objects, so
      // `function_` itself may throw.
      if (!this.#reported.error) throw cause instanceof AttnError ? cause : this.stop(cause);
    }
    const { error } = this.#reported;
    if (!error) return /** @type {T} */ (result);
    this.#reported.error = undefined;
    native.forgetError();
    throw error;
  }

  #letGo() {
    this.#native = undefined;
    this.#blocks = [];
    this.#tensors = [];
    this.#options = {};
    this.#size = this.#used = 0;
    this.bytes = new Uint8Array();
    this.halves = new Uint16Array();
    this.ints = new Int32Array();
    this.floats = new Float32Array();
    this.doubles = new Float64Array();
  }

  /**
   * Ensures that the views cover all memory up to an address.
   * @param {number} end
   */
  reach(end) {
    // When memory grows, existing views become empty, or too short if the memory is shared.
    if (end <= this.bytes.length) return;
    const { buffer } = this.native.wasmMemory;
    this.bytes = new Uint8Array(buffer);
    this.halves = new Uint16Array(buffer);
    this.ints = new Int32Array(buffer);
    this.floats = new Float32Array(buffer);
    this.doubles = new Float64Array(buffer);
  }

  /**
   * Reserves memory until the call ends, and updates the views to include it.
   * @param {string} name  the argument that needs the memory, for the error message
   * @param {number} bytes
   * @returns {number} an address, a multiple of 64
   */
  take(name, bytes) {
    const needed = Math.ceil(bytes / kAlignment) * kAlignment;
    if (needed > this.#size - this.#used) {
      const size = Math.max(needed, this.#nextSize);
      const start = this.allocate(name, bytes, size + kAlignment);
      this.#blocks.push({ start, size });
      this.#start = Math.ceil(start / kAlignment) * kAlignment;
      this.#size = size;
      this.#used = 0;
    }
    const address = this.#start + this.#used;
    this.#used += needed;
    this.reach(address + needed);
    return address;
  }

  /**
   * Allocates memory that stays until it is freed.
   * @param {string} name  the argument that needs the memory, for the error message
   * @param {number} bytes
   * @param {number} [room]  number of bytes to allocate, at least `bytes`; the error message states
   *   `bytes`
   * @returns {number} an address, a multiple of 16
   */
  allocate(name, bytes, room = bytes) {
    const { native } = this;
    let address = 0;
    try {
      if (room < kAddressableBytes) address = native.allocate(room);
    } catch (error) {
      throw this.stop(error);
    }
    if (address) return address;
    throw outOfMemory(name, bytes);
  }

  /**
   * Frees allocated memory. Does nothing after the module has ended, because all of its memory is already
   * free.
   * @param {number} address
   */
  free(address) {
    try {
      this.#native?.release(address);
    } catch (error) {
      throw this.stop(error);
    }
  }

  /**
   * Returns a reusable tensor description for C++. A call uses the descriptions in the order of
   * their indices.
   * @param {number} index
   */
  tensor(index) {
    return (this.#tensors[index] ??= new this.native.Tensor());
  }

  /**
   * Returns a reusable object of C++ options, reset to its defaults.
   * @template {'AttentionOptions' | 'AttentionPoolingOptions' | 'LayerCall' | 'RotaryEmbeddingOptions'} C
   * @param {C} name  name of the class
   * @param {number} index  index among the objects of this class that the call uses, for example in
   *   a decoder
   * @returns {InstanceType<NativeTypes.MainModule[C]>}
   */
  options(name, index) {
    const kept = (this.#options[name] ??= []);
    const options = (kept[index] ??= new this.native[name]());
    options.reset();
    return options;
  }

  /**
   * Decrements a block's handle count. Frees the block when no handles remain.
   * @param {Block} block
   */
  release(block) {
    if (--block.handles === 0) this.free(block.address);
  }

  /**
   * Returns a view of the numbers at an address. The view is valid until the memory grows.
   * @template {keyof Views} V
   * @param {V} type
   * @param {number} address
   * @param {number} length
   * @returns {Views[V]}
   */
  part(type, address, length) {
    const size = this[type].BYTES_PER_ELEMENT;
    this.reach(address + size * length);
    const begin = address / size;
    return /** @type {Views[V]} */ (this[type].subarray(begin, begin + length));
  }

  /**
   * Returns numbers that remain valid when the memory grows. Growth may detach views of the memory, so such a
   * view is copied.
   * @param {keyof Views} type  type of the copy
   * @param {any} numbers  a typed array
   * @returns {any}
   */
  kept(type, numbers) {
    const isHere = numbers.byteOffset > 0 && numbers.buffer === this.native.wasmMemory.buffer;
    return isHere ? new /** @type {any} */ (this[type].constructor)(numbers) : numbers;
  }

  /**
   * Releases the call's memory. A single small block is kept for the next call. Otherwise, all
   * blocks are freed. If their total size is small, the next block is at least that large.
   */
  reset() {
    if (this.#blocks.length > 1 || this.#size > kKeptBytes) {
      let size = 0;
      for (const block of this.#blocks.splice(0)) {
        size += block.size;
        this.free(block.start);
      }
      this.#size = 0;
      if (size <= kKeptBytes) this.#nextSize = size;
    }
    this.#used = 0;
  }
}

/**
 * Returns the function that C++ calls with an error. The module keeps that function alive, and threads keep the
 * module alive. The function must not keep the Memory alive, because a dropped module ends when its Memory is
 * collected.
 * @param {{ error?: AttnError }} reported
 */
const keepErrorIn =
  (reported) =>
  /**
   * @param {AttnErrorCode} [code]  undefined if memory has run out; if it is `internal`, the other
   *   arguments are omitted
   * @param {string} [argument]
   * @param {string} [got]
   * @param {string} [needs]
   */
  (code, argument = '', got = '', needs = '') => {
    if (!code) {
      const sentence =
        'too little is left for this call; dispose of objects, or pass smaller tensors';
      reported.error = explainedError('out_of_memory', 'memory', sentence);
    } else if (code === 'internal') {
      const message = 'attn: unexpected error; please report it with the steps that led here';
      reported.error = new AttnError(code, message);
    } else reported.error = argumentError(code, argument, got, needs);
  };

/**
 * @param {string} name
 * @param {number} bytes
 * @param {unknown} [cause]
 */
export const outOfMemory = (name, bytes, cause) =>
  explainedError('out_of_memory', name, `too little memory for ${bytes} bytes`, { cause });
