import { kAttentionNames, kSameRank, sizesOf } from './attentionOptions.js';
import { KeyValueCache } from './keyValueCache.js';
import {
  checkAttentionOptions,
  giveAll,
  nativeAttentionOptions,
} from './nativeAttentionOptions.js';
import { isObjectOf } from './nativeObject.js';
import { readOptions } from './options.js';
import { kHeadRanks } from './tensor.js';
import { checkChoice, checkInteger } from './errors.js';
import { checkEqual, mismatch } from './shape.js';

/** @import { AttentionOptions, AttentionStages } from './attentionOptions.js' */
/** @import { Names } from './options.js' */
/** @import * as Native from './native.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { NativeCall } from './nativeCall.js' */
/** @import { ElementsLike, ElementType, OutputTypeOption, ResultOfType } from './elementType.js' */
/** @import { Ranks } from './tensor.js' */
/** @import { ResultKind, ResultTensor, TensorHandle } from './tensorHandle.js' */

/**
 * The memory layout of the inputs and the output. Inputs are read in place in every layout.
 * @typedef {object} LayoutOptions
 * @property {'bhnd' | 'bnhd'} [layout]  for inputs of rank 4: (B, H, N, D) by default, or (B, N, H, D)
 * @property {number} [numHeads]  Hq, for inputs of rank 3 with all heads side by side, (B, N, H·D)
 * @property {number} [numKvHeads]  Hkv, for inputs of rank 3 with all heads side by side;
 *   `numHeads` by default
 */

/**
 * @template {boolean} [Scaled=boolean]
 * @template {boolean} [Capped=boolean]
 * @template {boolean} [Biased=boolean]
 * @template {boolean} [Weights=boolean]
 * @template {boolean} [LogSumExp=boolean]
 * @template {boolean} [Sums=boolean]
 * @template {ElementType} [Output=ElementType]
 * @typedef {AttentionOptions<Scaled, Capped, Biased, Weights, LogSumExp, Sums>
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
 * @template {boolean} [Sums=boolean]
 * @template {ElementType} [Output='float32']
 * @typedef {AttentionOutput<As, Output>
 *   & AttentionStages<As, Scaled, Capped, Biased, Weights, LogSumExp, Sums>} AttentionResult
 */

/** @type {Names<ScaledDotProductAttentionOptions>} */
const kNames = {
  layout: true,
  numHeads: true,
  numKvHeads: true,
  outputType: true,
  ...kAttentionNames,
};

const kRanksOfLayout = { 4: 'with separate heads, because layout is set' };
const kRanksOfAllHeads = { 3: '(B, N, H·D), because numHeads is set' };
const kRanksWithCache = { 4: '(B, H, N, D)' };

/**
 * Describes keys and values for C++. They must have the rank of the query.
 * @param {NativeCall} call
 * @param {number} rank  rank of the query
 * @param {ElementsLike | TensorHandle} key
 * @param {ElementsLike | TensorHandle} value
 * @param {number} [numKvHeads]
 */
function keysAndValues(call, rank, key, value, numKvHeads) {
  const ranks = kSameRank[rank];
  return {
    key: call.elements('key', key, ranks, numKvHeads),
    value: call.elements('value', value, ranks, numKvHeads),
  };
}

/**
 * @param {Runtime} runtime
 * @param {ElementsLike | TensorHandle} query
 * @param {ElementsLike | TensorHandle | KeyValueCache<any>} key
 * @param {ElementsLike | TensorHandle} [value]  omitted with a cache
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
  // With (B, N, H, D), `heads` may be any number, because the shape contains the number of heads.
  const heads = numHeads ?? (layout === 'bnhd' ? 1 : undefined);
  // The cache's length must be read before invoke(), because reading the length calls C++.
  const numCached = cache?.length ?? 0;

  return runtime.invoke((call) => {
    const state = cache && call.object('key', cache);
    const q = call.elements('query', query, ranks, heads);
    const queries = sizesOf(q.shape);
    const stored = cache
      ? undefined
      : keysAndValues(
          call,
          numHeads === undefined ? q.shape.length : 3,
          /** @type {any} */ (key),
          /** @type {any} */ (value),
          heads && (numKvHeads ?? heads),
        );
    const { k, v } = stored
      ? { k: sizesOf(stored.key.shape), v: sizesOf(stored.value.shape) }
      : sizesOfCache(/** @type {KeyValueCache<any>} */ (cache), numCached);
    const whose = cache ? 'the batch of the cache' : 'the batch of query';
    if (cache) checkEqual('query', 'batch', queries.batch, whose, k.batch);
    checkEqual('key', 'batch', k.batch, whose, queries.batch);
    checkEqual('value', 'batch', v.batch, whose, queries.batch);
    checkEqual('key', 'length', k.length, 'the length of value', v.length);
    checkEqual('key', 'head dimension', k.width, 'the head dimension of query', queries.width);
    checkEqual('value', 'number of heads', v.heads, 'the number of heads of key', k.heads);
    if (k.heads === 0 ? queries.heads !== 0 : queries.heads % k.heads !== 0) {
      throw mismatch(
        'query',
        `${queries.heads} heads`,
        `a multiple of the ${k.heads} heads of key`,
      );
    }
    const { batch, length } = queries;
    let outputShape = q.shape.with(-1, v.width);
    if (numHeads !== undefined) outputShape = [batch, length, numHeads * v.width];
    else if (heads !== undefined) outputShape = [batch, length, queries.heads, v.width];
    const output = call.output(outputType, outputShape, heads);
    const sizes = {
      batch: queries.batch,
      numHeads: queries.heads,
      numQueries: queries.length,
      numKeys: k.length,
      headDim: queries.width,
      valueDim: v.width,
    };
    const checked = checkAttentionOptions(call, options, sizes, q.shape.slice(0, -1));

    call.run((native) => {
      const given = nativeAttentionOptions(call, checked);
      if (stored) {
        const { key, value } = stored;
        native.scaledDotProductAttention(
          q.native,
          key.native,
          value.native,
          output.tensor.native,
          given,
        );
      } else {
        const kept = /** @type {Native.KeyValueCache} */ (state);
        native.attendToCache(q.native, kept, output.tensor.native, given);
      }
    });
    return giveAll(call, { output, ...checked?.stages });
  });
}

/**
 * @param {KeyValueCache<any>} cache
 * @param {number} length
 */
function sizesOfCache({ sizes }, length) {
  const k = { batch: sizes.batch, heads: sizes.numKvHeads, length, width: sizes.headDim };
  return { k, v: { ...k, width: sizes.valueDim } };
}
