// Makes the call stacks of errors start at the line that called attn. Lines inside attn do not help its users, and
// engines keep only ten lines, so the caller's line would often be missing.

import { AttnError } from './errors.js';

/** Prototypes whose methods are already wrapped. @type {WeakSet<object>} */
const done = new WeakSet();

/**
 * Makes an error's call stack start at the caller of `entry`.
 * @param {Function} entry  the function that the caller called
 * @param {unknown} error
 */
export function startAtCallerOf(entry, error) {
  // Not every engine has captureStackTrace().
  if (error instanceof AttnError) Error.captureStackTrace?.(error, entry);
  return error;
}

/**
 * @template {Function | undefined} F
 * @param {F} method
 * @returns {F}
 */
function pointingAtCaller(method) {
  if (typeof method !== 'function') return method;
  /** @this {unknown} @param {unknown[]} args */
  function entry(...args) {
    try {
      return /** @type {Function} */ (method).apply(this, args);
    } catch (error) {
      throw startAtCallerOf(entry, error);
    }
  }
  const { name, length } = method;
  Object.defineProperties(entry, { name: { value: name }, length: { value: length } });
  return /** @type {any} */ (entry);
}

/**
 * Makes the call stacks of errors thrown by an object's own methods start at the callers of the methods.
 * @template {object} T
 * @param {T} object
 * @returns {T}
 */
export function pointMethodsAtCallers(object) {
  for (const name of Reflect.ownKeys(object)) {
    const member = /** @type {PropertyDescriptor} */ (
      Object.getOwnPropertyDescriptor(object, name)
    );
    const { value, get, set, configurable } = member;
    if (name === 'constructor' || !configurable) continue;
    const methods =
      get || set
        ? { get: pointingAtCaller(get), set: pointingAtCaller(set) }
        : { value: pointingAtCaller(value) };
    Object.defineProperty(object, name, methods);
  }
  return object;
}

/**
 * Makes the call stacks of errors thrown by the methods of a class and its base classes start at the callers
 * of the methods.
 * @param {Function} Class
 */
export function pointAtCallers({ prototype }) {
  for (
    let at = prototype;
    at !== Object.prototype && !done.has(at);
    at = Object.getPrototypeOf(at)
  ) {
    done.add(at);
    pointMethodsAtCallers(at);
  }
}
