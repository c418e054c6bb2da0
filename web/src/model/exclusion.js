/**
 * The masks of the settings as options of the core.
 * @param {{ causal: boolean, window: number, validLen: number,
 *   blocked: { row: number, column: number }[] }} masks
 * @param {number} length of the sentence
 * @returns {import('attn').ExclusionOptions}
 */
export function exclusionOf({ causal, window, validLen, blocked }, length) {
  /** @type {import('attn').ExclusionOptions} */
  const options = {};
  if (causal) options.causal = true;
  if (window) options.window = { left: window, right: window };
  if (validLen) options.validLens = [Math.min(validLen, length)];
  const inside = blocked.filter(({ row, column }) => row < length && column < length);
  if (inside.length) {
    const data = new Uint8Array(length * length).fill(1);
    for (const { row, column } of inside) data[row * length + column] = 0;
    options.mask = { data, shape: [length, length] };
  }
  return options;
}

/**
 * Whether a query may look at a key.
 * @param {{ causal: boolean, window: number, validLen: number,
 *   blocked: { row: number, column: number }[] }} masks
 * @param {number} query
 * @param {number} key
 */
export function mayAttend({ causal, window, validLen, blocked }, query, key) {
  return !(
    (causal && key > query) ||
    (window && Math.abs(key - query) > window) ||
    (validLen && key >= validLen) ||
    blocked.some(({ row, column }) => row === query && column === key)
  );
}
