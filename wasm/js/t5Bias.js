import { kBiasSizes, shapeOfBias } from './alibi.js';
import * as checks from './checks.js';
import { checkDiagonal, setDiagonal } from './nativeAttentionOptions.js';
import { readOptions } from './options.js';
import { checkIntegers } from './tensor.js';

/** @import { BiasSizes } from './alibi.js' */
/** @import { Names } from './options.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { TensorLike } from './tensor.js' */

/**
 * The rule that assigns distances to buckets.
 * @typedef {object} T5BucketRule
 * @property {boolean} [bidirectional]  reserves half of the buckets for keys after the query, as in T5's
 *   encoder; `true` by default
 * @property {number} [maxDistance]  distances of at least this number share one bucket; 128 by
 *   default
 */

/** @typedef {T5BucketRule & { numBuckets?: number }} T5BucketOptions  32 buckets by default */

/** @typedef {T5BucketRule & { table: TensorLike }} T5BiasOptions  `table` is (numBuckets, Hq) */

/** @typedef {T5BucketRule & BiasSizes} T5BiasMatrixOptions */

const kRule = { maxDistance: checks.size(128), bidirectional: checks.flag(true) };
export const kBuckets = { numBuckets: checks.size(32), ...kRule };

/** @type {Names<T5BiasMatrixOptions>} */
const kMatrixOptions = { ...kRule, ...kBiasSizes };

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
  return runtime.invoke((call) => {
    const numbers = call.numbers('ints', 'distances', tensor.data);
    const { numBuckets, maxDistance, bidirectional } = checks.checkOptions(options, kBuckets);
    call.run((native) => native.t5Buckets(numbers.native, numBuckets, maxDistance, bidirectional));
    return call.copyBack('ints', numbers);
  });
}

/**
 * @param {Runtime} runtime
 * @param {TensorLike} table
 * @param {T5BiasMatrixOptions} options
 */
export function t5Bias(runtime, table, options) {
  options = readOptions(options, kMatrixOptions);
  return runtime.invoke((call) => {
    const rows = call.tensor('table', table, { 2: '(numBuckets, H)' });
    const { maxDistance, bidirectional } = checks.checkValues(options, kRule);
    const bias = call.result('output', shapeOfBias(rows.shape[1], options));
    const { diagonal: given = 'topLeft' } = options;
    const diagonal = checkDiagonal(given);
    call.run((native) => {
      const terms = call.options('AttentionOptions');
      terms.setT5Bias(rows.native, maxDistance, bidirectional);
      setDiagonal(terms, diagonal);
      native.t5Bias(bias.tensor.native, terms);
    });
    return call.give(bias);
  });
}
