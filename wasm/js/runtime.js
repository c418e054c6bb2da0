import { Memory } from './memory.js';
import { NativeCall } from './nativeCall.js';

/** @import { MainModule } from './native.js' */
/** @import { NativeHandle } from './nativeObject.js' */
/** @import { ResultKind } from './tensorHandle.js' */

/**
 * Members of the Emscripten module that are not bindings.
 * @typedef {object} NativeModule
 * @property {WebAssembly.Memory} wasmMemory
 * @property {Promise<void>} [pthreadPoolReady]  fulfilled when the worker threads are ready
 */

/** @typedef {NativeModule & MainModule} Native */

/**
 * Ends the threads of modules that were dropped without dispose(). Workers live until they are terminated, and keep
 * the module's memory alive.
 * @type {FinalizationRegistry<readonly Pick<Worker, 'terminate'>[]>}
 */
const dropped = new FinalizationRegistry((workers) => {
  for (const worker of workers) worker.terminate();
});

/** One loaded module. All calls to the core go through it. */
export class Runtime {
  /**
   * @param {Native} native
   * @param {readonly Pick<Worker, 'terminate'>[]} workers  the worker threads
   * @param {Runtime} [other]  a runtime of the same module
   * @param {ResultKind} [as]  the form in which results are returned
   */
  constructor(native, workers, other, as = 'array') {
    this.as = as;
    this.memory = other?.memory ?? new Memory(native, workers);
    // The Memory is garbage-collected only when nothing uses the module any more.
    if (!other && workers.length > 0) dropped.register(this.memory, workers);
    /**
     * Deletes the native objects that were dropped without dispose().
     * @type {FinalizationRegistry<NativeHandle>}
     */
    this.dropped = new FinalizationRegistry((native) => {
      try {
        this.delete(native);
      } catch {
        // A finalizer has no caller. If an error here stopped the module, the next call reports it.
      }
    });
  }

  /** Creates a runtime of the same module. Its calls return results as handles. */
  withHandles() {
    return new Runtime(this.native, [], this, 'handle');
  }

  /** @throws {AttnError} `disposed` */
  get native() {
    return this.memory.native;
  }

  /** True after `dispose()` was called on this runtime or on another runtime of the same module. */
  get disposed() {
    return this.memory.disposed;
  }

  /** Ends the module: stops its threads and frees its memory. A second call does nothing. */
  dispose() {
    if (!this.disposed) this.memory.dispose();
  }

  /**
   * Deletes a C++ object. Does nothing after the module has ended, because the module's objects no
   * longer exist then.
   * @param {NativeHandle} native
   */
  delete(native) {
    if (!this.disposed) this.memory.enter(() => native.delete());
  }

  /**
   * Makes one call to C++. `body` checks the arguments, calls C++ and returns the results.
   * @template T
   * @param {(call: NativeCall) => T} body
   * @param {ResultKind} [as]  the form in which results are returned
   * @returns {T}
   */
  invoke(body, as = this.as) {
    if (this.disposed) throw this.memory.disposedError();
    const call = new NativeCall(this.memory, as);
    try {
      return body(call);
    } finally {
      call.end();
    }
  }
}
