// Attention pooling over variables. The width of a kernel may be learned.

import { sizesOf } from './attentionOptions.js';
import {
  checkChoiceOfKeys,
  checkScoring,
  kChoiceOfKeys,
  kScoring,
  nativePoolingOptions,
  scoringOf,
} from './attentionPooling.js';
import { readOptions } from './options.js';
import { recordOn } from './recording.js';
import { checkEqual } from './shape.js';
import { kRowRanks } from './tensor.js';
import { isVariable } from './tape.js';

/** @import { PoolingOptions, ScoringOptions } from './attentionPooling.js' */
/** @import { Names } from './options.js' */
/** @import { Variable } from './tape.js' */

/**
 * Selects the keys that take part in pooling.
 * @typedef {Pick<PoolingOptions, 'hard' | 'mask' | 'validLens'>} ChoiceOfKeys
 */

/**
 * Options of pooling over variables. If the width of a kernel is a variable with one element, the
 * width is learned.
 * @typedef {ChoiceOfKeys & Omit<ScoringOptions, 'width'> & { width?: number | Variable }} VariablePoolingOptions
 */

/** @type {Names<VariablePoolingOptions>} */
const kVariablePooling = { ...kScoring, ...kChoiceOfKeys };

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
  const given = learned ? { ...options, width: undefined } : options;
  checkScoring(given);
  return recordOn(
    { query, key, value },
    (call, inputs) => {
      const q = sizesOf(query.shape);
      const k = sizesOf(key.shape);
      checkEqual('key', 'width', k.width, 'the width of query', q.width);
      const { scoring, parameter } = scoringOf(call, given);
      const keys = checkChoiceOfKeys(call, options, q.batch, q.length, k.length);
      const width = learned ? query.tape.nativeIn(call, 'width', options.width) : null;
      return (native) =>
        native.recordAttentionPooling(
          inputs.query,
          inputs.key,
          inputs.value,
          scoring,
          parameter,
          nativePoolingOptions(call, keys),
          width,
        );
    },
    kRowRanks,
  );
}
