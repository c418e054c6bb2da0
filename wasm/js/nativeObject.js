/// <reference lib="esnext.disposable" preserve="true" />

import { AttnError, invalid, notItself } from './errors.js';
import { printsBriefly } from './print.js';

/** @import { NativeCall } from './nativeCall.js' */
/** @import { Runtime } from './runtime.js' */

/**
 * The module that an object belongs to.
 * @type {(object: NativeObject) => Runtime}
 */
export let runtimeOf;

/**
 * Returns the object of C++ that an object stands for.
 * @type {<N extends NativeHandle>(object: NativeObject<N>) => N}
 * @throws {AttnError} `disposed`
 */
export let nativeOf;

/** @type {(object: NativeObject) => boolean} */
let isDisposed;

/**
 * Returns the object of C++ of an argument, which must be of the module that is called.
 * @template {NativeHandle} N
 * @param {Pick<Runtime, 'memory'>} module
 * @param {string} name
 * @param {NativeObject<N>} object
 */
export function nativeIn({ memory }, name, object) {
  if (runtimeOf(object).memory !== memory) {
    throw invalid(name, object, 'one of the module that is called');
  }
  return nativeOf(object);
}

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
 * An object of C++ as Embind shows it.
 * @typedef {{ delete(): void }} NativeHandle
 */

/**
 * An object that lives in WebAssembly memory, which is freed by `dispose()`, by `using`, or at last
 * when the object is garbage-collected. Classes name themselves for errors: minifiers change the names of classes, but not of what is static.
 *
 * @template {NativeHandle} [N=any]
 */
export class NativeObject {
  #runtime;
  /** @type {N | undefined} */
  #native;
  #owner;

  /**
   * @param {Runtime} runtime
   * @param {N} native
   * @param {NativeObject} [owner]  of an object that is part of another one, and lives as long
   */
  constructor(runtime, native, owner) {
    this.#runtime = runtime;
    this.#native = native;
    this.#owner = owner;
    if (!owner) runtime.dropped.register(this, native, this);
  }

  /**
   * The object of C++.
   * @protected
   * @returns {N}
   * @throws {AttnError} `disposed`
   */
  get native() {
    return nativeOf(this);
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
    const native = /** @type {N} */ (this.#native);
    this.#native = undefined;
    if (this.#owner) return;
    this.#runtime.dropped.unregister(this);
    this.#runtime.delete(native);
  }

  /**
   * Makes a call of C++, as Runtime.invoke().
   * @protected
   * @template T
   * @param {(call: NativeCall) => T} body
   * @returns {T}
   */
  invoke(body) {
    return runtimeOf(this).invoke(body);
  }

  /**
   * Calls C++ with what needs no memory.
   * @protected
   * @template T
   * @param {(native: N) => T} function_
   * @returns {T}
   */
  enter(function_) {
    return runtimeOf(this).memory.enter(() => function_(this.native));
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
    nativeOf = (object) => {
      if (!isDisposed(object)) return /** @type {any} */ (object.#native);
      throw new AttnError('disposed', `${object.constructor.name}: used after dispose()`);
    };
    isDisposed = (object) =>
      runtimeOf(object).disposed ||
      object.#native === undefined ||
      (object.#owner !== undefined && isDisposed(object.#owner));
    printsBriefly(this.prototype);
  }
}
