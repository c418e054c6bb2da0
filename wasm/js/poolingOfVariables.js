// Attention pooling over variables; the width of a kernel may be learned.

import { sizesOf } from './attentionOptions.js';
import {
  checkScoring,
  kChoiceOfKeys,
  kScoring,
  writeChoiceOfKeys,
  writeScoring,
} from './attentionPooling.js';
import { Kind } from './kind.js';
import { readOptions } from './options.js';
import { checkEqual } from './shape.js';
import { kRowRanks } from './tensor.js';
import { isVariable } from './tape.js';

/** @import { PoolingOptions, ScoringOptions } from './attentionPooling.js' */
/** @import { Call } from './call.js' */
/** @import { Names } from './options.js' */
/** @import { Variable } from './tape.js' */

/**
 * Which keys take part in pooling.
 * @typedef {Pick<PoolingOptions, 'hard' | 'mask' | 'validLens'>} ChoiceOfKeys
 */

/**
 * Of pooling over variables. The width of a kernel may be a variable with one element: then it is learned.
 * @typedef {ChoiceOfKeys & Omit<ScoringOptions, 'width'> & { width?: number | Variable }} VariablePoolingOptions
 */

/** @type {Names<VariablePoolingOptions>} */
const kVariablePooling = { ...kScoring, ...kChoiceOfKeys };

/**
 * As pooling_options() in C++ reads them: what they show is asked for otherwise.
 * @param {Call} call
 * @param {ChoiceOfKeys} options
 * @param {number} batch
 * @param {number} numQueries
 * @param {number} numKeys
 */
export function writePooled(call, options, batch, numQueries, numKeys) {
  writeChoiceOfKeys(call, options, batch, numQueries, numKeys);
  call.none(Kind.result);
  call.none(Kind.result);
}

/**
 * Records attention pooling.
 * @param {any} query
 * @param {any} key
 * @param {any} value
 * @param {any} options  {@link VariablePoolingOptions}
 * @returns {Variable}
 */
export function poolingOfVariables(query, key, value, options) {
  options = readOptions(options, kVariablePooling);
  const learned = isVariable(options.width);
  const scoring = learned ? { ...options, width: undefined } : options;
  checkScoring(scoring);
  const { tape } = /** @type {Variable} */ ([query, key, value].find(isVariable));
  return tape.recordOld('recordAttentionPooling', (/** @type {Call} */ call) => {
    for (const [name, variable] of Object.entries({ query, key, value })) {
      tape.write(call, name, variable, kRowRanks);
    }
    const q = sizesOf(query.shape);
    const k = sizesOf(key.shape);
    checkEqual('key', 'width', k.width, 'the width of query', q.width);
    writeScoring(call, scoring);
    writePooled(call, options, q.batch, q.length, k.length);
    if (learned) tape.write(call, 'width', options.width);
    else call.put(Kind.address, 0);
  });
}
