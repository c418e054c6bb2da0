/** Text shown in the figure that follows every number through a layer. */

export const title = 'Through the layer, number by number';
/** @param {number} head @param {number} tokens */
export const summary = (head, tokens) =>
  `Head ${head + 1}: queries, keys and values of ${tokens} tokens, their scores before and after scaling and masking, the weights, and the output that results.`;
export const hint = 'Choose a number to see how it was computed.';
/** Names of the matrices. */
export const names = {
  x: 'Input',
  memory: 'Output of the encoder',
  q: 'Queries',
  k: 'Keys',
  v: 'Values',
  scores: 'Scores',
  scaled: 'Scaled scores',
  capped: 'Capped scores',
  masked: 'Masked scores',
  weights: 'Weights after softmax',
  head: 'Output of the head',
  output: 'Output of the layer',
};
/** @param {string} name @param {number} rows @param {number} columns */
export const label = (name, rows, columns) => `${name}, ${rows} by ${columns}`;
/** Titles of the pictures, next to their symbols. */
export const input = 'input';
export const memory = 'output of the encoder';
/** @param {string[]} treated what is done to the queries, such as a rotation */
export const queries = (treated) => ['queries', ...treated].join(', ');
/** @param {string[]} treated */
export const keys = (treated) => ['keys', ...treated].join(', ');
export const values = 'values';
export const normed = 'norm';
export const turned = 'turned';
export const turnedMatrix = (/** @type {string} */ matrix) => `${matrix}, turned`;
/** The title of a picture and of a legend. */
export const scores = 'scores';
export const cap = (/** @type {number} */ softcap) => `cap ${softcap}`;
export const mask = 'mask';
export const biasAndMask = '+ bias, mask';
export const softmax = 'softmax';
export const output = 'output, all heads';
/** Legends. */
export const scaled = 'scaled';
export const weight = 'weight';
/** The selected number, with its calculation. */
export const pair = '{name}: {query} and {key}: {how} {value}';
export const cell = '{name}: {query}, column {column}: {how} {value}';
export const masked = (/** @type {string} */ score) => `${score} is masked:`;
/** @param {string} score @param {string} bias */
export const biased = (score, bias) => `${score} + bias ${bias} =`;
export const example = 'For example, the score of {query} and {key}, with its largest products:';
/** Names of the rows of a calculation. */
export const product = 'product';
export const score = 'score';
export const share = 'share';
export const heads = 'heads';
export const column = 'column';
export const headColumn = 'head: column';
/** @param {number} others @param {string} rest */
export const rest = (others, rest) => `+ ${others} more (${rest})`;
export const bias = (/** @type {string} */ bias) => `+ bias: ${bias}`;
export const others = (/** @type {number} */ others) => `${others} more`;
export const sink = (/** @type {string} */ score) =>
  `and an attention sink with the score ${score}`;
export const total = (/** @type {string} */ total) => `exp / ${total} (the sum of all exp)`;
export const allMasked = 'The whole row is masked, so it has no weights.';
export const largest = (/** @type {string} */ score) =>
  `The largest score of the row, ${score}, is first subtracted from every score, so that no number gets too large. The weights stay the same.`;
export const terms = (/** @type {string} */ name) => `Terms of ${name}`;
