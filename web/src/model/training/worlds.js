/**
 * Worlds that a small model can learn. Each is a pure function from uniform random numbers to examples, so
 * that a seed gives the same examples everywhere, without end.
 *
 * @typedef {object} World
 * @property {string[]} symbols the vocabulary: a token is an index into it
 * @property {number} length of a sequence, in tokens
 * @property {number} answers most tokens of a sequence that are asked for
 * @property {number} numbers random numbers that an example takes
 * @property {boolean} causal whether a token may look at earlier ones only, as the world is meant
 * @property {number[]} own places of the tokens that a reader may choose
 * @property {number} kinds how many symbols, from the first on, may stand there
 * @property {boolean} next whether an answer is the next token: it stands in the sequence itself
 * @property {(uniform: ArrayLike<number>, ids: Int32Array, targets: Int32Array) => void} fill makes an
 *   example from numbers in [0, 1): the tokens, and what is asked for at each, `ignored` where nothing is
 * @property {(ids: Int32Array, targets: Int32Array) => void} ask the same for tokens of the reader's:
 *   sets those that are not the reader's to choose, and the targets
 */

/** A target that does not count. */
export const ignored = -100;

/** @typedef {'copy' | 'reverse' | 'sort' | 'repeat' | 'add' | 'count'} WorldName */

const range = (/** @type {number} */ length) => Array.from({ length }, (_, i) => i);

const letters = [...'abcdefghijklmnopqrstuvwxyz'];
const blank = '·';

/** A whole number below `most`. @param {number} uniform @param {number} most */
const below = (uniform, most) => Math.min(most - 1, Math.floor(uniform * most));

/**
 * Some symbols, and as many blanks that are to hold them in another order.
 * @param {number} given how many
 * @param {number} kinds different symbols
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
    ...{ numbers: given, causal: false, next: false, own: range(given), kinds, ask },
    fill(uniform, ids, targets) {
      for (let i = 0; i < given; i++) ids[i] = below(uniform[i], kinds);
      ask(ids, targets);
    },
  };
}

const digits = [...'0123456789'];
const [plus, equals, unknown] = [10, 11, 12];

/** Two numbers of two digits, and three blanks for their sum. @type {World} */
const add = {
  ...{ symbols: [...digits, '+', '=', blank], length: 9, answers: 3 },
  ...{ numbers: 4, causal: false, next: false, own: [0, 1, 3, 4], kinds: 10 },
  fill(uniform, ids, targets) {
    add.own.forEach((at, i) => (ids[at] = below(uniform[i], 10)));
    add.ask(ids, targets);
  },
  ask(ids, targets) {
    ids[2] = plus;
    ids.set([equals, unknown, unknown, unknown], 5);
    const sum = 10 * (ids[0] + ids[3]) + ids[1] + ids[4];
    targets.fill(ignored);
    targets.set([Math.floor(sum / 100), Math.floor(sum / 10) % 10, sum % 10], 6);
  },
};

const [counted, kinds] = [10, 5];

/** At each symbol, how many of its kind there are. @type {World} */
const count = {
  symbols: [...letters.slice(0, kinds), ...range(counted).map((i) => `${i + 1}`)],
  ...{ length: counted, answers: counted, numbers: counted, causal: false, next: false },
  ...{ own: range(counted), kinds },
  fill(uniform, ids, targets) {
    for (let i = 0; i < counted; i++) ids[i] = below(uniform[i], kinds);
    count.ask(ids, targets);
  },
  ask(ids, targets) {
    ids.forEach((id, i) => {
      targets[i] = kinds - 1 + ids.reduce((sum, other) => sum + Number(other === id), 0);
    });
  },
};

const [longest, shortestRun, longestRun] = [32, 4, 12];

/**
 * Random letters, in which a run stands anywhere and comes again after a gap: once it has begun to come
 * again, each next letter can be told. With a fixed place or gap, position alone would tell it.
 * @type {World}
 */
const repeat = {
  ...{ symbols: letters, length: longest, answers: longestRun - 1 },
  ...{ numbers: longest + 3, causal: true, next: true, own: range(longest), kinds: 26 },
  fill(uniform, ids, targets) {
    for (let i = 0; i < longest; i++) ids[i] = below(uniform[i], letters.length);
    const [ofRun, ofGap, ofPlace] = [0, 1, 2].map((i) => uniform[longest + i]);
    const run = shortestRun + below(ofRun, longestRun - shortestRun + 1);
    const gap = below(ofGap, longest - 2 * run + 1);
    const first = below(ofPlace, longest - 2 * run - gap + 1);
    const second = first + run + gap;
    ids.copyWithin(second, first, first + run);
    targets.fill(ignored);
    for (let i = second; i < second + run - 1; i++) targets[i] = ids[i + 1];
  },
  ask(ids, targets) {
    // The longest run that comes again, and the last of those.
    let [from, run] = [0, 0];
    for (let second = 1; second < longest; second++) {
      for (let first = 0; first < second; first++) {
        let same = 0;
        while (second + same < longest && ids[first + same] === ids[second + same]) same++;
        if (same >= run) [from, run] = [second, same];
      }
    }
    targets.fill(ignored);
    for (let i = from; i < from + run - 1; i++) targets[i] = ids[i + 1];
  },
};

/** @type {Record<WorldName, World>} */
export const worlds = {
  copy: rearranged(10, 20, (given) => given),
  reverse: rearranged(10, 20, (given) => given.reverse()),
  sort: rearranged(10, 20, (given) => given.sort()),
  repeat,
  add,
  count,
};

/**
 * A held-out example, in which a reader's text takes the place of the first of the tokens that can be
 * chosen; what else it says is left out.
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
    typed.forEach((token, i) => (ids[world.own[i]] = token));
    world.ask(ids, targets);
  }
  return { ids, targets };
}

/** The tokens of a text that stand for something in a world. @param {World} world @param {string} text */
export const tokensOf = ({ symbols, own, kinds }, text) =>
  [...text.toLowerCase()]
    .map((character) => symbols.indexOf(character))
    .filter((token) => token >= 0 && token < kinds)
    .slice(0, own.length);

/** Streams of random numbers, apart from those of weights: of what is held out, and of each step. */
const heldOutStream = 1 << 20;
/** Of each step so many at the most: of a small world, some examples are held out. */
export const trainingStreams = { first: 1 << 21, each: 8 };

/**
 * @typedef {object} Examples
 * @property {{ data: Int32Array, shape: number[] }} ids (examples, length)
 * @property {{ data: Int32Array, shape: number[] }} targets (examples, length)
 */

/** Makes the examples of a world: those to learn from, and those that are held out. */
export class Source {
  #attn;
  #world;
  #seed;
  /** Those that are never learned from. @type {Set<string>} */
  #heldOut = new Set();

  /**
   * @param {import('attn').Attn} attn
   * @param {World} world
   * @param {number} seed
   * @param {number} heldOut how many examples
   */
  constructor(attn, world, seed, heldOut) {
    this.#attn = attn;
    this.#world = world;
    this.#seed = seed;
    this.heldOut = this.#make(heldOut, heldOutStream);
    const { length } = world;
    for (let i = 0; i < heldOut; i++) {
      this.#heldOut.add(this.heldOut.ids.data.slice(i * length, (i + 1) * length).join());
    }
  }

  /**
   * The examples that a step learns from: others in each step, none that are held out.
   * @param {number} step
   * @param {number} batch how many
   */
  batch(step, batch) {
    return this.#make(batch, trainingStreams.first + trainingStreams.each * step, (ids) =>
      this.#heldOut.has(ids.join()),
    );
  }

  /**
   * @param {number} count
   * @param {number} stream the first one
   * @param {(ids: Int32Array) => boolean} [isLeftOut]
   * @returns {Examples}
   */
  #make(count, stream, isLeftOut = () => false) {
    const { length, numbers, fill } = this.#world;
    const shape = [count, length];
    const ids = new Int32Array(count * length);
    const targets = new Int32Array(count * length);
    let made = 0;
    for (let draw = 0; made < count && draw < trainingStreams.each; draw++) {
      const { data } = this.#attn.randomUniform({
        ...{ shape: [count, numbers], seed: this.#seed, stream: stream + draw },
      });
      for (let i = 0; i < count && made < count; i++) {
        const [from, to] = [made * length, (made + 1) * length];
        fill(
          data.subarray(i * numbers, (i + 1) * numbers),
          ids.subarray(from, to),
          targets.subarray(from, to),
        );
        if (!isLeftOut(ids.subarray(from, to))) made++;
      }
    }
    return { ids: { data: ids, shape }, targets: { data: targets, shape } };
  }
}
