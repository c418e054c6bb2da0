import { sizesOf } from './attentionOptions.js';
import { invalid } from './errors.js';
import { readOptions, wanted } from './options.js';
import { kHeadRanks } from './tensor.js';

/** @import { Runtime } from './runtime.js' */
/** @import { TensorLike } from './tensor.js' */

/**
 * @typedef {object} RelativeSkewOptions
 * @property {boolean} [bidirectional]  true if there are also embeddings for keys after the query; `false` by
 *   default
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
  const { bidirectional, scale = 1 } = options;
  const both = wanted('bidirectional', bidirectional);
  if (!Number.isFinite(scale)) throw invalid('scale', scale, 'a finite number');
  return runtime.invoke((call) => {
    const q = call.tensor('query', query, kHeadRanks);
    const e = call.tensor('embeddings', embeddings, kRanks);
    const output = call.result('output', q.shape.with(-1, sizesOf(q.shape).length));
    call.run((native) =>
      native.relativeSkew(q.native, e.native, output.tensor.native, both, scale),
    );
    return call.give(output);
  });
}

/**
 * @param {Runtime} runtime
 * @param {TensorLike} embeddings
 */
export function relativeKeysOfSkew(runtime, embeddings) {
  return runtime.invoke((call) => {
    const e = call.tensor('embeddings', embeddings, kRanks);
    const rows = Math.max(0, 2 * sizesOf(e.shape).length - 1);
    const output = call.result('output', e.shape.with(-2, rows));
    call.run((native) => native.relativeKeysOfSkew(e.native, output.tensor.native));
    return call.give(output);
  });
}
