import { noMasks } from '../../core/exclusion.js';
import { count, counted } from '../../drawing/numbers.js';
import { host } from '../../host/host.js';
import { settings } from '../../state/settings.svelte.js';
import { TaskWorker } from '../../work/scheduler.js';
import { ownTask } from '../../work/tasks/own.js';
import { sized } from '../model.js';
import { pathOf } from './dropped.js';
import { notesOf, partTexts, texts } from '../../texts/own.js';
import { pairTexts } from '../../texts/pair.js';

/** @typedef {import('./ownServer.js').Facts} Facts */
/** @typedef {import('../model.js').Model} Model */
/** @typedef {import('../model.js').Predicts} Predicts */
/** @typedef {import('../model.js').Given} Given */
/** @typedef {'encode' | 'next' | 'change' | 'rank' | 'lens' | 'contributions' | 'circuits' | 'compare' | 'patch' | 'write' | 'places' | 'losses' | 'block' | 'parameters' | 'decode'} Method */

/** The programs in ownPrograms.js. */
const programs = [
  ...[
    'attentionCode',
    'compareCode',
    'cutCode',
    'decoderCacheCode',
    'editCode',
    'encoderBlockCode',
  ],
  ...['lossCode', 'nextWordCode', 'silenceCode', 'stagesCode', 'wallCode'],
];

/** The programs for models with an encoder and a decoder. */
const pairPrograms = [
  ...['attentionCode', 'decoderCacheCode', 'encoderBlockCode', 'nextWordCode', 'stagesCode'],
];

/** Id of the reader's last model. */
let last = 0;

/** A reader's model, open in a separate worker. @implements {Model} @implements {Predicts} */
export class Own {
  id = ++last;
  readsHere = false;
  chosenAs = /** @type {const} */ ('own');
  hasFixedPositions = true;
  model = null;
  mostInBlock = 64;
  facts;
  /** The page's projections and causal mask before this model was opened. */
  before = { weights: settings.weights, causal: settings.causal };
  /**
   * The sentence in the model's tokens. A model with an encoder and a decoder also has a target.
   * @type {{ source: import('../model.js').Split, target?: import('../model.js').Split }}
   */
  #split = $state.raw({ source: { ids: [], tokens: [], total: 0 } });
  #worker;
  #isClosed = false;
  /** The texts to tokenize. */
  #wanted = '';
  /**
   * True while the tokens belong to an earlier text. Until the new tokens arrive, nothing can be
   * appended.
   */
  #isBehind = $state(false);

  /** @param {TaskWorker} worker @param {Facts} facts */
  constructor(worker, facts) {
    this.#worker = worker;
    this.facts = facts;
    const { positions } = facts;
    const surprise = positions === 'rotary' ? partTexts.noLoss.rotary : '';
    const parts = {
      ...partTexts,
      surprise: () => surprise,
      positions: partTexts.order[positions],
    };
    const own = { ...texts, place: texts.places[positions], parts };
    const two = pairTexts.of(() => settings.part, positions === 'bias');
    this.texts = facts.parts
      ? {
          ...own,
          ...two,
          parts: { ...parts, whose: two.whose, block: two.block, cache: two.cache },
        }
      : own;
  }

  /** The facts about the part of the model that figures show. */
  get part() {
    return this.facts.parts?.[settings.part] ?? this.facts;
  }

  /** @returns {Model['lacks']} */
  get lacks() {
    if (this.facts.parts) return pairTexts.lacks(settings.part);
    const { causal, hasLogits } = this.facts.description;
    const walk = partTexts.noWalk;
    if (causal && hasLogits) return { walk };
    const why = causal ? 'noLogits' : 'bidirectional';
    const missing = { walk, next: texts.noNext[why], loss: partTexts.noLoss[why] };
    return causal ? missing : { ...missing, cache: partTexts.noCache };
  }

  get about() {
    const { parts, description } = this.facts;
    const notes = notesOf(description);
    if (parts && description.sinusoidal) notes.push(pairTexts.sinusoids);
    return { says: recognised(this.facts), notes };
  }

  /** The model's sizes and options that the page's controls need. */
  get config() {
    const { vocabSize: vocabularySize, layers } = this.part.description;
    const { activation } = layers[0];
    return { ...this.part, base: 0, maxLength: Infinity, vocabularySize, activation };
  }

  get sizes() {
    const { dModel, positions } = this.facts;
    return texts.sizes(dModel, positions);
  }

  /** True if the model reads a target, too. */
  get hasTarget() {
    return this.facts.parts !== undefined;
  }

  /**
   * Selects the attention that figures show.
   * @param {import('../../core/sentence.js').PartName} part
   */
  choosePart(part) {
    settings.part = part;
    settings.causal = this.part.description.causal;
  }

  /**
   * The latest tokens that the worker has sent; see `follow`.
   * @returns {import('../model.js').Split}
   */
  split() {
    const { source, target } = this.#split;
    if (!target) return source;
    const { part } = settings;
    return { ...(part === 'encoder' ? source : target), pair: { part, source, target } };
  }

  /**
   * Adapts the settings to the model. The model's files determine the kind of positions and can
   * require causal attention.
   * @param {import('../model.js').Chosen} chosen
   * @returns {Partial<Given>}
   */
  adapt(chosen) {
    const { positions, description } = this.part;
    return {
      ...sized(chosen, this.config),
      causal: chosen.causal || description.causal,
      encoding: positions === 'none' || positions === 'bias' ? 'none' : 'sinusoidal',
      // No mask of the page applies to queries and keys from two texts.
      ...('masks' in this.lacks ? noMasks : {}),
    };
  }

  /** Always true, because the model's layers are in its worker. */
  isLong() {
    return true;
  }

  read = elsewhere;
  positions = elsewhere;
  layer = elsewhere;
  release = elsewhere;

  /** @param {Given} given */
  described({ layer, pair }) {
    const { description } = (pair && this.facts.parts?.[pair.part]) ?? this.facts;
    return description.layers[layer];
  }

  /** False, because the input of the model's layers already includes its positions. */
  encodes() {
    return false;
  }

  /**
   * Opens a model. If opening fails, its worker is ended.
   * @param {File[]} files
   * @param {{ signal: AbortSignal, onProgress: (progress: { facts?: Facts, share: number }) =>
   *   void }} options
   */
  static async open(files, options) {
    const worker = new TaskWorker({ models: true });
    // A busy worker receives no messages, so end it.
    options.signal.addEventListener('abort', () => worker.end());
    try {
      const given = await givenOf(files);
      const own = new Own(worker, await worker.run(ownTask, given, options));
      worker.again(ownTask, given);
      await own.follow(settings.text, settings.ownTarget);
      options.signal.throwIfAborted();
      return own;
    } catch (error) {
      worker.end();
      throw error;
    }
  }

  /**
   * Tokenizes the sentence and the target. A later call replaces an earlier call that is still
   * running.
   * @param {string} text
   * @param {string} target
   */
  async follow(text, target) {
    const given = this.hasTarget ? { text, target } : { text };
    const wanted = JSON.stringify(given);
    if (wanted === this.#wanted) return;
    this.#wanted = wanted;
    this.#isBehind = true;
    const split = await this.ask('encode', given);
    if (wanted !== this.#wanted) return;
    this.#split = this.hasTarget ? split : { source: split };
    this.#isBehind = false;
  }

  /** @type {Predicts['context']} */
  context({ ids: { length } }, total) {
    const left = (this.facts.description.maxPositions || Infinity) - length;
    const isFull = total > length || left <= 0;
    return {
      first: 0,
      left: isFull || this.#isBehind ? 0 : left,
      note: isFull ? texts.full(length) : '',
    };
  }

  /** @param {string} text */
  continued(text) {
    return text;
  }

  /** @type {Model['answer']} */
  async answer(question, given, options) {
    if (this.#isClosed) return null;
    try {
      // The page only asks this model questions that its worker can answer.
      const method = /** @type {Method} */ (question);
      return { value: await this.ask(method, given, options) };
    } catch (error) {
      if (this.#isClosed) return null;
      throw error;
    }
  }

  /** @type {Predicts['write']} */
  write(given, options) {
    return this.answer('write', given, options);
  }

  /**
   * Calls a method of the model in its worker.
   * @param {Method} method
   * @param {any} given
   * @param {{ signal?: AbortSignal, onProgress?: (value: any) => void }} [options]
   */
  ask(method, given, options) {
    return this.#worker.run(ownTask, { method, given }, options);
  }

  /**
   * Runs a task that figures use with any model.
   * @param {import('../../work/tasks/task.js').Task<string, any, any, any>} task
   * @param {any} given
   * @param {{ signal?: AbortSignal, onProgress?: (value: any) => void }} options
   */
  run(task, given, options) {
    return this.#worker.run(task, given, options);
  }

  /** @type {Model['code']} */
  code(_, name, given) {
    return (this.hasTarget ? pairPrograms : programs).includes(name)
      ? { load: () => import('./ownPrograms.js'), of: (all) => all[name](given, this.part) }
      : undefined;
  }

  close() {
    this.#isClosed = true;
    this.end();
  }

  /** Ends the worker. The next question opens the model in a new worker. */
  end() {
    this.#worker.end();
  }
}

/** Returns null, because the model's layers are in its worker. @returns {any} */
const elsewhere = () => null;

/** @param {File[]} all */
async function givenOf(all) {
  // A file that is sent to a worker loses its path.
  const files = all.map((file) => [pathOf(file), file]);
  // Weights without a configuration are assumed to belong to the page's model, or to a model with
  // the same tokens.
  const alone = !all.some(({ name }) => name === 'tokenizer.json' || name === 'config.json');
  const pageTokens = alone ? await (await host.read('tokenizer.json')).json() : null;
  return { method: /** @type {const} */ ('open'), given: { files, pageTokens } };
}

const names = /** @type {Record<string, string>} */ ({
  ...{ gpt2: 'GPT-2', bert: 'BERT', roberta: 'RoBERTa', distilbert: 'DistilBERT' },
  ...{ gpt_neox: 'GPT-NeoX', gpt_neo: 'GPT-Neo', opt: 'OPT' },
  ...{ llama: 'Llama', smollm3: 'SmolLM 3', mistral: 'Mistral', qwen2: 'Qwen 2', qwen3: 'Qwen 3' },
  ...{ gemma: 'Gemma', gemma2: 'Gemma 2', gemma3: 'Gemma 3', gemma3_text: 'Gemma 3' },
  ...{ olmo2: 'OLMo 2', gpt_oss: 'gpt-oss', attn: 'attn’s own' },
  ...{ t5: 'T5', mt5: 'mT5', marian: 'Marian' },
});

/** The name of an architecture. @param {Facts} facts */
export const nameOf = ({ description: { family } }) => names[family] ?? family;

/** Describes the recognised model. @param {Facts} facts */
export function recognised(facts) {
  const { description, dtypes, dModel, numHeads, numLayers, positions, parts } = facts;
  const { numParameters, causal, layers } = description;
  if (parts) {
    const { encoder, decoder } = parts;
    return counted(
      pairTexts.recognised({
        ...{ name: nameOf(facts), encoder, decoder, width: dModel, dtypes, positions },
        parameters: millions(numParameters),
      }),
    );
  }
  const kvHeads = layers[0].numKvHeads;
  return counted(
    texts.recognised({
      ...{ name: nameOf(facts), layers: numLayers, heads: numHeads, width: dModel },
      ...{ kvHeads: kvHeads < numHeads ? kvHeads : null, parameters: millions(numParameters) },
      ...{ dtypes, positions, causal },
    }),
  );
}

/** @param {number} parameters */
const millions = (parameters) =>
  parameters < 1e6
    ? count(parameters)
    : `${(parameters / 1e6).toFixed(parameters < 1e8 ? 1 : 0)} million`;
