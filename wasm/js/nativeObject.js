import { AttnError } from './errors.js';

/** @import { Call } from './call.js' */
/** @import { Operation, Runtime } from './runtime.js' */

/**
 * An object that lives in WebAssembly memory, which is freed by `dispose()`, by `using`, or at last
 * when the object is garbage-collected.
 */
export class NativeObject {
  /** @protected */
  runtime;
  #address;
  #remove;
  #owner;

  /**
   * @param {Runtime} runtime
   * @param {Operation} remove  the operation that deletes it
   * @param {number} address
   * @param {NativeObject} [owner]  of an object that is part of another one, and lives as long
   */
  constructor(runtime, remove, address, owner) {
    this.runtime = runtime;
    this.#address = address;
    this.#remove = remove;
    this.#owner = owner;
    if (!owner) runtime.dropped.register(this, removal(runtime, remove, address), this);
  }

  /** Whether `dispose()` was called. */
  get disposed() {
    return this.#address === 0;
  }

  /** Frees the memory. Methods throw `disposed` from then on; a second call does nothing. */
  dispose() {
    if (this.#address === 0) return;
    const address = this.#address;
    this.#address = 0;
    if (this.#owner) return;
    this.runtime.dropped.unregister(this);
    removal(this.runtime, this.#remove, address)();
  }

  [Symbol.dispose]() {
    this.dispose();
  }

  /**
   * @internal where the core finds it
   * @returns {number}
   */
  get address() {
    if (this.#address !== 0 && !this.#owner?.disposed) return this.#address;
    throw new AttnError('disposed', `${this.constructor.name}: used after dispose()`);
  }
}

/**
 * @param {Runtime} runtime
 * @param {Operation} operation
 * @param {number} address
 */
function removal(runtime, operation, address) {
  return () =>
    runtime.call((call) => {
      call.number(address);
      call.run(runtime.native[operation]);
    });
}

/**
 * Makes a native object.
 * @param {Runtime} runtime
 * @param {Operation} operation  gives its address
 * @param {(call: Call) => void} writeOptions
 * @returns {number}
 */
export function make(runtime, operation, writeOptions) {
  return runtime.call((call) => {
    writeOptions(call);
    call.run(runtime.native[operation]);
    return call.given(0);
  });
}
