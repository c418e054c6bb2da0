/** Text shown in the figure about a decoder's cache. */

export const title = 'A causal decoder and its cache';
export const hint = 'Each row is a token.';
/** @param {{ token: string, step: number, last: number, difference: string }} of */
export const summary = ({ token, step, last, difference }) =>
  `The token “${token}” at position ${step} is new; the last position is ${last}. Its query is compared with ${step + 1} keys, ${step} read from the cache and 1 computed. The output so far differs from the output of a single pass over all tokens by at most ${difference}.`;
export const empty = 'No tokens, so nothing to decode.';
export const nothing = 'Nothing to look at yet. Type a word or two above.';
/** Titles next to the symbols of the matrices. */
export const query = (/** @type {string} */ token) => `query of “${token}”, the new token`;
export const keys = 'keys';
export const weights = 'attention weights';
export const values = 'values';
export const output = 'output of the block';
export const queryLabel = (/** @type {number} */ columns) =>
  `Query of the new token, 1 by ${columns} columns`;
/** @type {Record<'k' | 'w' | 'v' | 'y', (tokens: number, columns: number) => string>} */
export const labels = {
  k: (tokens, columns) => `Cache of keys, ${tokens} tokens by ${columns} columns`,
  w: (tokens, heads) => `Attention weights of the new token, ${tokens} tokens by ${heads} heads`,
  v: (tokens, columns) => `Cache of values, ${tokens} tokens by ${columns} columns`,
  y: (tokens, columns) => `Output, ${tokens} tokens by ${columns} columns`,
};
export const computed = 'computed in this step';
export const read = 'read from the cache';
export const done = 'output of an earlier step';
export const later = 'not yet known';
export const difference = 'largest difference from a single pass over all tokens';
/** @param {string} numbers @param {number} rows */
export const compared = (numbers, rows) =>
  `of ${numbers} numbers in ${rows} ${rows === 1 ? 'row' : 'rows'}`;
export const rows = 'rows of {K} and {V} computed so far';
export const without = (/** @type {string} */ rows) => `${rows} without a cache`;
export const holds = 'the cache holds';
export const bytes = (/** @type {string} */ bytes) => `numbers (${bytes} bytes) in each block`;
/** The selected number. */
export const cell = {
  w: '{token}, head {column}: attention weight {value}',
  q: '{token}, query, column {column}: {value}',
  k: '{token}, key, column {column}: {value}',
  v: '{token}, value, column {column}: {value}',
  y: '{token}, output, column {column}: {value}',
};
/** Notes on a part of the cache. */
export const now = 'Computed in this step and put into the cache.';
export const past = 'Computed when the token was added. Now it is read from the cache.';
export const scale = 'values';
export const player = {
  back: 'Back',
  play: 'Play',
  pause: 'Pause',
  step: 'Step',
  token: 'token',
  /** @param {string} token @param {number} step @param {number} last */
  at: (token, step, last) => `${token}, position ${step}; the last position is ${last}`,
  none: 'none',
};
export const work = {
  label:
    'Rows computed at each step. With a cache: one row. Without a cache: one row for each token so far.',
  new: 'computed at each step',
  again: 'computed again without a cache',
};
