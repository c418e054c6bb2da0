import {
  checkAttentionOptions,
  giveStages,
  writeAttentionOptions,
  writeInputs,
} from './attentionOptions.js';
import { AttnError } from './errors.js';
import {
  checkChoice,
  checkEqual,
  checkInteger,
  checkOptions,
  checkShape,
  checkTensor,
  formatShape,
  rowMajor,
} from './tensor.js';

/** @import { AttentionOptions, AttentionStages } from './attentionOptions.js' */
/** @import { Call } from './call.js' */
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

const kRanks = { 2: '(N, D)', 3: '(B, N, D)', 4: '(B, H, N, D)' };

/**
 * @param {Runtime} runtime
 * @param {TensorLike} query
 * @param {TensorLike} key
 * @param {TensorLike} value
 * @param {ScaledDotProductAttentionOptions} options
 */
export function scaledDotProductAttention(runtime, query, key, value, options) {
  checkOptions(options);
  checkTensor('query', query, kRanks);
  const rank = query.shape.length;
  if (key !== query) checkTensor('key', key, sameRank(rank));
  if (value !== key) checkTensor('value', value, sameRank(rank));
  const headsApart = options.numHeads !== undefined || options.layout === 'bnhd';
  if (headsApart || options.layout !== undefined) checkLayout(options, rank);
  const { numHeads, numKvHeads = numHeads } = options;
  const queryShape = headsApart ? seenAsHeads('query', query.shape, numHeads) : query.shape;
  const keyShape = headsApart ? seenAsHeads('key', key.shape, numKvHeads) : key.shape;
  const valueShape = headsApart ? seenAsHeads('value', value.shape, numKvHeads) : value.shape;
  const sizes = checkSizes(queryShape, keyShape, valueShape);
  checkAttentionOptions(options, sizes);

  const { valueDim } = sizes;
  const outputShape = [...query.shape];
  outputShape[rank - 1] = headsApart && rank === 3 ? sizes.numHeads * valueDim : valueDim;
  checkShape('output', outputShape);
  const leading = queryShape.slice(0, -1);

  return runtime.call((call) => {
    let output;
    if (headsApart) {
      writeHeads(call, 'query', query, numHeads);
      writeHeads(call, 'key', key, numKvHeads);
      writeHeads(call, 'value', value, numKvHeads);
      const seen = heads(outputShape, rowMajor(outputShape), sizes.numHeads);
      output = call.result('output', outputShape, seen.shape, seen.strides);
    } else {
      writeInputs(call, query, key, value);
      output = call.result('output', outputShape);
    }
    const stages = writeAttentionOptions(call, options, sizes, leading);
    call.run(runtime.native.scaledDotProductAttention);
    return giveStages(call, output, stages);
  });
}

/**
 * @param {LayoutOptions} options
 * @param {number} rank
 */
function checkLayout({ layout = 'bhnd', numHeads, numKvHeads }, rank) {
  checkChoice('layout', layout, ['bhnd', 'bnhd']);
  if (numHeads !== undefined) {
    checkInteger('numHeads', numHeads, 1);
    if (numKvHeads !== undefined) checkInteger('numKvHeads', numKvHeads, 1);
  }
  const needed = numHeads === undefined ? 4 : 3;
  if (rank === needed) return;
  const why = needed === 3 ? '(B, N, H·D), as numHeads is given' : `layout '${layout}'`;
  throw new AttnError('shape_mismatch', `query: got rank ${rank}, needs rank ${needed} for ${why}`);
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
    const message = `query: ${numHeads} heads are not a multiple of the ${keyHeads} key heads`;
    throw new AttnError('shape_mismatch', message);
  }
  return { batch, numHeads, numQueries, numKeys, headDim, valueDim: value[rank - 1] };
}

/**
 * The shape (B, H, N, D) of one that is (B, N, H, D) or (B, N, H·D).
 * @param {string} name
 * @param {readonly number[]} shape
 * @param {number} [numHeads]
 */
function seenAsHeads(name, shape, numHeads = shape[2]) {
  if (shape.length === 3 && shape[2] % numHeads !== 0) {
    const message = `${name}: got shape ${formatShape(shape)}, needs a width divisible by ${numHeads} heads`;
    throw new AttnError('shape_mismatch', message);
  }
  return heads(shape, shape, numHeads).shape;
}

/**
 * @param {Call} call
 * @param {string} name
 * @param {TensorLike} tensor
 * @param {number} [numHeads]
 */
export function writeHeads(call, name, tensor, numHeads = tensor.shape[2]) {
  const { address, shape, strides } = call.place(name, tensor);
  const seen = heads(shape, strides, numHeads);
  call.view(address, seen.shape, seen.strides);
}

/**
 * (B, N, H·D) or (B, N, H, D) seen as (B, H, N, D), as TensorView::split_heads() does.
 * @param {readonly number[]} shape
 * @param {readonly number[]} strides
 * @param {number} numHeads
 */
export function heads(shape, strides, numHeads) {
  const [batch, length] = shape;
  const headDim = shape.length === 4 ? shape[3] : shape[2] / numHeads;
  const last = strides[strides.length - 1];
  const headStride = shape.length === 4 ? strides[2] : headDim * last;
  return {
    shape: [batch, numHeads, length, headDim],
    strides: [strides[0], headStride, strides[1], last],
  };
}

/** @param {number} rank */
const sameRank = (rank) => ({ [rank]: 'as query has' });
