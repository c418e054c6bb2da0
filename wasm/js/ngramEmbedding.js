import { checkInteger, invalid } from './errors.js';
import { Kind } from './kind.js';
import { checkOptions } from './options.js';

/** @import { Names } from './options.js' */
/** @import { Runtime } from './runtime.js' */

/**
 * @typedef {object} NgramEmbeddingOptions
 * @property {number} dModel  width of the embeddings
 * @property {number} [minN]  the shortest n-grams; 2 by default
 * @property {number} [maxN]  the longest ones; 4 by default, at most 64
 * @property {number} [seed]  0 by default
 */

/** @type {Names<NgramEmbeddingOptions>} */
const kOptions = { dModel: true, minN: true, maxN: true, seed: true };

/**
 * @param {Runtime} runtime
 * @param {readonly string[]} tokens
 * @param {NgramEmbeddingOptions} options
 */
export function ngramEmbedding(runtime, tokens, options) {
  checkOptions(options, kOptions);
  const { dModel, minN = 2, maxN = 4, seed = 0 } = options;
  if (!Array.isArray(tokens)) throw invalid('tokens', tokens, 'an array of strings');
  const wrong = tokens.findIndex((token) => typeof token !== 'string');
  if (wrong >= 0) throw invalid(`tokens[${wrong}]`, tokens[wrong], 'a string');
  checkInteger('dModel', dModel, 1);
  return runtime.map(
    'ngramEmbedding',
    (call) => {
      call.put(Kind.integer, tokens.length);
      for (const token of tokens) call.text('tokens', token);
      return [tokens.length, dModel];
    },
    (call) => {
      call.integer('seed', seed, 0);
      call.integer('minN', minN, 1);
      call.integer('maxN', maxN, 1);
    },
  );
}
