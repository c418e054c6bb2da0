import { maxAbsDifference } from './difference.js';
import { orderEffects } from './effects.js';
import { responseOf } from './scale.js';
import { layerOutput, turnsBy, uncased } from './sentence.js';
import { shuffledOrder } from './shuffle.js';
import { columnsOf, stagesOf } from './stages.js';
import { entropyOf } from './statistics.js';

/** @typedef {import('attn').Attn} Attn */
/** @typedef {import('attn').Tensor} Tensor */
/** @typedef {import('../drawing/matrix.js').Matrix} Matrix */
/** @typedef {import('../models/language/languageModel.js').LanguageModel} LanguageModel */
/** @typedef {ReturnType<typeof walkOf>} Walk */

/** Largest number of positions before the word's position that the clocks of the encoding show. */
const mostTicks = 12;

/**
 * The results of each step by which a head computes the output for one word. Also contains the
 * weights without the division by √D, and the outputs with and without positions after a shuffle.
 * @param {Attn} attn
 * @param {import('./sentence.js').Given} given
 * @param {{
 *   embedding: Tensor,
 *   x: Tensor,
 *   layer: InstanceType<Attn['MultiHeadAttention']>,
 *   exclusion: import('attn').ExclusionOptions,
 *   model: LanguageModel | null,
 *   reading: ReturnType<LanguageModel['read']> | null,
 * }} sentence with at least one token
 */
export function walkOf(attn, given, { embedding, x, layer, exclusion, model, reading }) {
  const { dModel, heads, head, base } = given;
  const depth = dModel / heads;
  const stages = stagesOf(attn, x, layer, exclusion, head);
  const { value, weights } = stages;
  const paired = given.rotary ? neighbours : (/** @type {Matrix} */ matrix) => matrix;
  const [query, key] = [stages.query, stages.key].map(paired);
  const word = wordOf(weights, given);
  const row = (/** @type {Matrix} */ matrix) => rowOf(matrix, word);

  const [q, k, v] = [query, key, value].map(({ data, rows, columns }) => ({
    data,
    shape: [1, rows, columns],
  }));
  const undivided = attn.scaledDotProductAttention(q, k, v, {
    ...{ ...exclusion, numHeads: 1, scale: 1, needWeights: true },
  });
  const rowsWithout = { data: undivided.weights.data, rows: key.rows, columns: key.rows };
  const division = divisionOf(weights, rowsWithout, stages.masked, word);
  const attended = columnsOf(stages.attended, head * depth, (head + 1) * depth);
  const width = given.rotary ? depth : dModel;
  const start = Math.max(0, word - mostTicks);
  return {
    ...{ word, depth, keys: key, values: value },
    embedding: row(matrixFrom(embedding)),
    embeddings: matrixFrom(embedding),
    /**
     * The positional encoding at the word's position and at some positions before it. The figure
     * draws each pair of sine and cosine as a clock. `start` is the first of these positions.
     */
    places: matrixFrom(
      attn.sinusoidalEncoding({ start, length: word - start + 1, dModel: width, base }),
    ),
    start,
    input: row(matrixFrom(x)),
    query: row(query),
    /** The query before the rotation by its position, if the layer rotates queries. */
    unturned:
      turnsBy(given) === undefined || !model ? null : paired(queryOf(model, given, x, word)),
    scores: row(stages.scores).data,
    scaled: row(stages.scaled).data,
    masked: row(stages.masked).data,
    divided: shareOf(row(weights).data),
    /** The effect of the division, for this word or, if its effect here is small, for another. */
    division,
    /** The head's output for the word of `division`, whose weights are spread over several keys. */
    blend: rowOf(attended, division.word),
    shuffled: shuffledOf(attn, given, { embedding, layer, model }, word),
    /** The model's logits for the next token. */
    logits: reading ? reading.logits(word, word + 1).data : null,
  };
}

/**
 * Places the two columns of each rotated pair next to each other, as in an encoding. In the
 * language model, the two columns are half a head apart. Dot products stay the same.
 * @param {Matrix} matrix
 * @returns {Matrix}
 */
function neighbours({ data, rows, columns }) {
  const half = columns / 2;
  const from = (/** @type {number} */ column) => (column % 2) * half + (column >> 1);
  return {
    ...{ rows, columns },
    data: data.map((_, i) => data[i - (i % columns) + from(i % columns)]),
  };
}

/**
 * Returns the selected token if it exists. Otherwise, returns the token that gives the largest
 * weight to another token. Considers only words that occurred before; if there are none, words that
 * are a single token; and if there are none, all tokens. In each case, prefers the second half of
 * the sentence, whose tokens can attend to more keys.
 * @param {Matrix} weights
 * @param {import('./sentence.js').Given} given
 */
function wordOf({ data, rows, columns }, { walkWord, tokens, weights }) {
  if (walkWord >= 0 && walkWord < rows) return walkWord;
  const all = uncased(tokens);
  const isLate = (/** @type {number} */ i) => i >= Math.floor(rows / 2);
  const every = Array.from({ length: rows }, (_, i) => i);
  const whole = every.filter(
    (i) =>
      i > 0 &&
      /[\p{L}\p{N}]/u.test(tokens[i]) &&
      (weights !== 'learned' || !(isPiece(tokens[i]) || isPiece(tokens[i + 1]))),
  );
  const repeated = whole.filter((i) => all.indexOf(all[i]) < i);
  const [candidates] = [repeated, whole, every]
    .flatMap((some) => [some.filter(isLate), some])
    .filter(({ length }) => length > 0);
  let [word, largest] = [candidates[0], 0];
  for (const i of candidates) {
    for (let j = 0; j < columns; j++) {
      const weight = data[i * columns + j];
      if (j !== i && weight > largest) [word, largest] = [i, weight];
    }
  }
  return word;
}

/** Whether a token of the language model continues the word before it. @param {string} [token] */
const isPiece = (token = '') => /^-./u.test(token);

/**
 * The tokens of the first word that the language model has split; null if there is none.
 * @param {string[]} tokens
 */
export function splitWord(tokens) {
  const second = tokens.findIndex((token, i) => i > 0 && isPiece(token));
  if (second < 0) return null;
  const after = tokens.findIndex((token, i) => i > second && !isPiece(token));
  return tokens.slice(second - 1, after < 0 ? undefined : after);
}

/** @param {Tensor} tensor @returns {Matrix} */
const matrixFrom = ({ data, shape: [rows, columns] }) => ({ data, rows, columns });

/** @param {Matrix} matrix @param {number} row @returns {Matrix} a copy */
export const rowOf = ({ data, columns }, row) => ({
  ...{ data: data.slice(row * columns, (row + 1) * columns), rows: 1, columns },
});

/** Weights of a query, and how they are distributed. @param {Float32Array} weights */
function shareOf(weights) {
  const largest = weights.reduce((a, b) => Math.max(a, b), 0);
  // The slope is 0 if changing the scores has no effect on the weights.
  return { weights, entropy: entropyOf(weights), largest, slope: responseOf(weights) };
}

/** A word with a larger weight than this hardly changes if its scores are not divided. */
const decided = 0.9;

/**
 * The weights of a word with and without the division by √D. If one key has nearly all the weight
 * even with the division, uses the word of the same head whose entropy falls most without it.
 * @param {Matrix} weights
 * @param {Matrix} undivided
 * @param {Matrix} masked
 * @param {number} word
 */
export function divisionOf(weights, undivided, masked, word) {
  const of = (/** @type {number} */ word) => ({
    word,
    masked: rowOf(masked, word).data,
    divided: shareOf(rowOf(weights, word).data),
    undivided: shareOf(rowOf(undivided, word).data),
  });
  const fall = (/** @type {number} */ row) =>
    entropyOf(rowOf(weights, row).data) - entropyOf(rowOf(undivided, row).data);
  const own = of(word);
  if (own.divided.largest <= decided) return own;
  let [best, largest] = [word, fall(word)];
  for (let row = 0; row < weights.rows; row++) {
    if (fall(row) > largest) [best, largest] = [row, fall(row)];
  }
  return best === word ? own : of(best);
}

/** @param {LanguageModel} model @param {import('./sentence.js').Given} given @param {Tensor} x @param {number} word */
function queryOf(model, { layer, head, heads }, x, word) {
  const { data, columns } = rowOf(matrixFrom(x), word);
  const one = { data, shape: [1, columns] };
  const { intermediates } = model.attention(layer, false).forward(one, one, one, {
    intermediates: ['q'],
  });
  const depth = columns / heads;
  const q = /** @type {Tensor} */ (intermediates?.q);
  return rowOf({ data: q.data, rows: heads, columns: depth }, head);
}

/**
 * The word's output before and after all words are shuffled, with and without positions. Masks are
 * ignored here, because they would reveal the order.
 * @param {Attn} attn
 * @param {import('./sentence.js').Given} given
 * @param {{ embedding: Tensor, layer: InstanceType<Attn['MultiHeadAttention']>, model:
 *   LanguageModel | null }} sentence
 * @param {number} word
 */
function shuffledOf(attn, given, { embedding, layer, model }, word) {
  const order = shuffledOrder(embedding.shape[0], given.shuffle);
  const effects = orderEffects(layerOutput(attn, given, model, layer, {}), embedding, order);
  const at = order.indexOf(word);
  const rows = (/** @type {typeof effects.with} */ { after, before }) => {
    const [written, shuffled] = [after, before].map((each) => rowOf(matrixFrom(each), at));
    return { written, shuffled, difference: maxAbsDifference(written.data, shuffled.data) };
  };
  return { order, with: rows(effects.with), without: rows(effects.without) };
}

/**
 * The query's own key and the keys with the largest weights, in the order of the sentence, and the
 * total weight of the rest.
 * @param {Pick<Walk, 'word' | 'masked' | 'divided'>} walk
 * @param {number} most
 */
export function keysOf({ word, masked, divided: { weights } }, most) {
  const seen = [...weights.keys()].filter((key) => masked[key] > -Infinity);
  const own = (/** @type {number} */ key) => Number(key === word);
  const keys = [...seen]
    .sort((a, b) => own(b) - own(a) || weights[b] - weights[a] || a - b)
    .slice(0, most)
    .sort((a, b) => a - b);
  const rest = 1 - keys.reduce((sum, key) => sum + weights[key], 0);
  return { keys, others: seen.length - keys.length, rest };
}

/**
 * Selects rows of a matrix by their indices.
 * @param {Matrix} matrix
 * @param {number[]} numbers
 * @returns {Matrix}
 */
export function rowsOf({ data, columns }, numbers) {
  const some = new Float32Array(numbers.length * columns);
  numbers.forEach((from, to) =>
    some.set(data.subarray(from * columns, (from + 1) * columns), to * columns),
  );
  return { data: some, rows: numbers.length, columns };
}

/** Formats an entropy with two decimals. @param {number} entropy */
export const bits = (entropy) => (entropy > 0 && entropy < 0.005 ? '< 0.01' : entropy.toFixed(2));
