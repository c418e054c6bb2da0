import { checkInteger, invalid } from './errors.js';
import { readArray, readOptions } from './options.js';
import { TextEncoder } from './realm.js';

/** @import { Names } from './options.js' */
/** @import { Runtime } from './runtime.js' */

const utf8Encoder = new TextEncoder();

/**
 * @typedef {object} NgramEmbeddingOptions
 * @property {number} dModel  width of the embeddings
 * @property {number} [minN]  length of the shortest n-grams; 2 by default
 * @property {number} [maxN]  length of the longest n-grams; 4 by default, at most 64
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
  return runtime.invoke((call) => {
    const encoded = texts.map((text) => utf8Encoder.encode(text));
    const lengths = Int32Array.from(encoded, ({ length }) => length);
    const bytes = new Uint8Array(lengths.reduce((sum, length) => sum + length, 0));
    let end = 0;
    for (const part of encoded) {
      bytes.set(part, end);
      end += part.length;
    }
    const text = call.bytes('tokens', bytes);
    const sizes = call.numbers('ints', 'tokens', lengths);
    const output = call.result('output', [texts.length, dModel]);
    checkInteger('seed', seed, 0);
    checkInteger('minN', minN, 1);
    checkInteger('maxN', maxN, 1);
    call.run((native) =>
      native.ngramEmbedding(text.native, sizes.native, output.tensor.native, { seed, minN, maxN }),
    );
    return call.give(output);
  });
}
