import { Embedder, encoded, layerOf, readingOf } from './sentence.js';
import { exclusionOf } from './exclusion.js';
import { attentionTask } from './tasks/attention.js';
import { readTask } from './tasks/read.js';
import { timed } from './timed.js';

/** @typedef {import('attn').Attn} Attn */
/** @typedef {import('attn').Tensor} Tensor */
/** @typedef {import('./sentence.js').Given} Given */
/** @typedef {import('./work.svelte.js').Work} Work */

/**
 * @typedef {object} Attention
 * @property {Tensor} output (n, E)
 * @property {Tensor} weights (heads, n, n)
 * @property {number} [largest] weight of all; this and the next for long sentences only
 * @property {import('./tasks/attention.js').Survey[]} [heads] what is drawn of each
 */

/** Tokens that figures look at which follow the settings at once. */
const mostLive = 128;

/**
 * What the reader's model gives: see `OwnModel.sentence`.
 * @typedef {{ embedding: Tensor, input: Tensor, positions: Tensor | null }} OwnReading
 */

/** What cannot be computed here. @returns {any} */
const elsewhere = () => null;

/**
 * From the sentence to attention: the one computation that all chapters look at. Each property is
 * computed when it is first read and kept until a setting that it depends on changes; what nobody
 * reads is not computed. Without tokens, the tensors are null.
 */
export class Pipeline {
  #attn;
  #which;
  #work;
  #embedder;
  /** All that have been made and not been disposed of. @type {Set<InstanceType<Attn['MultiHeadAttention']>>} */
  // eslint-disable-next-line svelte/prefer-svelte-reactivity -- nothing follows it
  #layers = new Set();

  /** What the language model reads, with learned weights. */
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
  /** The same of the reader's model. @type {import('./work.svelte.js').Timed<OwnReading> | null} */
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
    // The time is that of the embedding, too.
    if (this.model || this.isOwn) {
      return reading && { value: reading.value.input, milliseconds: 0 };
    }
    const { encoding, base } = this.#given;
    return embedding && timed(() => encoded(this.#attn, embedding, { encoding, base }));
  });
  #layer = $derived.by(() => {
    const { dModel, heads, weights, layer: at, encoding } = this.#given;
    // That of the reader's model is in its worker.
    if (this.isOwn) return /** @type {any} */ (null);
    if (this.model) return this.model.attention(at, encoding !== 'none');
    if (weights === 'learned') throw new Error('the language model is not here');
    const seed = weights === 'xavier' ? this.#given.seed : 0;
    const layer = layerOf(this.#attn, { dModel, heads, weights, seed });
    this.#layers.add(layer);
    return layer;
  });
  #attention = $derived.by(() =>
    this.#work.of(attentionTask, this.isOwn ? elsewhere : () => this.#attend()),
  );

  /** Tokens that are looked at with learned weights. */
  first;

  /**
   * @param {Attn} attn the loaded module
   * @param {Work} work
   * @param {'live' | 'shown'} which of the work's settings it is computed from
   */
  constructor(attn, work, which) {
    this.#attn = attn;
    this.#work = work;
    this.#which = which;
    this.#embedder = new Embedder(attn);
    // What looks at the settings as they are looks at the first tokens only, on this thread.
    this.first = which === 'live' ? mostLive : Infinity;
    // Once there is another layer, nothing reads the ones before it.
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

  /** What the reader's model shows is computed in its worker, and so later. */
  get #given() {
    const { live, shown } = this.#work;
    return live.own ? shown : { live, shown }[this.#which];
  }

  /** The settings that it was computed from, and the tokens: what figures draw belongs to these. */
  get given() {
    return this.#given;
  }

  /** Where figures have their own long computations done. */
  get work() {
    return this.#work;
  }

  /** The language model, where the layer is one of its. */
  get model() {
    return this.#given.weights === 'learned' && !this.isOwn ? this.#work.language.model : null;
  }

  /** Whether the layer is one of the reader's model. */
  get isOwn() {
    return Boolean(this.#given.own);
  }

  /** That model, unless it has just been closed. */
  get own() {
    const { own } = this.#work.language;
    return own?.id === this.#given.own ? own : null;
  }

  /** What programs know of it, for some of the first tokens. @param {number} [most] */
  learned(most = Infinity) {
    const { model } = this;
    const { tokens, ids } = this.#given;
    const { programs } = this.#work.language;
    if (!model || !programs) return null;
    const known = { ids: ids.slice(0, most), tokens: tokens.slice(0, most) };
    return { config: model.config, ...known, ...programs };
  }

  /** What it reads, and its stream between the layers. */
  get reading() {
    return this.#reading?.value.reading ?? null;
  }

  /** The tokens of the sentence, at most `maxTokens` of them. */
  get tokens() {
    return this.#given.tokens;
  }

  /** Whether P is added to X. */
  get encodes() {
    return this.#given.encoding !== 'none' && !this.#given.rotary && !this.#given.own;
  }

  /** X, the embeddings of the tokens: (n, E). */
  get embedding() {
    return this.#embedding?.value ?? null;
  }

  /**
   * P, the sinusoidal encoding of the tokens' positions, whether it is added or not: (n, E); of rotary
   * ones (n, D), see `LanguageModel`.
   */
  get positions() {
    return this.#positions?.value ?? null;
  }

  /**
   * What the layer reads: X + P, or X where no encoding is added; of the language model what comes to it,
   * normalised. (n, E).
   */
  get input() {
    return this.#input?.value ?? null;
  }

  /** The multi-head attention layer. Not to be disposed of, and not to be kept. */
  get layer() {
    return this.#layer;
  }

  /** Which keys a query may look at. @type {import('attn').ExclusionOptions} */
  exclusion = $derived.by(() => this.#exclusionOf(this.tokens.length));

  /**
   * The layer's output (n, E) and weights (heads, n, n); null also while they are being computed.
   * @returns {Attention | null}
   */
  get attention() {
    return this.#attention?.value ?? null;
  }

  /**
   * The masks of the settings; a layer of the reader's model may have a window of its own, unless another one is
   * set.
   * @type {import('./exclusion.js').Masks}
   */
  masks = $derived.by(() => {
    const { causal, window, validLen, blocked, layer } = this.#given;
    const left = this.own?.facts.description.layers[layer].windowLeft;
    return { causal, window: window || (left ?? 0), validLen, blocked };
  });

  /** The head that is looked at. */
  get head() {
    return this.#given.head;
  }

  /** Time that the core took from the sentence to the weights, in ms. */
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
