import { writeDiagonal } from './attentionOptions.js';
import { readOptions } from './options.js';
import { checkInteger } from './errors.js';

/** @import { Diagonal } from './attentionOptions.js' */
/** @import { Call } from './call.js' */
/** @import { Names } from './options.js' */
/** @import { Runtime } from './runtime.js' */

/**
 * @typedef {object} BiasSizes
 * @property {number} numQueries  Nq
 * @property {number} [numKeys]  Nk; `numQueries` by default
 * @property {Diagonal} [diagonal]  where query i stands among the keys; `'topLeft'` by default
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
  return runtime.map('alibiBias', () => shapeOfBias(numHeads, options), writesDiagonal(options));
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

/**
 * Writes what of the sizes is not in the bias' shape.
 * @param {BiasSizes} sizes
 */
export const writesDiagonal = (sizes) => (/** @type {Call} */ call) => {
  const { diagonal = 'topLeft' } = sizes;
  writeDiagonal(call, diagonal);
};
