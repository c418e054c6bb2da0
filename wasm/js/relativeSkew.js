import { sizesOf } from './attentionOptions.js';
import { readOptions } from './options.js';
import { kHeadRanks } from './tensor.js';

/** @import { Runtime } from './runtime.js' */
/** @import { TensorLike } from './tensor.js' */

/**
 * @typedef {object} RelativeSkewOptions
 * @property {boolean} [bidirectional]  embeddings for keys after the query as well; not by default
 * @property {number} [scale]  1 by default
 */

const kOptions = { bidirectional: true, scale: true };

const kRanks = { 2: '(L, D)', 3: '(H, L, D)' };

/**
 * @param {Runtime} runtime
 * @param {TensorLike} query
 * @param {TensorLike} embeddings
 * @param {RelativeSkewOptions} options
 */
export function relativeSkew(runtime, query, embeddings, options) {
  options = readOptions(options, kOptions);
  const { bidirectional = false, scale = 1 } = options;
  return runtime.map(
    'relativeSkew',
    (call) => {
      const shape = call.floats('query', query, kHeadRanks);
      call.floats('embeddings', embeddings, kRanks);
      return shape.with(-1, sizesOf(shape).length);
    },
    (call) => {
      call.flag('bidirectional', bidirectional);
      call.real('scale', scale);
    },
  );
}

/**
 * @param {Runtime} runtime
 * @param {TensorLike} embeddings
 */
export function relativeKeysOfSkew(runtime, embeddings) {
  return runtime.map('relativeKeysOfSkew', (call) => {
    const shape = call.floats('embeddings', embeddings, kRanks);
    return shape.with(-2, Math.max(0, 2 * sizesOf(shape).length - 1));
  });
}
