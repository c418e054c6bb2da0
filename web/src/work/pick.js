/**
 * Copies some properties of an object into a new object.
 * @template {object} T
 * @template {keyof T} K
 * @param {T} object
 * @param {readonly K[]} names
 */
export const pick = (object, names) =>
  /** @type {Pick<T, K>} */ (Object.fromEntries(names.map((name) => [name, object[name]])));
