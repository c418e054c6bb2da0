import { randomLcg, randomNormal } from 'd3-random';

import { clampPoint, range } from '../../core/points.js';
import { formTexts, scoringTexts } from '../../texts/figures/pooling.js';

/** @typedef {import('attn').Attn} Attn */
/** @typedef {import('../../core/points.js').Point} Point */
/** @typedef {(typeof import('../../core/points.js').scoringFunctions)[number]} Scoring */

/**
 * @typedef {object} PoolingOptions
 * @property {number} kernelWidth σ
 * @property {'encoding' | 'number'} dotInput
 * @property {'byHand' | 'random'} additiveWeights
 * @property {number} additiveSeed
 *
 * @typedef {object} Pooled
 * @property {import('attn').Tensor} output (queries, 1)
 * @property {import('attn').Tensor} weights (queries, keys)
 */

/** The function behind the training points, from D2L's section 11.2. @param {number} x */
export const truth = (x) => 2 * Math.sin(x) + x;

/** The queries of the pooled curve: 0, 0.1 … 4.9, as in D2L. */
export const queries = Array.from({ length: 50 }, (_, i) => i / 10);

/** Width of the encodings in the dot product. */
export const encodingWidth = 64;

/**
 * Number of hidden units of additive attention with random weights. Handmade weights need only two.
 */
export const numHiddens = 8;

/**
 * Training points around the true function: x is uniform, and y has normal noise with standard
 * deviation 1.
 * @param {number} count
 * @param {number} seed
 * @returns {Point[]} ascending in x
 */
export function drawPoints(count, seed) {
  // With neighbouring seeds, a linear congruential generator would begin with similar numbers, so
  // spread the seeds first.
  const random = randomLcg(((seed + 1) * 0.6180339887498949) % 1);
  const noise = randomNormal.source(random)(0, 1);
  return Array.from({ length: count }, () => {
    const x = range.x.max * random();
    return clampPoint({ x, y: truth(x) + noise() });
  }).sort((a, b) => a.x - b.x);
}

/** @param {readonly number[]} values @returns {import('attn').Tensor} (n, 1) */
const column = (values) => ({ data: Float32Array.from(values), shape: [values.length, 1] });

/**
 * Weights that turn a(q, k) = w_vᵀ tanh(W_q q + W_k k), with a 1 appended to q and to k, into a
 * bump around q = k: 4 tanh((q − k)/σ + 1) − 4 tanh((q − k)/σ − 1).
 * @param {number} width σ
 */
export const bump = (width) => ({
  'W_q.weight': { data: [1 / width, 1, 1 / width, -1], shape: [2, 2] },
  'W_k.weight': { data: [-1 / width, 0, -1 / width, 0], shape: [2, 2] },
  'w_v.weight': { data: [4, -4], shape: [1, 2] },
});

/** @param {readonly number[]} values (n, 2): each value is followed by a 1 */
const withOne = (values) => ({
  data: Float32Array.from(values.flatMap((value) => [value, 1])),
  shape: [values.length, 2],
});

/**
 * The y values of the points, pooled for each query by one scoring function.
 * @param {Attn} attn
 * @param {Scoring} scoring
 * @param {Point[]} points
 * @param {PoolingOptions} options
 * @returns {Pooled}
 */
export function pool(attn, scoring, points, options) {
  const value = column(points.map(({ y }) => y));
  const xs = points.map(({ x }) => x);
  const needWeights = true;
  const width = options.kernelWidth;
  if (scoring === 'additive') {
    const byHand = options.additiveWeights === 'byHand';
    const layer = new attn.AdditiveAttention({
      queryDim: 2,
      keyDim: 2,
      numHiddens: byHand ? 2 : numHiddens,
      seed: options.additiveSeed,
    });
    try {
      if (byHand) {
        for (const [name, tensor] of Object.entries(bump(width))) layer.setParameter(name, tensor);
      }
      return layer.forward(withOne(queries), withOne(xs), value, { needWeights });
    } finally {
      layer.dispose();
    }
  }
  if (scoring === 'scaledDot' && options.dotInput === 'encoding') {
    const [query, key] = [queries, xs].map((positions) =>
      attn.sinusoidalEncoding({
        positions: positions.map((x) => x / width),
        dModel: encodingWidth,
      }),
    );
    return attn.attentionPooling(query, key, value, { needWeights });
  }
  const kernel = scoring === 'hard' ? 'gaussian' : scoring;
  return attn.attentionPooling(column(queries), column(xs), value, {
    scoring: kernel,
    hard: scoring === 'hard',
    needWeights,
    ...(kernel !== 'average' && kernel !== 'scaledDot' && { width }),
  });
}

/**
 * The root mean square distance between the pooled curve and the true function.
 * @param {ArrayLike<number>} output the pooled curve at the queries
 */
export function error(output) {
  const sum = queries.reduce((total, x, i) => total + (output[i] - truth(x)) ** 2, 0);
  return Math.sqrt(sum / queries.length);
}

/**
 * A note on a scoring function with its current settings.
 * @param {Scoring} scoring
 * @param {PoolingOptions} options
 */
export function noteOn(scoring, { dotInput, additiveWeights, additiveSeed }) {
  if (scoring === 'scaledDot') {
    return dotInput === 'encoding' ? formTexts.encodings(encodingWidth) : formTexts.numbers;
  }
  if (scoring === 'additive') {
    return additiveWeights === 'byHand'
      ? formTexts.byHand
      : formTexts.random(numHiddens, additiveSeed);
  }
  return scoringTexts[scoring].note;
}

/**
 * True if the width σ affects the scoring function.
 * @param {Scoring} scoring
 * @param {PoolingOptions} options
 */
export function usesWidth(scoring, { dotInput, additiveWeights }) {
  if (scoring === 'scaledDot') return dotInput === 'encoding';
  if (scoring === 'additive') return additiveWeights === 'byHand';
  return scoring !== 'average' && scoring !== 'hard';
}

/**
 * Returns the form of a scoring function that the settings select. 'scaledDot' and 'additive' have
 * two forms each.
 * @param {Scoring} scoring
 * @param {PoolingOptions} options
 */
export function formOf(scoring, { dotInput, additiveWeights }) {
  if (scoring === 'scaledDot' && dotInput === 'encoding') return 'scaledDotOfEncodings';
  if (scoring === 'additive' && additiveWeights === 'byHand') return 'additiveByHand';
  return scoring;
}

/** @typedef {ReturnType<typeof formOf>} Form */

/**
 * How scores become weights: by softmax, by dividing them by their sum, or by giving the best score
 * all the weight.
 * @param {Form} form
 */
export function weighting(form) {
  if (form === 'hard') return 'best';
  return ['boxcar', 'epanechnikov', 'average'].includes(form) ? 'share' : 'softmax';
}
