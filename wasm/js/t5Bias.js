import { kBiasSizes, shapeOfBias, writesDiagonal } from './alibi.js';
import { kT5Rule } from './attentionOptions.js';
import { readOptions, size, writeOptions, writeValues } from './options.js';
import { checkIntegers } from './tensor.js';

/** @import { BiasSizes } from './alibi.js' */
/** @import { Names } from './options.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { TensorLike } from './tensor.js' */

/**
 * Which distances share a bucket.
 * @typedef {object} T5BucketRule
 * @property {boolean} [bidirectional]  half of the buckets for keys after the query, as in T5's
 *   encoder; `true` by default
 * @property {number} [maxDistance]  all distances from here on share a bucket; 128 by default
 */

/** @typedef {T5BucketRule & { numBuckets?: number }} T5BucketOptions  32 buckets by default */

/** @typedef {T5BucketRule & { table: TensorLike }} T5BiasOptions  `table` is (numBuckets, Hq) */

/** @typedef {T5BucketRule & BiasSizes} T5BiasMatrixOptions */

export const kT5Options = { numBuckets: size(32), ...kT5Rule };

/** @type {Names<T5BiasMatrixOptions>} */
const kMatrixOptions = { ...kT5Rule, ...kBiasSizes };

const kMostDistance = 2 ** 31 - 1;

/**
 * @param {Runtime} runtime
 * @param {ArrayLike<number>} distances
 * @param {T5BucketOptions} options
 */
export function t5Buckets(runtime, distances, options) {
  const tensor = checkIntegers(
    'distances',
    distances,
    -kMostDistance,
    kMostDistance,
    'whole numbers between −2^31 and 2^31',
  );
  return runtime.call((call) => {
    const at = call.numbers('ints', 'distances', tensor);
    writeOptions(call, options, kT5Options);
    call.run('t5Buckets');
    return call.copyBack('ints', at, tensor.data.length);
  });
}

/**
 * @param {Runtime} runtime
 * @param {TensorLike} table
 * @param {T5BiasMatrixOptions} options
 */
export function t5Bias(runtime, table, options) {
  options = readOptions(options, kMatrixOptions);
  return runtime.map(
    't5Bias',
    (call) => {
      const [, numHeads] = call.floats('table', table, { 2: '(numBuckets, H)' });
      writeValues(call, options, kT5Rule);
      return shapeOfBias(numHeads, options);
    },
    writesDiagonal(options),
  );
}
