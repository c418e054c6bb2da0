// Makes the call stacks of errors start at the line that called attn. Lines inside attn do not help its users, and
// engines keep only ten lines, so the caller's line would often be missing.

import { AttnError } from './errors.js';

/** Prototypes that pointAtCallers() has already changed. @type {WeakSet<object>} */
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
 * Wraps an object's own methods. If a method throws an error, the error's call stack then starts at
 * the method's caller.
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
 * Wraps the methods of a class and its base classes. If a method throws an error, the error's call
 * stack then starts at the method's caller.
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
