import { longerWorld, worlds } from './worlds.js';

/** @typedef {import('attn').Attn} Attn */
/** @typedef {import('attn').Tape} Tape */
/** @typedef {import('attn').Tensor} Tensor */
/** @typedef {import('attn').Variable} Variable */
/** @typedef {import('attn').Integers} Integers */
/** @typedef {import('./worlds.js').Examples} Examples */
/** @typedef {import('./worlds.js').WorldName} WorldName */

/** @typedef {import('./schemes.js').Scheme} Scheme */

/**
 * The options of a model and its task.
 * @typedef {object} LaneOptions
 * @property {WorldName} world
 * @property {Scheme} positions
 * @property {number} heads
 * @property {number} layers
 * @property {import('../invention/invention.js').Written} [written] the formulas of the scheme
 *   `yours`
 * @property {boolean} causal
 * @property {number} rate the learning rate
 * @property {number} seed
 * @property {'transformer' | 'recurrent'} [decoder] in worlds with written answers; a recurrent
 *   decoder has one head and no positions
 */

export const sizes = { dModel: 64, dimFeedforward: 128, batch: 64, heldOut: 128, warmup: 20 };

/** The lengths of the test inputs, as multiples of the training length. */
export const lengths = [1, 1.5, 2, 3, 4];

/** Largest distance that Shaw's relative keys and values and T5's buckets distinguish. */
const mostDistance = 16;

/**
 * The scheme `yours`, whose module is loaded on demand.
 * @typedef {import('../invention/invention.js').Invention} Invention
 */

/**
 * Loads the reader's scheme if the options name it, and computes its tables for every length that
 * the lane needs.
 * @param {LaneOptions} options
 * @returns {Promise<Invention | undefined>}
 */
export async function loadInvention({ positions, written, world, heads }) {
  if (positions !== 'yours' || !written) return undefined;
  const { Invention } = await import('../invention/invention.js');
  const invention = new Invention(written);
  const { length, answers, written: answered } = worlds[world];
  const all = answered
    ? [length, answers]
    : lengths.map((times) => longerWorld(world, times).length);
  for (const n of all) {
    invention.added(n, sizes.dModel);
    invention.bias(n, heads, sizes.dModel);
  }
  return invention;
}

/**
 * @param {Pick<LaneOptions, 'positions' | 'causal'>} options
 * @returns {import('attn').AttentionPositions} the positions that attention applies
 */
export function attentionPositions({ positions, causal }) {
  switch (positions) {
    case 'rotary':
      return { rotary: {} };
    case 'alibi':
      return { alibi: true };
    case 't5':
      return { t5Bias: { maxDistance: 2 * mostDistance, bidirectional: !causal } };
    case 'shaw':
      return { maxRelativeDistance: mostDistance };
    default:
      return {};
  }
}

/**
 * A model's attention and its answers.
 * @typedef {object} Look
 * @property {Int32Array} ids the example
 * @property {Tensor[]} weights weights of each layer, (heads, answers, length)
 * @property {Int32Array} answer the most probable symbol of each answer
 * @property {Float32Array} probability of that symbol
 * @property {Tensor} [table] table of learned positions, (length, dModel)
 */

/** Index of the largest value. @param {Float32Array} values */
const largestAt = (values) =>
  values.reduce((best, value, i) => (value > values[best] ? i : best), 0);

/** The most probable symbols. @param {Tensor} logits (…, symbols) */
function mostProbable({ data, shape }) {
  const symbols = shape[shape.length - 1];
  return Int32Array.from({ length: data.length / symbols }, (_, i) =>
    largestAt(data.subarray(i * symbols, (i + 1) * symbols)),
  );
}

/** The probability of each answer. @param {Tensor} logits @param {Int32Array} answer */
function probabilityOf({ data }, answer) {
  const symbols = data.length / answer.length;
  return Float32Array.from(answer, (best, i) => {
    const row = data.subarray(i * symbols, (i + 1) * symbols);
    return 1 / row.reduce((sum, value) => sum + Math.exp(value - row[best]), 0);
  });
}

/** The number of positions. @param {Integers} ids (examples, length) */
const lengthOf = (ids) => /** @type {Tensor} */ (ids).shape[1];

/** Tokens as a batch of one. @param {Int32Array} ids */
const alone = (ids) => ({ data: ids, shape: [1, ids.length] });

/**
 * A small model. It computes on tensors with any module, and on variables with a training module.
 * @typedef {object} Model
 * @property {(examples: Examples, tape: Tape) => Variable} record logits, of the targets' shape
 *   plus (…, symbols)
 * @property {(examples: Examples) => { logits: Tensor, answer: Int32Array }} judge logits without
 *   a tape, and the answers
 * @property {(ids: Int32Array) => Look} look runs the model on one example
 * @property {(ids: Integers) => Tensor[]} weightsOf weights of each layer, (examples, heads, n, n)
 * @property {() => import('./snapshots.js').Weights} stateDict all weights by name, as copies
 * @property {(weights: Parameters<import('attn').Linear['loadStateDict']>[0]) => void}
 *   loadStateDict takes weights with the same names
 * @property {(tape: Tape) => string | undefined} pathNotFinite path of the first parameter whose
 *   gradient is not finite, after the backward pass
 * @property {Record<string, any>} parts its layers, by the prefix of their parameters
 * @property {() => void} dispose
 */

/** The base class of all models. */
class Layered {
  /** @type {Record<string, any>} */
  parts;

  #invention;

  /**
   * @param {Attn} attn
   * @param {LaneOptions} options
   * @param {Record<string, any>} parts
   * @param {Invention} [invention]
   */
  constructor(attn, options, parts, invention) {
    this.attn = attn;
    this.options = options;
    this.#invention = invention;
    const { length, symbols } = worlds[options.world];
    const { dModel } = sizes;
    const { seed } = options;
    this.parts = {
      tokens: new attn.Embedding({
        ...{ numEmbeddings: symbols.length, embeddingDim: dModel, deviation: 0.5, seed, stream: 1 },
      }),
      ...(options.positions === 'learned' && {
        positions: new attn.LearnedPositionalEncoding({
          ...{ maxLength: length, dModel, deviation: 0.5, seed },
        }),
      }),
      ...parts,
    };
  }

  /**
   * @template {Tensor | Variable} T
   * @param {T} tokens embedded tokens
   * @param {number} [start] position of the first token
   * @param {number} [n] number of positions
   * @returns {T}
   */
  withPositions(tokens, start = 0, n = tokens.shape[1]) {
    const x = /** @type {any} */ (tokens);
    const added = this.#invention?.added(n, sizes.dModel);
    if (added) return /** @type {any} */ (this.#withTable(x, added, start));
    if (this.options.positions === 'sinusoidal') {
      return /** @type {any} */ (this.attn.positionalEncoding(x, { start }));
    }
    return this.parts.positions ? this.parts.positions.forward(x, { start }) : x;
  }

  /**
   * Adds a table that is not learned.
   * @param {any} x tokens (B, N, dModel), a tensor or a variable
   * @param {Tensor} table (n, dModel)
   * @param {number} start
   */
  #withTable(x, { data, shape: [maxLength, dModel] }, start) {
    if (x.tape) {
      const [batch, length] = x.shape;
      const rows = new Float32Array(batch * length * dModel);
      const some = data.subarray(start * dModel, (start + length) * dModel);
      for (let i = 0; i < batch; i++) rows.set(/** @type {Float32Array} */ (some), i * some.length);
      return x.add(x.tape.constant({ data: rows, shape: x.shape }));
    }
    const positions = new this.attn.LearnedPositionalEncoding({ maxLength, dModel });
    try {
      positions.setParameter('weight', { data, shape: [maxLength, dModel] });
      return positions.forward(x, { start });
    } finally {
      positions.dispose();
    }
  }

  /**
   * The bias of the reader's scheme, as an option of attention.
   * @param {number} queries
   * @param {number} [start] how many keys come before the first query
   * @param {number} [n] number of positions
   * @returns {{ bias?: Tensor }} bias: (heads, queries, start + queries)
   */
  biasOf(queries, start = 0, n = queries) {
    const { heads } = this.options;
    const all = this.#invention?.bias(n, heads, sizes.dModel);
    if (!all) return {};
    const keys = start + queries;
    if (keys === n && queries === n) return { bias: all };
    const data = new Float32Array(heads * queries * keys);
    for (let row = 0; row < heads * queries; row++) {
      const first = (Math.floor(row / queries) * n + start + (row % queries)) * n;
      data.set(/** @type {Float32Array} */ (all.data).subarray(first, first + keys), row * keys);
    }
    return { bias: { data, shape: [heads, queries, keys] } };
  }

  stateDict() {
    return Object.assign(
      {},
      ...this.#layers().map(([name, layer]) => layer.stateDict({ prefix: `${name}.` })),
    );
  }

  /** @type {Model['loadStateDict']} */
  loadStateDict(weights) {
    for (const [name, layer] of this.#layers()) {
      layer.loadStateDict(weights, { prefix: `${name}.` });
    }
  }

  /** @type {Model['pathNotFinite']} */
  pathNotFinite(tape) {
    for (const [name, layer] of this.#layers()) {
      const parameter = layer
        .parameterNames()
        .find((each) => tape.gradient(layer, each)?.data.some((value) => !Number.isFinite(value)));
      if (parameter) return `${name}.${parameter}`;
    }
    return undefined;
  }

  /** The learned table, for display. */
  get table() {
    const { positions } = this.parts;
    return positions && { table: /** @type {Tensor} */ (positions.parameter('weight')) };
  }

  dispose() {
    for (const [, layer] of this.#layers()) layer.dispose();
  }

  /** @returns {[string, import('attn').Linear][]} */
  #layers() {
    return Object.entries(this.parts);
  }
}

/**
 * Options for a stack of Transformer layers.
 * @param {LaneOptions} options
 * @param {number} stream
 */
const stack = (options, stream) => ({
  ...{ dModel: sizes.dModel, dimFeedforward: sizes.dimFeedforward },
  ...{ numHeads: options.heads, numLayers: options.layers, normFirst: true, finalNorm: true },
  ...{ positions: attentionPositions(options), seed: options.seed, stream },
});

/** @param {Attn} attn @param {number} symbols @param {number} seed */
const unembedding = (attn, symbols, seed) =>
  new attn.Linear({ inFeatures: sizes.dModel, outFeatures: symbols, seed, stream: 2000 });

/**
 * A Transformer that makes a prediction at each token. It consists of embeddings, positions and
 * attention layers.
 * @implements {Model}
 */
class Encoder extends Layered {
  /** @param {Attn} attn @param {LaneOptions} options @param {Invention} [invention] */
  constructor(attn, options, invention) {
    const parts = {
      encoder: new attn.TransformerEncoder(stack(options, 1000)),
      unembed: unembedding(attn, worlds[options.world].symbols.length, options.seed),
    };
    super(attn, options, parts, invention);
  }

  /** @param {Examples} examples @param {Tape} tape */
  record({ ids }, tape) {
    const { tokens, encoder, unembed } = this.parts;
    const x = this.withPositions(tokens.forward(ids, { tape }));
    return unembed.forward(encoder.forward(x, { attention: this.#attention(ids) }));
  }

  /** @param {Examples} examples */
  judge({ ids }) {
    const { logits } = this.#forward(ids, false);
    return { logits, answer: mostProbable(logits) };
  }

  /** @param {Int32Array} ids @returns {Look} */
  look(ids) {
    const { logits, weights } = this.#forward(alone(ids), true);
    const answer = mostProbable(logits);
    return {
      ...{ ids, answer, probability: probabilityOf(logits, answer), ...this.table },
      weights: weights.map(({ data, shape }) => ({ data, shape: shape.slice(1) })),
    };
  }

  /** @param {Integers} ids */
  weightsOf(ids) {
    return this.#forward(ids, true).weights;
  }

  /** @param {Integers} ids (examples, length) */
  #attention(ids) {
    return { causal: this.options.causal, ...this.biasOf(lengthOf(ids)) };
  }

  /**
   * @param {Integers} ids (examples, length)
   * @param {boolean} needWeights
   * @returns {{ logits: Tensor, weights: Tensor[] }}
   */
  #forward(ids, needWeights) {
    const { tokens, encoder, unembed } = this.parts;
    const { output, weights = [] } = encoder.forward(this.withPositions(tokens.forward(ids)), {
      attention: this.#attention(ids),
      needWeights,
    });
    return { logits: unembed.forward(output), weights };
  }
}

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
class Writer extends Layered {
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
    if (!written) throw new Error(`the world ${options.world} has no written answers`);
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
class Transformer {
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
class Recurrent {
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

/**
 * @param {Attn} attn
 * @param {LaneOptions} options
 * @param {Invention} [invention] from `loadInvention()`, for the scheme `yours`
 * @returns {Model}
 */
export function makeModel(attn, options, invention) {
  if (!worlds[options.world].written) return new Encoder(attn, options, invention);
  return options.decoder === 'recurrent'
    ? new Writer(attn, { ...options, positions: 'none' }, Recurrent)
    : new Writer(attn, options, Transformer, invention);
}
