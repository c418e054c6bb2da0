import { giveStages, lengthsOf, writeInputs } from './attentionOptions.js';
import {
  checkChoice,
  checkEqual,
  checkMask,
  checkNumber,
  checkOptions,
  checkShape,
  checkTensor,
} from './tensor.js';

/** @import { Call, Result } from './call.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { Integers, Mask, TensorLike } from './tensor.js' */
/** @import { ResultKind, ResultTensor } from './tensorHandle.js' */

/**
 * How a query q and a key k make a score a(q, k), and scores make weights:
 *
 * - `'scaledDot'`: a = scale · q·k; weights are the softmax of the scores
 * - `'gaussian'`: a = −‖q − k‖² / (2·width²); weights are the softmax of the scores
 * - `'boxcar'`: a = 1 where ‖q − k‖ < width, else 0; weights are a / Σa
 * - `'epanechnikov'`: a = max(1 − ‖q − k‖ / width, 0); weights are a / Σa
 * - `'average'`: a = 1; weights are a / Σa
 *
 * @typedef {'scaledDot' | 'gaussian' | 'boxcar' | 'epanechnikov' | 'average'} Scoring
 */

/** In the order of the C++ enumeration. */
const kScorings = ['scaledDot', 'gaussian', 'boxcar', 'epanechnikov', 'average'];

/**
 * Which keys take part, and what is given besides the output.
 * @typedef {object} PoolingOptions
 * @property {boolean} [hard]  the key with the highest score has weight 1, all others 0; not by default
 * @property {Mask} [mask]  `true` attends; broadcasts to (B, Nq, Nk) from the right
 * @property {Integers} [validLens]  the first validLens keys are attended to: (B,) or (B, Nq)
 * @property {boolean} [needScores]  a(q, k) of the keys that are attended to; of others −∞ where
 *   weights are a softmax, else 0
 * @property {boolean} [needWeights]
 */

/**
 * @typedef {object} ScoringOptions
 * @property {Scoring} [scoring]  `'scaledDot'` by default
 * @property {number} [scale]  of `'scaledDot'`; 1/√D by default
 * @property {number} [width]  of the kernels; 1 by default
 */

/** @typedef {ScoringOptions & PoolingOptions} AttentionPoolingOptions */

/**
 * @template {ResultKind} [As='array']
 * @typedef {object} AttentionPoolingResult
 * @property {ResultTensor<As>} output  (B, Nq, Dv)
 * @property {ResultTensor<As>} [scores]  (B, Nq, Nk), with `needScores`
 * @property {ResultTensor<As>} [weights]  (B, Nq, Nk), with `needWeights`
 */

/**
 * @param {Runtime} runtime
 * @param {TensorLike} query
 * @param {TensorLike} key
 * @param {TensorLike} value
 * @param {AttentionPoolingOptions} options
 */
export function attentionPooling(runtime, query, key, value, options) {
  checkOptions(options);
  const { scoring = 'scaledDot', scale, width = 1 } = options;
  checkChoice('scoring', scoring, kScorings);
  if (scale !== undefined) checkNumber('scale', scale);
  checkNumber('width', width);
  checkPooling(query, key, value, options);
  const width_ = (/** @type {TensorLike} */ tensor) => tensor.shape[tensor.shape.length - 1];
  checkEqual('key', 'width', width_(key), 'query width', width_(query));
  return runtime.call((call) => {
    writeInputs(call, query, key, value);
    const output = writeOutput(call, query, value);
    call.number(kScorings.indexOf(scoring));
    call.optional(scoring === 'scaledDot' ? scale : width);
    const further = writePoolingOptions(call, query, key, options);
    call.run(runtime.native.attentionPooling);
    return giveStages(call, output, further);
  });
}

/**
 * Checks what all pooling has.
 * @param {TensorLike} query
 * @param {TensorLike} key
 * @param {TensorLike} value
 * @param {PoolingOptions} options
 */
export function checkPooling(query, key, value, options) {
  checkTensor('query', query, { 2: '(Nq, D)', 3: '(B, Nq, D)' });
  const rank = query.shape.length;
  checkTensor('key', key, { [rank]: 'as query has' });
  checkTensor('value', value, { [rank]: 'as query has' });
  const [batch, numQueries] = rank === 2 ? [1, ...query.shape] : query.shape;
  const [keyBatch, numKeys] = rank === 2 ? [1, ...key.shape] : key.shape;
  const [valueBatch, valueLength, valueDim] = rank === 2 ? [1, ...value.shape] : value.shape;
  checkEqual('key', 'batch', keyBatch, 'query batch', batch);
  checkEqual('value', 'batch', valueBatch, 'query batch', batch);
  checkEqual('key', 'length', numKeys, 'value length', valueLength);
  const scores = [batch, numQueries, numKeys];
  if (options.mask) checkMask('mask', options.mask, scores);
  if (options.validLens) {
    lengthsOf('validLens', options.validLens, batch, numQueries, numKeys);
  }
  checkShape('output', [batch, numQueries, valueDim]);
  if (options.needScores || options.needWeights) checkShape('weights', scores);
}

/**
 * @param {Call} call
 * @param {TensorLike} query
 * @param {TensorLike} value
 */
export function writeOutput(call, query, value) {
  return call.result('output', query.shape.with(-1, value.shape[value.shape.length - 1]));
}

/**
 * Writes checked options, as pooling_options() in C++ reads them.
 * @param {Call} call
 * @param {TensorLike} query
 * @param {TensorLike} key
 * @param {PoolingOptions} options
 * @returns {Record<string, Result | undefined>}
 */
export function writePoolingOptions(call, query, key, options) {
  const { hard = false, mask, validLens, needScores, needWeights } = options;
  call.flag(hard);
  call.mask('mask', mask);
  const rank = query.shape.length;
  const batch = rank === 2 ? 1 : query.shape[0];
  const numRows = query.shape[rank - 2];
  const numKeys = key.shape[rank - 2];
  call.ints('validLens', validLens && lengthsOf('validLens', validLens, batch, numRows, numKeys));
  const shape = query.shape.with(-1, numKeys);
  return {
    scores: call.resultIf(needScores, 'scores', shape),
    weights: call.resultIf(needWeights, 'weights', shape),
  };
}
