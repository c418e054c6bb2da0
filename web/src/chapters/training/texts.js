import { schemeTitles } from '../../training/schemes.js';

/** The texts of the chapter on training, between its figures. */
export const texts = {
  question: 'Where do the numbers in the tables come from?',
  lead: [
    'A model begins with random numbers, and learns by being wrong. It is shown an example, and says how probable each answer seems to it. The [loss] says how far off it was: 0 would mean certain and right. Then every one of its numbers is moved a little in the direction that would have made the right answer more probable: against the [gradient] of the loss, as far as the [learning rate] says. That is a [step]; the rule by which it is taken is called [AdamW]. After some hundred of them attention has come to look where the answers are.',
    'Below, two models learn the same from the same examples in the same order, from the same first weights, and differ in one thing only. They run side by side, in lanes A and B, in your browser. The share of right answers is that on *held-out* examples, which neither of them ever learns from.',
  ],
  predict: {
    question:
      'Ten letters are to be written backwards, into ten blanks that all look alike. One model knows positions, the other does not. How far does the second get?',
    choices: {
      slow: {
        says: 'As far, but more slowly',
        reply:
          'Time does not help it. Without positions all ten blanks are one and the same to it, so it must write the same guess into each.',
      },
      guess: {
        says: 'It can only guess',
        reply:
          'So it is. It sees which letters there are, but not which blank it is filling: all ten get the same guess.',
      },
      nothing: {
        says: 'It learns nothing at all',
        reply:
          'It does learn something: to guess letters that occur, and more often those that occur twice. But which blank it is filling it cannot know.',
      },
    },
  },
  /** @param {{ step: number, of: { name: string, what: string, right: number }[] }} now */
  now: ({ step, of: [a, b] }) =>
    `After ${step} steps here, on examples never trained on: lane ${a.name}, ${a.what}, is right in ${a.right} of 100; lane ${b.name}, ${b.what}, in ${b.right}.`,
  /** @param {{ name: string, right: number, blind: number }} of a model without positions */
  guesses: ({ name, right, blind }) =>
    `Lane ${name} is right in ${right} of 100 answers, where blind guessing would be in ${blind}: it sees which letters are there. But all blanks are the same to it, so each gets the same letter, and the best that it can do is the one that occurs most often. Only a position tells a blank which letter is its own.`,
  /** @param {{ size: number, unit: string, name: string, right: number, other: string, others: number }} found */
  misled: ({ size, unit, name, right, other, others }) =>
    `With ${size} ${unit}, lane ${name} is right in ${right} of 100, and lane ${other}, which has no positions, in ${others}: a model that counts on places looks at the wrong ones now, and is worse than one that only guesses.`,
  untrained: 'learned, before its first step',
  press: 'Press Play below, and see.',
  gain: [
    'What are several heads good for? Let two models learn to add: one has four [heads|head], the other has one, four times as wide. So both have as many numbers to learn. Three blanks are for the sum, and each has to look at several digits at once. The one for the tens needs both tens, and both ones as well, because they may carry.',
    'One head has one row of shares for each blank, so it brings home one blend of all that it looks at. Which digit came from where is hard to tell from a blend. Four heads bring four, and each may look at one digit only.',
  ],
  gainLimits:
    'With the table, in eight runs of 1,200 steps from other first weights, one head never came beyond 41 right answers of 100; four heads came to 99 in six of them, and to 70 in two. But with T5’s bias one head came to 95 in three runs of four: it found a blend that is enough, with large shares for the tens and small ones for the ones. And where one look is enough, one head is: it learns to reverse as well as four do.',
  gainPredict: {
    question:
      'The sum of two numbers of two digits has a hundred or none, a ten and a one. Positions are a learned table, and there is one layer. What does one head get right?',
    choices: {
      all: {
        says: 'All three: it has as many numbers to learn with',
        reply:
          'It has as many. But it looks only once, and has to make do with one blend of what it saw.',
      },
      first: {
        says: 'Whether there is a hundred, and little else',
        reply:
          'So it is. A rough blend says whether the digits are large or small, and mostly that tells whether the sum has a hundred. The other two have to be exact.',
      },
      last: {
        says: 'The ones: they depend on two digits only',
        reply:
          'They do, and a blend of these two alone would be enough. Nothing forbids it; but it is not what this head finds.',
      },
    },
  },
  /** @param {{ step: number, scheme: string, of: { name: string, what: string, places: number[] }[] }} now */
  gained: ({ step, scheme, of: [a, b] }) =>
    `After ${step} steps here, with ${scheme}, on sums never trained on, digit by digit: lane ${a.name}, ${a.what}, is right in ${a.places.join(', ')} of 100; lane ${b.name}, ${b.what}, in ${b.places.join(', ')}.`,
  gainTries: {
    lead: 'Let them learn, 600 steps:',
    learned: 'four heads and one, with a table of positions',
    t5: 'the same with T5’s bias',
    press: 'Let them learn, and see.',
  },
  heads:
    'Now one single example. Each small picture is a head: a row for each token that looks, a column for each that is looked at. Before the first step they are smeared; watch the pattern come while the model learns, and choose the clearest head to see it large. What it answers is the symbol to which it gives the largest share: the formula says argmax, and θ for all numbers that are learned.',
  longer: [
    'Is what has been learned a rule, or a habit? That is seen when more is given than ever before. Below, the same models are asked about examples up to four times as long. Who can copy ten letters can copy forty; but nothing has told a model what to do with an eleventh. In the formula the strokes count: right answers, of those asked for.',
    'How places are told apart now decides. Waves and rotations go on beyond the trained length, but with values that the model has never met; rules by distance say the same at every place; and a learned table has no row beyond its last.',
  ],
  table: [
    'A table of positions begins as noise: each place has a row of numbers by chance, and no two are related. Nobody tells the model that three comes after two. Whatever order the rows have in the end is there because the answers needed it. In the formula η is the [learning rate].',
    'Below each table is how alike every two places are: the sinusoid’s strong diagonal says that neighbours are alike. Learning finds little of that: rows drawn by chance are unlike already, and to tell places apart no more is needed. Only where a place has to be related to the one before it, as in “repeat”, do neighbours come to be a little more alike.',
  ],
  takeaway:
    'Training changes nothing but numbers in tables, a little at each step; where attention looks is what comes of it.',
};

/**
 * What a choice is called, and what there is to say about it.
 * @typedef {{ short: string, long: string }} ChoiceText
 */

/** @type {Record<import('../../training/worlds.js').WorldName, ChoiceText>} */
export const worldTexts = {
  copy: {
    short: 'copy',
    long: 'Ten letters are given, and ten blanks are to repeat them. All blanks look alike.',
  },
  reverse: {
    short: 'reverse',
    long: 'Ten letters are given, and ten blanks are to repeat them from the last to the first. All blanks look alike.',
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
  dates: {
    short: 'dates',
    long: 'A date in words is read; then it is written with digits, one after the other: the third of May 1999 becomes 1999-05-03. A date that is held out is held out in every spelling. Right answers are counted character by character, and each model goes on from what it wrote itself.',
  },
};

/** What writes, in a world that is written. @type {Record<'transformer' | 'recurrent', string>} */
export const decoderNames = {
  transformer: 'a Transformer: cross attention',
  recurrent: 'Bahdanau’s recurrent decoder',
};

/** What reads and writes, where there is a choice. */
export const decoderText =
  'Lane A reads all characters at once, and looks at them by cross attention while it writes. Lane B is how attention began, in 2014: one recurrent network reads from left to right, another writes, and looks back by additive attention. What reads from left to right knows a word only once it has read it: look where the attention falls.';

/** @type {Record<import('../../training/schemes.js').Scheme, ChoiceText>} */
export const schemeNames = {
  none: { short: schemeTitles.none, long: 'no positions' },
  sinusoidal: { short: schemeTitles.sinusoidal, long: 'sinusoidal positions' },
  learned: { short: schemeTitles.learned, long: 'a learned table of positions' },
  rotary: { short: schemeTitles.rotary, long: 'rotary positions' },
  alibi: { short: schemeTitles.alibi, long: 'ALiBi' },
  t5: { short: schemeTitles.t5, long: 'T5’s bias' },
  shaw: { short: schemeTitles.shaw, long: 'Shaw’s relative positions' },
};

/**
 * What to expect when more is given than was learned from.
 * @type {Record<import('../../training/worlds.js').WorldName, string>}
 */
export const lengthTexts = {
  copy: 'With ten letters, “my letter is the tenth before me” and “I am the first blank, my letter is the first” are the same rule. With twenty they are not, and nothing that the model has seen says which of them was meant.',
  reverse:
    'With ten letters, the last letter is in the tenth place. With twenty, the tenth place is in the middle: a model that has learned places looks there all the same, and nothing that it has seen says that it should not.',
  sort: 'With more letters, there is more to weigh against each other, and each blank has to know how many blanks come before it, beyond the tenth.',
  repeat:
    'A run may stand further on, and the gap may be wider. Also, the longer the text, the more often each letter has stood there before by chance: whoever looks for the last place of one letter is right 57 times of 100 in 32 letters, and 20 times in 128; whoever looks for the last two, 92 and 82 times. A curve that falls faster than both has lost its way. Try Shaw’s or ALiBi against sinusoidal positions.',
  add: 'Numbers of more digits: what is carried goes the same way in every column, but each blank has to find its own two digits, at distances that have never been met.',
  count:
    'Positions do not matter here, but length does: attention takes means, and three of ten is not the share that three of forty is. More than ten of a kind have no word in this world, and are not asked for.',
  dates: '',
};

/**
 * What became of a file of weights, in a sentence.
 * @param {{ name: string, step: number, loaded: import('../../training/lane.js').Loaded }} file
 * @param {string} lane
 * @param {import('../../training/model.js').LaneOptions} options of the lane
 * @returns {{ fits: boolean, text: string }}
 */
export function fileText({ name, step, loaded: { saved, fits, reason } }, lane, options) {
  const own = descriptionOf({ ...options, worlds: [options.world] });
  if (fits && saved) {
    const at = saved.step === undefined ? '' : `, after ${saved.step} steps of its own`;
    return {
      fits,
      text: `Lane ${lane} has the weights of ${name} since step ${step}: ${descriptionOf(saved)}${at}.`,
    };
  }
  const why = saved
    ? reason
      ? `is a model of ${descriptionOf(saved)}, but cannot be used: ${reason}`
      : `is a model of ${descriptionOf(saved)}; lane ${lane} is one of ${own}. Choose the same for the lane, and load it again`
    : reason
      ? `is no file of weights: ${reason}`
      : 'has weights of another kind of model than those of this chapter';
  return { fits, text: `${name} ${why}. Lane ${lane} is as it was.` };
}

/** @param {import('../../training/saved.js').Saved} saved */
function descriptionOf({ worlds, positions, heads, layers, causal, decoder }) {
  const of = (/** @type {number} */ count, /** @type {string} */ thing) =>
    `${count} ${thing}${count === 1 ? '' : 's'}`;
  const names = worlds.map((world) => worldTexts[world].short);
  return [
    names.length > 1 ? `${names.slice(0, -1).join(', ')} or ${names.at(-1)}` : names[0],
    ...(decoder ? [decoderNames[decoder]] : []),
    ...(positions && decoder !== 'recurrent' ? [schemeNames[positions].long] : []),
    ...(heads && decoder !== 'recurrent' ? [of(heads, 'head')] : []),
    of(layers, 'layer'),
    ...(causal === undefined || decoder ? [] : [causal ? 'looks back only' : 'looks everywhere']),
  ].join(', ');
}
