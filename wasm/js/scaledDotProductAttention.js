import { isObjectOf } from './nativeObject.js';
import {
  giveStages,
  kAttentionNames,
  sizesOf,
  writeAttentionOptions,
  writeInputs,
} from './attentionOptions.js';
import { KeyValueCache } from './keyValueCache.js';
import { readOptions } from './options.js';
import { kHeadRanks } from './tensor.js';
import { checkChoice, checkInteger } from './errors.js';
import { checkEqual, mismatch } from './shape.js';

/** @import { AttentionOptions, AttentionStages } from './attentionOptions.js' */
/** @import { Names } from './options.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { Call } from './call.js' */
/** @import { ElementsLike, ElementType, OutputTypeOption, ResultOfType } from './elementType.js' */
/** @import { Ranks } from './tensor.js' */
/** @import { ResultKind, ResultTensor, TensorHandle } from './tensorHandle.js' */

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
 * @template {ElementType} [Output=ElementType]
 * @typedef {AttentionOptions<Scaled, Capped, Biased, Weights, LogSumExp>
 *   & LayoutOptions & OutputTypeOption<Output>} ScaledDotProductAttentionOptions
 */

/**
 * @template {ResultKind} [As='array']
 * @template {ElementType} [Output='float32']
 * @typedef {object} AttentionOutput
 * @property {ResultOfType<As, Output>} output  the shape of `query`, with the width of `value`
 */

/**
 * @template {ResultKind} [As='array']
 * @template {boolean} [Scaled=boolean]
 * @template {boolean} [Capped=boolean]
 * @template {boolean} [Biased=boolean]
 * @template {boolean} [Weights=boolean]
 * @template {boolean} [LogSumExp=boolean]
 * @template {ElementType} [Output='float32']
 * @typedef {AttentionOutput<As, Output>
 *   & AttentionStages<As, Scaled, Capped, Biased, Weights, LogSumExp>} AttentionResult
 */

/** @type {Names<ScaledDotProductAttentionOptions>} */
const kNames = {
  layout: true,
  numHeads: true,
  numKvHeads: true,
  outputType: true,
  ...kAttentionNames,
};

const kRanksOfLayout = { 4: 'of the heads apart, as layout is given' };
const kRanksOfAllHeads = { 3: '(B, N, H·D), as numHeads is given' };
const kRanksWithCache = { 4: '(B, H, N, D)' };

/**
 * Writes the queries of a call whose keys and values lie in a cache.
 * @param {Call} call
 * @param {ElementsLike | TensorHandle} query
 * @param {KeyValueCache<any>} cache
 * @param {number} length  of the cache
 * @param {Ranks} ranks
 * @param {number} [numHeads]
 */
function writeQuery(call, query, cache, length, ranks, numHeads) {
  const shape = call.elements('query', query, ranks, numHeads);
  const q = sizesOf(shape);
  const { batch, numKvHeads: heads, headDim, valueDim } = cache.sizes;
  checkEqual('query', 'batch', q.batch, 'the batch of the cache', batch);
  const k = { batch, heads, length, width: headDim };
  return { shape, q, k, v: { ...k, width: valueDim } };
}

/**
 * @param {Runtime} runtime
 * @param {ElementsLike | TensorHandle} query
 * @param {ElementsLike | TensorHandle | KeyValueCache<any>} key
 * @param {ElementsLike | TensorHandle} [value]  none with a cache
 * @param {ScaledDotProductAttentionOptions} [options]
 */
export function scaledDotProductAttention(runtime, query, key, value, options = {}) {
  const cache = isObjectOf(key, KeyValueCache) ? key : undefined;
  options = readOptions(options, kNames);
  const { layout, numHeads, numKvHeads = numHeads, outputType } = options;
  let ranks = cache ? kRanksWithCache : kHeadRanks;
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
  // Asked for before the call begins, since it is a call of its own.
  const numCached = cache?.length ?? 0;

  return runtime.call((call) => {
    call.object('key', cache);
    const { shape, q, k, v } = cache
      ? writeQuery(call, query, cache, numCached, ranks, heads)
      : writeInputs(
          call,
          query,
          /** @type {any} */ (key),
          /** @type {any} */ (value),
          ranks,
          'elements',
          heads,
          heads && (numKvHeads ?? heads),
        );
    checkEqual('key', 'head dimension', k.width, 'the head dimension of query', q.width);
    checkEqual('value', 'number of heads', v.heads, 'the number of heads of key', k.heads);
    if (k.heads === 0 ? q.heads !== 0 : q.heads % k.heads !== 0) {
      throw mismatch('query', `${q.heads} heads`, `a multiple of the ${k.heads} heads of key`);
    }
    let outputShape = shape.with(-1, v.width);
    if (numHeads !== undefined) outputShape = [q.batch, q.length, numHeads * v.width];
    else if (heads !== undefined) outputShape = [q.batch, q.length, q.heads, v.width];
    const output = call.resultOfType(outputType, outputShape, heads);
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
