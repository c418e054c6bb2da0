// Prints an object's class and a few of its properties instead of its whole contents.

/** The method that Node's console calls to print an object. */
export const kInspect = Symbol.for('nodejs.util.inspect.custom');

/**
 * Makes the objects of a class print the result of toJSON(), for example `MultiHeadAttention {
 * dModel: 100 }`.
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
 * Returns options with arrays and typed arrays shortened to their class and length.
 * @param {any} value
 * @returns {any}
 */
export function brief(value) {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value) || ArrayBuffer.isView(value))
    return `${value.constructor.name}(${/** @type {any} */ (value).length})`;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, brief(part)]));
}
