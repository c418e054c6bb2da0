import { settings } from '../state/settings.svelte.js';
import { exclusionOf } from './exclusion.js';
import { timed } from './timed.js';
import { tokenize } from './tokens.js';

/** @typedef {import('attn').Attn} Attn */
/** @typedef {import('attn').Tensor} Tensor */

/**
 * From the sentence to attention: the one computation that all chapters look at. Each property is
 * computed when it is first read and kept until a setting that it depends on changes; what nobody
 * reads is not computed. Without tokens, the tensors are null.
 */
export class Pipeline {
  #attn;
  /** @type {InstanceType<Attn['MultiHeadAttention']> | null} */
  #current = null;

  #sentence = $derived(tokenize(settings.text));
  #embedding = $derived.by(() => {
    const { tokens } = this;
    const { dModel } = settings;
    return tokens.length
      ? timed(() => this.#attn.ngramEmbedding(tokens, { dModel, seed: 0 }))
      : null;
  });
  #positions = $derived.by(() => {
    const { dModel, base } = settings;
    const { length } = this.tokens;
    return length ? timed(() => this.#attn.sinusoidalEncoding({ length, dModel, base })) : null;
  });
  #input = $derived.by(() => {
    const { embedding } = this;
    if (!embedding) return null;
    return settings.encoding === 'sinusoidal'
      ? timed(() => this.#attn.positionalEncoding(embedding, { base: settings.base }))
      : { value: embedding, milliseconds: 0 };
  });
  #layer = $derived.by(() => {
    const { dModel, heads: numHeads, weights: init } = settings;
    const seed = init === 'xavier' ? settings.seed : 0;
    this.#current?.dispose();
    this.#current = null;
    this.#current = new this.#attn.MultiHeadAttention({
      ...{ dModel, numHeads, init, seed },
      bias: false,
    });
    return this.#current;
  });
  #attention = $derived.by(() => {
    const { input, layer, exclusion } = this;
    if (!input) return null;
    const { value, milliseconds } = timed(() =>
      layer.forward(input, input, input, { ...exclusion, needWeights: true }),
    );
    return {
      value: { output: value.output, weights: /** @type {Tensor} */ (value.weights) },
      milliseconds,
    };
  });

  /** @param {Attn} attn the loaded module */
  constructor(attn) {
    this.#attn = attn;
  }

  /** The tokens of the sentence, at most `maxTokens` of them. */
  get tokens() {
    return this.#sentence.tokens;
  }

  /** X, the embeddings of the tokens: (n, E). */
  get embedding() {
    return this.#embedding?.value ?? null;
  }

  /** P, the sinusoidal encoding of the tokens' positions, whether it is added or not: (n, E). */
  get positions() {
    return this.#positions?.value ?? null;
  }

  /** What the layer reads: X + P, or X where no encoding is added. (n, E). */
  get input() {
    return this.#input?.value ?? null;
  }

  /** The multi-head attention layer. Not to be disposed of, and not to be kept. */
  get layer() {
    return this.#layer;
  }

  /** Which keys a query may look at. @type {import('attn').ExclusionOptions} */
  exclusion = $derived.by(() => exclusionOf(settings, this.tokens.length));

  /** The layer's output (n, E) and weights (heads, n, n). */
  get attention() {
    return this.#attention?.value ?? null;
  }

  /** The head that is looked at. */
  head = $derived(Math.min(settings.head, settings.heads - 1));

  /** Time that the core took from the sentence to the weights, in ms. */
  get milliseconds() {
    return [this.#embedding, this.#input, this.#attention].reduce(
      (sum, step) => sum + (step?.milliseconds ?? 0),
      0,
    );
  }
}
