import { giveStages, kSameRank, writeAttentionOptions } from './attentionOptions.js';
import { checkChoice, checkEqual, checkInteger, checkOptions, mismatch } from './tensor.js';

/** @import { AttentionOptions, AttentionStages } from './attentionOptions.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { Ranks, TensorLike } from './tensor.js' */
/** @import { ResultKind, ResultTensor } from './tensorHandle.js' */

/**
 * How the inputs lie in memory; the output lies as they do. All are read in place.
 * @typedef {object} LayoutOptions
 * @property {'bhnd' | 'bnhd'} [layout]  of inputs of rank 4: (B, H, N, D) by default, or (B, N, H, D)
 * @property {number} [numHeads]  Hq, for inputs of rank 3 that hold all heads, (B, N, H·D)
 * @property {number} [numKvHeads]  Hkv of these; `numHeads` by default
 */

/** @typedef {AttentionOptions & LayoutOptions} ScaledDotProductAttentionOptions */

/**
 * @template {ResultKind} [As='array']
 * @typedef {object} AttentionOutput
 * @property {ResultTensor<As>} output  the shape of `query`, with the width of `value`
 */

/**
 * @template {ResultKind} [As='array']
 * @typedef {AttentionOutput<As> & AttentionStages<As>} AttentionResult
 */

/** @type {Ranks} */
const kRanks = { 2: '(N, D)', 3: '(B, N, D)', 4: '(B, H, N, D)' };
const kRanksOfLayout = { 4: 'of the heads apart, as layout is given' };
const kRanksOfAllHeads = { 3: '(B, N, H·D), as numHeads is given' };

/**
 * @param {Runtime} runtime
 * @param {TensorLike} query
 * @param {TensorLike} key
 * @param {TensorLike} value
 * @param {ScaledDotProductAttentionOptions} options
 */
export function scaledDotProductAttention(runtime, query, key, value, options) {
  checkOptions(options);
  const { layout = 'bhnd', numHeads, numKvHeads = numHeads } = options;
  let ranks = kRanks;
  if (options.layout !== undefined) {
    checkChoice('layout', layout, ['bhnd', 'bnhd']);
    ranks = kRanksOfLayout;
  }
  if (numHeads !== undefined) {
    checkInteger('numHeads', numHeads, 1);
    checkInteger('numKvHeads', /** @type {number} */ (numKvHeads), 1);
    ranks = kRanksOfAllHeads;
  }
  // Of (B, N, H, D) any number will do: the shape says how many heads there are.
  const heads = numHeads ?? (layout === 'bnhd' ? 1 : undefined);
  const kvHeads = numHeads === undefined ? heads : numKvHeads;

  return runtime.call((call) => {
    const queryShape = call.floats('query', query, ranks, heads);
    const { shape } = query;
    const rank = shape.length;
    const keyShape = call.floats('key', key, kSameRank[rank], kvHeads);
    const valueShape = call.floats('value', value, kSameRank[rank], kvHeads);
    const sizes = checkSizes(queryShape, keyShape, valueShape);
    const { valueDim } = sizes;
    const outputShape = shape.with(-1, numHeads === undefined ? valueDim : numHeads * valueDim);
    const output = call.resultOfHeads('output', outputShape, heads);
    const stages = writeAttentionOptions(call, options, sizes, queryShape.slice(0, -1));
    call.run('scaledDotProductAttention');
    return giveStages(call, output, stages);
  });
}

/**
 * The sizes of a call, once they are checked against each other.
 * @param {readonly number[]} query
 * @param {readonly number[]} key
 * @param {readonly number[]} value
 */
function checkSizes(query, key, value) {
  const rank = query.length;
  const batch = rank > 2 ? query[0] : 1;
  const keyBatch = rank > 2 ? key[0] : 1;
  const valueBatch = rank > 2 ? value[0] : 1;
  const numHeads = rank === 4 ? query[1] : 1;
  const keyHeads = rank === 4 ? key[1] : 1;
  const valueHeads = rank === 4 ? value[1] : 1;
  const numQueries = query[rank - 2];
  const numKeys = key[rank - 2];
  const headDim = query[rank - 1];
  checkEqual('key', 'batch', keyBatch, 'query batch', batch);
  checkEqual('key', 'head dimension', key[rank - 1], 'query head dimension', headDim);
  checkEqual('value', 'batch', valueBatch, 'query batch', batch);
  checkEqual('value', 'heads', valueHeads, 'key heads', keyHeads);
  checkEqual('key', 'length', numKeys, 'value length', value[rank - 2]);
  if (keyHeads === 0 ? numHeads !== 0 : numHeads % keyHeads !== 0) {
    throw mismatch('query', `${numHeads} heads are not a multiple of the ${keyHeads} key heads`);
  }
  return { batch, numHeads, numQueries, numKeys, headDim, valueDim: value[rank - 1] };
}
