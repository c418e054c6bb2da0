/** Text shown in the figure about shuffled sentences. */

export const title = 'Shuffle before the layer, or after it';
export const rotary = 'rotary positions';
export const sinusoidal = 'sinusoidal positions';
export const without = 'without positions';
export const withPositions = (/** @type {string} */ positions) => `with ${positions}`;
/** Why neither result can change. */
export const pending = 'Not computed yet.';
export const short = 'Shuffling needs at least two tokens.';
export const inOrder =
  'The words are in their original order. Press “Shuffle”, or drag a word to another position.';
/** Announces the maps that appear when the words are shuffled. */
export const maps =
  'Once the order changes, two maps here show how much each number of the output differs.';
/** Explains whether the order of the words matters. */
export const same =
  'Order does not matter: the results differ only by the rounding error of 32-bit floats.';
export const sameHere =
  'Order does not matter here: the results differ only by the rounding error of 32-bit floats.';
export const causal =
  'Order matters even without positions: the causal mask lets a word see only earlier ones.';
export const turned =
  'Order matters: each position turns queries and keys by its own angles, so a moved word meets the other words at different angles.';
export const added =
  'Order matters: each position adds its own encoding to the word there, so a moved word gets a different encoding.';
/** @param {{ causal: boolean, differences: { name: string, largest: string }[], verdict: string }} of */
export const summary = ({ causal, differences, verdict }) =>
  `${causal ? 'With a causal mask' : 'Without masks'}, the results of shuffling before the layer and after it differ ${differences
    .map(({ name, largest }) => `by at most ${largest} ${name}`)
    .join(', ')}. ${verdict}`;
export const hint = 'Each row is a token of the shuffled sentence.';
export const cell = '{token}, column {column}, {name}: {after} − {before} = {value}';
export const legend = 'shuffle(f(X)) − f(shuffle(X))';
export const largest = (/** @type {string} */ name) => `${name}: largest difference`;
export const column = 'column of the output';
/** @param {string} name @param {number} tokens @param {number} columns */
export const label = (name, tokens, columns) =>
  `Differences ${name}, ${tokens} tokens by ${columns} columns`;
/** @param {number} tokens @param {number} columns */
export const size = (tokens, columns) => `${tokens} × ${columns}, at most {largest}`;
export const axis = 'Both differences on a logarithmic axis';
export const order = (/** @type {string[]} */ tokens) =>
  `The tokens in the shuffled order: ${tokens.join(' ')}`;
/** The words that can be moved. */
export const words = 'The words in their new order';
/** @param {{ word: string, token: number, place: number, words: number }} of */
export const word = ({ word, token, place, words }) =>
  `${word}${token}, ${place + 1} of ${words}; arrow keys move it`;
/** @param {{ word: string, place: number, words: number }} of */
export const moved = ({ word, place, words }) => `${word}, now ${place + 1} of ${words}`;
export const more = (/** @type {number} */ words) => `and ${words} more`;
