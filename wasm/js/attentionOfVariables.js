// Attention over variables. Terms of the score may also be variables. Scores and weights can be
// requested as results.

import { kScoreNames, kT5Bias, sizesOf } from './attentionOptions.js';
import { checkAttentionOptions, nativeAttentionOptions } from './nativeAttentionOptions.js';
import { readOptions, wanted } from './options.js';
import { recordEachOn } from './recording.js';
import { kHeadRanks } from './tensor.js';
import { isVariable } from './tape.js';

/** @import { AskedFor, DropoutOption, ExclusionOptions, ScoreOptions, StageOptions } from './attentionOptions.js' */
/** @import { CheckedAttentionOptions } from './nativeAttentionOptions.js' */
/** @import { NativeCall } from './nativeCall.js' */
/** @import * as Native from './native.js' */
/** @import { Names } from './options.js' */
/** @import { Tape, Variable } from './tape.js' */

/**
 * Options of a layer's attention over variables. To get results other than the output, use
 * `Tape.watch()`.
 * @typedef {ScoreOptions & ExclusionOptions & DropoutOption} VariableAttentionOptions
 */

/**
 * Terms of the score that may be variables. You can read the gradients of these variables.
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
 * Options of attention over variables. Tensors that are not variables have no gradient.
 * @typedef {Omit<VariableAttentionOptions, keyof AttentionTerms> & AttentionTerms} AttentionOfVariablesOptions
 */

/**
 * Further results of attention over variables. They are variables, so you can read their values and
 * gradients. Do not compute with scores and weights; you may compute with the log-sum-exp.
 * @template {boolean} [Biased=boolean]
 * @template {boolean} [Weights=boolean]
 * @template {boolean} [LogSumExp=boolean]
 * @typedef {Pick<StageOptions<boolean, boolean, Biased, Weights, LogSumExp>,
 *   'needBiasedScores' | 'needWeights' | 'needLogSumExp'>} ShownAttentionOptions
 */

/**
 * The output alone, or an object with the output and the requested results. Whatever the rank of
 * `query`, `biasedScores` and `weights` have shape (B, Hq, Nq, Nk), and `logSumExp` has shape (B,
 * Hq, Nq). The gradient of `weights` is the gradient before dropout.
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
/** Options that may be variables. The `table` of `t5Bias` may be a variable, too. */
const kTerms = /** @type {const} */ ([
  'bias',
  'alibiSlopes',
  'relativeKeys',
  'relativeValues',
  'sinks',
]);
/** Flags that request additional results, and the names of those results. */
const kShown = {
  ...{ needBiasedScores: 'biasedScores', needWeights: 'weights', needLogSumExp: 'logSumExp' },
};

/**
 * Checked options of attention, and the terms that are variables.
 * @typedef {object} CheckedTerms
 * @property {CheckedAttentionOptions} options
 * @property {Partial<Record<typeof kTerms[number] | 't5Table', Native.Variable>>} terms
 */

/**
 * Checks options of attention, some of which may be variables.
 * @param {Tape} tape
 * @param {NativeCall} call
 * @param {AttentionOfVariablesOptions} options  options with checked names
 * @param {(options: VariableAttentionOptions) => CheckedAttentionOptions} check  receives the
 *   options with values in place of variables
 * @returns {CheckedTerms}
 */
export function checkTerms(tape, call, options, check) {
  /** @type {Record<string, any>} */
  const values = { ...options };
  /** @type {CheckedTerms['terms']} */
  const terms = {};
  for (const name of kTerms) {
    const term = values[name];
    if (!isVariable(term)) continue;
    terms[name] = tape.nativeIn(call, name, term);
    values[name] = term.handleOn(tape, name);
  }
  if (values.t5Bias !== undefined) {
    const t5Bias = (values.t5Bias = { ...readOptions(values.t5Bias, kT5Bias, 't5Bias') });
    if (isVariable(t5Bias.table)) {
      terms.t5Table = tape.nativeIn(call, 't5Bias.table', t5Bias.table);
      t5Bias.table = t5Bias.table.handleOn(tape, 't5Bias.table');
    }
  }
  return { options: check(values), terms };
}

/**
 * Returns the options and the variables as C++ objects. The second object is null if there are no
 * variables. Call this function inside NativeCall.run().
 * @param {NativeCall} call
 * @param {CheckedTerms} checked
 */
export function nativeTerms(call, { options, terms }) {
  /** @type {Native.AttentionVariables | null} */
  let variables = null;
  if (Object.keys(terms).length > 0) {
    variables = call.own(new call.native.AttentionVariables());
    Object.assign(variables, terms);
  }
  return { options: nativeAttentionOptions(call, options), terms: variables };
}

/**
 * Records scaled dot-product attention. Returns the output and the requested results.
 * @param {any} query
 * @param {any} key
 * @param {any} value
 * @param {any} options  {@link AttentionOfVariablesOptions}, {@link ShownAttentionOptions}
 * @returns {any} {@link AttentionOfVariables}
 */
export function attentionOfVariables(query, key, value, options) {
  options = readOptions(options, { ...kAttention, ...kShown });
  const { needBiasedScores, needWeights, needLogSumExp, ...given } = options;
  const needs = { needBiasedScores, needWeights, needLogSumExp };
  const [scores, weights, logSumExp] = Object.entries(needs).map((need) => wanted(...need));
  const inputs = { query, key, value };
  const { output, ...shown } = recordEachOn(
    inputs,
    (call, { query: q, key: k, value: v }) => {
      const { batch, heads, length, width } = sizesOf(query.shape);
      const sizes = {
        ...{ batch, numHeads: heads, numQueries: length, headDim: width },
        ...{ numKeys: sizesOf(key.shape).length, valueDim: sizesOf(value.shape).width },
      };
      const checked = checkTerms(query.tape, call, given, (values) =>
        checkAttentionOptions(call, values, sizes, query.shape.slice(0, -1)),
      );
      return (native) => {
        const { options, terms } = nativeTerms(call, checked);
        return native.recordAttention(q, k, v, options, terms, scores, weights, logSumExp);
      };
    },
    kHeadRanks,
  );
  return scores || weights || logSumExp ? { output, ...shown } : output;
}
