import { checkInteger } from './errors.js';
import { checkDiagonal, setDiagonal } from './nativeAttentionOptions.js';
import { readOptions } from './options.js';

/** @import { Diagonal } from './attentionOptions.js' */
/** @import { Names } from './options.js' */
/** @import { Runtime } from './runtime.js' */

/**
 * @typedef {object} BiasSizes
 * @property {number} numQueries  Nq
 * @property {number} [numKeys]  Nk; `numQueries` by default
 * @property {Diagonal} [diagonal]  position of query i among the keys; `'topLeft'` by default
 */

/** @typedef {BiasSizes & { numHeads: number }} AlibiBiasOptions  `numHeads` is H */

/** @type {Names<BiasSizes>} */
export const kBiasSizes = { numQueries: true, numKeys: true, diagonal: true };
/** @type {Names<AlibiBiasOptions>} */
const kOptions = { numHeads: true, ...kBiasSizes };

/**
 * @param {Runtime} runtime
 * @param {number} numHeads
 */
export function alibiSlopes(runtime, numHeads) {
  checkInteger('numHeads', numHeads, 0);
  return runtime.invoke((call) => {
    const slopes = call.result('slopes', [numHeads]);
    call.run((native) => native.alibiSlopes(slopes.tensor.native));
    return call.give(slopes);
  });
}

/**
 * @param {Runtime} runtime
 * @param {AlibiBiasOptions} options
 */
export function alibiBias(runtime, options) {
  options = readOptions(options, kOptions);
  const { numHeads } = options;
  checkInteger('numHeads', numHeads, 1);
  return runtime.invoke((call) => {
    const bias = call.result('output', shapeOfBias(numHeads, options));
    const { diagonal: given = 'topLeft' } = options;
    const diagonal = checkDiagonal(given);
    call.run((native) => {
      const terms = call.options('AttentionOptions');
      setDiagonal(terms, diagonal);
      native.alibiBias(bias.tensor.native, terms);
    });
    return call.give(bias);
  });
}

/**
 * @param {number} numHeads
 * @param {BiasSizes} sizes
 */
export function shapeOfBias(numHeads, { numQueries, numKeys = numQueries }) {
  checkInteger('numQueries', numQueries, 0);
  checkInteger('numKeys', numKeys, 0);
  return [numHeads, numQueries, numKeys];
}
