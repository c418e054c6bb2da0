/** @typedef {import('attn').Attn} Attn */
/** @typedef {import('attn').Tensor} Tensor */
/** @typedef {import('../state/properties/index.js').Settings} Settings */

/** The settings on which computations over a whole sentence depend, in addition to the tokens. */
export const names = /** @type {const} */ ([
  ...['dModel', 'heads', 'layer', 'head', 'weights', 'seed', 'encoding', 'base'],
  ...['causal', 'window', 'validLen', 'blocked', 'norm'],
  ...['editMatrix', 'editCell', 'editBy', 'shuffle', 'order', 'orderCausal', 'walkWord'],
]);

/** The attention that figures show of a model with an encoder and a decoder. */
export const partNames = /** @type {const} */ (['encoder', 'decoder', 'cross']);

/** @typedef {(typeof partNames)[number]} PartName */
/** @typedef {(typeof names)[number]} Name */
/** @typedef {Pick<Settings, Name>} SentenceSettings */
/**
 * The input of a computation. With learned weights, sizes and base are the model's, `ids` are its
 * token ids, and `rotary` is true if positions rotate queries and keys.
 * @typedef {SentenceSettings & { tokens: string[], ids: number[], types?: number[], rotary:
 *   boolean, own?: number, pair?: Pair }} Given
 *   own: id of the reader's model, if the weights belong to it; types: token types, if some tokens
 *   belong to a second sentence; pair: set if the model has an encoder and a decoder
 */

/**
 * The two texts of an encoder–decoder model. The tokens of `Given` are the queries of the part that
 * is shown: the source in the encoder, the target in the decoder and in cross attention.
 * @typedef {{ part: PartName, source: Words, target: Words }} Pair
 * @typedef {{ tokens: string[], ids: number[], total: number }} Words
 */

/** The tokens to which the queries attend. @param {Pick<Given, 'tokens' | 'pair'>} given */
export const keysOf = ({ tokens, pair }) => (pair?.part === 'cross' ? pair.source.tokens : tokens);

/**
 * Returns the tokens in lower case. Embeddings are looked up in lower case, so a word has the same
 * embedding with or without capitals.
 * @param {readonly string[]} tokens
 */
export const uncased = (tokens) => tokens.map((token) => token.toLowerCase());

/**
 * The base of a layer's rotary positions, if any.
 * @param {Pick<Given, 'rotary' | 'encoding' | 'base'>} given
 */
export const turnsBy = ({ rotary, encoding, base }) =>
  rotary && encoding !== 'none' ? base : undefined;

/** Largest number of distinct words whose embeddings are kept. */
const mostWords = 8192;

/**
 * Embeds sentences. Each distinct word is embedded only once, so that typing a word leaves all
 * other embeddings unchanged.
 */
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
 * The layer's input: X + P, or X if no encoding is added.
 * @param {Attn} attn
 * @param {Tensor} embedding (n, E)
 * @param {Pick<Given, 'encoding' | 'base'>} given
 * @returns {Tensor} (n, E)
 */
export const encoded = (attn, embedding, { encoding, base }) =>
  encoding === 'sinusoidal' ? attn.positionalEncoding(embedding, { base }) : embedding;

/**
 * The page's multi-head attention layer. The caller must dispose of it.
 * @param {Attn} attn
 * @param {Pick<Given, 'dModel' | 'heads' | 'seed'> & { weights: 'identity' | 'xavier' }} given
 */
export const layerOf = (attn, { dModel, heads: numHeads, weights: init, seed }) =>
  new attn.MultiHeadAttention({
    ...{ dModel, numHeads, init, seed: init === 'xavier' ? seed : 0 },
    bias: false,
  });

/**
 * Returns a function that computes a layer's output (n, E) from embeddings. Its second argument
 * selects whether the rows have positions.
 * @param {Attn} attn
 * @param {Given} given
 * @param {import('../models/language/languageModel.js').LanguageModel | null} model
 * @param {InstanceType<Attn['MultiHeadAttention']>} layer
 * @param {import('attn').ExclusionOptions} exclusion
 */
export const layerOutput =
  (attn, given, model, layer, exclusion) =>
  (/** @type {Tensor} */ embedding, /** @type {boolean} */ positions) => {
    if (!embedding.shape[0]) return embedding;
    if (given.weights === 'learned' && model) {
      const x = model.read(embedding, { exclusion, positions }).layerInput(given.layer);
      return model.attention(given.layer, positions).forward(x, x, x, exclusion).output;
    }
    const x = positions ? attn.positionalEncoding(embedding, { base: given.base }) : embedding;
    return layer.forward(x, x, x, exclusion).output;
  };
