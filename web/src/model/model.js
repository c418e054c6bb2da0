import { maxAbsDifference, permuteRows } from './shuffle.js';

/** @typedef {import('attn').Attn} Attn */
/** @typedef {import('attn').Tensor} Tensor */
/** @typedef {{ heads: number, weights: 'identity' | 'xavier', seed: number }} LayerSettings */

/** Width of the token embeddings, E. */
export const dModel = 64;

/**
 * The page's one door to the core: every number that is drawn comes from a call made here. It also
 * keeps the time those calls took, which is the time the footer shows.
 */
export class Model {
  #attn;
  /** @type {{ key: string, layer: InstanceType<Attn['MultiHeadAttention']> } | null} */
  #layer = null;
  #milliseconds = 0;
  #calls = 0;

  /** @param {Attn} attn the loaded module */
  constructor(attn) {
    this.#attn = attn;
  }

  /** Sinusoidal encoding. @returns {Tensor} (length, width) */
  encode(/** @type {number} */ length, /** @type {number} */ width, /** @type {number} */ base) {
    return this.#timed(() => this.#attn.sinusoidalEncoding({ length, dModel: width, base }));
  }

  /** Embeddings of hashed character n-grams. @param {string[]} tokens @returns {Tensor} (n, E) */
  embed(tokens) {
    return this.#timed(() => this.#attn.ngramEmbedding(tokens, { dModel, seed: 0 }));
  }

  /** X + P. @param {Tensor} x (n, E) @param {number} base @returns {Tensor} (n, E) */
  addEncoding(x, base) {
    return this.#timed(() => this.#attn.positionalEncoding(x, { base }));
  }

  /**
   * Multi-head self-attention.
   * @param {Tensor} x (n, E)
   * @param {LayerSettings} settings
   * @param {boolean} causal
   * @returns {{ output: Tensor, weights: Tensor }} (n, E) and (heads, n, n)
   */
  attend(x, settings, causal) {
    const { output, weights } = this.#timed(() =>
      this.#layerFor(settings).forward(x, x, x, { causal, needWeights: true }),
    );
    return { output, weights: /** @type {Tensor} */ (weights) };
  }

  /**
   * How much it matters whether tokens are shuffled before or after the layer: the largest
   * |shuffle(attention(X)) − attention(shuffle(X))|.
   * @param {Tensor} x embeddings (n, E)
   * @param {number[]} order
   * @param {number | null} base of the encoding that is added to whatever comes in; null for none
   * @param {LayerSettings} settings
   * @param {boolean} causal
   */
  shuffleDifference(x, order, base, settings, causal) {
    const attention = (/** @type {Tensor} */ tokens) => {
      const input = base === null ? tokens : this.addEncoding(tokens, base);
      return this.#timed(() => this.#layerFor(settings).forward(input, input, input, { causal }))
        .output;
    };
    const attentionThenShuffle = permuteRows(attention(x), order);
    const shuffleThenAttention = attention(permuteRows(x, order));
    return maxAbsDifference(attentionThenShuffle, shuffleThenAttention);
  }

  /** Time spent in the core since this was last asked, and the number of calls. */
  takeTime() {
    const time = { milliseconds: this.#milliseconds, calls: this.#calls };
    this.#milliseconds = 0;
    this.#calls = 0;
    return time;
  }

  /** The layer with these settings; only one is kept alive. @param {LayerSettings} settings */
  #layerFor({ heads, weights, seed }) {
    const key = `${heads} ${weights} ${weights === 'xavier' ? seed : ''}`;
    if (this.#layer?.key !== key) {
      this.#layer?.layer.dispose();
      this.#layer = null;
      const layer = new this.#attn.MultiHeadAttention({
        dModel,
        numHeads: heads,
        bias: false,
        init: weights,
        seed,
      });
      this.#layer = { key, layer };
    }
    return this.#layer.layer;
  }

  /** @template T @param {() => T} call @returns {T} */
  #timed(call) {
    const start = performance.now();
    try {
      return call();
    } finally {
      this.#milliseconds += performance.now() - start;
      this.#calls += 1;
    }
  }
}
