import { checkExclusion, copyIn, setExclusion } from './attentionOptions.js';
import { AttnError } from './errors.js';
import { checkEqual, checkNumber, checkOptions, checkShape, checkTensor } from './tensor.js';

/** @import { ExclusionOptions } from './attentionOptions.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { Tensor, TensorLike } from './tensor.js' */

/**
 * @typedef {object} ScoreOptions
 * @property {number} [scale]  factor on q·k; 1/√D by default
 * @property {boolean} [needWeights]  whether to return the weights as well
 */

/** @typedef {ExclusionOptions & ScoreOptions} ScaledDotProductAttentionOptions */

/**
 * @typedef {object} AttentionResult
 * @property {Tensor} output  the shape of `query`, with the width of `value`
 * @property {Tensor} [weights]  (B, H, Nq, Nk), without the dimensions that `query` lacks; only
 *   with `needWeights`
 */

const kRanks = { 2: '(N, D)', 3: '(B, N, D)', 4: '(B, H, N, D)' };

/**
 * @param {Runtime} runtime
 * @param {TensorLike} query
 * @param {TensorLike} key
 * @param {TensorLike} value
 * @param {ScaledDotProductAttentionOptions} options
 * @returns {AttentionResult}
 */
export function scaledDotProductAttention(runtime, query, key, value, options) {
  checkOptions(options);
  checkTensor('query', query, kRanks);
  const rank = query.shape.length;
  checkTensor('key', key, { [rank]: 'as query has' });
  checkTensor('value', value, { [rank]: 'as query has' });
  const [batch, queryHeads, numQueries, headDim] = withHeads(query.shape);
  const [keyBatch, keyHeads, numKeys, keyDim] = withHeads(key.shape);
  const [valueBatch, valueHeads, valueLength, valueDim] = withHeads(value.shape);
  checkEqual('key', 'batch', keyBatch, 'query batch', batch);
  checkEqual('key', 'head dimension', keyDim, 'query head dimension', headDim);
  checkEqual('value', 'batch', valueBatch, 'query batch', batch);
  checkEqual('value', 'heads', valueHeads, 'key heads', keyHeads);
  checkEqual('key', 'length', numKeys, 'value length', valueLength);
  if (keyHeads === 0 ? queryHeads !== 0 : queryHeads % keyHeads !== 0) {
    const message = `query: ${queryHeads} heads are not a multiple of the ${keyHeads} key heads`;
    throw new AttnError('shape_mismatch', message);
  }
  const { scale, needWeights = false } = options;
  if (scale !== undefined) checkNumber('scale', Math.fround(scale));
  checkExclusion(options, { batch, numHeads: queryHeads, numQueries, numKeys });

  const leading = query.shape.slice(0, -1);
  const outputShape = [...leading, valueDim];
  const scoreShape = [batch, queryHeads, numQueries, numKeys];
  checkShape('output', outputShape);
  if (needWeights) checkShape('weights', scoreShape);

  return runtime.call((memory, native) => {
    const output = memory.result('output', outputShape);
    const weights = needWeights ? memory.result('weights', scoreShape) : undefined;
    const nativeOptions = runtime.attentionOptions;
    nativeOptions.reset();
    if (scale !== undefined) nativeOptions.setScale(scale);
    if (weights) nativeOptions.setWeights(weights.record);
    setExclusion(nativeOptions, memory, options);
    runtime.check(
      native.scaledDotProductAttention(
        ...copyIn(memory, query, key, value),
        output.record,
        nativeOptions,
      ),
    );
    return {
      output: memory.copyOut(output),
      ...(weights && { weights: { ...memory.copyOut(weights), shape: [...leading, numKeys] } }),
    };
  });
}

/**
 * (B, H, N, D) of a shape that may lack H and B.
 * @param {readonly number[]} shape
 */
function withHeads(shape) {
  if (shape.length === 2) return [1, 1, ...shape];
  if (shape.length === 3) return [shape[0], 1, shape[1], shape[2]];
  return shape;
}
