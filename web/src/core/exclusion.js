/**
 * The keys that a query may not attend to: later keys; keys further away than the window (0: no
 * limit); keys starting at the valid length (0: none); and single cells, where row and column are
 * query and key.
 * @typedef {object} Masks
 * @property {boolean} causal
 * @property {number} window
 * @property {number} validLen
 * @property {{ row: number, column: number }[]} blocked
 */

/** @type {Masks} */
export const noMasks = { causal: false, window: 0, validLen: 0, blocked: [] };

/**
 * Converts the masks in the settings to options of the core.
 * @param {Masks} masks
 * @param {number} length length of the sentence
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
 * The keys that each query may not attend to, as runs `begin … end − 1` in row `row`.
 * @param {Masks} masks
 * @param {number} length length of the sentence
 */
export function excludedRuns({ causal, window, validLen, blocked }, length) {
  /** @type {{ row: number, begin: number, end: number }[]} */
  const runs = [];
  const keys = validLen ? Math.min(validLen, length) : length;
  for (let row = 0; row < length; row++) {
    const begin = window ? Math.max(0, row - window) : 0;
    const end = Math.min(
      keys,
      causal ? row + 1 : length,
      window ? Math.min(length, row + window + 1) : length,
    );
    if (begin >= end) {
      runs.push({ row, begin: 0, end: length });
    } else {
      if (begin > 0) runs.push({ row, begin: 0, end: begin });
      if (end < length) runs.push({ row, begin: end, end: length });
    }
  }
  for (const { row, column } of blocked) {
    if (row < length && column < length) runs.push({ row, begin: column, end: column + 1 });
  }
  return runs;
}

/**
 * True if the masks exclude anything in a sentence of this length.
 * @param {Masks} masks
 * @param {number} length
 */
export const isMasked = (masks, length) => excludedRuns(masks, length).length > 0;

/**
 * Returns why a query may not attend to a key. Null if it may.
 * @param {Masks} masks
 * @param {number} query
 * @param {number} key
 */
export function exclusionReason({ causal, window, validLen, blocked }, query, key) {
  if (causal && key > query) return 'later';
  if (window && Math.abs(key - query) > window) return 'window';
  if (validLen && key >= validLen) return 'length';
  const painted = blocked.some(({ row, column }) => row === query && column === key);
  return painted ? 'blocked' : null;
}
