import {
  alone,
  Layered,
  lengthOf,
  mostProbable,
  probabilityOf,
  stack,
  unembedding,
} from './layered.js';
import { sizes } from './model.js';
import { worlds } from './worlds.js';

/** @import { Attn, Integers, Tape, Tensor } from 'attn' */
/** @import { Invention, LaneOptions, Look, Model } from './model.js' */
/** @import { Examples } from './worlds.js' */

/**
 * The encoded input that a decoder attends to.
 * @typedef {{ states: any, hidden?: any, lengths: Integers }} Memory states: (examples, length,
 *   dModel)
 */

/**
 * The interface of an encoder and decoder.
 * @typedef {object} Coder
 * @property {(ids: Integers, lengths: Integers, options?: { tape: Tape }) => Memory} read
 * @property {(memory: Memory, given: Integers, options?: { tape?: Tape, needWeights?: boolean }) =>
 *   { logits: any, weights?: Tensor[] }} write logits at each position with `given` as the previous
 *   symbols; weights: weights of each layer, (examples, heads, answers, length)
 * @property {(memory: Memory) => Writing} begin
 *
 * @typedef {object} Writing writes symbol by symbol
 * @property {(tokens: Integers, place: number) => Tensor} next logits after one more symbol of
 *   each example
 * @property {() => void} dispose
 */

/** Reads the complete input, then writes symbol by symbol. @implements {Model} */
export class Writer extends Layered {
  #coder;
  #start;
  #padding;
  #answers;

  /**
   * @param {Attn} attn
   * @param {LaneOptions} options
   * @param {typeof Transformer | typeof Recurrent} Coder
   * @param {Invention} [invention]
   */
  constructor(attn, options, Coder, invention) {
    const { written, answers } = worlds[options.world];
    if (!written) throw new Error(`the task ${options.world} has no written answers`);
    super(attn, options, Coder.parts(attn, options, written.symbols.length), invention);
    this.#coder = /** @type {Coder} */ (new Coder(this));
    this.#start = written.start;
    this.#padding = written.padding;
    this.#answers = answers;
  }

  /** @param {Examples} examples @param {Tape} tape */
  record({ ids, targets }, tape) {
    const memory = this.#coder.read(ids, this.#lengthsOf(ids), { tape });
    return this.#coder.write(memory, this.#given(targets), { tape }).logits;
  }

  /** @param {Examples} examples */
  judge({ ids, targets }) {
    const memory = this.#coder.read(ids, this.#lengthsOf(ids));
    const { logits } = this.#coder.write(memory, this.#given(targets));
    return { logits, answer: this.#answer(memory) };
  }

  /** @param {Int32Array} ids @returns {Look} */
  look(ids) {
    const lengths = this.#lengthsOf(alone(ids));
    const memory = this.#coder.read(alone(ids), lengths);
    const answer = this.#answer(memory);
    // If the decoder gets the model's own answer as the previous symbols, a single pass computes
    // the same logits.
    const { logits, weights = [] } = this.#coder.write(memory, this.#given(alone(answer)), {
      needWeights: true,
    });
    const length = lengths.data[0];
    return {
      ...{ ids, answer, probability: probabilityOf(logits, answer), ...this.table },
      weights: weights.map(({ data, shape: [, heads, rows, columns] }) => ({
        data: data.filter((_, i) => i % columns < length),
        shape: [heads, rows, length],
      })),
    };
  }

  /** @returns {Tensor[]} */
  weightsOf() {
    return [];
  }

  /**
   * The most probable symbols, each given the model's own previous symbols.
   * @param {Memory} memory
   */
  #answer(memory) {
    const [examples] = memory.states.shape;
    const answer = new Int32Array(examples * this.#answers);
    /** @type {Int32Array} */
    let last = new Int32Array(examples).fill(this.#start);
    const writing = this.#coder.begin(memory);
    try {
      for (let place = 0; place < this.#answers; place++) {
        last = mostProbable(writing.next({ data: last, shape: [examples, 1] }, place));
        last.forEach((symbol, i) => (answer[i * this.#answers + place] = symbol));
      }
    } finally {
      writing.dispose();
    }
    return answer;
  }

  /** The previous symbol at each position. @param {Examples['targets']} targets */
  #given({ data, shape }) {
    const given = new Int32Array(data.length);
    given.set(data.subarray(0, -1), 1);
    for (let i = 0; i < given.length; i += this.#answers) given[i] = this.#start;
    return { data: given, shape };
  }

  /** The length of each example without padding. @param {Examples['ids']} ids */
  #lengthsOf({ data, shape: [examples, length] }) {
    const lengths = Int32Array.from({ length: examples }, (_, i) => {
      const end = data.subarray(i * length, (i + 1) * length).indexOf(this.#padding);
      return end < 0 ? length : end;
    });
    return { data: lengths, shape: [examples] };
  }
}

/** The complete Transformer, whose decoder reads the input by cross attention. */
export class Transformer {
  /**
   * @param {Attn} attn
   * @param {LaneOptions} options
   * @param {number} symbols number of symbols that can be written
   */
  static parts(attn, options, symbols) {
    const { seed } = options;
    return {
      encoder: new attn.TransformerEncoder(stack(options, 1000)),
      written: new attn.Embedding({
        ...{ numEmbeddings: symbols, embeddingDim: sizes.dModel, deviation: 0.5, seed, stream: 2 },
      }),
      decoder: new attn.TransformerDecoder(stack({ ...options, causal: true }, 3000)),
      unembed: unembedding(attn, symbols, seed),
    };
  }

  #model;

  /** @param {Layered} model */
  constructor(model) {
    this.#model = model;
  }

  /** @type {Coder['read']} */
  read(ids, lengths, options) {
    const { tokens, encoder } = this.#model.parts;
    const x = this.#model.withPositions(tokens.forward(ids, ...(options ? [options] : [])));
    const attention = { validLens: lengths, ...this.#model.biasOf(lengthOf(ids)) };
    const states = encoder.forward(x, { attention });
    return { states: options ? states : states.output, lengths };
  }

  /** @type {Coder['write']} */
  write({ states, lengths }, given, { tape, needWeights } = {}) {
    const { written, decoder, unembed } = this.#model.parts;
    const y = this.#model.withPositions(written.forward(given, ...(tape ? [{ tape }] : [])));
    const said = decoder.forward(y, states, {
      selfAttention: { causal: true, ...this.#model.biasOf(lengthOf(given)) },
      crossAttention: { validLens: lengths },
      ...(needWeights && { needWeights }),
    });
    if (tape) return { logits: unembed.forward(said) };
    return { logits: unembed.forward(said.output), weights: said.crossAttentionWeights };
  }

  /** @type {Coder['begin']} */
  begin({ states, lengths }) {
    const { written, decoder, unembed } = this.#model.parts;
    const state = decoder.start(states);
    return {
      next: (tokens, place) => {
        const { answers } = worlds[this.#model.options.world];
        const y = this.#model.withPositions(written.forward(tokens), place, answers);
        const { output } = decoder.forward(y, state, {
          selfAttention: this.#model.biasOf(1, place, answers),
          crossAttention: { validLens: lengths },
        });
        return unembed.forward(output);
      },
      dispose: () => state.dispose(),
    };
  }
}

/** Bahdanau's model: one GRU reads, and another writes with additive attention. */
export class Recurrent {
  /**
   * @param {Attn} attn
   * @param {LaneOptions} options
   * @param {number} symbols number of symbols that can be written
   */
  static parts(attn, { seed, layers: numLayers }, symbols) {
    const { dModel } = sizes;
    return {
      encoder: new attn.GRU({
        ...{ inputSize: dModel, hiddenSize: dModel, numLayers, seed, stream: 1000 },
      }),
      decoder: new attn.BahdanauDecoder({
        ...{ vocabSize: symbols, embedSize: dModel, numHiddens: dModel, numLayers },
        ...{ seed, stream: 3000 },
      }),
    };
  }

  #model;

  /** @param {Layered} model */
  constructor(model) {
    this.#model = model;
  }

  /** @type {Coder['read']} */
  read(ids, lengths, options) {
    const { tokens, encoder } = this.#model.parts;
    const { output, hN } = encoder.forward(tokens.forward(ids, ...(options ? [options] : [])));
    return { states: output, hidden: hN, lengths };
  }

  /** @type {Coder['write']} */
  write({ states, hidden, lengths }, given, { tape, needWeights } = {}) {
    const { decoder } = this.#model.parts;
    const state = decoder.initState(states, hidden, { encoderLens: lengths });
    if (tape) return decoder.forward(given, state);
    try {
      const { logits, alignment } = decoder.forward(given, state, { needAlignment: needWeights });
      if (!alignment) return { logits };
      const [examples, ...shape] = alignment.shape;
      return { logits, weights: [{ data: alignment.data, shape: [examples, 1, ...shape] }] };
    } finally {
      state.dispose();
    }
  }

  /** @type {Coder['begin']} */
  begin({ states, hidden, lengths }) {
    const { decoder } = this.#model.parts;
    const state = decoder.initState(states, hidden, { encoderLens: lengths });
    return {
      next: (tokens) => decoder.forward(tokens, state).logits,
      dispose: () => state.dispose(),
    };
  }
}
