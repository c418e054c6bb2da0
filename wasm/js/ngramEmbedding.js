import { checkInteger, checkOptions, checkShape, invalid } from './tensor.js';

/** @import { Runtime } from './runtime.js' */
/** @import { Tensor } from './tensor.js' */

/**
 * @typedef {object} NgramEmbeddingOptions
 * @property {number} dModel  width of the embeddings
 * @property {number} [seed]  0 by default
 */

/**
 * @param {Runtime} runtime
 * @param {readonly string[]} tokens
 * @param {NgramEmbeddingOptions} options
 * @returns {Tensor}
 */
export function ngramEmbedding(runtime, tokens, options) {
  checkOptions(options);
  const { dModel, seed = 0 } = options;
  if (!Array.isArray(tokens)) throw invalid('tokens', tokens, 'an array of strings');
  const wrong = tokens.findIndex((token) => typeof token !== 'string');
  if (wrong >= 0) throw invalid(`tokens[${wrong}]`, tokens[wrong], 'a string');
  checkInteger('dModel', dModel, 1);
  checkInteger('seed', seed, 0);
  const shape = [tokens.length, dModel];
  checkShape('output', shape);
  return runtime.call((memory, native) => {
    const output = memory.result('output', shape);
    const { utf8, ends } = memory.texts('tokens', tokens);
    runtime.check(native.ngramEmbedding(utf8, ends, output.record, seed));
    return memory.copyOut(output);
  });
}
