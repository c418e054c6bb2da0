import { headScores } from './induction.js';
import { describeSaved, metadataOf, suits } from './saved.js';
import { Snapshots } from './snapshots.js';
import { ignored, longerWorld, Source, worlds } from './worlds.js';

/** @typedef {import('attn').Attn} Attn */
/** @typedef {import('attn').TrainingAttn} TrainingAttn */
/** @typedef {import('./worlds.js').WorldName} WorldName */

/** @typedef {'none' | 'sinusoidal' | 'learned' | 'rotary' | 'alibi' | 't5' | 'shaw'} Scheme */

/**
 * What a model is made of, and what it learns.
 * @typedef {object} LaneOptions
 * @property {WorldName} world
 * @property {Scheme} positions
 * @property {number} heads
 * @property {number} layers
 * @property {boolean} causal
 * @property {number} rate the learning rate
 * @property {number} seed
 */

export const sizes = { dModel: 64, dimFeedforward: 128, batch: 64, heldOut: 128, warmup: 20 };

/** Examples that heads are scored on. */
const scoredExamples = 8;

/** Held-out examples are looked at after every so many steps. */
export const evaluateEvery = 10;

/** How many times as much as it was trained on a model is asked about. */
export const lengths = [1, 1.5, 2, 3, 4];

/** Longest distance that Shaw's relative keys and values tell apart, and T5's buckets. */
const mostDistance = 16;

/** @param {LaneOptions} options @returns {import('attn').AttentionPositions} of the attention itself */
export function attentionPositions({ positions, causal }) {
  switch (positions) {
    case 'rotary':
      return { rotary: {} };
    case 'alibi':
      return { alibi: true };
    case 't5':
      return { t5Bias: { bidirectional: !causal, maxDistance: 2 * mostDistance } };
    case 'shaw':
      return { maxRelativeDistance: mostDistance };
    default:
      return {};
  }
}

/**
 * A small Transformer: tokens, positions, layers of attention, and what it says at each token. It computes
 * on tensors with any module, and on variables with one that trains.
 */
export class Model {
  #attn;
  #options;

  /** @param {Attn} attn @param {LaneOptions} options */
  constructor(attn, options) {
    this.#attn = attn;
    this.#options = options;
    const { world, heads, layers, positions, seed } = options;
    const { symbols, length } = worlds[world];
    const { dModel, dimFeedforward } = sizes;
    /** Its layers, by the names that their parameters begin with. */
    this.parts = {
      tokens: new attn.Embedding({
        ...{ numEmbeddings: symbols.length, embeddingDim: dModel, deviation: 0.5, seed, stream: 1 },
      }),
      ...(positions === 'learned' && {
        positions: new attn.LearnedPositionalEncoding({
          ...{ maxLength: length, dModel, deviation: 0.5, seed },
        }),
      }),
      encoder: new attn.TransformerEncoder({
        ...{ dModel, dimFeedforward, numHeads: heads, numLayers: layers, normFirst: true },
        ...{ finalNorm: true, positions: attentionPositions(options), seed, stream: 1000 },
      }),
      unembed: new attn.Linear({
        ...{ inFeatures: dModel, outFeatures: symbols.length, seed, stream: 2000 },
      }),
    };
  }

  /**
   * @template {import('attn').Tensor | import('attn').Variable} T
   * @param {T} tokens embedded
   * @returns {T}
   */
  #withPositions(tokens) {
    const { positions } = this.#options;
    const x = /** @type {any} */ (tokens);
    if (positions === 'sinusoidal') return /** @type {any} */ (this.#attn.positionalEncoding(x));
    return this.parts.positions ? /** @type {any} */ (this.parts.positions).forward(x) : x;
  }

  /**
   * What it says, recorded.
   * @param {import('attn').Integers} ids (examples, length)
   * @param {import('attn').Tape} tape
   * @returns {import('attn').Variable} (examples, length, symbols)
   */
  record(ids, tape) {
    const { tokens, encoder, unembed } = /** @type {any} */ (this.parts);
    const x = this.#withPositions(tokens.forward(ids, { tape }));
    return unembed.forward(encoder.forward(x, { attention: { causal: this.#options.causal } }));
  }

  /**
   * What it says, and what its heads look at.
   * @param {import('attn').Integers} ids (examples, length)
   * @param {boolean} needWeights
   */
  forward(ids, needWeights) {
    const { tokens, encoder, unembed } = this.parts;
    const { output, weights } = encoder.forward(this.#withPositions(tokens.forward(ids)), {
      attention: { causal: this.#options.causal },
      needWeights,
    });
    return { logits: unembed.forward(output), weights };
  }

  /** All weights by name, as copies. @returns {import('./snapshots.js').Weights} */
  stateDict() {
    return Object.assign(
      {},
      ...this.#layers().map(([name, layer]) => layer.stateDict({ prefix: `${name}.` })),
    );
  }

  /** @param {Parameters<import('attn').Linear['loadStateDict']>[0]} weights by the same names */
  loadStateDict(weights) {
    for (const [name, layer] of this.#layers()) {
      layer.loadStateDict(weights, { prefix: `${name}.` });
    }
  }

  /**
   * The path of the first parameter whose gradient has numbers that are not finite.
   * @param {import('attn').Tape} tape after its pass back
   */
  pathNotFinite(tape) {
    for (const [name, layer] of this.#layers()) {
      const parameter = layer
        .parameterNames()
        .find((each) => tape.gradient(layer, each)?.data.some((value) => !Number.isFinite(value)));
      if (parameter) return `${name}.${parameter}`;
    }
    return undefined;
  }

  dispose() {
    for (const [, layer] of this.#layers()) layer.dispose();
  }

  #layers() {
    return Object.entries(this.parts).flatMap(([name, layer]) =>
      layer ? [/** @type {const} */ ([name, layer])] : [],
    );
  }
}

/**
 * A number that tells weights apart: FNV-1a of their bits, in the order of their names.
 * @param {import('./snapshots.js').Weights} weights
 */
export function checksumOf(weights) {
  let hash = 0x811c9dc5;
  for (const name of Object.keys(weights).sort()) {
    const { data } = weights[name];
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    for (let i = 0; i < bytes.length; i++) hash = Math.imul(hash ^ bytes[i], 0x01000193);
  }
  return (hash >>> 0).toString(16).padStart(8, '0');
}

const messageOf = (/** @type {unknown} */ error) =>
  error instanceof Error ? error.message : String(error);

/** The place of the largest. @param {Float32Array} values */
const largestAt = (values) =>
  values.reduce((best, value, i) => (value > values[best] ? i : best), 0);

/**
 * What a model looks at, and says.
 * @typedef {object} Look
 * @property {import('attn').Tensor[]} weights of each layer, (heads, length, length)
 * @property {Int32Array} answer the most probable symbol at each token
 * @property {Float32Array} probability of that symbol
 * @property {import('attn').Tensor} [table] of learned positions, (length, dModel)
 */

/**
 * @param {Model} model
 * @param {Int32Array} ids of one sequence
 * @returns {Look}
 */
export function lookAt(model, ids) {
  const { length } = ids;
  const { logits, weights = [] } = model.forward({ data: ids, shape: [1, length] }, true);
  const symbols = logits.data.length / length;
  const answer = new Int32Array(length);
  const probability = new Float32Array(length);
  for (let i = 0; i < length; i++) {
    const row = logits.data.subarray(i * symbols, (i + 1) * symbols);
    const best = (answer[i] = largestAt(row));
    probability[i] = 1 / row.reduce((sum, value) => sum + Math.exp(value - row[best]), 0);
  }
  return {
    ...{ answer, probability },
    ...(model.parts.positions && { table: model.parts.positions.parameter('weight') }),
    weights: weights.map(({ data, shape }) => ({ data, shape: shape.slice(1) })),
  };
}

/**
 * How well a model does on examples that it has never learned from.
 * @typedef {object} Evaluation
 * @property {number} step after how many steps
 * @property {number} loss mean cross entropy, in nats
 * @property {number} accuracy the share of answers that are right
 * @property {Float32Array} places the same for the first answer of each example, the second, …
 * @property {import('./induction.js').HeadScores[]} heads of each head, layer after layer, where answers
 *   are the tokens that follow
 */

/**
 * @param {Model} model
 * @param {import('./worlds.js').Examples} examples
 * @param {number} answers
 * @returns {Omit<Evaluation, 'step' | 'heads'>}
 */
export function evaluate(model, { ids, targets }, answers) {
  const [examples, length] = ids.shape;
  const { data } = model.forward(ids, false).logits;
  const symbols = data.length / ids.data.length;
  const right = new Float32Array(answers);
  const asked = new Float32Array(answers);
  let loss = 0;
  for (let example = 0; example < examples; example++) {
    for (let i = example * length, place = 0; i < (example + 1) * length; i++) {
      const target = targets.data[i];
      if (target === ignored) continue;
      const row = data.subarray(i * symbols, (i + 1) * symbols);
      const best = largestAt(row);
      const sum = row.reduce((total, value) => total + Math.exp(value - row[best]), 0);
      loss += Math.log(sum) + row[best] - row[target];
      asked[place]++;
      if (best === target) right[place]++;
      place++;
    }
  }
  const all = asked.reduce((sum, value) => sum + value, 0);
  return {
    loss: loss / all,
    accuracy: right.reduce((sum, value) => sum + value, 0) / all,
    places: right.map((value, place) => value / asked[place]),
  };
}

/**
 * What some steps have given.
 * @typedef {object} Report
 * @property {number} step after how many steps
 * @property {Float32Array} losses of the steps since the last report
 * @property {Evaluation[]} evaluations
 * @property {number} milliseconds that the steps took
 * @property {string} [failure] why the last step could not be taken: the model is as it was before it
 */

/**
 * How well a model does when more is given than it was trained on.
 * @typedef {object} Reach
 * @property {number[]} sizes what is given, in the world's unit
 * @property {number[]} accuracy the share of answers that are right, for each size
 */

/**
 * What came of loading a file.
 * @typedef {object} Loaded
 * @property {import('./saved.js').Saved | null} saved what the file is of; `null` for weights of other
 *   models, and for what is no such file
 * @property {boolean} fits whether the model has its weights now
 * @property {string} [reason] why it does not
 * @property {Evaluation} [evaluation] of the model, if it has
 */

/** A model that learns, step by step. It lives in a worker. */
export class Lane {
  #attn;
  #options;
  #world;
  #source;
  #model;
  #optimizer;
  #tape;
  #step = 0;
  /** Examples of each length that it can be asked about. @type {{ size: number, answers: number, examples: import('./worlds.js').Examples }[] | undefined} */
  #longer;
  #snapshots = new Snapshots();
  /** Where snapshots are looked at. @type {Model | undefined} */
  #earlier;

  /** @param {TrainingAttn} attn @param {LaneOptions} options */
  constructor(attn, options) {
    this.#attn = attn;
    this.#options = options;
    this.#world = worlds[options.world];
    this.#source = new Source(attn, this.#world, options.seed, sizes.heldOut);
    this.#model = new Model(attn, options);
    this.#optimizer = this.#newOptimizer();
    this.#tape = new attn.Tape();
    this.#keep();
  }

  /** @param {number} steps how many @returns {Report} */
  train(steps) {
    const start = performance.now();
    const losses = [];
    /** @type {Evaluation[]} */
    const evaluations = [];
    let failure;
    if (this.#step === 0) evaluations.push(this.#evaluate());
    for (let i = 0; i < steps; i++) {
      try {
        losses.push(this.#learn());
      } catch (error) {
        failure = messageOf(error);
        break;
      }
      if (this.#step % evaluateEvery === 0) evaluations.push(this.#evaluate());
    }
    return {
      ...{ step: this.#step, losses: Float32Array.from(losses), evaluations },
      milliseconds: performance.now() - start,
      ...(failure !== undefined && { failure }),
    };
  }

  /** @param {Int32Array} ids of one sequence */
  look(ids) {
    return lookAt(this.#model, ids);
  }

  /**
   * The same as the model was after an earlier step, or at the last snapshot before it.
   * @param {number} step
   * @param {Int32Array} ids
   */
  lookBack(step, ids) {
    const snapshot = this.#snapshots.at(step);
    if (!snapshot) throw new Error(`there is no snapshot of step ${step}`);
    const model = this.#spare();
    model.loadStateDict(snapshot.weights);
    return { step: snapshot.step, look: lookAt(model, ids) };
  }

  /**
   * How well the model does on more than it was trained on; a learned table ends where it does.
   * @param {number} [step] an earlier one that is looked back at
   * @returns {Reach}
   */
  reach(step = this.#step) {
    const { world, positions, seed } = this.#options;
    this.#longer ??= lengths
      .filter((times) => positions !== 'learned' || times <= 1)
      .map((times) => {
        const longer = longerWorld(world, times);
        // As many tokens of each length.
        const { heldOut } = new Source(this.#attn, longer, seed, Math.ceil(sizes.heldOut / times));
        return { size: longer.size, answers: longer.answers, examples: heldOut };
      });
    const snapshot = step < this.#step ? this.#snapshots.at(step) : undefined;
    if (snapshot) this.#spare().loadStateDict(snapshot.weights);
    const model = snapshot ? this.#spare() : this.#model;
    return {
      sizes: this.#longer.map(({ size }) => size),
      accuracy: this.#longer.map(
        ({ examples, answers }) => evaluate(model, examples, answers).accuracy,
      ),
    };
  }

  /** Tells the weights from others. */
  checksum() {
    return checksumOf(this.#model.stateDict());
  }

  /** The weights as a .safetensors file, which says what they are of. */
  save() {
    return this.#attn.toSafetensors(this.#model.stateDict(), metadataOf(this.#options, this.#step));
  }

  /**
   * Takes the weights of a .safetensors file, if they are of a model such as this one; learning goes on
   * from them, with an optimizer that remembers nothing. Else the model stays as it is.
   * @param {Uint8Array} bytes
   * @returns {Loaded}
   */
  load(bytes) {
    /** @type {import('./saved.js').Saved | null} */
    let saved = null;
    try {
      const file = new this.#attn.Safetensors(bytes);
      try {
        saved = describeSaved(file);
        if (!saved || !suits(saved, this.#options)) return { saved, fits: false };
        const own = Object.entries(this.#model.stateDict());
        const other = file.tensors.find(({ name }) => !own.some(([each]) => each === name));
        if (other) throw new Error(`this model has no ${other.name}`);
        this.#spare().loadStateDict(file);
      } finally {
        file.dispose();
      }
      const weights = this.#spare().stateDict();
      const broken = Object.keys(weights).find(
        (name) => !weights[name].data.every((value) => Number.isFinite(value)),
      );
      if (broken) throw new Error(`${broken} has numbers that are not finite`);
      this.#model.loadStateDict(weights);
    } catch (error) {
      return { saved, fits: false, reason: messageOf(error) };
    }
    this.#optimizer.dispose();
    this.#optimizer = this.#newOptimizer();
    this.#snapshots.replace(this.#step, this.#model.stateDict());
    return { saved, fits: true, evaluation: this.#evaluate() };
  }

  dispose() {
    this.#earlier?.dispose();
    this.#model.dispose();
    this.#optimizer.dispose();
    this.#tape.dispose();
  }

  /** One step. @returns {number} the loss before it */
  #learn() {
    const attn = this.#attn;
    const { ids, targets } = this.#source.batch(this.#step, sizes.batch);
    const tape = this.#tape;
    tape.clear();
    const loss = attn.crossEntropy(this.#model.record(ids, tape), targets);
    const value = loss.item();
    tape.backward(loss);
    try {
      attn.clipGradNorm(tape, 1);
    } catch (error) {
      const path = this.#model.pathNotFinite(tape);
      throw path ? new Error(`the gradient of ${path} has numbers that are not finite`) : error;
    }
    this.#optimizer.lr = attn.constantLearningRate(this.#step + 1, {
      peak: this.#options.rate,
      warmupSteps: sizes.warmup,
    });
    this.#optimizer.step(tape);
    this.#step++;
    this.#keep();
    return value;
  }

  #newOptimizer() {
    const { parts } = this.#model;
    return new this.#attn.AdamW(/** @type {any} */ (parts), { lr: this.#options.rate });
  }

  /** A model such as this one, for other weights. */
  #spare() {
    return (this.#earlier ??= new Model(this.#attn, this.#options));
  }

  #keep() {
    this.#snapshots.offer(this.#step, () => this.#model.stateDict());
  }

  #evaluate() {
    const { heldOut } = this.#source;
    return {
      ...{ step: this.#step, heads: this.#world.next ? this.#scores() : [] },
      ...evaluate(this.#model, heldOut, this.#world.answers),
    };
  }

  #scores() {
    const { ids, targets } = this.#source.heldOut;
    const { length } = this.#world;
    const data = ids.data.subarray(0, scoredExamples * length);
    const { weights = [] } = this.#model.forward({ data, shape: [scoredExamples, length] }, true);
    return headScores(weights, data, (at) => targets.data[at] !== ignored);
  }
}
