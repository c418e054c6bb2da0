// Computes every head of every layer for one sentence, layer by layer in the worker.

import { exclusionOf } from '../../core/exclusion.js';
import { coarse, matrixOf } from '../../drawing/matrix.js';
import { even, firstQuery, reversed, sharesOf, twinsOf } from './patterns.js';

/** @typedef {import('attn').Tensor} Tensor */
/** @typedef {import('./patterns.js').Shares} Shares */

/**
 * The model that reads the sentence, or one part of an encoder–decoder model.
 * @typedef {object} Reader
 * @property {number} numLayers
 * @property {number} most largest number of tokens read at once
 * @property {(id: number) => boolean} isSpecial true if a token represents no text
 * @property {(ids: readonly number[], exclusion: import('attn').ExclusionOptions, layer: number)
 *   => Tensor} weights
 *   (heads, queries, keys)
 * @property {import('../../core/sentence.js').PartName} [part]
 * @property {boolean} [causal] whether this part is causal
 * @property {readonly number[]} [ids] the tokens that this part reads
 * @property {readonly number[]} [keys] the tokens to which the part attends, if they are another
 *   text
 */

/**
 * @typedef {object} Layer
 * @property {Tensor} pictures (heads, rows, columns): the weights, or the strongest of each group
 *   if there are too many to see
 * @property {Shares[]} shares shares of each head
 *
 * @typedef {object} Sentence facts about the measurement
 * @property {import('../../core/sentence.js').PartName} [part]
 * @property {number} length number of tokens
 * @property {number} keys number of tokens to which they attend
 * @property {number} numLayers
 * @property {boolean} causal
 * @property {number} queries number of queries on which previous, first and place are measured
 * @property {number} again number of tokens that also occur elsewhere
 * @property {Shares} even the shares that uniform attention would have
 *
 * @typedef {{ sentences: Sentence[] } | { layer: number, found: Layer } | null} Progress
 *   sentences: one for each part of the model; layer: its index among the layers of all parts
 */

/** Longest sentence, in tokens. */
const mostTokens = 256;

/** Number of cells along each side of a picture. */
const mostCells = 48;

/** @param {Tensor} weights (heads, queries, keys) @returns {Tensor} */
function picturesOf(weights) {
  const [heads, ...sides] = weights.shape;
  const [rows, columns] = sides.map((side) => Math.min(side, mostCells));
  const data = new Float32Array(heads * rows * columns);
  for (let head = 0; head < heads; head++) {
    const matrix = matrixOf(weights, head);
    data.set((coarse(matrix, mostCells) ?? matrix).data, head * rows * columns);
  }
  return { data, shape: [heads, rows, columns] };
}

/**
 * The tokens that a part of the model reads, and facts about them.
 * @param {Reader} reader
 * @param {import('../../core/sentence.js').Given} given
 */
function measured(reader, given) {
  const { part, keys, numLayers, causal = given.causal, ids: all = given.ids } = reader;
  const ids = all.slice(0, Math.min(mostTokens, reader.most));
  const { length } = ids;
  const twins = twinsOf(ids, causal, keys);
  const evenly = even(length, causal, keys?.length);
  const sentence = {
    ...{ part, length, keys: keys?.length ?? length, numLayers, causal },
    queries: Math.max(0, length - firstQuery),
    again: twins.filter((others) => others.length).length,
    even: sharesOf(evenly, keys ? null : evenly, twins),
  };
  return { reader, ids, twins, sentence };
}

/**
 * @param {Reader[]} readers
 * @param {import('../../core/sentence.js').Given} given
 * @returns {Generator<Progress, void>}
 */
export function* wall(readers, given) {
  yield null;
  const parts = readers.map((reader) => measured(reader, given));
  yield { sentences: parts.map(({ sentence }) => sentence) };
  let first = 0;
  for (const { reader, ids, twins, sentence } of parts) {
    const { numLayers } = reader;
    const exclusion = exclusionOf(given, ids.length);
    const turned = reversed(ids, reader.isSpecial);
    for (let layer = 0; ids.length && sentence.keys && layer < numLayers; layer++) {
      const weights = reader.weights(ids, exclusion, layer);
      // Pause here, because typing has priority.
      yield null;
      const others = reader.keys ? null : reader.weights(turned, exclusion, layer);
      const shares = Array.from({ length: weights.shape[0] }, (_, head) =>
        sharesOf(matrixOf(weights, head).data, others && matrixOf(others, head).data, twins),
      );
      yield { layer: first + layer, found: { pictures: picturesOf(weights), shares } };
    }
    first += numLayers;
  }
}
