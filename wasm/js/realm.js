// Recognises values of other realms, such as a frame, a vm context or jsdom. `instanceof` knows
// only this realm's classes. The getters of built-in classes recognise instances from all realms,
// and reject objects that only look like one.

/**
 * @typedef {object} Classes
 * @property {ArrayBuffer} ArrayBuffer
 * @property {Uint8Array<any>} Uint8Array
 * @property {Uint16Array<any>} Uint16Array
 * @property {Map<any, any>} Map
 * @property {Response} Response
 * @property {URL} URL
 * @property {AbortSignal} AbortSignal
 * @property {Blob} Blob
 * @property {File} File
 */

/** @param {object} prototype @param {PropertyKey} name @returns {(this: unknown) => any} */
const getterOf = (prototype, name) =>
  /** @type {any} */ (Object.getOwnPropertyDescriptor(prototype, name)).get;

const kTypedArray = Object.getPrototypeOf(Uint8Array.prototype);
const nameOfTypedArray = getterOf(kTypedArray, Symbol.toStringTag);
const lengthOfTypedArray = getterOf(kTypedArray, 'length');

/**
 * Returns the class name of a typed array, or undefined for anything else.
 * @param {unknown} value
 * @returns {string | undefined}
 */
export const typedArrayName = (value) => nameOfTypedArray.call(value);

/**
 * Returns the bytes of a buffer or of a view, or undefined for anything else.
 * @param {unknown} value
 * @returns {Uint8Array | undefined}
 */
export function bytesOf(value) {
  if (isA(value, 'Uint8Array')) return value;
  if (!isA(value, 'ArrayBuffer')) return undefined;
  // A detached buffer has no bytes and cannot have views.
  return value.byteLength === 0 ? new Uint8Array() : new Uint8Array(value);
}

/**
 * Returns the real length of a typed array, even if an own property `length` hides it.
 * @param {ArrayLike<unknown>} array
 * @returns {number}
 */
export const typedArrayLength = (array) => lengthOfTypedArray.call(array);

/** Classes whose instances can be recognised only by their tag (`Symbol.toStringTag`). */
const kTagged = ['Response', 'URL', 'AbortSignal', 'Blob', 'File'];

/** @type {Partial<Record<keyof Classes, (this: unknown) => unknown>>} */
const kGetters = {
  ArrayBuffer: getterOf(ArrayBuffer.prototype, 'byteLength'),
  Map: getterOf(Map.prototype, 'size'),
};

/**
 * True if `value` is an instance of a built-in class from any realm.
 * @template {keyof Classes} Name
 * @param {unknown} value
 * @param {Name} name
 * @returns {value is Classes[Name]}
 */
export function isA(value, name) {
  if (typedArrayName(value)) return typedArrayName(value) === name;
  if (Object.prototype.toString.call(value) !== `[object ${name}]`) return false;
  try {
    kGetters[name]?.call(value);
    return name in kGetters || kTagged.includes(name);
  } catch {
    return false;
  }
}

/** Base URL for relative addresses, or undefined in a frame created from a string (`srcdoc`). */
export const baseAddress = () => globalThis.document?.baseURI ?? globalThis.location?.href;

/** Text encoder and decoder: Node's classes if the realm lacks them, as in jsdom. */
export const { TextDecoder, TextEncoder } = /** @type {typeof globalThis} */ (
  'TextEncoder' in globalThis ? globalThis : globalThis.process.getBuiltinModule('node:util')
);
