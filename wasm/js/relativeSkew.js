import { checkNumber, checkOptions, checkShape, checkTensor, checkTensorOf } from './tensor.js';

/** @import { Runtime } from './runtime.js' */
/** @import { TensorLike } from './tensor.js' */

/**
 * @typedef {object} RelativeSkewOptions
 * @property {boolean} [bidirectional]  embeddings for keys after the query as well; not by default
 * @property {number} [scale]  1 by default
 */

/**
 * @param {Runtime} runtime
 * @param {TensorLike} query
 * @param {TensorLike} embeddings
 * @param {RelativeSkewOptions} options
 */
export function relativeSkew(runtime, query, embeddings, options) {
  checkOptions(options);
  const { bidirectional = false, scale = 1 } = options;
  checkTensor('query', query, { 2: '(N, D)', 3: '(B, N, D)', 4: '(B, H, N, D)' });
  checkTensor('embeddings', embeddings, { 2: '(L, D)', 3: '(H, L, D)' });
  checkNumber('scale', scale);
  const rank = query.shape.length;
  const shape = query.shape.with(-1, query.shape[rank - 2]);
  checkShape('output', shape);
  return runtime.call((call) => {
    call.floats('query', query);
    call.floats('embeddings', embeddings);
    const output = call.result('output', shape);
    call.flag(bidirectional);
    call.number(scale);
    call.run(runtime.native.relativeSkew);
    return call.give(output);
  });
}

/**
 * @param {Runtime} runtime
 * @param {TensorLike} embeddings
 */
export function relativeKeysOfSkew(runtime, embeddings) {
  checkTensorOf('embeddings', embeddings, [-1, -1], [-1, -1, -1]);
  const rank = embeddings.shape.length;
  const length = embeddings.shape[rank - 2];
  const shape = embeddings.shape.with(-2, Math.max(0, 2 * length - 1));
  checkShape('relativeKeys', shape);
  return runtime.call((call) => {
    call.floats('embeddings', embeddings);
    const output = call.result('relativeKeys', shape);
    call.run(runtime.native.relativeKeysOfSkew);
    return call.give(output);
  });
}
