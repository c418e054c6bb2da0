// Text shown in the walk, which shows step by step how a head computes its output for one word. Each
// step makes one point, in a title and a few sentences. `more` appears below them.

/**
 * @typedef {object} Facts the facts that the sentences mention
 * @property {string} word the word that the walk follows, in quotation marks
 * @property {number} place position of the word, counted from 0
 * @property {boolean} learned whether the layer belongs to the language model
 * @property {boolean} same whether queries and keys are the same vectors
 * @property {'adds' | 'turns' | 'nothing'} positions
 * @property {string[]} pieces the pieces of the first word that the model splits, in quotation marks
 * @property {number | null} twin another position of the same word
 * @property {number} width E
 * @property {number} depth D
 * @property {number} head number of the head, from 1
 * @property {number} layer number of the layer, from 1
 * @property {number} layers number of layers of the model
 * @property {boolean} hidden whether later words are hidden from the word
 * @property {{ word: string, itself: boolean, weight: string, score: string, is: 'followed' | 'before' | null } | null} best
 *   the key with the largest weight; `is`: whether this key followed the same word earlier, or is
 *   just before the word
 * @property {{ first: Share, second: Share, rest: string } | null} blend the two largest weights of
 *   the word whose blend is shown, and the total weight of its other keys
 * @property {string} root √D
 * @property {{ entropy: string, largest: string, slope: string }} divided
 * @property {{ entropy: string, largest: string, slope: string }} undivided
 * @property {{ softer: string } | null} sharp if one key has nearly all the weight of the word, the
 *   word of the same head to which `divided`, `undivided` and `blend` belong instead
 * @property {string} changed how much shuffling changes the output, with positions
 * @property {{ word: string, share: string } | null} guess
 * @property {{ word: string, share: string, guessed: boolean } | null} next the actual next word
 * @property {{ word: string, share: string, rank: number } | null} looked
 *   the prediction of the key with the largest weight, if this key followed the same word earlier
 * @property {number} heads number of heads in all layers
 * @property {string} vocabulary number of tokens in the vocabulary
 *
 * @typedef {{ word: string, weight: string }} Share a key and its weight
 *
 * @typedef {object} Step
 * @property {(facts: Facts) => string} title
 * @property {(facts: Facts) => string} says
 * @property {(facts: Facts) => string} [more]
 * @property {boolean} [breaks] whether the step leaves out the division or the positions, to show
 *   their effect
 * @property {string} chapter the chapter that explains the step completely
 * @property {(number: number) => string} link number: number of that chapter
 */

/** @param {number} rank from 1 */
const nth = (rank) =>
  ['first', 'second', 'third', 'fourth', 'fifth'][rank - 1] ?? `${rank}th from the top`;

/** @type {readonly Step[]} */
export const steps = [
  {
    title: () => 'A word becomes numbers',
    says: ({ word, width, learned }) =>
      learned
        ? `A model cannot read. It has a list of ${width} numbers for each word that it knows. These are the numbers of ${word}. Such a row of numbers is called a vector. Each stripe is one number, found by training.`
        : `A computer cannot read. So ${word} becomes ${width} numbers, made from its letters. Such a row of numbers is called a vector. Each stripe is one number.`,
    more: ({ word, twin, pieces }) =>
      [
        twin !== null
          ? `${word} is also at position ${twin}, with exactly the same numbers. These numbers do not say where a word is.`
          : '',
        pieces.length
          ? `The list contains only common words. Others are split into pieces, such as ${pieces.join(' ')}. Each piece is treated like a word.`
          : '',
      ]
        .filter(Boolean)
        .join(' '),
    chapter: 'self-attention',
    link: (number) => `Chapter ${number} explains these vectors`,
  },
  {
    title: ({ positions }) =>
      positions === 'nothing'
        ? 'Nothing shows the word’s position'
        : 'Clock hands show the word’s position',
    says: ({ word, place, positions }) =>
      ({
        adds: `A row of clocks shows the position. The first clock turns fastest, and each later one turns more slowly. The hands point this way at position ${place}, and differently at every other position. Each hand is two numbers, a sine and a cosine. The numbers of all hands are added to the vector of ${word}.`,
        turns: `A row of clocks shows the position. The first clock turns fastest, and each later one turns more slowly. The hands point this way at position ${place}, and differently at every other position. Some models add the sines and cosines of the hands to the vector. This model instead turns two vectors of each word by these angles. The next step shows what they are for. The picture shows one of them, before and after its turn.`,
        nothing: `Positions are set to none, so nothing is added. For this model ${word} is the same at every position. Step 7 shows what that means.`,
      })[positions],
    chapter: 'encoding',
    link: (number) => `Chapter ${number} explains the clocks`,
  },
  {
    title: () => 'Its query meets the keys',
    says: ({ word, head, layer, learned, best }) =>
      [
        learned
          ? `Each layer has several heads. This is head ${head} of layer ${layer}.`
          : `Several heads look at the words. This is head ${head}.`,
        'Every word gets two short vectors: a query (what it looks for) and a key (what it can be found by). Multiply their matching numbers, and add up the products. The sum is the score.',
        !best
          ? ''
          : best.itself
            ? `The query of ${word} fits its own key best, with a score of ${best.score}.`
            : `The query of ${word} fits the key of ${best.word} best, with a score of ${best.score}.`,
      ]
        .filter(Boolean)
        .join(' '),
    more: ({ learned, layer, positions, hidden, same, word, best }) =>
      [
        best?.is === 'followed'
          ? `The query asks what followed ${word} last time. ${learned && layer > 1 ? 'The keys know, because layer 1, which came before, has written into each word which word precedes it.' : ''}`
          : '',
        same
          ? 'Nothing has been learned here, so query and key are the same vector: simply a part of what the layer reads.'
          : '',
        learned && layer > 1 && best?.is !== 'followed'
          ? `Layer ${layer} reads ${layer === 2 ? 'the result of layer 1' : 'the results of the layers before it'}.`
          : '',
        positions === 'turns' ? 'The clocks have turned queries and keys.' : '',
        hidden ? 'Later words are hidden: the model must guess them.' : '',
      ]
        .filter(Boolean)
        .join(' '),
    chapter: 'self-attention.stages',
    link: (number) => `Chapter ${number} shows every query and key`,
  },
  {
    title: () => 'Scores become weights',
    says: ({ root, depth, best, word }) =>
      [
        `Each score is divided by ${root}, the square root of ${depth}, because a query has ${depth} numbers. Then softmax turns the scores into weights: it raises e to the power of each score and divides by the sum of these powers. So no weight is negative, and all weights add up to 1.`,
        best
          ? `${word} gives ${best.weight} of its attention to ${best.itself ? 'itself' : best.word}.`
          : '',
      ]
        .filter(Boolean)
        .join(' '),
    more: ({ best, word, sharp, divided }) =>
      [
        best?.is === 'followed'
          ? `The first time, ${best.word} followed ${word}. This head expects the same again.`
          : best?.is === 'before'
            ? `${best.word} is the word just before.`
            : '',
        sharp
          ? `Such a clear match is rare. The next two steps show another word of your sentence, ${sharp.softer}, which spreads its attention: its largest weight is ${divided.largest}.`
          : '',
      ]
        .filter(Boolean)
        .join(' '),
    chapter: 'self-attention.weights',
    link: (number) => `Chapter ${number} shows all weights`,
  },
  {
    title: () => 'Break it: do not divide',
    says: ({ word, root, depth, divided, undivided, sharp }) =>
      depth === 1
        ? 'Here a query is one number, and √1 is 1, so dividing changes nothing. With fewer heads, queries are longer.'
        : `Without this division, all scores are ${root} times as large. ${
            sharp
              ? `The clear match of ${word} hardly changes, so this step and the next show ${sharp.softer} instead. Its`
              : 'The'
          } largest weight goes from ${divided.largest} to ${undivided.largest}. Entropy measures how evenly the weights are spread: 0 bits if one word gets everything. It goes from ${divided.entropy} bits to ${undivided.entropy}.`,
    more: ({ depth, divided, undivided }) =>
      depth === 1
        ? ''
        : `The slope of softmax says how much the weights move if the scores move a little. It goes from ${divided.slope} to ${undivided.slope}. If it is near 0, a small change of a score changes hardly any weight, so training cannot tell which way to go.`,
    breaks: true,
    chapter: 'self-attention.stages',
    link: (number) => `Chapter ${number} explains why the divisor is √D`,
  },
  {
    title: () => 'Values are blended',
    says: ({ best, sharp, blend, word }) =>
      [
        'Every word has a third vector, its value, which is what it hands over. Multiply each value by its weight, and add up the products.',
        !blend
          ? ''
          : best && sharp
            ? `${word} gets almost only the value of ${best.word}, so the picture still shows ${sharp.softer}. In its blend, ${blend.first.weight} comes from ${blend.first.word}, ${blend.second.weight} from ${blend.second.word} and ${blend.rest} from all other words.`
            : `In the blend for ${word}, ${blend.first.weight} comes from ${blend.first.word}, ${blend.second.weight} from ${blend.second.word} and ${blend.rest} from all other words.`,
        `This blend is what the head has found for ${sharp?.softer ?? word}.`,
      ]
        .filter(Boolean)
        .join(' '),
    chapter: 'self-attention.stages',
    link: (number) => `Chapter ${number} follows every number`,
  },
  {
    title: () => 'Break it: take away the positions',
    says: ({ word, changed, sharp }) =>
      `${sharp ? `Back to ${word}. ` : ''}Shuffle the words. With positions, the layer gives different numbers for ${word}: they change by up to ${changed}. Without positions it gives the same numbers, apart from rounding. To such a layer, the shuffled sentence is the same sentence.`,
    more: ({ hidden }) =>
      hidden
        ? 'Here all words may look at all others, because hiding later words would also reveal their order: the first word would see only itself.'
        : '',
    breaks: true,
    chapter: 'order',
    link: (number) => `Chapter ${number} lets you shuffle`,
  },
  {
    title: ({ learned }) =>
      learned ? 'The next word is guessed' : 'There is no model yet to guess',
    says: ({ word, learned, layers, vocabulary, guess, next, looked, heads }) =>
      !learned || !guess
        ? 'In a trained model the output goes on to the next layer, and after the last layer the model guesses the next word. But this layer has learned nothing. Its numbers were made without any text, so it has nothing to guess from.'
        : [
            `The blends of all heads go on through the model’s ${layers} layers. At the end each of ${vocabulary} tokens gets a probability. The most probable token after ${word} is ${guess.word}, with ${guess.share}.`,
            !next
              ? ''
              : next.guessed
                ? 'Your sentence continues that way.'
                : `Your own next word, ${next.word}, gets ${next.share}.`,
            !looked || looked.word === next?.word
              ? ''
              : looked.rank === 1
                ? `This head looked at ${looked.word}, too.`
                : `${looked.word}, which this head looked at, comes ${nth(looked.rank)} with ${looked.share}. This is only one head of ${heads}.`,
          ]
            .filter(Boolean)
            .join(' '),
    more: () =>
      'That is the whole path of one word. Next, chapter 1 shows what such a blend is, with numbers that you can move.',
    chapter: 'transformer.next-word',
    link: (number) => `In chapter ${number} the model continues your text`,
  },
];

/** Labels in the pictures. */
export const stage = {
  embedding: 'the vector of the word',
  embeddings: 'the vectors of other words',
  colours: 'a number',
  hands: 'plus the clock hands of its position',
  clocks: (
    /** @type {number} */ drawn,
    /** @type {number} */ all,
    /** @type {boolean} */ turns,
  ) => {
    const count = drawn < all ? `Here are ${drawn} of ${all} clocks.` : '';
    const pair = turns ? 'the two numbers that it turns' : 'its two numbers';
    return `${count} Under each clock are ${pair} and λ, the number of positions in one full turn.`.trim();
  },
  sum: 'what the layer reads',
  unturned: 'the vector before it is turned',
  turned: 'turned by the clocks',
  query: 'its query',
  keys: 'the keys',
  values: 'values, faded by weight',
  blend: 'their blend',
  divided: 'divided by √D',
  undivided: 'not divided',
  entropy: (/** @type {string} */ bits) => `entropy ${bits} bits`,
  slope: (/** @type {string} */ slope) => `slope ${slope}`,
  slopeOf: (/** @type {string} */ slope) => `slope of softmax ${slope}`,
  others: (/** @type {number} */ count, /** @type {string} */ weight) =>
    `and ${count} more, with a total weight of ${weight}`,
  order: 'The words, shuffled',
  another: 'another order',
  withPositions: 'With positions',
  withoutPositions: 'Without positions',
  written: 'output in the written order',
  shuffled: 'output after shuffling',
  differ: 'They differ by up to',
};

/** Labels of a strip: a row of coloured cells that shows the numbers of a vector. */
export const strip = {
  column: (/** @type {number} */ column) => `column ${column}:`,
  numbers: (/** @type {number} */ count) => `${count} numbers`,
  /** @param {string} title @param {number} rows @param {number} columns */
  label: (title, rows, columns) => `${title}, ${rows} by ${columns} numbers`,
};

export const controls = {
  choose: 'The word to follow',
  back: 'Back',
  next: 'Next',
  readOn: 'Next: chapter 1',
  play: 'Play',
  pause: 'Pause',
  again: 'Play again',
  leave: 'Leave the walk',
  full: 'Full screen',
  small: 'Leave full screen',
  steps: 'Steps of the walk',
  keys: 'or ← →',
  step: (/** @type {number} */ step, /** @type {number} */ of) => `Step ${step} of ${of}`,
  broken: 'broken on purpose',
  noKeys: 'The masks hide every word from this one, so there is nothing to look at.',
  fetch: (/** @type {string} */ size) => `Use a trained model (${size})`,
  take: 'Use the trained model',
};
