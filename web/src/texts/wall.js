import { percent } from '../drawing/numbers.js';

/** @typedef {import('../models/wall/patterns.js').Pattern} Pattern */
/** @typedef {import('../models/wall/wall.js').Sentence} Sentence */

/** @param {Sentence} sentence */
const all = ({ length }) => `This is the mean over tokens 2 to ${length - 1}.`;

/** @param {Sentence} sentence */
const again = ({ again: count, causal, part }) =>
  [
    part === 'cross'
      ? `The mean over the target’s tokens that also occur in the source (${count}).`
      : count === 1
        ? `Measured at the only token here that also occurs ${causal ? 'earlier' : 'elsewhere'}.`
        : `The mean over the ${count} tokens of this sentence that also occur ${causal ? 'earlier' : 'elsewhere'}.`,
    ...(count < 8 ? ['So few tokens say little about a head.'] : []),
  ].join(' ');

const twoTexts = 'is not measured, because queries and keys belong to two texts';

/**
 * The measures of heads: a name, a description of the share of attention, and the tokens over which it
 * is measured.
 * @type {Record<Pattern, {
 *   name: string,
 *   says: (sentence: Pick<Sentence, 'causal' | 'part'>) => string,
 *   over: (sentence: Sentence) => string,
 * }>}
 */
export const measures = {
  previousToken: {
    name: 'previous token',
    says: ({ part }) => (part === 'cross' ? twoTexts : 'goes to the previous token'),
    over: all,
  },
  firstToken: {
    name: 'first token',
    says: ({ part }) =>
      `goes to the first token${part === 'cross' ? ' of the source' : ''}, where a head rests if it finds nothing`,
    over: all,
  },
  sameToken: {
    name: 'same token',
    says: ({ causal, part }) =>
      part === 'cross'
        ? 'goes to the same token in the source'
        : `goes to ${causal ? 'earlier' : 'other'} copies of the same token`,
    over: again,
  },
  induction: {
    name: 'what followed',
    says: ({ causal, part }) =>
      part === 'cross'
        ? 'goes to what follows the same token in the source'
        : `goes to what followed the same token ${causal ? 'last time' : 'elsewhere'} (induction)`,
    over: again,
  },
  place: {
    name: 'position alone',
    says: ({ part }) =>
      part === 'cross'
        ? twoTexts
        : 'stays at the same positions when the words are put in reverse order, and so depends on positions alone (each key counts with the smaller of its two weights)',
    over: all,
  },
};

export const texts = {
  title: 'Every head of every layer',
  lead: 'You need not guess what a head looks at. It can be measured for all heads at once. Each small picture shows the weights W of one head over your sentence. Sort the heads by what they do. Open one to see it in the picture above. The measures overlap: the previous token may also be the first token.',
  /** @param {{ layers: number, heads: number, selected: string }} of */
  summary: ({ layers, heads, selected }) =>
    `${layers} layers of ${heads} heads. Selected: ${selected}.`,
  click: 'a click silences a head',
  /** The mark on a silenced head. */
  off: '×',
  order: 'sorted by',
  byLayer: 'layer',
  byEffect: 'effect on the next token',
  /** @param {string} label */
  effect: (label) =>
    `The number under a head is the change in the log-probability of “${label}”, the next token, if only this head is silenced. The largest change comes first. This order has no program, but the program of “Which heads matter here?” silences the heads that you choose there.`,
  effectOf: (/** @type {string} */ change) =>
    `change in the log-probability if it is silenced: ${change}`,
  exportedEffects: ['head', 'change of log-probability'],
  /**
   * The three kinds of attention in a model with an encoder and a decoder.
   * @type {Record<import('../core/sentence.js').PartName, { name: string, title: string }>}
   */
  parts: {
    encoder: { name: 'Encoder', title: 'Encoder: the source looks at itself' },
    decoder: { name: 'Decoder', title: 'Decoder: the target looks at itself' },
    cross: {
      name: 'Cross attention',
      title: 'Cross attention: the target (rows) looks at the source (columns)',
    },
  },
  layer: (/** @type {number} */ layer) => `Layer ${layer + 1}`,
  head: (/** @type {number} */ layer, /** @type {number} */ head) =>
    `Layer ${layer + 1}, head ${head + 1}`,
  /** @param {string} part @param {number} layer @param {number} head */
  headOf: (part, layer, head) => `${part}, layer ${layer + 1}, head ${head + 1}`,
  evenly: (/** @type {number} */ share) =>
    `If attention were spread evenly, it would be ${percent(share)}.`,
  /** Explains why a share has no value. @param {Pattern} order @param {Sentence} sentence */
  noneOf: (order, { part, queries }) => {
    if (part === 'cross' && (order === 'previousToken' || order === 'place')) {
      return 'Cross attention has no such measure: its queries and keys belong to two texts.';
    }
    if (!queries) return 'The text is too short for this measure.';
    return part === 'cross'
      ? 'The target and the source have no token in common, so there is nothing to measure.'
      : 'No token occurs twice in this sentence, so there is nothing to measure.';
  },
  share: ': of its attention',
  first: (/** @type {number} */ length, /** @type {number} */ all) =>
    `This figure reads the first ${length} of ${all} tokens.`,
  coming: (/** @type {number} */ done, /** @type {number} */ all) =>
    `${done} of ${all} layers have been read.`,
  problem: (/** @type {string} */ why) => `The heads could not be computed: ${why}`,
  noProgram:
    'This figure offers no program, because the model has an encoder and a decoder. The figure of a single head offers one.',
  legend: 'weight, logarithmic',
};
