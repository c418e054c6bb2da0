import { checkChoice, invalid } from './errors.js';
import { checkInputs, giveAll, lengths } from './nativeAttentionOptions.js';
import { readOptions, wanted } from './options.js';
import { checkEqual } from './shape.js';

/** @import { AskedFor } from './attentionOptions.js' */
/** @import { NativeCall } from './nativeCall.js' */
/** @import { Names } from './options.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { Integers, Mask, TensorLike } from './tensor.js' */
/** @import { ResultKind, ResultTensor } from './tensorHandle.js' */

/**
 * Rule that computes a score a(q, k) from a query q and a key k, and the weights from the scores:
 *
 * - `'scaledDot'`: a = scale · q·k; weights are the softmax of the scores
 * - `'gaussian'`: a = −‖q − k‖² / (2·width²); weights are the softmax of the scores
 * - `'boxcar'`: a = 1 where ‖q − k‖ < width, else 0; weights are a / Σa
 * - `'epanechnikov'`: a = max(1 − ‖q − k‖ / width, 0); weights are a / Σa
 * - `'average'`: a = 1; weights are a / Σa
 *
 * @typedef {'scaledDot' | 'gaussian' | 'boxcar' | 'epanechnikov' | 'average'} Scoring
 */

const kScorings = ['scaledDot', 'gaussian', 'boxcar', 'epanechnikov', 'average'];

/**
 * Options that exclude keys, and flags that request further results.
 * @template {boolean} [Scores=boolean]
 * @template {boolean} [Weights=boolean]
 * @typedef {object} PoolingOptions
 * @property {boolean} [hard]  true to give weight 1 to the key with the highest score, and weight 0
 *   to all other keys; `false` by default
 * @property {Mask} [mask]  `true` attends; broadcasts to (B, Nq, Nk) from the right
 * @property {Integers} [validLens]  attend only to the first validLens keys: (B,) or (B, Nq)
 * @property {Scores} [needScores]  return the scores a(q, k); the score of an excluded key is −∞ if
 *   the weights are a softmax, and 0 otherwise
 * @property {Weights} [needWeights]
 */

/**
 * @typedef {object} ScoringOptions
 * @property {Scoring} [scoring]  `'scaledDot'` by default
 * @property {number} [scale]  scale of `'scaledDot'`; 1/√D by default
 * @property {number} [width]  width of the kernels; 1 by default
 */

/**
 * @template {boolean} [Scores=boolean]
 * @template {boolean} [Weights=boolean]
 * @typedef {ScoringOptions & PoolingOptions<Scores, Weights>} AttentionPoolingOptions
 */

/**
 * @template {ResultKind} [As='array']
 * @typedef {object} PoolingOutput
 * @property {ResultTensor<As>} output  (B, Nq, Dv)
 */

/**
 * @template {ResultKind} [As='array']
 * @typedef {object} PoolingStages
 * @property {ResultTensor<As>} scores  (B, Nq, Nk), with `needScores`
 * @property {ResultTensor<As>} weights  (B, Nq, Nk), with `needWeights`
 */

/**
 * @template {ResultKind} [As='array']
 * @template {boolean} [Scores=boolean]
 * @template {boolean} [Weights=boolean]
 * @typedef {PoolingOutput<As>
 *   & AskedFor<PoolingStages<As>, { scores: Scores, weights: Weights }>} AttentionPoolingResult
 */

export const kChoiceOfKeys = { hard: true, mask: true, validLens: true };
/** @type {Names<PoolingOptions>} */
export const kPooling = {
  ...kChoiceOfKeys,
  needScores: true,
  needWeights: true,
};
/** @type {Names<ScoringOptions>} */
export const kScoring = { scoring: true, scale: true, width: true };
/** @type {Names<AttentionPoolingOptions>} */
const kOptions = { ...kScoring, ...kPooling };

/**
 * @param {Runtime} runtime
 * @param {TensorLike} query
 * @param {TensorLike} key
 * @param {TensorLike} value
 * @param {AttentionPoolingOptions} options
 */
export function attentionPooling(runtime, query, key, value, options) {
  options = readOptions(options, kOptions);
  checkScoring(options);
  return runtime.invoke((call) => {
    const pooling = checkPooling(call, query, key, value, options);
    const { q, k, v, output, queries, keys } = pooling;
    checkEqual('key', 'width', keys.width, 'the width of query', queries.width);
    const { scoring, parameter } = scoringOf(call, options);
    call.run((native) =>
      native.attentionPooling(
        q.native,
        k.native,
        v.native,
        output.tensor.native,
        scoring,
        parameter,
        nativePoolingOptions(call, pooling),
      ),
    );
    return giveAll(call, { output, ...pooling.stages });
  });
}

/**
 * Checks all numbers, including numbers that the chosen scoring function does not read.
 * @param {ScoringOptions} options
 */
export function checkScoring({ scale, width }) {
  for (const [name, value] of Object.entries({ scale, width })) {
    if (value !== undefined && !Number.isFinite(value))
      throw invalid(name, value, 'a finite number');
  }
}

/**
 * Returns the scoring function in the form that C++ expects, where NaN selects the default
 * parameter.
 * @param {NativeCall} call
 * @param {ScoringOptions} options  options with checked numbers
 */
export function scoringOf(call, { scoring = 'scaledDot', scale, width }) {
  checkChoice('scoring', scoring, kScorings);
  const parameter = (scoring === 'scaledDot' ? scale : width) ?? NaN;
  return { scoring: call.native.Scoring[scoring], parameter };
}

/**
 * Checks the arguments that every kind of pooling has, and describes the tensors and results of the
 * call.
 * @param {NativeCall} call
 * @param {TensorLike} query
 * @param {TensorLike} key
 * @param {TensorLike} value
 * @param {PoolingOptions} options
 */
export function checkPooling(call, query, key, value, options) {
  const inputs = checkInputs(call, query, key, value, kRanks);
  const { q, queries, keys, values } = inputs;
  const output = call.result('output', q.shape.with(-1, values.width));
  const choice = checkChoiceOfKeys(call, options, queries.batch, queries.length, keys.length);
  const stage = (
    /** @type {string} */ name,
    /** @type {string} */ option,
    /** @type {boolean | undefined} */ need,
  ) => (wanted(option, need) ? call.result(name, q.shape.with(-1, keys.length)) : undefined);
  const stages = {
    scores: stage('scores', 'needScores', options.needScores),
    weights: stage('weights', 'needWeights', options.needWeights),
  };
  return { ...inputs, output, ...choice, stages };
}

/**
 * Checks the options that exclude keys.
 * @param {NativeCall} call
 * @param {PoolingOptions} options
 * @param {number} batch
 * @param {number} numQueries
 * @param {number} numKeys
 */
export function checkChoiceOfKeys(call, { hard, mask, validLens }, batch, numQueries, numKeys) {
  return {
    hard: wanted('hard', hard),
    mask: mask === undefined ? undefined : call.mask('mask', mask, [batch, numQueries, numKeys]),
    validLens: lengths(call, 'validLens', validLens, batch, numQueries, numKeys),
  };
}

/**
 * Returns the options as a C++ object. Call this function inside NativeCall.run().
 * @param {NativeCall} call
 * @param {ReturnType<typeof checkChoiceOfKeys>
 *   & { stages?: ReturnType<typeof checkPooling>['stages'] }} checked
 */
export function nativePoolingOptions(call, { hard, mask, validLens, stages }) {
  const options = call.options('AttentionPoolingOptions');
  options.hard = hard;
  if (mask) options.setMask(mask.native);
  if (validLens) options.setValidLens(validLens.native);
  if (stages?.scores) options.setScores(stages.scores.tensor.native);
  if (stages?.weights) options.setWeights(stages.weights.tensor.native);
  return options;
}

const kRanks = { 2: '(Nq, D)', 3: '(B, Nq, D)' };
