import { percent } from '../../drawing/numbers.js';

/** @typedef {import('../../model/wall/patterns.js').Pattern} Pattern */
/** @typedef {import('../../model/wall/wall.js').Sentence} Sentence */

/** @param {number} length */
const from = (length) => `tokens 2 to ${length - 1}`;

/** @param {Sentence} sentence */
const again = ({ again: count, causal }) =>
  `the ${count === 1 ? 'one token' : `${count} tokens`} here that also ${count === 1 ? 'stands' : 'stand'} ${causal ? 'earlier' : 'elsewhere'}`;

/**
 * What heads are measured by: a name, and how it is measured.
 * @type {Record<Pattern, { name: string, measured: (sentence: Sentence) => string }>}
 */
export const measures = {
  previousToken: {
    name: 'previous token',
    measured: ({ length }) =>
      `How much attention goes to the token just before: the mean over ${from(length)}.`,
  },
  firstToken: {
    name: 'first token',
    measured: ({ length }) =>
      `How much attention goes to token 0, where a head rests that finds nothing: the mean over ${from(length)}.`,
  },
  sameToken: {
    name: 'same token',
    measured: (sentence) =>
      `How much attention goes to the same token ${sentence.causal ? 'before' : 'elsewhere'}: the mean over ${again(sentence)}.`,
  },
  induction: {
    name: 'what followed',
    measured: (sentence) =>
      `How much attention goes to what followed the same token ${sentence.causal ? 'last time' : 'elsewhere'} (*induction*): the mean over ${again(sentence)}.`,
  },
  place: {
    name: 'place alone',
    measured: ({ length }) =>
      `How much of the attention stays where it is when the words are put in reverse order, and so depends on places alone: the sum over keys of the smaller of both weights, the mean over ${from(length)}.`,
  },
};

export const texts = {
  title: 'Every head of every layer',
  lead: 'What a head looks at need not be guessed: it can be measured, for all of them at once. Each small picture is W of one head over your sentence. Sort them by what they do: it is said then how that is measured. Open one, and the picture above shows it. The measures overlap: the token just before may also be the first.',
  order: 'sorted by',
  byLayer: 'layer',
  layer: (/** @type {number} */ layer) => `Layer ${layer + 1}`,
  head: (/** @type {number} */ layer, /** @type {number} */ head) =>
    `Layer ${layer + 1}, head ${head + 1}`,
  evenly: (/** @type {number} */ share) => `Spread evenly, it would be ${percent(share)}.`,
  none: {
    again: 'No token stands twice in this sentence: there is nothing to measure.',
    short: 'The sentence is too short to measure that.',
  },
  choose: 'Point at a picture for its numbers; open it to see it large.',
  first: (/** @type {number} */ length, /** @type {number} */ all) =>
    `Of the ${all} tokens, the first ${length} are read here.`,
  coming: (/** @type {number} */ done, /** @type {number} */ all) =>
    `${done} of ${all} layers have been read.`,
  problem: (/** @type {string} */ why) => `The heads could not be computed: ${why}`,
  legend: 'weight, logarithmic',
};
