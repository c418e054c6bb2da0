import {
  giveStages,
  kAttentionNames,
  writeAttentionOptions,
  writeInputs,
} from './attentionOptions.js';
import { checkOptions } from './options.js';
import { checkChoice, checkEqual, checkInteger, kHeadRanks, mismatch } from './tensor.js';

/** @import { AttentionOptions, AttentionStages } from './attentionOptions.js' */
/** @import { Names } from './options.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { TensorLike } from './tensor.js' */
/** @import { ResultKind, ResultTensor } from './tensorHandle.js' */

/**
 * How the inputs lie in memory; the output lies as they do. All are read in place.
 * @typedef {object} LayoutOptions
 * @property {'bhnd' | 'bnhd'} [layout]  of inputs of rank 4: (B, H, N, D) by default, or (B, N, H, D)
 * @property {number} [numHeads]  Hq, for inputs of rank 3 that hold all heads, (B, N, H·D)
 * @property {number} [numKvHeads]  Hkv of these; `numHeads` by default
 */

/**
 * @template {boolean} [Scaled=boolean]
 * @template {boolean} [Capped=boolean]
 * @template {boolean} [Biased=boolean]
 * @template {boolean} [Weights=boolean]
 * @template {boolean} [LogSumExp=boolean]
 * @typedef {AttentionOptions<Scaled, Capped, Biased, Weights, LogSumExp>
 *   & LayoutOptions} ScaledDotProductAttentionOptions
 */

/**
 * @template {ResultKind} [As='array']
 * @typedef {object} AttentionOutput
 * @property {ResultTensor<As>} output  the shape of `query`, with the width of `value`
 */

/**
 * @template {ResultKind} [As='array']
 * @template {boolean} [Scaled=boolean]
 * @template {boolean} [Capped=boolean]
 * @template {boolean} [Biased=boolean]
 * @template {boolean} [Weights=boolean]
 * @template {boolean} [LogSumExp=boolean]
 * @typedef {AttentionOutput<As>
 *   & AttentionStages<As, Scaled, Capped, Biased, Weights, LogSumExp>} AttentionResult
 */

/** @type {Names<ScaledDotProductAttentionOptions>} */
const kNames = { layout: true, numHeads: true, numKvHeads: true, ...kAttentionNames };

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
  checkOptions(options, kNames);
  const { layout, numHeads, numKvHeads = numHeads } = options;
  let ranks = kHeadRanks;
  if (layout !== undefined) {
    checkChoice('layout', layout, ['bhnd', 'bnhd']);
    ranks = kRanksOfLayout;
  }
  if (numKvHeads !== undefined) checkInteger('numKvHeads', numKvHeads, 1);
  if (numHeads !== undefined) {
    checkInteger('numHeads', numHeads, 1);
    ranks = kRanksOfAllHeads;
  }
  // Of (B, N, H, D) any number will do: the shape says how many heads there are.
  const heads = numHeads ?? (layout === 'bnhd' ? 1 : undefined);
  const kvHeads = heads && (numKvHeads ?? heads);

  return runtime.call((call) => {
    const { shape, q, k, v } = writeInputs(call, query, key, value, ranks, heads, kvHeads);
    checkEqual('key', 'head dimension', k.width, 'the head dimension of query', q.width);
    checkEqual('value', 'number of heads', v.heads, 'the number of heads of key', k.heads);
    if (k.heads === 0 ? q.heads !== 0 : q.heads % k.heads !== 0) {
      throw mismatch('query', `${q.heads} heads`, `a multiple of the ${k.heads} heads of key`);
    }
    const outputShape = query.shape.with(-1, numHeads === undefined ? v.width : numHeads * v.width);
    const output = call.resultOfHeads('output', outputShape, heads);
    const sizes = {
      batch: q.batch,
      numHeads: q.heads,
      numQueries: q.length,
      numKeys: k.length,
      headDim: q.width,
      valueDim: v.width,
    };
    const stages = writeAttentionOptions(call, options, sizes, shape.slice(0, -1));
    call.run('scaledDotProductAttention');
    return giveStages(call, output, stages);
  });
}
