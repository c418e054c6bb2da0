// Messages between a page and its worker. Data is copied once and then transferred. Objects of attn's
// classes stay where they are, and a reference is sent instead.

import { isA } from './realm.js';

/**
 * Values of the key `attn` in messages. The page asks whether the worker serves attn, and the
 * worker confirms that it does.
 */
export const kWhoServes = 'who serves?';
export const kServing = 'serving';

/** The key that marks a packed reference. */
const kReference = '$attn';

/**
 * Reference to an object, used in messages between a page and its worker.
 * @typedef {object} Reference
 * @property {number} id
 * @property {number} [type]  number of the object's class; omitted when the object belongs to the
 *   receiving side
 * @property {Members} [members]  members of the class, sent with the first object of the class
 */

/**
 * The public members of a class.
 * @typedef {object} Members
 * @property {string} type  the name of the class
 * @property {string[]} functions  methods and inner classes
 * @property {string[]} values  everything else
 * @property {Record<string, string[]>} groups  functions that are grouped under a name
 */

/**
 * @typedef {object} Packing
 * @property {(value: object) => Reference | undefined} refer  returns the reference to send instead of
 *   an object, or undefined to send the object itself
 * @property {(buffer: ArrayBuffer, byteLength: number) => boolean} moves  true if a buffer may be
 *   moved instead of copied; `byteLength` is the number of bytes that the value uses
 */

/**
 * Copies `value` for sending, so that the original may change before the copy is sent. An object
 * that occurs twice in `value` arrives as one object.
 * @param {unknown} value
 * @param {Packing} packing
 * @returns {{ message: any, buffers: ArrayBuffer[] }} the copy and the buffers to transfer
 */
export function pack(value, { refer, moves }) {
  /** @type {Map<object, unknown>} */
  const packed = new Map();
  /** @type {Set<ArrayBuffer>} */
  const buffers = new Set();

  /** @param {ArrayBufferLike} buffer @param {number} start @param {number} length */
  const copy = (buffer, start, length) => {
    // The buffer may be detached.
    if (length === 0) return new ArrayBuffer(0);
    const bytes = new Uint8Array(new Uint8Array(buffer, start, length));
    buffers.add(bytes.buffer);
    return bytes.buffer;
  };
  /** @param {object} value */
  const packData = (value) => {
    if (isA(value, 'ArrayBuffer')) {
      if (!moves(value, value.byteLength)) return copy(value, 0, value.byteLength);
      buffers.add(value);
      return value;
    }
    if (ArrayBuffer.isView(value)) {
      const { buffer, byteOffset, byteLength } = value;
      if (!(isA(buffer, 'ArrayBuffer') && moves(buffer, byteLength))) {
        return new (constructorOf(value))(copy(buffer, byteOffset, byteLength));
      }
      buffers.add(buffer);
      return value;
    }
    return value;
  };
  /** @param {unknown} value @returns {unknown} */
  const visit = (value) => {
    if (typeof value !== 'object' || value === null) return value;
    if (packed.has(value)) return packed.get(value);
    const reference = refer(value);
    if (reference || !isPlain(value)) {
      const data = reference ? { [kReference]: reference } : packData(value);
      packed.set(value, data);
      return data;
    }
    /** @type {any} */
    const copies = isA(value, 'Map') ? new Map() : Array.isArray(value) ? [] : {};
    packed.set(value, copies);
    if (isA(value, 'Map')) for (const [key, item] of value) copies.set(key, visit(item));
    else if (Array.isArray(value)) for (const item of value) copies.push(visit(item));
    else for (const [key, item] of Object.entries(value)) copies[key] = visit(item);
    return copies;
  };
  const message = visit(value);
  return { message, buffers: [...buffers] };
}

/**
 * Replaces references with objects.
 * @param {any} message  from `pack`; modified in place
 * @param {(reference: Reference) => unknown} find
 * @returns {any}
 */
export function unpack(message, find) {
  const seen = new Map();
  /** @param {any} value @returns {any} */
  const visit = (value) => {
    if (typeof value !== 'object' || value === null || !isPlain(value)) return value;
    if (seen.has(value)) return seen.get(value);
    const reference = value[kReference];
    seen.set(value, reference ? find(reference) : value);
    if (reference) return seen.get(value);
    if (isA(value, 'Map')) value.forEach((item, key) => value.set(key, visit(item)));
    else if (Array.isArray(value)) value.forEach((item, i) => (value[i] = visit(item)));
    else for (const [key, item] of Object.entries(value)) value[key] = visit(item);
    return value;
  };
  return visit(message);
}

/**
 * True if `value` consists only of its entries: an array, a Map or an object without a class.
 * @param {object} value
 */
function isPlain(value) {
  if (Array.isArray(value) || isA(value, 'Map')) return true;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/**
 * Returns the built-in constructor of a view. The view's `constructor` property may be a subclass:
 * Node's Buffer is a subclass of Uint8Array.
 * @param {ArrayBufferView} view
 * @returns {new (buffer: ArrayBuffer) => ArrayBufferView}
 */
function constructorOf(view) {
  const name = Object.prototype.toString.call(view).slice('[object '.length, -1);
  return /** @type {any} */ (globalThis)[name];
}
