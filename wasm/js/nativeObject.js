/// <reference lib="esnext.disposable" preserve="true" />

import { AttnError, notItself, ofAnotherModule } from './errors.js';
import { printsBriefly } from './print.js';

/** @import { NativeCall } from './nativeCall.js' */
/** @import { Runtime } from './runtime.js' */

/**
 * Returns the module that an object belongs to.
 * @type {(object: NativeObject) => Runtime}
 */
export let runtimeOf;

/**
 * Returns the C++ object that an object wraps.
 * @type {<N extends NativeHandle>(object: NativeObject<N>) => N}
 * @throws {AttnError} `disposed`
 */
export let nativeOf;

/** @type {(object: NativeObject) => boolean} */
let isDisposed;

/**
 * Returns the C++ object that an argument wraps. The argument must belong to the module that is called.
 * @template {NativeHandle} N
 * @param {Pick<Runtime, 'memory'>} module
 * @param {string} name
 * @param {NativeObject<N>} object
 */
export function nativeIn({ memory }, name, object) {
  if (runtimeOf(object).memory !== memory) {
    throw ofAnotherModule(name);
  }
  return nativeOf(object);
}

/**
 * True if `thing` is an instance of a class. Throws if `thing` is a Proxy of an instance, because a
 * Proxy's properties may be anything.
 * @template {NativeObject} T
 * @param {unknown} thing
 * @param {abstract new (...args: any) => T} Class
 * @returns {thing is T}
 */
export const isObjectOf = (thing, Class) => thing instanceof Class && Boolean(runtimeOf(thing));

/**
 * A C++ object as Embind exposes it.
 * @typedef {{ delete(): void }} NativeHandle
 */

/**
 * An object in WebAssembly memory. `dispose()` and `using` free the memory; otherwise it is freed
 * when the object is garbage-collected. Each class has a static `name` for error messages, because
 * minifiers rename classes but keep static members.
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
   * @param {NativeObject} [owner]  the object that contains this object and determines its lifetime
   */
  constructor(runtime, native, owner) {
    this.#runtime = runtime;
    this.#native = native;
    this.#owner = owner;
    if (!owner) runtime.dropped.register(this, native, this);
  }

  /**
   * The C++ object.
   * @protected
   * @returns {N}
   * @throws {AttnError} `disposed`
   */
  get native() {
    return nativeOf(this);
  }

  /**
   * True after `dispose()` was called on the object, its owner or its module.
   * @returns {boolean}
   */
  get disposed() {
    return isDisposed(this);
  }

  /** Frees the memory. Afterwards, methods throw `disposed`. A second call does nothing. */
  dispose() {
    if (isDisposed(this)) return;
    const native = /** @type {N} */ (this.#native);
    this.#native = undefined;
    if (this.#owner) return;
    this.#runtime.dropped.unregister(this);
    this.#runtime.delete(native);
  }

  /**
   * Makes one call to C++ through Runtime.invoke().
   * @protected
   * @template T
   * @param {(call: NativeCall) => T} body
   * @returns {T}
   */
  invoke(body) {
    return runtimeOf(this).invoke(body);
  }

  /**
   * Calls C++ with arguments that need no WebAssembly memory, such as numbers.
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
   * Returns what JSON and consoles show for the object: its class and a few properties.
   * @returns {{ type: string }}
   */
  toJSON() {
    const facts = this.disposed ? { disposed: true } : this.facts();
    return { type: this.constructor.name, ...facts };
  }

  /**
   * Returns the properties that describe this object, for printing.
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
