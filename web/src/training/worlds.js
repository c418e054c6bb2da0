import { dayIn, daysOf, inDigits, spellings, years } from './dates.js';

/**
 * Tasks ("worlds") that a small model can learn. Each is a pure function from uniform random
 * numbers to examples, so that a seed gives the same endless sequence of examples everywhere.
 *
 * In most tasks, a model reads a sequence and answers at its tokens. In a *written* task, it reads
 * the complete sequence and then writes another sequence, symbol by symbol, in another vocabulary.
 * @typedef {object} World
 * @property {string[]} symbols the vocabulary; a token is an index into it
 * @property {number} length length of a sequence, in tokens
 * @property {Written} [written] the sequence that the model writes, in a written task
 * @property {number} size size of the input, in `unit`s
 * @property {string} unit
 * @property {number} answers largest number of answers in a sequence
 * @property {number} numbers number of random numbers per example
 * @property {boolean} causal whether the task is meant for models with a causal mask
 * @property {number[]} own positions of the tokens that a reader may choose
 * @property {number} kinds number of symbols allowed at these positions, counted from the first
 *   symbol
 * @property {boolean} next whether an answer is the next token of the sequence itself
 * @property {(uniform: ArrayLike<number>, ids: Int32Array, targets: Int32Array) => void} fill
 *   makes an example from numbers in [0, 1): the tokens and the target of each, `ignored` if there
 *   is none
 * @property {(ids: Int32Array, targets: Int32Array) => void} ask completes tokens chosen by the
 *   reader: sets the remaining tokens and the targets
 */

/**
 * The written sequence.
 * @typedef {object} Written
 * @property {string[]} symbols its vocabulary
 * @property {number} start the token before the first written token
 * @property {number} padding the token that pads the input; nothing attends to it
 */

/** A target that the loss and the accuracy ignore. */
export const ignored = -100;

/** @typedef {'copy' | 'reverse' | 'sort' | 'repeat' | 'add' | 'count' | 'dates'} WorldName */

const range = (/** @type {number} */ length) => Array.from({ length }, (_, i) => i);

const letters = [...'abcdefghijklmnopqrstuvwxyz'];
const blank = '·';

/**
 * Maps a number between 0 and 1 to a whole number from 0 to `most` − 1.
 * @param {number} uniform
 * @param {number} most
 */
const below = (uniform, most) => Math.min(most - 1, Math.floor(uniform * most));

/**
 * A task with some symbols, followed by the same number of blanks. The model fills the blanks with
 * the symbols in another order.
 * @param {number} given number of symbols
 * @param {number} kinds number of distinct symbols
 * @param {(given: Int32Array) => Int32Array} answer
 * @returns {World}
 */
function rearranged(given, kinds, answer) {
  /** @type {World['ask']} */
  const ask = (ids, targets) => {
    ids.fill(kinds, given);
    targets.fill(ignored, 0, given);
    targets.set(answer(ids.slice(0, given)), given);
  };
  return {
    ...{ symbols: [...letters.slice(0, kinds), blank], length: 2 * given, answers: given },
    ...{ size: given, unit: 'letters' },
    ...{ numbers: given, causal: false, next: false, own: range(given), kinds, ask },
    fill(uniform, ids, targets) {
      for (let i = 0; i < given; i++) ids[i] = below(uniform[i], kinds);
      ask(ids, targets);
    },
  };
}

const digits = [...'0123456789'];
const [plus, equals, unknown] = [10, 11, 12];

/**
 * A task with two numbers, followed by blanks for their sum.
 * @param {number} size number of digits of each number
 * @returns {World}
 */
function sums(size) {
  const [second, blanks] = [size + 1, 2 * size + 2];
  const own = [...range(size), ...range(size).map((i) => second + i)];
  /** @type {World['ask']} */
  const ask = (ids, targets) => {
    ids[size] = plus;
    ids[blanks - 1] = equals;
    ids.fill(unknown, blanks);
    targets.fill(ignored);
    let carry = 0;
    for (let i = size - 1; i >= 0; i--) {
      const sum = ids[i] + ids[second + i] + carry;
      targets[blanks + 1 + i] = sum % 10;
      carry = Math.floor(sum / 10);
    }
    targets[blanks] = carry;
  };
  return {
    ...{ symbols: [...digits, '+', '=', blank], length: 3 * size + 3, answers: size + 1 },
    ...{ size, unit: 'digits', numbers: 2 * size, causal: false, next: false, own, kinds: 10 },
    fill(uniform, ids, targets) {
      own.forEach((at, i) => (ids[at] = below(uniform[i], 10)));
      ask(ids, targets);
    },
    ask,
  };
}

const [counted, kinds] = [10, 5];

/**
 * A task of counting. The answer at each symbol is the number of times that the symbol occurs. If
 * this number is above `counted`, there is no answer, because the task has no symbol for the
 * number.
 * @param {number} size
 * @returns {World}
 */
function counts(size) {
  /** @type {World['ask']} */
  const ask = (ids, targets) => {
    ids.forEach((id, i) => {
      const same = ids.reduce((sum, other) => sum + Number(other === id), 0);
      targets[i] = same > counted ? ignored : kinds - 1 + same;
    });
  };
  return {
    symbols: [...letters.slice(0, kinds), ...range(counted).map((i) => `${i + 1}`)],
    ...{ length: size, size, unit: 'letters', answers: size, numbers: size, causal: false },
    ...{ next: false, own: range(size), kinds, ask },
    fill(uniform, ids, targets) {
      for (let i = 0; i < size; i++) ids[i] = below(uniform[i], kinds);
      ask(ids, targets);
    },
  };
}

const [shortestRun, longestRun] = [4, 12];

/**
 * A task with random letters, in which a run of letters occurs at a random position and is repeated
 * after a gap. Once the repetition has begun, each next letter is determined. With a fixed position
 * or gap, positions alone would determine the letter.
 * @param {number} size
 * @returns {World}
 */
function repeated(size) {
  return {
    ...{ symbols: letters, length: size, size, unit: 'letters', answers: longestRun - 1 },
    ...{ numbers: size + 3, causal: true, next: true, own: range(size), kinds: 26 },
    fill(uniform, ids, targets) {
      for (let i = 0; i < size; i++) ids[i] = below(uniform[i], letters.length);
      const [ofRun, ofGap, ofPlace] = [0, 1, 2].map((i) => uniform[size + i]);
      const run = shortestRun + below(ofRun, longestRun - shortestRun + 1);
      const gap = below(ofGap, size - 2 * run + 1);
      const first = below(ofPlace, size - 2 * run - gap + 1);
      const second = first + run + gap;
      ids.copyWithin(second, first, first + run);
      targets.fill(ignored);
      for (let i = second; i < second + run - 1; i++) targets[i] = ids[i + 1];
    },
    ask(ids, targets) {
      // Find the longest repeated run. If several runs have that length, take the last run.
      let [from, run] = [0, 0];
      for (let second = 1; second < size; second++) {
        for (let first = 0; first < second; first++) {
          let same = 0;
          while (second + same < size && ids[first + same] === ids[second + same]) same++;
          if (same >= run) [from, run] = [second, same];
        }
      }
      targets.fill(ignored);
      for (let i = from; i < from + run - 1; i++) targets[i] = ids[i + 1];
    },
  };
}

/** In characters: length of the longest date in words, and length of every date in digits. */
const [longestDate, inDigitsLength] = [36, 10];

/** A task with dates in words, which the model writes in digits: 1999-05-03. @returns {World} */
function dates() {
  const symbols = [...letters, ...digits, ...' ,.-', blank];
  const written = [...digits, '-', blank];
  const padding = symbols.length - 1;
  const own = range(longestDate);
  /** @type {World['ask']} */
  const ask = (ids, targets) => {
    const read = Array.from(ids, (id) => (id === padding ? '' : symbols[id])).join('');
    const day = dayIn(read);
    if (day) targets.set([...inDigits(day)].map((symbol) => written.indexOf(symbol)));
    else targets.fill(ignored);
  };
  return {
    ...{ symbols, length: longestDate, answers: inDigitsLength, size: longestDate },
    ...{ unit: 'characters', numbers: 4, causal: false, next: false, own, kinds: padding, ask },
    written: { symbols: written, start: written.length - 1, padding },
    fill(uniform, ids, targets) {
      const year = years.first + below(uniform[0], years.count);
      const month = 1 + below(uniform[1], 12);
      const day = 1 + below(uniform[2], daysOf(year, month));
      const text = spellings[below(uniform[3], spellings.length)]({ year, month, day });
      ids.fill(padding);
      [...text].forEach((character, i) => (ids[i] = symbols.indexOf(character)));
      ask(ids, targets);
    },
  };
}

/** @type {Record<WorldName, (times: number) => World>} */
const makers = {
  copy: (times) => rearranged(10 * times, 20, (given) => given),
  reverse: (times) => rearranged(10 * times, 20, (given) => given.reverse()),
  sort: (times) => rearranged(10 * times, 20, (given) => given.sort()),
  repeat: (times) => repeated(32 * times),
  add: (times) => sums(2 * times),
  count: (times) => counts(counted * times),
  dates,
};

/**
 * Returns a task with the same symbols and longer inputs. Dates keep their length.
 * @param {WorldName} name
 * @param {number} times length of the inputs, divided by their length in `worlds`
 */
export const longerWorld = (name, times) => makers[name](times);

/** The tasks with their training sizes. */
export const worlds = /** @type {Record<WorldName, World>} */ (
  Object.fromEntries(Object.entries(makers).map(([name, make]) => [name, make(1)]))
);

/**
 * A held-out example with the reader's text. The text's symbols replace the tokens that the reader
 * can choose, starting with the first. In a written task, padding replaces the remaining tokens
 * that the reader can choose. Characters that are not symbols of the task are ignored.
 * @param {import('attn').Attn} attn
 * @param {World} world
 * @param {number} seed
 * @param {string} text
 * @returns {{ ids: Int32Array, targets: Int32Array }}
 */
export function exampleOf(attn, world, seed, text) {
  const { heldOut } = new Source(attn, world, seed, 1);
  const [ids, targets] = [heldOut.ids.data, heldOut.targets.data];
  const typed = tokensOf(world, text);
  if (typed.length) {
    if (world.written) ids.fill(world.written.padding);
    typed.forEach((token, i) => (ids[world.own[i]] = token));
    world.ask(ids, targets);
  }
  return { ids, targets };
}

/** The tokens of a text that are symbols of a task. @param {World} world @param {string} text */
export const tokensOf = ({ symbols, own, kinds }, text) =>
  [...text.toLowerCase()]
    .map((character) => symbols.indexOf(character))
    .filter((token) => token >= 0 && token < kinds)
    .slice(0, own.length);

/**
 * Stream of random numbers for the held-out examples, separate from the streams for weights.
 */
export const heldOutStream = 1 << 20;
/**
 * Streams of random numbers for training: the first stream, and the largest number of streams per
 * step. A task with few examples needs several streams, because some of the drawn examples are held
 * out.
 */
export const trainingStreams = { first: 1 << 21, each: 8 };

/**
 * @typedef {object} Examples
 * @property {{ data: Int32Array, shape: number[] }} ids (examples, length)
 * @property {{ data: Int32Array, shape: number[] }} targets (examples, length), or (examples,
 *   answers) in a written task
 */

/** Makes the training examples and the held-out examples of a task. */
export class Source {
  #attn;
  #world;
  #seed;
  /**
   * The held-out examples, or their answers in a written task. They are never used for training.
   * @type {Set<string>}
   */
  #heldOut = new Set();

  /**
   * @param {import('attn').Attn} attn
   * @param {World} world
   * @param {number} seed
   * @param {number} heldOut number of held-out examples
   */
  constructor(attn, world, seed, heldOut) {
    this.#attn = attn;
    this.#world = world;
    this.#seed = seed;
    this.heldOut = this.#make(heldOut, heldOutStream);
    // A held-out date is never used for training, in any spelling.
    const { data, shape } = world.written ? this.heldOut.targets : this.heldOut.ids;
    for (let i = 0; i < heldOut; i++) {
      this.#heldOut.add(data.slice(i * shape[1], (i + 1) * shape[1]).join());
    }
  }

  /**
   * The training examples of a step. They differ from step to step, and none is held out.
   * @param {number} step
   * @param {number} batch number of examples
   */
  batch(step, batch) {
    const { written } = this.#world;
    return this.#make(batch, trainingStreams.first + trainingStreams.each * step, (ids, targets) =>
      this.#heldOut.has((written ? targets : ids).join()),
    );
  }

  /**
   * @param {number} count
   * @param {number} stream the first of the streams of random numbers
   * @param {(ids: Int32Array, targets: Int32Array) => boolean} [isLeftOut]
   * @returns {Examples}
   */
  #make(count, stream, isLeftOut = () => false) {
    const { length, numbers, fill, written, answers } = this.#world;
    const asked = written ? answers : length;
    const ids = new Int32Array(count * length);
    const targets = new Int32Array(count * asked);
    let made = 0;
    for (let draw = 0; made < count && draw < trainingStreams.each; draw++) {
      const { data } = this.#attn.randomUniform({
        ...{ shape: [count, numbers], seed: this.#seed, stream: stream + draw },
      });
      for (let i = 0; i < count && made < count; i++) {
        const given = ids.subarray(made * length, (made + 1) * length);
        const right = targets.subarray(made * asked, (made + 1) * asked);
        fill(data.subarray(i * numbers, (i + 1) * numbers), given, right);
        if (!isLeftOut(given, right)) made++;
      }
    }
    return {
      ids: { data: ids, shape: [count, length] },
      targets: { data: targets, shape: [count, asked] },
    };
  }
}
