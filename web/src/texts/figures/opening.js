/** Text shown in the figure at the beginning of the page. */

export const title = 'Your words, and what they look at';
/** @param {{ drawn: number, tokens: number, head: number }} of */
export const summary = ({ drawn, tokens, head }) =>
  `${drawn} of the sentence’s ${tokens} tokens, each with the first columns of its positional encoding, and arches to the tokens that head ${head + 1} looks at.`;
export const how = {
  touch: 'Touch a word to read it; tap to lock it.',
  point: 'Point at a word, or focus the stripes and use the arrow keys; click to lock.',
};
/** @param {number} drawn @param {string} tokens */
export const first = (drawn, tokens) => `The first ${drawn} of ${tokens} tokens are drawn.`;
/** Sentences about the selected word. */
export const looks = '{word} looks at {keys}.';
export const column = 'Column {row} of its positional encoding: {value}';
export const none = 'No position is added: {value}';
export const arches =
  'Each arch is thick at the word that looks and thin at the word it looks at. A dot shows that a word looks at itself.';
export const strongest =
  'The largest weight (how much one word looks at another, from 0 to 1) is {weight}, from {query} to {key}. Until you point at a word, the arches of all words except {query} are faint.';
export const causal = 'A mask hides later words, so all arches lead back to earlier words.';
export const whyCausal = 'Chapter 2 explains why.';
export const why = 'Chapter 2 explains where the weights come from.';
export const learned = (/** @type {number} */ columns) =>
  `The stripes under a word show its position: the first ${columns} columns of that position’s row in the table that the model has learned.`;
/** @param {number} clocks drawn @param {number} all clocks of the encoding */
export const clocks = (clocks, all) => {
  const some = all > clocks ? ` The first ${clocks} are drawn.` : '';
  return `The stripes under a word show its position. Think of ${all} clocks that move on at every word, each more slowly than the one above. Each clock takes two stripes: the sine and the cosine of its hand.${some}`;
};
export const turns = 'sine and cosine of the angle of each hand';
export const adds = 'what a position adds to its word';
/** @param {number} columns @param {number} positions */
export const label = (columns, positions) =>
  `Positional encoding, ${columns} columns by ${positions} positions`;
export const nothing = 'no position is added';
