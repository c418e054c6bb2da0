import { reasonOf } from '../work/errors.js';
import { headScores } from './induction.js';
import { makeModel } from './makeModel.js';
import { lengths, sizes } from './model.js';
import { describeSaved, metadataOf, suits } from './saved.js';
import { Snapshots } from './snapshots.js';
import { ignored, longerWorld, Source, worlds } from './worlds.js';

/** @typedef {import('attn').TrainingAttn} TrainingAttn */
/** @typedef {import('./model.js').LaneOptions} LaneOptions */
/** @typedef {import('./model.js').Model} Model */

/** Prefix of the optimizer's state in a checkpoint. */
const optimizerPrefix = 'optimizer.';

/** Number of examples on which heads are scored. */
const scoredExamples = 8;

/** Number of steps between evaluations on held-out examples. */
export const evaluateEvery = 10;

/**
 * A checksum of weights: the FNV-1a hash of their bits, in the order of their names.
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

/**
 * A model's performance on held-out examples.
 * @typedef {object} Evaluation
 * @property {number} step number of steps taken before
 * @property {number} loss mean cross entropy, in nats
 * @property {number} accuracy share of right answers
 * @property {Float32Array} places share of right answers for the first answer of each example,
 *   the second, …
 * @property {import('./induction.js').HeadScores[]} heads scores of each head, layer by layer, if
 *   answers are the next tokens of the sequence
 */

/**
 * @param {Model} model
 * @param {import('./worlds.js').Examples} examples
 * @param {number} answers
 * @returns {Omit<Evaluation, 'step' | 'heads'>}
 */
export function evaluate(model, examples, answers) {
  const { data: targets, shape } = examples.targets;
  const { logits, answer } = model.judge(examples);
  const symbols = logits.data.length / targets.length;
  const right = new Float32Array(answers);
  const asked = new Float32Array(answers);
  let loss = 0;
  for (let i = 0, place = 0; i < targets.length; i++) {
    if (i % shape[1] === 0) place = 0;
    const target = targets[i];
    if (target === ignored) continue;
    const row = logits.data.subarray(i * symbols, (i + 1) * symbols);
    const most = row.reduce((best, value) => Math.max(best, value));
    const sum = row.reduce((total, value) => total + Math.exp(value - most), 0);
    loss += Math.log(sum) + most - row[target];
    asked[place]++;
    if (answer[i] === target) right[place]++;
    place++;
  }
  const all = asked.reduce((sum, value) => sum + value, 0);
  return {
    loss: loss / all,
    accuracy: right.reduce((sum, value) => sum + value, 0) / all,
    places: right.map((value, place) => value / asked[place]),
  };
}

/**
 * Progress over several steps.
 * @typedef {object} Report
 * @property {number} step number of steps taken
 * @property {Float32Array} losses losses of the steps since the last report
 * @property {Evaluation[]} evaluations
 * @property {number} milliseconds time that the steps took
 * @property {string} [failure] why the last step failed; a failed step leaves the model unchanged
 */

/**
 * A model's performance on inputs of several sizes, starting at the training size.
 * @typedef {object} Reach
 * @property {number[]} sizes sizes of the input, in the task's unit
 * @property {number[]} accuracy share of right answers for each size
 */

/**
 * The result of loading a file.
 * @typedef {object} Loaded
 * @property {import('./saved.js').Saved | null} saved a description of the file; `null` for
 *   weights of other models and other files
 * @property {boolean} fits whether the model has taken the weights
 * @property {string} [reason] why the model has not taken the weights
 * @property {Evaluation} [evaluation] evaluation of the model with these weights, if it has taken
 *   them
 */

/** A model that is trained step by step, next to others. It lives in a worker. */
export class Lane {
  #attn;
  #options;
  #invention;
  #world;
  #source;
  #model;
  #optimizer;
  #tape;
  #step = 0;
  /**
   * Test examples of each length.
   * @type {{ size: number, answers: number, examples: import('./worlds.js').Examples }[] |
   *   undefined}
   */
  #longer;
  #snapshots = new Snapshots();
  /** The model that holds an earlier snapshot. @type {Model | undefined} */
  #earlier;

  /**
   * @param {TrainingAttn} attn
   * @param {LaneOptions} options
   * @param {import('./model.js').Invention} [invention] the reader's own encoding, needed for the scheme `yours`
   */
  constructor(attn, options, invention) {
    this.#attn = attn;
    this.#invention = invention;
    this.#options = options;
    this.#world = worlds[options.world];
    this.#source = new Source(attn, this.#world, options.seed, sizes.heldOut);
    this.#model = makeModel(attn, options, invention);
    this.#optimizer = this.#newOptimizer();
    this.#tape = new attn.Tape();
    this.#keep();
  }

  /** @param {number} steps number of steps @returns {Report} */
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
        failure = reasonOf(error);
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

  /** @param {Int32Array} ids tokens of one sequence */
  look(ids) {
    return this.#model.look(ids);
  }

  /**
   * Like look(), but for the model after an earlier step. Uses the last snapshot up to that step,
   * or the first snapshot if there is none that early.
   * @param {number} step
   * @param {Int32Array} ids
   */
  lookBack(step, ids) {
    const snapshot = this.#snapshots.at(step) ?? this.#snapshots.first;
    const model = this.#spare();
    model.loadStateDict(snapshot.weights);
    return { step: snapshot.step, look: model.look(ids) };
  }

  /**
   * Tests the model on inputs of the training length and on longer inputs. A learned table limits
   * the length.
   * @param {number} [step] an earlier step to test
   * @returns {Reach}
   */
  reach(step = this.#step) {
    const { world, positions, seed } = this.#options;
    this.#longer ??= lengths
      .filter((times) => positions !== 'learned' || times <= 1)
      .map((times) => {
        const longer = longerWorld(world, times);
        // Each length is tested with the same total number of tokens.
        const { heldOut } = new Source(this.#attn, longer, seed, Math.ceil(sizes.heldOut / times));
        return { size: longer.size, answers: longer.answers, examples: heldOut };
      });
    const snapshot =
      step < this.#step ? (this.#snapshots.at(step) ?? this.#snapshots.first) : undefined;
    if (snapshot) this.#spare().loadStateDict(snapshot.weights);
    const model = snapshot ? this.#spare() : this.#model;
    return {
      sizes: this.#longer.map(({ size }) => size),
      accuracy: this.#longer.map(
        ({ examples, answers }) => evaluate(model, examples, answers).accuracy,
      ),
    };
  }

  /** A checksum of the weights. */
  checksum() {
    return checksumOf(this.#model.stateDict());
  }

  /** The weights as a .safetensors file with a description. */
  save() {
    return this.#attn.toSafetensors(this.#model.stateDict(), metadataOf(this.#options, this.#step));
  }

  /**
   * Loads the weights of a .safetensors file if they belong to a similar model. Training continues
   * from them with a new optimizer state. Otherwise the model stays unchanged.
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
        if (other) throw new Error(`this model has no parameter ${other.name}`);
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
      return { saved, fits: false, reason: reasonOf(error) };
    }
    this.#optimizer.dispose();
    this.#optimizer = this.#newOptimizer();
    this.#snapshots.replace(this.#step, this.#model.stateDict());
    return { saved, fits: true, evaluation: this.#evaluate() };
  }

  /** Everything that another worker needs to continue with bit-identical results. */
  checkpoint() {
    return this.#attn.toSafetensors(
      {
        ...this.#model.stateDict(),
        ...this.#optimizer.stateDict({ prefix: optimizerPrefix }),
      },
      metadataOf(this.#options, this.#step),
    );
  }

  /** Continues from a `checkpoint` of a lane with the same options. @param {Uint8Array} bytes */
  restore(bytes) {
    const file = new this.#attn.Safetensors(bytes);
    try {
      this.#model.loadStateDict(file);
      this.#optimizer.loadStateDict(file, { prefix: optimizerPrefix });
      this.#step = Number(file.metadata.step);
    } finally {
      file.dispose();
    }
    this.#snapshots = new Snapshots();
    this.#snapshots.replace(this.#step, this.#model.stateDict());
  }

  dispose() {
    this.#earlier?.dispose();
    this.#model.dispose();
    this.#optimizer.dispose();
    this.#tape.dispose();
  }

  /** Takes one step. @returns {number} the loss before the step */
  #learn() {
    const attn = this.#attn;
    const examples = this.#source.batch(this.#step, sizes.batch);
    const tape = this.#tape;
    tape.clear();
    const loss = attn.crossEntropy(this.#model.record(examples, tape), examples.targets);
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

  /** A second model with the same options, into which other weights are loaded. */
  #spare() {
    return (this.#earlier ??= makeModel(this.#attn, this.#options, this.#invention));
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
    const weights = this.#model.weightsOf({ data, shape: [scoredExamples, length] });
    return headScores(weights, data, (at) => targets.data[at] !== ignored);
  }
}
