/** Labels and captions of the figure “From the sentence to the weights”. */

export const title = 'From the sentence to the weights';
/** @param {{ tokens: number, encodes: boolean, head: number }} of */
export const summary = ({ tokens, encodes, head }) =>
  encodes
    ? `The embeddings of ${tokens} tokens, plus their positional encoding, and the weights of head ${head + 1} that follow from them.`
    : `The embeddings of ${tokens} tokens and the weights of head ${head + 1} that follow from them.`;
export const hint = 'Each row is a token.';
/** The selected number. */
export const cell = '{token}, column {column}: {value}';
export const sum = '{token}, column {column}: {x} + {p} = {value}';
export const reads = '{token}, column {column}: the embedding is {x}, and the layer reads {value}';
export const embeddings = 'embeddings';
export const encoding = 'positional encoding';
export const off = 'switched off';
export const input = 'input';
export const head = (/** @type {number} */ head) => `head ${head + 1}`;
export const embeddingsAndInput = 'embeddings and input';
/** Titles of a legend that several matrices share. */
export const two = 'X and X + P';
export const three = 'X, P and X + P';
/** @param {number} rows @param {number} columns */
export const embeddingsLabel = (rows, columns) =>
  `Embeddings, ${rows} tokens by ${columns} columns`;
/** @param {number} rows @param {number} columns */
export const encodingLabel = (rows, columns) =>
  `Positional encoding, ${rows} positions by ${columns} columns`;
/** @param {number} rows @param {number} columns */
export const inputLabel = (rows, columns) =>
  `Input of the layer, ${rows} tokens by ${columns} columns`;
