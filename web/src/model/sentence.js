import { exclusionOf } from './exclusion.js';

/** @typedef {import('attn').Attn} Attn */
/** @typedef {import('attn').Tensor} Tensor */
/** @typedef {import('../state/properties.js').Settings} Settings */

/** The settings that something computed for the whole sentence depends on, besides its tokens. */
export const names = /** @type {const} */ ([
  ...['dModel', 'heads', 'head', 'weights', 'seed', 'encoding', 'base'],
  ...['causal', 'window', 'validLen', 'blocked'],
  ...['editMatrix', 'editCell', 'editBy', 'shuffle', 'order'],
]);

/** @typedef {Pick<Settings, (typeof names)[number]>} SentenceSettings */
/** @typedef {SentenceSettings & { tokens: string[] }} Given */

/**
 * Tokens as they are embedded: with or without capitals, a word is the same.
 * @param {readonly string[]} tokens
 */
export const uncased = (tokens) => tokens.map((token) => token.toLowerCase());

/** Most different words that are remembered. */
const mostWords = 8192;

/** Embeds sentences, each different word only once: while one is typed, all others stay. */
export class Embedder {
  #attn;
  #dModel = 0;
  /** @type {Map<string, Float32Array>} */
  #rows = new Map();

  /** @param {Attn} attn */
  constructor(attn) {
    this.#attn = attn;
  }

  /** @param {string[]} tokens at least one @param {number} dModel @returns {Tensor} (n, E) */
  embed(tokens, dModel) {
    if (dModel !== this.#dModel || this.#rows.size > mostWords) this.#rows.clear();
    this.#dModel = dModel;
    const all = uncased(tokens);
    const words = [...new Set(all)].filter((word) => !this.#rows.has(word));
    if (words.length) {
      const { data } = this.#attn.ngramEmbedding(words, { dModel, seed: 0 });
      words.forEach((word, i) => this.#rows.set(word, data.slice(i * dModel, (i + 1) * dModel)));
    }
    const data = new Float32Array(tokens.length * dModel);
    all.forEach((word, i) => {
      data.set(/** @type {Float32Array} */ (this.#rows.get(word)), i * dModel);
    });
    return { data, shape: [tokens.length, dModel] };
  }
}

/**
 * What the layer reads: X + P, or X where no encoding is added.
 * @param {Attn} attn
 * @param {Tensor} embedding (n, E)
 * @param {Pick<Given, 'encoding' | 'base'>} given
 * @returns {Tensor} (n, E)
 */
export const encoded = (attn, embedding, { encoding, base }) =>
  encoding === 'sinusoidal' ? attn.positionalEncoding(embedding, { base }) : embedding;

/**
 * The page's multi-head attention layer. To be disposed of.
 * @param {Attn} attn
 * @param {Pick<Given, 'dModel' | 'heads' | 'weights' | 'seed'>} given
 */
export const layerOf = (attn, { dModel, heads: numHeads, weights: init, seed }) =>
  new attn.MultiHeadAttention({
    ...{ dModel, numHeads, init, seed: init === 'xavier' ? seed : 0 },
    bias: false,
  });

/**
 * The same for a computation that starts from nothing, as those in a worker do.
 * @template T
 * @param {Attn} attn
 * @param {Given} given
 * @param {(sentence: {
 *   embedding: Tensor,
 *   x: Tensor,
 *   layer: InstanceType<Attn['MultiHeadAttention']>,
 *   exclusion: import('attn').ExclusionOptions,
 * }) => T} compute
 */
export function withSentence(attn, given, compute) {
  const { tokens, dModel } = given;
  const embedding = new Embedder(attn).embed(tokens, dModel);
  const layer = layerOf(attn, given);
  try {
    return compute({
      ...{ embedding, layer, x: encoded(attn, embedding, given) },
      exclusion: exclusionOf(given, tokens.length),
    });
  } finally {
    layer.dispose();
  }
}
