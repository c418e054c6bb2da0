// Computes every head of every layer for one sentence, layer by layer in the worker.

import { exclusionOf } from '../../core/exclusion.js';
import { coarse, matrixOf } from '../../drawing/matrix.js';
import { even, firstQuery, reversed, sharesOf, twinsOf } from './patterns.js';

/** @typedef {import('attn').Tensor} Tensor */
/** @typedef {import('./patterns.js').Shares} Shares */

/**
 * The model that reads the sentence.
 * @typedef {object} Reader
 * @property {number} numLayers
 * @property {number} most largest number of tokens read at once
 * @property {(id: number) => boolean} isSpecial true if a token represents no text
 * @property {(ids: readonly number[], exclusion: import('attn').ExclusionOptions, layer: number)
 *   => Tensor} weights
 *   (heads, n, n)
 */

/**
 * @typedef {object} Layer
 * @property {Tensor} pictures (heads, rows, columns): the weights, or the strongest of each group
 *   if there are too many to see
 * @property {Shares[]} shares shares of each head
 *
 * @typedef {object} Sentence facts about the measurement
 * @property {number} length number of tokens
 * @property {number} numLayers
 * @property {boolean} causal
 * @property {number} queries number of queries on which previous, first and place are measured
 * @property {number} again number of tokens that also occur elsewhere
 * @property {Shares} even the shares that uniform attention would have
 *
 * @typedef {{ sentence: Sentence } | { layer: number, found: Layer } | null} Progress
 */

/** Longest sentence, in tokens. */
const mostTokens = 256;

/** Number of cells along each side of a picture. */
const mostCells = 48;

/** @param {Tensor} weights (heads, n, n) @returns {Tensor} */
function picturesOf(weights) {
  const [heads, n] = weights.shape;
  const side = Math.min(n, mostCells);
  const data = new Float32Array(heads * side * side);
  for (let head = 0; head < heads; head++) {
    const matrix = matrixOf(weights, head);
    data.set((coarse(matrix, mostCells) ?? matrix).data, head * side * side);
  }
  return { data, shape: [heads, side, side] };
}

/**
 * @param {Reader} reader
 * @param {import('../../core/sentence.js').Given} given
 * @returns {Generator<Progress, void>}
 */
export function* wall(reader, given) {
  yield null;
  const ids = given.ids.slice(0, Math.min(mostTokens, reader.most));
  const { length } = ids;
  const { causal } = given;
  const twins = twinsOf(ids, causal);
  const evenly = even(length, causal);
  const { numLayers } = reader;
  yield {
    sentence: {
      ...{ length, numLayers, causal, queries: Math.max(0, length - firstQuery) },
      again: twins.filter((others) => others.length).length,
      even: sharesOf(evenly, evenly, twins),
    },
  };
  if (!length) return;
  const exclusion = exclusionOf(given, length);
  const turned = reversed(ids, reader.isSpecial);
  for (let layer = 0; layer < numLayers; layer++) {
    const weights = reader.weights(ids, exclusion, layer);
    // Pause here, because typing has priority.
    yield null;
    const others = reader.weights(turned, exclusion, layer);
    const shares = Array.from({ length: weights.shape[0] }, (_, head) =>
      sharesOf(matrixOf(weights, head).data, matrixOf(others, head).data, twins),
    );
    yield { layer, found: { pictures: picturesOf(weights), shares } };
  }
}
