// Values of another realm, such as a frame, a vm context or jsdom: `instanceof` knows only this realm's classes.

/**
 * @typedef {object} Classes
 * @property {ArrayBuffer} ArrayBuffer
 * @property {Uint8Array<any>} Uint8Array
 * @property {Uint16Array<any>} Uint16Array
 * @property {Map<any, any>} Map
 * @property {Response} Response
 */

/**
 * True if `value` is an instance of a built-in class, of whichever realm.
 * @template {keyof Classes} Name
 * @param {unknown} value
 * @param {Name} name
 * @returns {value is Classes[Name]}
 */
export const isA = (value, name) => Object.prototype.toString.call(value) === `[object ${name}]`;
