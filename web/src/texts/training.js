import { wholePercent } from '../drawing/numbers.js';
import { usedParameters } from '../invention/parameters.js';
import { schemeTitles } from './schemes.js';

/** Text shown in the chapter on training, between its figures. */
export const texts = {
  question: 'Where do the numbers in the matrices come from?',
  lead: [
    'A model begins with random numbers, and learns by being wrong. It is shown an example, and says how probable each answer seems to it. The [loss] says how far off it was: 0 would mean certain and right. Then every one of its numbers (θ in the formula) is moved a little, so that the right answer becomes more probable. The [gradient] says, for each number, in which direction the loss grows, and the number moves the other way. The [learning rate] η sets how far. That is a [step], here of [AdamW]. If a word looked at the wrong word, its query and the key of the right word move closer together.',
    'Below, two models learn the same task from the same examples. They start from the same weights, differ in one thing only, and run side by side, in lanes A and B. Press Play. Right answers are counted on *held-out* examples, which neither of them ever learns from.',
  ],
  predict: {
    question:
      'Two models must write ten letters backwards, into ten blanks that all look alike. One model knows positions, the other does not. How far does the second get?',
    choices: {
      slow: {
        says: 'Just as far, but more slowly',
        reply:
          'More time does not help. To a model without positions all ten blanks are the same, so it must write the same guess into each.',
      },
      guess: {
        says: 'It can only guess',
        reply:
          'Exactly. The model sees which letters there are, but not which blank it is filling, so all ten blanks get the same guess.',
      },
      nothing: {
        says: 'It learns nothing at all',
        reply:
          'The model without positions does learn something. It learns to guess letters that are in the example, and to prefer letters that occur twice. But it cannot know which blank it is filling.',
      },
    },
  },
  /** @param {{ step: number, of: { name: string, what: string, right: number }[] }} now */
  now: ({ step, of: [a, b] }) =>
    `After ${step} steps here, on held-out examples, lane ${a.name} (${a.what}) gets ${a.right} of 100 right, and lane ${b.name} (${b.what}) gets ${b.right}.`,
  /**
   * @param {{ name: string, right: number, blind: number }} of the name and the results of a model
   *   without positions
   */
  guesses: ({ name, right, blind }) =>
    `Lane ${name} gets ${right} of 100 answers right, and blind guessing would get ${blind}. The lane does better because it sees which letters are there. But all blanks look the same to it, so each gets the same letter, and its best guess is the letter that occurs most often. Only a position tells a blank which letter belongs there.`,
  /** @param {{ size: number, unit: string, name: string, right: number, other: string, others: number }} found */
  misled: ({ size, unit, name, right, other, others }) =>
    `With ${size} ${unit}, lane ${name} gets ${right} of 100 right, and lane ${other}, which has no positions, gets ${others}. A model that relies on positions now looks at the wrong positions, and does worse than a model that only guesses.`,
  untrained: 'learned table before the first step',
  brokenFormula: 'Your formula cannot be computed, so its lane has no positions now.',
  toFormula: 'See what is wrong with the formula',
  press: 'Press Play below to find out.',
  gain: [
    'What are several heads good for? Let two models learn to add. One has four [heads|head]. The other has one head, which is four times as wide, so both have the same number of [parameters|parameter]. The sum goes into three blanks, and each blank has to look at several digits at once. The blank for the tens needs both tens, and both ones as well, because they may carry.',
    'One head has one row of weights for each blank, so it brings home one blend of everything it looks at. From a blend it is hard to tell which digit came from where. Four heads bring four blends, and each head may look at a single digit.',
  ],
  gainLimits:
    'We ran this comparison eight times with the learned table, each time for 1,200 steps and from different initial weights. One head never got more than 41 of 100 answers right. Four heads got 99 right in six runs, and 70 in the other two. But with T5’s bias, one head reached 95 in three out of four runs. It found a blend that is good enough, with large weights for the tens digits and small weights for the ones digits. And where one look is enough, one head is enough: it learns “reverse” as well as four heads do.',
  gainPredict: {
    question:
      'The sum of two two-digit numbers has a hundreds digit (or none), a tens digit and a ones digit. Positions come from a learned table, and there is one layer. What does a single head get right?',
    choices: {
      all: {
        says: 'All three digits: it has as many parameters as four heads',
        reply:
          'The single head does have just as many parameters. But it looks only once, and has to make do with one blend of what it saw.',
      },
      first: {
        says: 'Whether the sum has a hundreds digit, and little else',
        reply:
          'Exactly. Even a rough blend of digits shows whether they are large or small, and that usually decides whether the sum has a hundreds digit. The other two digits have to be exact.',
      },
      last: {
        says: 'The ones digit: it depends on two digits only',
        reply:
          'The ones digit does depend on only two digits, and a blend of these two would be enough. Nothing rules out such a blend, but a single head does not find it.',
      },
    },
  },
  /** @param {{ step: number, scheme: string, of: { name: string, what: string, places: number[] }[] }} now */
  gained: ({ step, scheme, of: [a, b] }) =>
    `After ${step} steps here with ${scheme}, lane ${a.name} (${a.what}) gets the hundreds, the tens and the ones right in ${a.places.join(', ')} of 100 held-out sums. Lane ${b.name} (${b.what}) gets them right in ${b.places.join(', ')}.`,
  gainTries: {
    lead: 'Let both models learn for 600 steps:',
    learned: 'four heads and one head, with a table of positions',
    t5: 'four heads and one head, with T5’s bias',
    press: 'To find out, let both models learn.',
  },
  heads: [
    'Now look at one example. Each small picture is a head, with a row for each token that looks and a column for each token that is looked at. Choose a head to enlarge it.',
    'Press Play, and chance gives way to a pattern. You can pause as soon as you see it. In “reverse” it is a slanting line: each blank looks at the letter that it must write. Without positions, all blanks are alike and look at the same letters, so there are vertical bars. Each answer is the symbol s with the largest probability p (argmax in the formula).',
  ],
  longer: [
    'Has the model learned a rule, or a habit? To find out, ask it about examples that are longer than any it was trained on. Below, the same models are asked about examples up to four times as long. Anyone who can copy ten letters can copy forty, but nothing has told the model what to do with an eleventh. In the formula, bars around a set mean the number of its elements, so the number of right answers is divided by the number of answers asked for.',
    'Beyond the trained length, it matters how positions are encoded. Waves and rotations continue, but with values that the model has never met. Rules based on distance are the same at every position. And a learned table has no row after its last.',
  ],
  more: {
    gain: 'What several heads are good for',
    longer: 'Examples longer than any in training',
    table: 'What a learned table of positions looks like',
  },
  table: [
    'A table of positions begins as noise. Each position has a row of random numbers, and no two rows are related. Nobody tells the model that three comes after two. If the rows show an order in the end, it is because the answers needed that order. In the formula, η is the [learning rate].',
    'The picture below each table shows how alike any two positions are. The strong diagonal of the sinusoid says that neighbours are alike. Learned tables show little of this pattern. Random rows already differ, and nothing more is needed to tell positions apart. Only where a position must be related to the one before it, as in “repeat”, do neighbours become a little more alike.',
  ],
  takeaway:
    'Training changes nothing but the model’s numbers, a little at each step. These changes decide where attention looks. You can now say how a model compares words, how it knows their order, and how it learned both.',
};

/**
 * The name of a choice, and its explanation.
 * @typedef {{ short: string, long: string }} ChoiceText
 */

/** @type {Record<import('../training/worlds.js').WorldName, ChoiceText>} */
export const worldTexts = {
  copy: {
    short: 'copy',
    long: 'The model sees ten letters, and must repeat them in ten blanks. All blanks look alike.',
  },
  reverse: {
    short: 'reverse',
    long: 'The model sees ten letters, and must repeat them in ten blanks, from last to first. All blanks look alike.',
  },
  sort: {
    short: 'sort',
    long: 'The model sees ten letters, and must write them into ten blanks in alphabetical order. Without positions it can see which letters there are, but not which blank comes first.',
  },
  repeat: {
    short: 'repeat',
    long: 'The model sees random letters, some of which are repeated later in the same order. Where the repeat begins, how long it is and how far back the first copy is all vary. Once the repeat has begun, the next letter is the one that followed last time. The model needs positions to know what “followed” means, and it needs two layers. The first layer sees which letter came before each letter, and the second finds where the same letter occurred before. This is called induction, and it is learned suddenly.',
  },
  add: {
    short: 'add',
    long: 'Two two-digit numbers, and three blanks for their sum. Only the position of a digit says whether it counts tens or ones. Without positions, 12 + 34 and 21 + 43 are the same.',
  },
  count: {
    short: 'count',
    long: 'Ten letters of five kinds. For each letter, how many of its kind are there? The order does not matter, and positions do not help.',
  },
  dates: {
    short: 'dates',
    long: 'The model reads a date in words, and then writes it in digits, one after the other: the third of May 1999 becomes 1999-05-03. A held-out date is never used for training, in any spelling. Right answers are counted character by character, and each model continues from its own output.',
  },
};

/**
 * Names of the decoders for tasks whose answers are written as a separate sequence.
 * @type {Record<'transformer' | 'recurrent', string>}
 */
export const decoderNames = {
  transformer: 'a Transformer: cross attention',
  recurrent: 'Bahdanau’s recurrent decoder',
};

/** Explains both models if the reader can choose the decoder. */
export const decoderText =
  'Lane A reads all characters at once, and looks at them by cross attention while it writes. Lane B shows how attention began, in 2014. One recurrent network reads from left to right. Another writes, and looks back by additive attention. A network that reads from left to right does not know a word until it has read it. Look where the attention falls.';

/** @type {Record<import('../training/schemes.js').Scheme, ChoiceText>} */
export const schemeNames = {
  none: { short: schemeTitles.none, long: 'no positions' },
  sinusoidal: { short: schemeTitles.sinusoidal, long: 'sinusoidal positions' },
  learned: { short: schemeTitles.learned, long: 'a learned table of positions' },
  rotary: { short: schemeTitles.rotary, long: 'rotary positions' },
  alibi: { short: schemeTitles.alibi, long: 'ALiBi' },
  t5: { short: schemeTitles.t5, long: 'T5’s bias' },
  shaw: { short: schemeTitles.shaw, long: 'Shaw’s relative positions' },
  yours: { short: schemeTitles.yours, long: 'your own formula' },
};

/**
 * Explains what to expect if examples are longer than in training.
 * @type {Record<import('../training/worlds.js').WorldName, string>}
 */
export const lengthTexts = {
  copy: 'With ten letters, two rules work: each blank looks ten letters back, or the first blank takes the first letter, the second blank the second, and so on. With twenty letters only the second rule works, and nothing that the model has seen says which one was meant.',
  reverse:
    'With ten letters, the last letter is the tenth. With twenty, the tenth letter is in the middle. A model that has learned positions still looks at the tenth letter, and nothing that it has seen tells it not to.',
  sort: 'With more letters there is more to compare, and blanks after the tenth also have to know how many blanks come before them.',
  repeat:
    'In longer texts the repeat may begin later, and the first copy may be further back. Also, the longer the text, the more often each letter has occurred before by chance. A simple rule looks for the latest copy of one letter. It is right 57 times out of 100 in texts of 32 letters, but only 20 times out of 100 in texts of 128. A better rule looks for the latest copy of two letters in a row. It is right 92 times out of 100 in the short texts, and 82 times in the long ones. If a model’s curve falls faster than both rules do, the model has lost its way. Compare Shaw’s positions or ALiBi with sinusoidal positions.',
  add: 'With more digits, carrying works the same way in every column. But each blank has to find its own two digits, at distances that the model has never met.',
  count:
    'Positions do not matter here, but length does. Attention takes means, and three of ten is a larger fraction than three of forty. This task has no symbol for counts above ten, so larger counts are not asked for.',
  dates: '',
};

/**
 * Says that a file of weights was loaded, or why it was not.
 * @param {{ name: string, step: number, loaded: import('../training/lane.js').Loaded }} file
 * @param {string} lane
 * @param {import('../training/model.js').LaneOptions} options options of the model
 * @returns {{ fits: boolean, text: string }}
 */
export function fileText({ name, step, loaded: { saved, fits, reason } }, lane, options) {
  const own = descriptionOf({ ...options, worlds: [options.world] });
  if (fits && saved) {
    const at = saved.step === undefined ? '' : `, already trained for ${saved.step} steps`;
    return {
      fits,
      text: `At step ${step}, lane ${lane} loaded the weights from ${name}: ${descriptionOf(saved)}${at}.`,
    };
  }
  const why = saved
    ? reason
      ? `contains a model for ${descriptionOf(saved)}, but cannot be used: ${reason}`
      : `contains a model for ${descriptionOf(saved)}, but lane ${lane} has a model for ${own}. Give lane ${lane} the settings of the model in the file, and load the file again`
    : reason
      ? `is not a weights file: ${reason}`
      : 'contains the weights of a kind of model that this chapter does not use';
  return { fits, text: `${name} ${why}. Lane ${lane} is unchanged.` };
}

/** @param {import('../training/saved.js').Saved} saved */
function descriptionOf({ worlds, positions, written, heads, layers, causal, decoder }) {
  const names = worlds.map((world) => worldTexts[world].short);
  return [
    names.length > 1 ? `${names.slice(0, -1).join(', ')} or ${names.at(-1)}` : names[0],
    ...(decoder ? [decoderNames[decoder]] : []),
    ...(positions && decoder !== 'recurrent'
      ? [schemeNames[positions].long + (written ? ` (${formulasOf(written)})` : '')]
      : []),
    ...(heads && decoder !== 'recurrent' ? [counted(heads, 'head')] : []),
    counted(layers, 'layer'),
    ...(causal === undefined || decoder ? [] : [causal ? 'looks back only' : 'looks everywhere']),
  ].join(', ');
}

/** @param {import('../invention/invention.js').Written} written */
const formulasOf = (written) =>
  [
    ...(written.added.trim() ? [`P = ${written.added}`] : []),
    ...(written.bias.trim() ? [`b = ${written.bias}`] : []),
    ...usedParameters(written).map(({ name, value }) => `${name} = ${value}`),
  ].join(', ');

/** @param {number} count @param {'head' | 'layer'} thing */
export const counted = (count, thing) => `${count} ${thing}${count === 1 ? '' : 's'}`;

/** The buttons that start, stop and step through a run. */
export const player = {
  start: 'From the start',
  play: 'Play',
  playTitle: 'Stops at the step in “until step”, or earlier if more steps would change little',
  ended: {
    right: 'Stopped: both lanes get 100 % right.',
    still: 'Stopped: one lane gets 100 % right, and the other has made no progress for 150 steps.',
  },
  pause: 'Pause',
  until: 'until step',
  one: 'One step',
  ten: 'Ten steps',
  starting: 'starting …',
  /** @param {number} step */
  step: (step) => `step ${step}`,
  lookBack: 'look back',
  /** @param {number} at @param {number} of */
  earlier: (at, of) => `step ${at} of ${of}`,
  /** @param {number} step */
  newest: (step) => `step ${step}, the newest`,
  none: 'none',
};

/** Labels of the settings of a run. */
export const controls = {
  world: 'what is learned',
  models: 'Change the two models: positions, heads, layers, learning rate',
  differ: 'the lanes differ in',
  /** @type {Record<import('../state/properties/training.js').Difference, string>} */
  differences: {
    ...{ positions: 'positions', heads: 'heads', layers: 'layers', mask: 'mask' },
    decoder: 'decoder',
  },
  positions: 'positions',
  positionsOf: (/** @type {'A' | 'B'} */ lane) => `positions of lane ${lane}`,
  heads: 'heads',
  headsOfA: 'heads of lane A',
  layers: 'layers',
  layersOfA: 'layers of lane A',
  rate: 'learning rate',
  nextSeed: 'next seed',
};

/** The settings in which the two models may differ, and messages about these settings. */
export const laneTexts = {
  causal: 'looks back only (causal)',
  everywhere: 'looks everywhere',
  lane: (/** @type {string} */ name) => `lane ${name}`,
  learnedBy: (/** @type {string} */ name) => `learned by lane ${name}`,
  sinusoidal: 'sinusoidal',
  /** @param {string} wanted @param {string} differ */
  cannotDiffer: (wanted, differ) =>
    `With this task the lanes cannot differ in “${wanted}”. They now differ in ${differ}.`,
  /** @param {{ name: string, given: string, now: unknown }} setting */
  corrected: ({ name, given, now }) =>
    `The link sets ${name} to “${given}”, which this page does not have. It is now ${now}.`,
};

/** The field for the reader's own example. */
export const exampleTexts = {
  own: 'an example of your own',
  /** @param {number} most @param {boolean} unclear */
  date: (most, unclear) =>
    `a date, at most ${most} characters long${unclear ? '; this text names no date, or more than one' : ''}`,
  /** @param {{ length: number, first: string, last: string, added: number }} symbols */
  symbols: ({ length, first, last, added }) =>
    `${length} symbols from ${first} to ${last}${added ? `; the page added the last ${added}` : ''}`,
};

/** The weights of both models, and files of weights. */
export const weightTexts = {
  /** @param {number} step */
  after: (step) => `weights after step ${step}:`,
  save: 'save as .safetensors',
  same: 'Training uses SIMD128, which gives bit-identical results everywhere, so anyone who follows the link to this step gets the same checksums.',
  /** @param {string} lane */
  load: (lane) => `load weights into ${lane}`,
  /** @param {string} lane */
  useFormula: (lane) => `use the file’s formula in lane ${lane}`,
  given:
    'With weights from a file, this run no longer matches its link: anyone who follows the link begins without these weights. Press “From the start”, and the run matches again.',
};

/** Why a run has stopped. */
export const stopTexts = {
  /** @param {{ lane: string, step: number, why: string }} failed */
  lane: ({ lane, step, why }) =>
    `Lane ${lane} could not take step ${step}, and the run has stopped: ${why}. The figures show the model before that step. A smaller learning rate may help.`,
  /** @param {string} why */
  notStarted: (why) => `Training could not be started: ${why}.`,
  /** @param {number} step @param {number | undefined} from */
  ended: (step, from) =>
    `The browser ended a worker after step ${step}. The figures show the last results. Play continues from step ${from ?? 0}.`,
  /** @param {{ step: number, why: string, from: number | undefined }} stopped */
  stopped: ({ step, why, from }) =>
    `The run stopped after step ${step}: ${why}. The figures show the last results. Play continues from step ${from ?? 0}.`,
};

/** The figure with the curves of a run. */
export const runFigure = {
  title: 'Two models learn the same task',
  loss: 'Loss at each step',
  accuracy: 'Right answers on held-out examples',
  places: 'Right answers by position',
  previous: 'Attention to the previous token, by head',
  followed: 'Attention to the token that followed last time, by head',
  step: 'step',
  answer: 'answer',
  nothing: 'nothing yet',
  /** @param {string} title @param {string} values */
  chart: (title, values) => `${title}: ${values}`,
  /** @param {number} share */
  right: (share) => `${wholePercent(share)} right`,
  /** @param {number} step @param {{ name: string, what: string, accuracy?: number }[]} lanes */
  summary: (step, lanes) =>
    `After ${step} steps: ${lanes
      .map(
        ({ name, what, accuracy }) =>
          `lane ${name}, ${what}: ${accuracy === undefined ? 'not trained yet' : `${wholePercent(accuracy)} of the answers right`}`,
      )
      .join('; ')}.`,
  pace: {
    step: 'step {at}',
    steps: '{steps} steps a second',
    tokens: '{tokens} tokens a second in each lane',
    training: '{share} of the time spent on training',
    drawing: '{share} on drawing',
  },
  engineers: 'For engineers: speed, and files with the weights',
};

/** The figure with the models' attention and answers. */
export const learnedFigure = {
  title: 'What the models look at and what they answer',
  answers: 'The example and the answers',
  given: 'given',
  right: 'right',
  /** @param {string} lane */
  says: (lane) => `${lane} says`,
  /** @param {number} probability */
  sure: (probability) => `${wholePercent(probability)} sure`,
  /** @param {number} right @param {number} asked */
  of: (right, asked) => `${right} of ${asked}`,
  /** @param {string} lane */
  heads: (lane) => `heads of lane ${lane}`,
  /** @param {number} layer */
  layer: (layer) => `layer ${layer + 1}`,
  /** @param {number} layer @param {number} head */
  head: (layer, head) => `layer ${layer + 1}, head ${head + 1}`,
  /** @param {{ lane: string, layer: number, head: number, queries: number, keys: number }} shown */
  weights: ({ lane, layer, head, queries, keys }) =>
    `Attention weights of lane ${lane}, layer ${layer + 1}, head ${head + 1}, ${queries} queries by ${keys} keys`,
  /** @param {number} step @param {string} example @param {string[]} looks */
  summary: (step, example, looks) =>
    [`The models after ${step} steps, with the example ${example}.`, ...looks].join(' '),
  /** @param {{ lane: string, layer: number, head: number, at: number, token: string }} look */
  looks: ({ lane, layer, head, at, token }) =>
    `In lane ${lane}, the last token looks most at token ${at + 1}, ${token}, in head ${head + 1} of layer ${layer + 1}.`,
  written: 'Each row is a character that the model has written.',
  query: 'Each row is a query token.',
  /** @param {number} row @param {string} characters */
  character: (row, characters) => `character _{${row + 1}} (${characters})`,
  looksAt: '{query} looks at {key} with weight {weights}',
  weightIn: '{weight} in {lane}',
  legend: 'weight',
};

/** The figure with longer examples than in training. */
export const longerFigure = {
  title: 'Examples longer than in training',
  /** @param {{ step: number, trained: number, unit: string }} given @param {{ name: string, what: string, right: { size: number, share: number }[] | null }[]} lanes */
  summary: ({ step, trained, unit }, lanes) =>
    `After ${step} steps on ${trained} ${unit}: ${lanes
      .map(
        ({ name, what, right }) =>
          `lane ${name}, ${what}: ${right?.map(({ size, share }) => `${wholePercent(share)} right with ${size}`).join(', ') ?? 'not known'}`,
      )
      .join('; ')}.`,
  nothing: 'Nothing has been learned yet.',
  press: 'Nothing has been learned yet: press Play above.',
  /** @param {number} size @param {string} unit */
  right: (size, unit) => `${size} ${unit}: {share} right`,
  ends: 'No answers beyond this length: the table ends at the training length and has no rows for later positions.',
  /** @param {{ step: number, trained: number, unit: string }} given */
  known: ({ step, trained, unit }) =>
    `These are answers after step ${step}. Both models have learned only from ${trained} ${unit}; the dotted line marks that length.`,
  /** @param {number} trained @param {string} unit */
  unknown: (trained, unit) => `Both models learn only from ${trained} ${unit}.`,
};

/** The figure with learned tables of positions. */
export const tableFigure = {
  title: 'How a table of positions is learned',
  noTable: 'Neither lane learns a table now. {learn}',
  learn: 'let lane B learn a table, from the start',
  /** @param {{ count: number, step: number }} given @param {{ what: string, itself: string, next: string }[]} tables */
  summary: ({ count, step }, tables) =>
    `Tables of ${count} positions after ${step} steps, and the dot products of their rows: ${tables
      .map(
        ({ what, itself, next }) =>
          `${what}: the product of the first position with itself is ${itself}, with the next ${next}`,
      )
      .join('; ')}.`,
  position: 'position',
  column: 'column',
  /** @param {{ what: string, count: number, width: number }} table */
  table: ({ what, count, width }) => `${what}, ${count} positions by ${width} columns`,
  positions: { i: 'position i', k: 'position k' },
  /** @param {string} what */
  products: (what) => `Dot products between all rows of ${what}`,
  tables: 'The tables.',
  /** @param {number} position @param {number} column */
  cell: (position, column) => `position ${position}, column ${column}:`,
  similar: 'The products show how similar two positions are.',
  /** @param {number} one @param {number} other */
  pair: (one, other) => `positions ${one} and ${other}:`,
  legends: { table: 'table', product: 'dot product' },
};
