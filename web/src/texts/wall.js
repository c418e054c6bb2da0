import { percent } from '../drawing/numbers.js';

/** @typedef {import('../models/wall/patterns.js').Pattern} Pattern */
/** @typedef {import('../models/wall/wall.js').Sentence} Sentence */

/** @param {Sentence} sentence */
const all = ({ length }) => `This is the mean over tokens 2 to ${length - 1}.`;

/** @param {Sentence} sentence */
const again = ({ again: count, causal }) =>
  [
    count === 1
      ? `Measured at the only token here that also occurs ${causal ? 'earlier' : 'elsewhere'}.`
      : `The mean over the ${count} tokens of this sentence that also occur ${causal ? 'earlier' : 'elsewhere'}.`,
    ...(count < 8 ? ['So few tokens say little about a head.'] : []),
  ].join(' ');

/**
 * The measures of heads: a name, a description of the share of attention, and the tokens over which it
 * is measured.
 * @type {Record<Pattern, {
 *   name: string,
 *   says: (sentence: Pick<Sentence, 'causal'>) => string,
 *   over: (sentence: Sentence) => string,
 * }>}
 */
export const measures = {
  previousToken: { name: 'previous token', says: () => 'goes to the previous token', over: all },
  firstToken: {
    name: 'first token',
    says: () => 'goes to the first token, where a head rests if it finds nothing',
    over: all,
  },
  sameToken: {
    name: 'same token',
    says: ({ causal }) => `goes to ${causal ? 'earlier' : 'other'} copies of the same token`,
    over: again,
  },
  induction: {
    name: 'what followed',
    says: ({ causal }) =>
      `goes to what followed the same token ${causal ? 'last time' : 'elsewhere'} (induction)`,
    over: again,
  },
  place: {
    name: 'position alone',
    says: () =>
      'stays at the same positions when the words are put in reverse order, and so depends on positions alone (each key counts with the smaller of its two weights)',
    over: all,
  },
};

export const texts = {
  title: 'Every head of every layer',
  lead: 'You need not guess what a head looks at. It can be measured for all heads at once. Each small picture shows the weights W of one head over your sentence. Sort the heads by what they do. Open one to see it in the picture above. The measures overlap: the previous token may also be the first token.',
  /** @param {{ layers: number, heads: number, selected: string }} of */
  summary: ({ layers, heads, selected }) =>
    `${layers} layers of ${heads} heads. Selected: ${selected}.`,
  order: 'sorted by',
  byLayer: 'layer',
  layer: (/** @type {number} */ layer) => `Layer ${layer + 1}`,
  head: (/** @type {number} */ layer, /** @type {number} */ head) =>
    `Layer ${layer + 1}, head ${head + 1}`,
  evenly: (/** @type {number} */ share) =>
    `If attention were spread evenly, it would be ${percent(share)}.`,
  none: {
    again: 'No token occurs twice in this sentence, so there is nothing to measure.',
    short: 'The sentence is too short for this measure.',
  },
  share: ': of its attention',
  first: (/** @type {number} */ length, /** @type {number} */ all) =>
    `This figure reads the first ${length} of ${all} tokens.`,
  coming: (/** @type {number} */ done, /** @type {number} */ all) =>
    `${done} of ${all} layers have been read.`,
  problem: (/** @type {string} */ why) => `The heads could not be computed: ${why}`,
  legend: 'weight, logarithmic',
};
