// Attention over variables: terms of the score may be variables, too, and scores and weights can be looked at.

import { kScoreNames, kT5Bias, sizesOf, writeAttentionOptions } from './attentionOptions.js';
import { Kind } from './kind.js';
import { readOptions, wanted } from './options.js';
import { recordEachOn } from './recording.js';
import { kHeadRanks } from './tensor.js';
import { isVariable } from './tape.js';

/** @import { AskedFor, DropoutOption, ExclusionOptions, ScoreOptions, StageOptions } from './attentionOptions.js' */
/** @import { Call } from './call.js' */
/** @import { Names } from './options.js' */
/** @import { Tape, Variable } from './tape.js' */

/**
 * Of a layer's attention over variables. What it shows beside its output is asked for by `Tape.watch()`.
 * @typedef {ScoreOptions & ExclusionOptions & DropoutOption} VariableAttentionOptions
 */

/**
 * Terms of the score that may be variables, whose gradients can be looked at.
 * @typedef {object} AttentionTerms
 * @property {Variable | ScoreOptions['bias']} [bias]
 * @property {Variable | ScoreOptions['alibiSlopes']} [alibiSlopes]
 * @property {Variable | ScoreOptions['relativeKeys']} [relativeKeys]
 * @property {Variable | ScoreOptions['relativeValues']} [relativeValues]
 * @property {Variable | ScoreOptions['sinks']} [sinks]
 * @property {ScoreOptions['t5Bias']
 *   | (Omit<NonNullable<ScoreOptions['t5Bias']>, 'table'> & { table: Variable })} [t5Bias]
 */

/**
 * Of attention over variables: other tensors than variables have no gradient.
 * @typedef {Omit<VariableAttentionOptions, keyof AttentionTerms> & AttentionTerms} AttentionOfVariablesOptions
 */

/**
 * What attention over variables shows beside its output, as variables whose values and gradients can be
 * looked at. Scores and weights are not to be computed with; the log-sum-exp may be.
 * @template {boolean} [Biased=boolean]
 * @template {boolean} [Weights=boolean]
 * @template {boolean} [LogSumExp=boolean]
 * @typedef {Pick<StageOptions<boolean, boolean, Biased, Weights, LogSumExp>,
 *   'needBiasedScores' | 'needWeights' | 'needLogSumExp'>} ShownAttentionOptions
 */

/**
 * The output by itself, or with what was asked for beside it, whatever the rank of `query`: `biasedScores` and
 * `weights`, (B, Hq, Nq, Nk), and `logSumExp`, (B, Hq, Nq). The gradient of `weights` is that before dropout.
 * @template {boolean} [Biased=boolean]
 * @template {boolean} [Weights=boolean]
 * @template {boolean} [LogSumExp=boolean]
 * @typedef {[Biased, Weights, LogSumExp] extends [false, false, false] ? Variable
 *   : { output: Variable }
 *       & AskedFor<{ biasedScores: Variable, weights: Variable, logSumExp: Variable },
 *           { biasedScores: Biased, weights: Weights, logSumExp: LogSumExp }>
 *     | ([Biased] extends [true] ? never : [Weights] extends [true] ? never
 *         : [LogSumExp] extends [true] ? never : Variable)
 *   } AttentionOfVariables
 */

/** @type {Names<VariableAttentionOptions>} */
export const kAttention = { ...kScoreNames, dropout: true };
/** In the order in which C++ takes them, before and after that of T5. */
const kTerms = ['bias', 'alibiSlopes', 'relativeKeys', 'relativeValues', 'sinks'];
/** What attention over variables shows, and its names in results, in the order in which C++ gives them. */
const kShown = {
  ...{ needBiasedScores: 'biasedScores', needWeights: 'weights', needLogSumExp: 'logSumExp' },
};

/**
 * Writes options of attention. Those that are variables are written by what it gives, as Recorder::terms() in
 * C++ reads them.
 * @param {Tape} tape
 * @param {Call} call
 * @param {AttentionOfVariablesOptions} options
 * @param {(options: VariableAttentionOptions) => void} write  with their values in place of variables
 */
export function writeTerms(tape, call, options, write) {
  /** @type {Record<string, any>} */
  const values = { ...options };
  /** @type {Record<string, Variable>} */
  const terms = {};
  const replace = (
    /** @type {Record<string, any>} */ of,
    /** @type {string} */ name,
    /** @type {string} */ path,
  ) => {
    if (!isVariable(of[name])) return;
    terms[path] = of[name];
    of[name] = terms[path].handleOn(tape, path);
  };
  for (const name of kTerms) replace(values, name, name);
  if (values.t5Bias !== undefined) {
    values.t5Bias = readOptions(values.t5Bias, kT5Bias, 't5Bias');
    replace(values.t5Bias, 'table', 't5Bias.table');
  }
  write(values);
  return () => {
    for (const name of [...kTerms.slice(0, 2), 't5Bias.table', ...kTerms.slice(2)]) {
      if (terms[name]) tape.write(call, name, terms[name]);
      else call.put(Kind.integer, -1);
    }
  };
}

/**
 * Records scaled dot-product attention; what it gives beside the output is what was asked for.
 * @param {any} query
 * @param {any} key
 * @param {any} value
 * @param {any} options  {@link AttentionOfVariablesOptions}, {@link ShownAttentionOptions}
 * @returns {any} {@link AttentionOfVariables}
 */
export function attentionOfVariables(query, key, value, options) {
  options = readOptions(options, { ...kAttention, ...kShown });
  const { needBiasedScores, needWeights, needLogSumExp, ...given } = options;
  const needs = Object.entries({ needBiasedScores, needWeights, needLogSumExp }).filter((need) =>
    wanted(...need),
  );
  const write = (/** @type {Call} */ call) => {
    const q = sizesOf(query.shape);
    const k = sizesOf(key.shape);
    const sizes = { batch: q.batch, numHeads: q.heads, numQueries: q.length, headDim: q.width };
    const ofValues = { numKeys: k.length, valueDim: sizesOf(value.shape).width };
    writeTerms(query.tape, call, given, (values) =>
      writeAttentionOptions(call, values, { ...sizes, ...ofValues }, query.shape.slice(0, -1)),
    )();
    call.has(needBiasedScores);
    call.has(needWeights);
    call.has(needLogSumExp);
  };
  const inputs = { query, key, value };
  const operation = 'recordAttention';
  const [output, ...shown] = recordEachOn(1 + needs.length, operation, inputs, write, kHeadRanks);
  if (needs.length === 0) return output;
  const named = needs.map(([need], i) => [kShown[/** @type {keyof kShown} */ (need)], shown[i]]);
  return { output, ...Object.fromEntries(named) };
}
