/// <reference lib="esnext.disposable" preserve="true" />

import { AttnError, notItself } from './errors.js';
import { Kind } from './kind.js';
import { printsBriefly } from './print.js';

/** @import { Call } from './call.js' */
/** @import { Operation, Runtime } from './runtime.js' */

/**
 * The module that an object belongs to.
 * @type {(object: NativeObject) => Runtime}
 */
export let runtimeOf;

/**
 * Returns the address of an object in the memory of the module.
 * @type {(object: NativeObject) => number}
 * @throws {AttnError} `disposed`
 */
export let addressOf;

/** @type {(object: NativeObject) => boolean} */
let isDisposed;

/**
 * True if `thing` is an object of a class. A Proxy of such an object is an error, because its properties may be
 * anything.
 * @template {NativeObject} T
 * @param {unknown} thing
 * @param {abstract new (...args: any) => T} Class
 * @returns {thing is T}
 */
export const isObjectOf = (thing, Class) => thing instanceof Class && Boolean(runtimeOf(thing));

/**
 * An object that lives in WebAssembly memory, which is freed by `dispose()`, by `using`, or at last
 * when the object is garbage-collected. Classes name themselves, for errors and for operations that are
 * called after them: minifiers change the names of classes, but not of what is static.
 */
export class NativeObject {
  #runtime;
  #address;
  #remove;
  #owner;

  /**
   * @param {Runtime} runtime
   * @param {Operation} operation  deletes it
   * @param {number} address
   * @param {NativeObject} [owner]  of an object that is part of another one, and lives as long
   */
  constructor(runtime, operation, address, owner) {
    this.#runtime = runtime;
    this.#address = address;
    this.#owner = owner;
    this.#remove = removal(runtime, operation, address);
    if (!owner) runtime.dropped.register(this, this.#remove, this);
  }

  /**
   * Whether `dispose()` was called: of the object, of what it is part of, or of its module.
   * @returns {boolean}
   */
  get disposed() {
    return isDisposed(this);
  }

  /** Frees the memory. Methods throw `disposed` from then on; a second call does nothing. */
  dispose() {
    if (isDisposed(this)) return;
    this.#address = 0;
    if (this.#owner) return;
    this.#runtime.dropped.unregister(this);
    this.#remove();
  }

  /**
   * Makes a call of the core whose first argument is the object.
   * @protected
   * @template T
   * @param {(call: Call) => T} body
   * @returns {T}
   */
  call(body) {
    return runtimeOf(this).call((call) => {
      call.address(this);
      return body(call);
    });
  }

  /**
   * Runs an operation on the object that gives a number, or nothing.
   * @protected
   * @param {Operation} operation
   * @param {(call: Call) => void} [write]
   */
  ask(operation, write) {
    return runtimeOf(this).ask(operation, (call) => {
      call.address(this);
      write?.(call);
    });
  }

  /**
   * Runs an operation on the object that has one result.
   * @protected
   * @param {Operation} operation
   * @param {(call: Call) => readonly number[]} writeInputs  gives the shape of the result
   * @param {(call: Call) => void} [writeFurther]
   */
  map(operation, writeInputs, writeFurther) {
    const write = (/** @type {Call} */ call) => {
      call.address(this);
      return writeInputs(call);
    };
    return runtimeOf(this).map(operation, write, writeFurther);
  }

  [Symbol.dispose]() {
    this.dispose();
  }

  /**
   * What prints in place of the object: its class and a few facts.
   * @returns {{ type: string }}
   */
  toJSON() {
    const facts = this.disposed ? { disposed: true } : this.facts();
    return { type: this.constructor.name, ...facts };
  }

  /**
   * What tells the object from others of its class.
   * @protected
   * @returns {object}
   */
  facts() {
    return {};
  }

  static {
    runtimeOf = (object) => {
      if (#runtime in object) return object.#runtime;
      throw notItself(/** @type {any} */ (object).constructor.name);
    };
    addressOf = (object) => {
      if (!isDisposed(object)) return object.#address;
      throw new AttnError('disposed', `${object.constructor.name}: used after dispose()`);
    };
    isDisposed = (object) =>
      runtimeOf(object).disposed ||
      object.#address === 0 ||
      (object.#owner !== undefined && isDisposed(object.#owner));
    printsBriefly(this.prototype);
  }
}

/**
 * @param {Runtime} runtime
 * @param {Operation} operation
 * @param {number} address
 */
function removal(runtime, operation, address) {
  return () => {
    if (!runtime.disposed) runtime.ask(operation, (call) => call.put(Kind.address, address));
  };
}
