import { exclusionOf } from '../core/exclusion.js';
import { LayerSentence } from '../models/model.js';
import { attentionTask } from './tasks/attention.js';
import { pick } from './pick.js';
import { readTask } from './tasks/read.js';
import { sentence } from './tasks/task.js';
import { timed } from './timed.js';

/** @typedef {import('attn').Attn} Attn */
/** @typedef {import('attn').Tensor} Tensor */
/** @typedef {import('../core/sentence.js').Given} Given */
/** @typedef {import('./work.svelte.js').Work} Work */

/**
 * @typedef {object} Attention
 * @property {Tensor} output (n, E)
 * @property {Tensor} weights (heads, n, n)
 * @property {number} [largest] the largest of all weights; this and `heads` are set for long
 *   sentences only
 * @property {import('./tasks/attention.js').Survey[]} [heads] what to draw for each head
 */

/** Largest number of tokens for which figures follow the settings immediately. */
const mostLive = 128;

/**
 * Computes everything from the sentence to attention, for all chapters. Each property is computed
 * when it is first read and kept until a setting that it depends on changes. Properties that nobody
 * reads are not computed. Without tokens, the tensors are null.
 */
export class Pipeline {
  #attn;
  #which;
  #work;
  /**
   * All layers that have not been released yet, with their models.
   * @type {Map<import('../models/model.js').Layer, import('../models/model.js').Model>}
   */
  // eslint-disable-next-line svelte/prefer-svelte-reactivity -- nothing reacts to it
  #layers = new Map();

  #reading = $derived.by(() => {
    const { kind, first } = this;
    const given = this.#given;
    const { length } = given.tokens;
    if (!length && !kind.id) return null;
    if (kind.readsHere) return timed(() => kind.read(given, {}));
    const read = () =>
      kind.read(given, first < length ? this.#exclusionOf(first) : this.exclusion, first);
    return first < Infinity && !kind.id ? timed(read) : this.#work.of(readTask, read);
  });
  #positions = $derived.by(() => {
    const here = this.#given.tokens.length ? this.kind.positions(this.#given) : null;
    return here ?? this.#reading?.value.positions ?? null;
  });
  #layer = $derived.by(() => {
    const { kind } = this;
    const layer = kind.layer(this.#given);
    this.#layers.set(layer, kind);
    return layer;
  });
  #sentence = $derived.by(() => new LayerSentence(this.#attn, this.#given, this));
  #attention = $derived.by(() =>
    this.#work.of(attentionTask, () => (this.input ? this.#sentence.attend() : null)),
  );

  /** Largest number of tokens that are shown with learned weights. */
  first;

  /**
   * @param {Attn} attn the loaded module
   * @param {Work} work
   * @param {'live' | 'shown'} which whether to compute from the live settings or the shown settings
   */
  constructor(attn, work, which) {
    this.#attn = attn;
    this.#work = work;
    this.#which = which;
    // The live pipeline contains only the first tokens, because it computes them on this thread.
    this.first = which === 'live' ? mostLive : Infinity;
    // Release earlier layers. Once there is a new layer, nothing reads them.
    $effect.root(() => {
      $effect(() => {
        const { layer } = this;
        for (const [each, kind] of this.#layers) {
          if (each === layer) continue;
          kind.release(each);
          this.#layers.delete(each);
        }
      });
    });
  }

  /** Results of a reader's model are computed in its worker and arrive later. */
  get #given() {
    const { live, shown } = this.#work;
    return live.own ? shown : { live, shown }[this.#which];
  }

  /**
   * The settings and tokens from which the results were computed. Figures must use these, not the
   * page's current settings.
   */
  get given() {
    return this.#given;
  }

  /** Runs long computations that only one figure needs. */
  get work() {
    return this.#work;
  }

  /** The model to which the results belong. */
  get kind() {
    return this.#work.language.of(this.#given);
  }

  /**
   * The result of a task for the sentence; null while the worker computes it.
   * @template T
   * @param {{ name: string, compute: (sentence: LayerSentence, attn: Attn, given: Given) => T }} task
   * @returns {import('./work.svelte.js').Timed<T> | null}
   */
  of(task) {
    return this.#work.of(/** @type {any} */ (task), () =>
      task.compute(this.#sentence, this.#attn, this.#given),
    );
  }

  /** Describes the layer. */
  get described() {
    return this.kind.described(this.#given);
  }

  /** The width of the selected head. */
  get depth() {
    return this.described.headDim;
  }

  /** True if positions rotate queries and keys. */
  get turns() {
    return Boolean(this.described.rotaryDim);
  }

  /** The page's language model if the layer belongs to it, and null otherwise. */
  get model() {
    return this.kind.model;
  }

  /**
   * The programs of a figure.
   * @param {() => Promise<any>} load imports a module with programs for the page's models
   * @param {string} name the function that writes them
   * @param {object} [shown] values that the figure shows and that the settings do not contain, or
   *   that replace values of the settings
   */
  code(load, name, shown) {
    return this.kind.code(load, name, { ...this.#given, ...shown });
  }

  /**
   * The first tokens of the sentence, and everything else on which a layer depends.
   * @param {number} [most] number of tokens
   */
  ofFirst(most) {
    const { tokens, ids, rotary, own, pair } = this.#given;
    return {
      ...{ ...pick(this.#given, [...sentence, 'norm', 'head']), rotary, own, pair },
      ...{ tokens: tokens.slice(0, most), ids: ids.slice(0, most) },
    };
  }

  /** The model's input and its residual stream between the layers. */
  get reading() {
    return this.#reading?.value.reading ?? null;
  }

  /** The tokens of the sentence, at most `maxTokens`. */
  get tokens() {
    return this.#given.tokens;
  }

  /** True if P is added to X. */
  get encodes() {
    return this.kind.encodes(this.#given);
  }

  /** X, the embeddings of the tokens: (n, E). */
  get embedding() {
    return this.#reading?.value.embedding ?? null;
  }

  /**
   * P, the encoding of the tokens' positions, whether or not it is added: (n, E). For rotary
   * positions, the shape is (n, D); see `LanguageModel.positions`.
   */
  get positions() {
    return this.#positions;
  }

  /**
   * The layer's input (n, E): X + P, or X if no encoding is added. For the language model, the
   * normalised residual stream.
   */
  get input() {
    return this.#reading?.value.input ?? null;
  }

  /** The multi-head attention layer. The caller must neither dispose of it nor keep it. */
  get layer() {
    return this.#layer;
  }

  /** The keys that a query may attend to. @type {import('attn').ExclusionOptions} */
  exclusion = $derived.by(() => this.#exclusionOf(this.tokens.length));

  /**
   * The layer's output (n, E) and weights (heads, n, n). Null while they are being computed.
   * @returns {Attention | null}
   */
  get attention() {
    return this.#attention?.value ?? null;
  }

  /**
   * The masks in the settings. A layer of a reader's model may have its own window, unless the
   * settings contain another.
   * @type {import('../core/exclusion.js').Masks}
   */
  masks = $derived.by(() => {
    const { causal, window, validLen, blocked } = this.#given;
    return { causal, window: window || (this.described.windowLeft ?? 0), validLen, blocked };
  });

  /** The selected head. */
  get head() {
    return this.#given.head;
  }

  /** The time that the core took from the sentence to the weights, in ms. */
  get milliseconds() {
    return (this.#reading?.milliseconds ?? 0) + (this.#attention?.milliseconds ?? 0);
  }

  /** @param {number} length */
  #exclusionOf(length) {
    return exclusionOf(this.#given, length);
  }
}
