import { checkInteger, invalid } from './errors.js';
import { Kind } from './kind.js';
import { readArray, readOptions } from './options.js';

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
  options = readOptions(options, kOptions);
  const { dModel, minN = 2, maxN = 4, seed = 0 } = options;
  if (!Array.isArray(tokens)) throw invalid('tokens', tokens, 'an array of strings');
  const texts = readArray(tokens, (token, i) => {
    if (typeof token !== 'string') throw invalid(`tokens[${i}]`, token, 'a string');
  });
  checkInteger('dModel', dModel, 1);
  return runtime.map(
    'ngramEmbedding',
    (call) => {
      call.put(Kind.integer, texts.length);
      for (const text of texts) call.text('tokens', text);
      return [texts.length, dModel];
    },
    (call) => {
      call.integer('seed', seed, 0);
      call.integer('minN', minN, 1);
      call.integer('maxN', maxN, 1);
    },
  );
}
