/** @typedef {import('../../model/language/languageModel.js').Habit} Habit */

/**
 * What heads of a language model learn to do: what such a head does, and what was measured of it.
 * @type {Record<Habit, { does: string, offer: string, measured: (share: string) => string }>}
 */
export const habits = {
  previousToken: {
    does: 'has learned to look at the word just before',
    offer: 'looks at the word just before',
    measured: (share) =>
      `Over passages that were kept from it, ${share} of its attention went there.`,
  },
  firstToken: {
    does: 'has learned to look at the first word, where a head rests that finds nothing',
    offer: 'looks at the first word',
    measured: (share) =>
      `Over passages that were kept from it, ${share} of its attention went there.`,
  },
  sameToken: {
    does: 'has learned to look at the same word before',
    offer: 'looks at the same word before',
    measured: (share) =>
      `In passages that were kept from it, wherever a word came again, ${share} of its attention went to where it stood before.`,
  },
  induction: {
    does: 'has learned to look at what followed the same word last time',
    offer: 'looks at what followed the same word last time',
    measured: (share) =>
      `Over random words that come again, ${share} of its attention went there: it can repeat what it has just read.`,
  },
  itself: {
    does: 'has learned to look at its own word',
    offer: 'looks at its own word',
    measured: (share) =>
      `Over passages that were kept from it, ${share} of its attention stayed there.`,
  },
};

export const texts = {
  untrained: 'Nothing here is trained: words look at each other because they are spelt alike.',
  random: 'Nothing here is trained: projections are random, and what a word looks at is chance.',
  nameless: 'does nothing that has a name here: it is one of those that mix.',
  ask: (/** @type {string} */ size) =>
    `A small language model that attn trained on novels shows what attention learns. It is fetched only if you want it (${size}).`,
  fetch: 'Fetch it',
};
