// Predictions of the reader's model and text generated from them. Used in the model's worker.

/**
 * The part of attn's `LanguageModel` that predictions need.
 * @typedef {object} Predictor
 * @property {{ vocabSize: number }} description
 * @property {() => any} makeCaches
 * @property {(ids: number[], options: { numLogits: number, caches?: any }) => { logits:
 *   import('attn').Tensor }} forward
 */

/** @typedef {import('../model.js').Next} Next */

/** Largest number of logits to keep (64 MB). */
const mostLogits = 2 ** 24;

/**
 * The largest value of a row, and the sum of the row's exponentials divided by the exponential of
 * this value.
 * @param {Float32Array} row
 */
function sumOf(row) {
  let largest = -Infinity;
  for (const value of row) if (value > largest) largest = value;
  let sum = 0;
  for (const value of row) sum += Math.exp(value - largest);
  return { largest, sum };
}

/**
 * The most probable tokens; none if the probabilities are not numbers, because a logit is NaN or ∞.
 * Sorts the logits of all tokens as numbers, but only the ids of the most probable tokens.
 * @param {Float32Array} logits (V)
 * @param {{ temperature: number, topK: number, drawn: number }} options
 * @returns {{ id: number, probability: number }[]}
 */
export function likeliest(logits, { temperature, topK, drawn }) {
  const kept = topK || logits.length;
  // NaN comes last.
  const ascending = logits.slice().sort();
  const largest = ascending[ascending.length - 1];
  if (!Number.isFinite(largest)) return [];
  const least = ascending[Math.max(0, logits.length - Math.min(drawn, kept))];
  /** @type {number[]} */
  const ids = [];
  logits.forEach((value, id) => {
    if (value >= least) ids.push(id);
  });
  let total = 0;
  for (let i = Math.max(0, logits.length - kept); i < logits.length; i++) {
    total += Math.exp((ascending[i] - largest) / temperature);
  }
  return ids
    .sort((a, b) => logits[b] - logits[a] || a - b)
    .slice(0, Math.min(drawn, kept))
    .map((id) => ({ id, probability: Math.exp((logits[id] - largest) / temperature) / total }));
}

/**
 * Predicts the next tokens of a sentence and continues it. Keeps the logits of the last sentence,
 * because sampling options change more often than the sentence.
 */
export class NextTokens {
  #attn;
  #model;
  #tokens;
  /** @type {{ key: string, first: number, width: number, data: Float32Array } | null} */
  #kept = null;

  /**
   * @param {import('attn').ModelsAttn} attn
   * @param {Predictor} model
   * @param {import('../tokenizer/modelTokens.js').ModelTokens} tokens
   */
  constructor(attn, model, tokens) {
    this.#attn = attn;
    this.#model = model;
    this.#tokens = tokens;
  }

  /**
   * The logits of the last tokens, for as many tokens as the limit allows.
   * @param {number[]} ids
   */
  #logits(ids) {
    const key = ids.join();
    if (this.#kept?.key !== key) {
      const { vocabSize: width } = this.#model.description;
      const numLogits = Math.min(ids.length, Math.max(1, Math.floor(mostLogits / width)));
      const { data } = this.#model.forward(ids, { numLogits }).logits;
      this.#kept = { key, width, data, first: ids.length - numLogits };
    }
    return this.#kept;
  }

  /**
   * @param {{ ids: number[], at: number, temperature: number, topK: number, drawn: number }} given
   * @returns {Omit<Next, 'weights'>}
   */
  of({ ids, at, ...options }) {
    const { first, width, data } = this.#logits(ids);
    const row = (/** @type {number} */ i) =>
      data.subarray((i - first) * width, (i - first + 1) * width);
    const probabilities = ids.map((id, i) => {
      if (i <= first) return NaN;
      const { largest, sum } = sumOf(row(i - 1));
      return Math.exp(row(i - 1)[id] - largest) / sum;
    });
    const candidates = at < first ? [] : likeliest(row(at), options);
    return {
      ...{ first, probabilities, at },
      candidates: candidates.map((each) => ({
        ...each,
        label: this.#tokens.label(each.id, ids.slice(0, at + 1)),
        text: this.#tokens.added(ids, [each.id]),
      })),
    };
  }

  /**
   * Samples tokens one after another, with a cache. Yields the text that each token appends.
   * @param {{ ids: number[], count: number, temperature: number, topK: number, seed: number }}
   *   given
   */
  *write({ ids, count, temperature, topK, seed }) {
    const caches = this.#model.makeCaches();
    /** @type {number[]} */
    const written = [];
    let said = '';
    try {
      let next = ids;
      for (let i = 0; i < count; i++) {
        const { logits } = this.#model.forward(next, { caches, numLogits: 1 });
        const row = { data: logits.data, shape: [logits.data.length] };
        const step = ids.length + i;
        const id = this.#attn.chooseToken(row, { temperature, topK, seed, step });
        const ended = this.#tokens.isSpecial(id);
        if (!ended) written.push(id);
        const text = this.#tokens.added(ids, written);
        // A character may take several tokens, and is yielded after its last token.
        if (ended || text.length > said.length) {
          yield { text: text.slice(said.length), ended };
          said = text;
        }
        if (ended) return;
        next = [id];
      }
    } finally {
      caches.dispose();
    }
  }
}
