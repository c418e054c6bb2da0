/** @typedef {import('../models/language/languageModel.js').Habit} Habit */

/**
 * Habits of a language model's heads, and the measurements that show them.
 * @type {Record<Habit, { does: string, offer: string, measured: (share: string) => string }>}
 */
export const habits = {
  previousToken: {
    does: 'has learned to look at the previous word.',
    offer: 'looks at the previous word',
    measured: (share) =>
      `In passages that the model had not read before, ${share} of this head’s attention went to the previous word.`,
  },
  firstToken: {
    does: 'has learned to look at the first word, where a head rests if it finds nothing.',
    offer: 'looks at the first word',
    measured: (share) =>
      `In passages that the model had not read before, ${share} of this head’s attention went to the first word.`,
  },
  sameToken: {
    does: 'has learned to look at earlier copies of the same word.',
    offer: 'looks at earlier copies of the same word',
    measured: (share) =>
      `In passages that the model had not read before, ${share} of this head’s attention went from a repeated word to its earlier copies.`,
  },
  induction: {
    does: 'has learned to look at what followed the same word last time.',
    offer: 'looks at what followed the same word last time',
    measured: (share) =>
      `In a test with repeated random words, ${share} of this head’s attention went to what had followed the word last time. A new word has no match, so its attention rests on the first word or is spread.`,
  },
  itself: {
    does: 'has learned to look at its own word.',
    offer: 'looks at its own word',
    measured: (share) =>
      `In passages that the model had not read before, ${share} of this head’s attention stayed with the word itself.`,
  },
};

export const texts = {
  toWeights: 'Show these weights',
  toWhy: 'Which word comes next, and why?',
  untrained: 'Nothing has been learned. Words look at each other because they are spelt alike.',
  random: 'Nothing has been learned. What a word looks at is left to chance.',
  nameless:
    'does nothing that this page has a name for: none of the named habits gets even a quarter of its attention.',
  model: (/** @type {number} */ layers, /** @type {number} */ heads) =>
    `A small language model reads your sentence in ${layers} layers, one after the other. In each layer ${heads} heads look at the words, each in its own way.`,
  unmasked:
    'The model was trained with a mask, which is now off, so it is doing something it never learned.',
  /** @param {number} heads */
  heads: (heads) =>
    `of ${heads}. All heads look at your words at the same time, each in its own way.`,
  teaches:
    'This small language model shows what attention learns. attn trained it on novels, the Bible and examples from a dictionary.',
  ask: (/** @type {string} */ size) => `The model is downloaded only if you ask for it (${size}).`,
  fetch: 'Fetch it',
  take: 'Look at it',
};

/** Names of heads. */
export const heads = {
  /** @param {number} head */
  head: (head) => `Head ${head + 1}`,
  /** @param {number} layer @param {number} head */
  ofLayer: (layer, head) => `Layer ${layer + 1}, head ${head + 1}`,
  /** @param {{ layer: number, head: number, share: string }} offered */
  offer: ({ layer, head, share }) => `Layer ${layer + 1}, head ${head + 1}: ${share}`,
};
