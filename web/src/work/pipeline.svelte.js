import { exclusionOf } from '../core/exclusion.js';
import { Embedder, encoded, layerOf, readingOf } from '../core/sentence.js';
import { attentionTask } from './tasks/attention.js';
import { readTask } from './tasks/read.js';
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

/** Number of tokens for which figures follow the settings immediately. */
const mostLive = 128;

/**
 * Results of the reader's model; see `OwnModel.sentence`.
 * @typedef {{ embedding: Tensor, input: Tensor, positions: Tensor | null }} OwnReading
 */

/** Marks a task that cannot be computed on this thread. @returns {any} */
const elsewhere = () => null;

/**
 * Computes everything from the sentence to attention, for all chapters. Each property is computed
 * when it is first read and kept until a setting that it depends on changes. Properties that nobody
 * reads are not computed. Without tokens, the tensors are null.
 */
export class Pipeline {
  #attn;
  #which;
  #work;
  #embedder;
  /**
   * All layers that have been created and not yet disposed of.
   * @type {Set<InstanceType<Attn['MultiHeadAttention']>>}
   */
  // eslint-disable-next-line svelte/prefer-svelte-reactivity -- nothing follows it
  #layers = new Set();

  /** The language model's reading of the sentence, with learned weights. */
  #reading = $derived.by(() => {
    if (this.isOwn) return null;
    const { ids, layer, encoding } = this.#given;
    const { model, exclusion, first } = this;
    if (!model || !ids.length) return null;
    const read = () => {
      const some = { ids: ids.slice(0, first), layer, encoding };
      return readingOf(model, some, first < ids.length ? this.#exclusionOf(first) : exclusion);
    };
    return first < Infinity ? timed(read) : this.#work.of(readTask, read);
  });
  /**
   * The reader's model's reading of the sentence.
   * @type {import('./work.svelte.js').Timed<OwnReading> | null}
   */
  #ownReading = $derived.by(() => (this.isOwn ? this.#work.of(readTask, elsewhere) : null));
  #embedding = $derived.by(() => {
    const { tokens, dModel } = this.#given;
    const reading = this.isOwn ? this.#ownReading : this.#reading;
    if (this.model || this.isOwn) return reading && { ...reading, value: reading.value.embedding };
    return tokens.length ? timed(() => this.#embedder.embed(tokens, dModel)) : null;
  });
  #positions = $derived.by(() => {
    const { tokens, dModel, base } = this.#given;
    const { length } = tokens;
    const { model } = this;
    if (this.isOwn) {
      const positions = this.#ownReading?.value.positions;
      return positions ? { value: positions } : null;
    }
    if (model) return length ? timed(() => model.positions(length)) : null;
    return length ? timed(() => this.#attn.sinusoidalEncoding({ length, dModel, base })) : null;
  });
  #input = $derived.by(() => {
    const { embedding } = this;
    const reading = this.isOwn ? this.#ownReading : this.#reading;
    // The time includes the embedding.
    if (this.model || this.isOwn) {
      return reading && { value: reading.value.input, milliseconds: 0 };
    }
    const { encoding, base } = this.#given;
    return embedding && timed(() => encoded(this.#attn, embedding, { encoding, base }));
  });
  #layer = $derived.by(() => {
    const { dModel, heads, weights, layer: at, encoding } = this.#given;
    // The layer of a reader's model is in its worker.
    if (this.isOwn) return /** @type {any} */ (null);
    if (this.model) return this.model.attention(at, encoding !== 'none');
    if (weights === 'learned') throw new Error('the language model is not loaded');
    const seed = weights === 'xavier' ? this.#given.seed : 0;
    const layer = layerOf(this.#attn, { dModel, heads, weights, seed });
    this.#layers.add(layer);
    return layer;
  });
  #attention = $derived.by(() =>
    this.#work.of(attentionTask, this.isOwn ? elsewhere : () => this.#attend()),
  );

  /** Number of tokens shown with learned weights. */
  first;

  /**
   * @param {Attn} attn the loaded module
   * @param {Work} work
   * @param {'live' | 'shown'} which whether to compute from the live settings or the shown ones
   */
  constructor(attn, work, which) {
    this.#attn = attn;
    this.#work = work;
    this.#which = which;
    this.#embedder = new Embedder(attn);
    // The live pipeline only shows the first tokens, computed on this thread.
    this.first = which === 'live' ? mostLive : Infinity;
    // Once there is another layer, nothing reads the earlier ones.
    $effect.root(() => {
      $effect(() => {
        const { layer } = this;
        for (const each of this.#layers) {
          if (each === layer) continue;
          each.dispose();
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

  /** The settings and tokens that the results were computed from. Figures belong to these. */
  get given() {
    return this.#given;
  }

  /** Runs the figures' own long computations. */
  get work() {
    return this.#work;
  }

  /** The language model, if the layer is one of its layers. */
  get model() {
    return this.#given.weights === 'learned' && !this.isOwn ? this.#work.language.model : null;
  }

  /** True if the layer belongs to a reader's model. */
  get isOwn() {
    return Boolean(this.#given.own);
  }

  /** The reader's model, unless it has just been closed. */
  get own() {
    const { own } = this.#work.language;
    return own?.id === this.#given.own ? own : null;
  }

  /** Data about the model for programs, for some of the first tokens. @param {number} [most] */
  learned(most = Infinity) {
    const { model } = this;
    const { tokens, ids } = this.#given;
    const { programs } = this.#work.language;
    if (!model || !programs) return null;
    const known = { ids: ids.slice(0, most), tokens: tokens.slice(0, most) };
    return { config: model.config, ...known, ...programs };
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
    return this.#given.encoding !== 'none' && !this.#given.rotary && !this.#given.own;
  }

  /** X, the embeddings of the tokens: (n, E). */
  get embedding() {
    return this.#embedding?.value ?? null;
  }

  /**
   * P, the sinusoidal encoding of the tokens' positions, whether or not it is added: (n, E). For
   * rotary positions (n, D); see `LanguageModel`.
   */
  get positions() {
    return this.#positions?.value ?? null;
  }

  /**
   * The layer's input (n, E): X + P, or X if no encoding is added. For the language model, the
   * normalised residual stream.
   */
  get input() {
    return this.#input?.value ?? null;
  }

  /** The multi-head attention layer. Neither dispose of it nor keep it. */
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
    const { causal, window, validLen, blocked, layer } = this.#given;
    const left = this.own?.facts.description.layers[layer].windowLeft;
    return { causal, window: window || (left ?? 0), validLen, blocked };
  });

  /** The selected head. */
  get head() {
    return this.#given.head;
  }

  /** The core's time from the sentence to the weights, in ms. */
  get milliseconds() {
    return [this.#embedding, this.#input, this.#attention].reduce(
      (sum, step) => sum + (step?.milliseconds ?? 0),
      0,
    );
  }

  /** @param {number} length */
  #exclusionOf(length) {
    return exclusionOf(this.#given, length);
  }

  /** @returns {Attention | null} */
  #attend() {
    const { input, layer, exclusion } = this;
    if (!input) return null;
    return layer.forward(input, input, input, { ...exclusion, needWeights: true });
  }
}
