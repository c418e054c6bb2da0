// How objects print: by what they are and a few facts, not by all that they hold.

/** What Node's console asks objects for. */
export const kInspect = Symbol.for('nodejs.util.inspect.custom');

/**
 * Makes the objects of a class print as their toJSON() says: `MultiHeadAttention { dModel: 100 }`.
 * @param {{ toJSON(): { type: string } }} prototype
 */
export function printsBriefly(prototype) {
  Object.defineProperty(prototype, kInspect, { value: inspected });
}

/**
 * @this {{ toJSON(): { type: string } }}
 * @param {number} depth
 * @param {object} options
 * @param {(value: unknown, options: object) => string} inspect
 */
export function inspected(depth, options, inspect) {
  const { type, ...facts } = this.toJSON();
  const text = inspect(facts, options);
  return text === '{}' ? type : `${type} ${text}`;
}

/**
 * Options without the numbers of arrays and tensors among them.
 * @param {any} value
 * @returns {any}
 */
export function brief(value) {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value) || ArrayBuffer.isView(value))
    return `${value.constructor.name}(${/** @type {any} */ (value).length})`;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, brief(part)]));
}
