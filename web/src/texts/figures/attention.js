/** The texts of drawings of attention weights. The custom elements contain them, too. */

export const query = 'query →';
export const key = 'key';
export const weight = 'attention weight';
/** The weight of one query and one key. */
export const attends = '{query} attends to {key} with weight {value}';
/** Why a query may not attend to a key. */
export const excluded = {
  later: '{query} may not look at {key}, which comes later: {value}',
  window: '{query} may not look at {key}, which is outside the window: {value}',
  length: '{query} may not look at {key}, which is beyond the valid length: {value}',
  blocked: '{query} may not look at {key}, which was excluded by hand: {value}',
};
export const heads = 'head';
export const columns = ['head', 'entropy, bits', 'mean distance', 'largest weight'];
/** @param {number} head @param {Record<'entropy' | 'distance' | 'largest', string>} statistics */
export const head = (head, { entropy, distance, largest }) =>
  `head ${head + 1}: entropy ${entropy} bits, mean distance ${distance}, largest weight ${largest}`;
export const logarithmic = 'small maps: weights on a logarithmic scale';

/** Text shown in the page's figure. */

export const title = 'What each token looks at';
/** @param {number} queries @param {number} keys */
export const pending = (queries, keys) =>
  `Attention weights, ${queries} queries by ${keys} keys, not computed yet.`;
/** @param {{ head: number, heads: number, queries: number, keys: number, entropy: string, distance: string }} of */
export const summary = ({ head, heads, queries, keys, entropy, distance }) =>
  `Attention weights of head ${head + 1} of ${heads}, ${queries} queries by ${keys} keys. Averages: entropy ${entropy} bits, distance ${distance} tokens.`;
export const paint = 'Drag over cells, or press Enter, to exclude them.';
/** @param {number} head @param {number} queries @param {number} keys */
export const label = (head, queries, keys) =>
  `Attention weights of head ${head + 1}, ${queries} queries by ${keys} keys`;
