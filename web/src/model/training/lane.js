import { Snapshots } from './snapshots.js';
import { ignored, Source, worlds } from './worlds.js';

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

/** Held-out examples are looked at after every so many steps. */
export const evaluateEvery = 10;

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

/** The place of the largest. @param {Float32Array} values */
const largestAt = (values) =>
  values.reduce((best, value, i) => (value > values[best] ? i : best), 0);

/**
 * What a model looks at, and says.
 * @typedef {object} Look
 * @property {import('attn').Tensor[]} weights of each layer, (heads, length, length)
 * @property {Int32Array} answer the most probable symbol at each token
 * @property {Float32Array} probability of that symbol
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
 */

/**
 * @param {Model} model
 * @param {import('./worlds.js').Examples} examples
 * @param {number} answers
 * @returns {Omit<Evaluation, 'step'>}
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
    this.#optimizer = new attn.AdamW(/** @type {any} */ (this.#model.parts), { lr: options.rate });
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
        failure = error instanceof Error ? error.message : String(error);
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
    this.#earlier ??= new Model(this.#attn, this.#options);
    this.#earlier.loadStateDict(snapshot.weights);
    return { step: snapshot.step, look: lookAt(this.#earlier, ids) };
  }

  /** Tells the weights from others. */
  checksum() {
    return checksumOf(this.#model.stateDict());
  }

  /** The weights as a .safetensors file. */
  save() {
    return this.#attn.toSafetensors(this.#model.stateDict());
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
    attn.clipGradNorm(tape, 1);
    this.#optimizer.lr = attn.constantLearningRate(this.#step + 1, {
      peak: this.#options.rate,
      warmupSteps: sizes.warmup,
    });
    this.#optimizer.step(tape);
    this.#step++;
    this.#keep();
    return value;
  }

  #keep() {
    this.#snapshots.offer(this.#step, () => this.#model.stateDict());
  }

  #evaluate() {
    const { heldOut } = this.#source;
    return { step: this.#step, ...evaluate(this.#model, heldOut, this.#world.answers) };
  }
}
