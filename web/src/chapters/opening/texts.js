/** @typedef {import('../../models/language/languageModel.js').Habit} Habit */

/**
 * What heads of a language model learn to do: what such a head does, and what was measured of it.
 * @type {Record<Habit, { does: string, offer: string, measured: (share: string) => string }>}
 */
export const habits = {
  previousToken: {
    does: 'has learned to look at the word just before.',
    offer: 'looks at the word just before',
    measured: (share) =>
      `In passages that it had not learned from, ${share} of its attention went there.`,
  },
  firstToken: {
    does: 'has learned to look at the first word, where a head rests that finds nothing.',
    offer: 'looks at the first word',
    measured: (share) =>
      `In passages that it had not learned from, ${share} of its attention went there.`,
  },
  sameToken: {
    does: 'has learned to look at the same word before.',
    offer: 'looks at the same word before',
    measured: (share) =>
      `In passages that it had not learned from, wherever a word came again, ${share} of its attention went to where it stood before.`,
  },
  induction: {
    does: 'has learned to look at what followed the same word last time.',
    offer: 'looks at what followed the same word last time',
    measured: (share) =>
      `Tested on random words that were repeated, ${share} of its attention went there: so the model can repeat what it has just read.`,
  },
  itself: {
    does: 'has learned to look at its own word.',
    offer: 'looks at its own word',
    measured: (share) =>
      `In passages that it had not learned from, ${share} of its attention stayed there.`,
  },
};

export const texts = {
  untrained: 'Nothing has been learned: words look at each other because they are spelt alike.',
  random: 'Nothing has been learned: what a word looks at is chance.',
  nameless: 'does nothing that has a name here: it is one of those that mix.',
  model: (/** @type {number} */ layers, /** @type {number} */ heads) =>
    `A small language model has learned from novels. It reads your sentence in ${layers} layers, one after the other; in each, ${heads} heads look at the words, each in its own way.`,
  unmasked: 'Without its mask, as now, the model does what it never learned.',
  /** @param {number} heads */
  heads: (heads) => `of ${heads} that look at your words side by side, each in its own way.`,
  teaches: 'A small language model that attn trained on novels shows what attention learns.',
  ask: (/** @type {string} */ size) => `It is fetched only if you want it (${size}).`,
  fetch: 'Fetch it',
  take: 'Look at it',
};
