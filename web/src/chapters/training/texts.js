/**
 * What a choice is called, and what there is to say about it.
 * @typedef {{ short: string, long: string }} ChoiceText
 */

/** @type {Record<import('../../model/training/worlds.js').WorldName, ChoiceText>} */
export const worldTexts = {
  copy: {
    short: 'copy',
    long: 'Ten letters are given, and ten blanks are to repeat them. All blanks look alike: only a position tells a blank which letter is its own, so without positions this cannot be learned.',
  },
  reverse: {
    short: 'reverse',
    long: 'Ten letters are given, and ten blanks are to repeat them from the last to the first. All blanks look alike: only a position tells a blank which letter is its own, so without positions this cannot be learned.',
  },
  sort: {
    short: 'sort',
    long: 'Ten letters are given, and ten blanks are to hold them in alphabetical order. Which letters there are can be seen without positions; which blank holds the first of them cannot.',
  },
  repeat: {
    short: 'repeat',
    long: 'Random letters, in which a run comes again later: its place, its length and the gap vary. Once it has begun to come again, the next letter is the one that followed last time. That needs positions to know what “followed” means, and two layers: the first to see what stood before each letter, the second to find where the same stood before. This is called induction; it comes suddenly.',
  },
  add: {
    short: 'add',
    long: 'Two numbers of two digits, and three blanks for their sum. Which digit is a ten and which is a one is a matter of position: without it, 12 + 34 and 21 + 43 are the same.',
  },
  count: {
    short: 'count',
    long: 'Ten letters of five kinds: at each, how many of its kind are there? Where they stand does not matter, and positions do not help.',
  },
};

/** @type {Record<import('../../model/training/lane.js').Scheme, ChoiceText>} */
export const schemeNames = {
  none: { short: 'none', long: 'no positions' },
  sinusoidal: { short: 'sinusoidal', long: 'sinusoidal positions' },
  learned: { short: 'learned', long: 'a learned table of positions' },
  rotary: { short: 'rotary', long: 'rotary positions' },
  alibi: { short: 'ALiBi', long: 'ALiBi' },
  t5: { short: 'T5', long: 'T5’s bias' },
  shaw: { short: 'Shaw', long: 'Shaw’s relative positions' },
};
