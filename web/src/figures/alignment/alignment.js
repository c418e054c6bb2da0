import { uncased } from '../../core/sentence.js';

/** @typedef {import('attn').Attn} Attn */
/** @typedef {import('attn').Tensor} Tensor */

/**
 * Width of the words’ embeddings. It is large, so that words without common letters are nearly
 * orthogonal.
 */
export const wordWidth = 256;

/** Number of hidden units of additive attention with random weights. */
export const numHiddens = 64;

/**
 * Shift of tanh in the handmade weights. tanh(u + shift) − tanh(u − shift) is a bump around u = 0
 * that is about as wide as the difference between two unrelated embeddings.
 */
export const shift = 1;

/**
 * @typedef {object} Alignment
 * @property {Tensor} [scores] (targets, sources)
 * @property {Tensor} weights (targets, sources): each row sums to 1
 * @property {Tensor} queries queries of the target's words
 * @property {Tensor} keys keys of the source's words
 */

/**
 * Weights with which additive attention compares spellings. Without a constant, the scores would be
 * an odd function of (q, k) jointly, which cannot distinguish similar vectors from opposite
 * vectors. Each query therefore ends in a 1. Two hidden units for each column c of the embeddings
 * then compute
 *
 * tanh(q_c − k_c + shift) − tanh(q_c − k_c − shift),
 *
 * which is largest if q_c = k_c. w_v adds up these differences with equal weights.
 * @param {number} width width of the embeddings
 * @param {number} sharpness the weights w_v
 * @returns {[string, Tensor][]}
 */
export function comparingWeights(width, sharpness) {
  const [hiddens, columns] = [2 * width, width + 1];
  const query = new Float32Array(hiddens * columns);
  const key = new Float32Array(hiddens * width);
  const value = new Float32Array(hiddens);
  for (let c = 0; c < width; c++) {
    for (const [unit, sign] of [
      [c, 1],
      [width + c, -1],
    ]) {
      query[unit * columns + c] = 1;
      query[unit * columns + width] = sign * shift;
      key[unit * width + c] = -1;
      value[unit] = sign * sharpness;
    }
  }
  return [
    ['W_q.weight', { data: query, shape: [hiddens, columns] }],
    ['W_k.weight', { data: key, shape: [hiddens, width] }],
    ['w_v.weight', { data: value, shape: [1, hiddens] }],
  ];
}

/**
 * Finds a one-letter word that attends most to another word containing that letter, if there is
 * one.
 * @param {string[]} source
 * @param {string[]} target
 * @param {Tensor} weights (targets, sources)
 * @returns {{ one: string, other: string } | null}
 */
export function foundByLetter(source, target, weights) {
  const [letters, words] = [uncased(target), uncased(source)];
  const best = strongest(weights);
  const i = letters.findIndex((word, i) => {
    const other = words[best[i]];
    return /^\p{L}$/u.test(word) && other !== word && other.includes(word);
  });
  return i < 0 ? null : { one: target[i], other: source[best[i]] };
}

/** @param {Attn} attn @param {string[]} tokens */
const embeddingOf = (attn, tokens) =>
  attn.ngramEmbedding(uncased(tokens), { dModel: wordWidth, seed: 0 });

/** Appends a column of ones to a matrix. @param {Tensor} tensor (n, width) @returns {Tensor} */
function withOnes({ data, shape: [length, width] }) {
  const wider = new Float32Array(length * (width + 1)).fill(1);
  for (let i = 0; i < length; i++) {
    wider.set(data.subarray(i * width, (i + 1) * width), i * (width + 1));
  }
  return { data: wider, shape: [length, width + 1] };
}

/**
 * Untrained additive attention from each target word to each source word. The queries and keys are
 * the words' embeddings.
 * @param {Attn} attn
 * @param {string[]} source
 * @param {string[]} target
 * @param {{ byHand: true, sharpness: number } | { byHand: false, seed: number }} settings
 * @returns {Alignment}
 */
export function align(attn, source, target, settings) {
  const [keys, words] = [source, target].map((tokens) => embeddingOf(attn, tokens));
  const queries = settings.byHand ? withOnes(words) : words;
  const layer = new attn.AdditiveAttention({
    queryDim: queries.shape[1],
    keyDim: wordWidth,
    numHiddens: settings.byHand ? 2 * wordWidth : numHiddens,
    ...(settings.byHand ? { init: 'zeros' } : { seed: settings.seed }),
  });
  try {
    if (settings.byHand) {
      for (const [name, values] of comparingWeights(wordWidth, settings.sharpness)) {
        layer.setParameter(name, values);
      }
    }
    const { scores, weights } = layer.forward(queries, keys, keys, {
      needScores: true,
      needWeights: true,
    });
    return { scores, weights, queries, keys };
  } finally {
    layer.dispose();
  }
}

/**
 * The untrained alignment of Bahdanau's decoder. One GRU reads the source. A second GRU receives
 * the target word by word, and its state queries the states of the first.
 * @param {Attn} attn
 * @param {string[]} source
 * @param {string[]} target
 * @param {number} seed
 * @returns {Alignment} without scores; the queries are the decoder's inputs, word by word
 */
export function alignByDecoder(attn, source, target, seed) {
  const words = uncased(target);
  const vocabulary = [...new Set(words)];
  const encoder = new attn.GRU({ inputSize: wordWidth, hiddenSize: numHiddens, seed });
  const decoder = new attn.BahdanauDecoder({
    ...{ vocabSize: vocabulary.length, embedSize: wordWidth, numHiddens },
    ...{ seed, stream: 16 },
  });
  let state;
  try {
    decoder.setParameter('embedding.weight', embeddingOf(attn, vocabulary));
    const [keys, queries] = [source, words].map((tokens) => embeddingOf(attn, tokens));
    const { output, hN } = encoder.forward({ ...keys, shape: [1, ...keys.shape] });
    state = decoder.initState(output, hN);
    const tokens = {
      data: words.map((word) => vocabulary.indexOf(word)),
      shape: [1, target.length],
    };
    const { alignment } = decoder.forward(tokens, state, { needAlignment: true });
    const { data } = alignment;
    return { weights: { data, shape: [target.length, source.length] }, queries, keys };
  } finally {
    state?.dispose();
    decoder.dispose();
    encoder.dispose();
  }
}

/**
 * For each word of the target, the index of the source word with the largest weight.
 * @param {Tensor} weights (targets, sources)
 * @returns {number[]}
 */
export function strongest({ data, shape: [targets, sources] }) {
  return Array.from({ length: targets }, (_, i) => {
    const row = data.subarray(i * sources, (i + 1) * sources);
    return row.indexOf(Math.max(...row));
  });
}
