/** Text shown in the figure about a Transformer block. */

export const title = 'One block, taken apart';
const forms = {
  normsOutputs: 'One block that normalises each output before adding it',
  parallel: 'One pre-norm block with attention and feed-forward network in parallel',
  pre: 'One pre-norm block',
  post: 'One post-norm block',
};
/** @param {{ form: keyof typeof forms, matrices: number, tokens: number, heads: number }} of */
export const summary = ({ form, matrices, tokens, heads }) =>
  `${forms[form]}, taken apart into ${matrices} matrices for ${tokens} tokens: attention with ${heads} heads and a feed-forward network, each with a sum and a normalisation.`;
export const empty = 'No tokens, so no matrices.';
export const nothing = 'Nothing to look at yet. Type a word or two above.';
export const hint =
  'Each row is a token. Choose a cell: the cells from which it was computed keep their colour.';
/** The selected number. */
export const weight = '{matrix}: {query} attends to {key} with weight {value}';
/** A weight that the mask sets to 0. */
export const hidden =
  '{matrix}: {key} is hidden from {query} by the mask, so the weight is {value}';
export const cell = '{matrix}: {token}, column {column}: {value}';
/** @param {string} matrix @param {number} rows @param {number} columns */
export const label = (matrix, rows, columns) => `${matrix}, ${rows} by ${columns}`;
export const values = 'values';
export const weights = 'attention weights';

/**
 * Names of the activation functions in the equations.
 * @type {Record<import('attn').Activation, string>}
 */
export const activationNames = {
  ...{ relu: 'ReLU', gelu: 'GELU', geluTanh: 'GELU', silu: 'SiLU' },
  ...{ tanh: 'tanh', sigmoid: 'sigmoid' },
};
