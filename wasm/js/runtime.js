import { Memory } from './memory.js';
import { NativeCall } from './nativeCall.js';

/** @import { MainModule } from './native.js' */
/** @import { NativeHandle } from './nativeObject.js' */
/** @import { ResultKind } from './tensorHandle.js' */

/**
 * What the module offers besides its bindings.
 * @typedef {object} NativeModule
 * @property {WebAssembly.Memory} wasmMemory
 * @property {Promise<void>} [pthreadPoolReady]  the workers that threads run on
 */

/** @typedef {NativeModule & MainModule} Native */

/**
 * Ends the threads of modules that were dropped without dispose(): workers live until they are ended, and keep the
 * module's memory.
 * @type {FinalizationRegistry<readonly Pick<Worker, 'terminate'>[]>}
 */
const dropped = new FinalizationRegistry((workers) => {
  for (const worker of workers) worker.terminate();
});

/** One loaded module: what all concepts call the core through. */
export class Runtime {
  /**
   * @param {Native} native
   * @param {readonly Pick<Worker, 'terminate'>[]} workers  that threads run on
   * @param {Runtime} [other]  of the same module
   * @param {ResultKind} [as]  what results become
   */
  constructor(native, workers, other, as = 'array') {
    this.as = as;
    this.memory = other?.memory ?? new Memory(native, workers);
    // Everything that uses the module holds on to its memory.
    if (!other && workers.length > 0) dropped.register(this.memory, workers);
    /**
     * Deletes the native objects that were dropped without dispose().
     * @type {FinalizationRegistry<NativeHandle>}
     */
    this.dropped = new FinalizationRegistry((native) => {
      try {
        this.delete(native);
      } catch {
        // Nobody called this. If it has stopped the module, the next call says so.
      }
    });
  }

  /** The same module, with results that are handles. */
  withHandles() {
    return new Runtime(this.native, [], this, 'handle');
  }

  /** @throws {AttnError} `disposed` */
  get native() {
    return this.memory.native;
  }

  /** Whether `dispose()` was called, here or of a runtime of the same module. */
  get disposed() {
    return this.memory.disposed;
  }

  /** Ends the module, with its threads and its memory. A second call does nothing. */
  dispose() {
    if (!this.disposed) this.memory.dispose();
  }

  /**
   * Deletes an object of C++. What the module had is gone with it.
   * @param {NativeHandle} native
   */
  delete(native) {
    if (!this.disposed) this.memory.enter(() => native.delete());
  }

  /**
   * Makes one call of C++: `body` checks arguments, places them, calls and takes the results.
   * @template T
   * @param {(call: NativeCall) => T} body
   * @param {ResultKind} [as]  what results become
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
