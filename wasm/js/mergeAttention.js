/** @import { Runtime } from './runtime.js' */
/** @import { TensorLike } from './tensor.js' */
/** @import { ResultKind, ResultTensor } from './tensorHandle.js' */

/**
 * Attention over a part of the keys, or over several.
 * @template {ResultKind} [As='array']
 * @typedef {object} AttentionPart
 * @property {ResultTensor<As>} output  (B, H, N, Dv), or of the lower rank of the parts
 * @property {ResultTensor<As>} logSumExp  (B, H, N)
 */

export const kPartRanks = { 2: '(N, Dv)', 3: '(B, N, Dv)', 4: '(B, H, N, Dv)' };
export const kLogSumExpRanks = { 1: '(N,)', 2: '(B, N)', 3: '(B, H, N)' };

/**
 * @param {Runtime} runtime
 * @param {TensorLike} outputA
 * @param {TensorLike} logSumExpA
 * @param {TensorLike} outputB
 * @param {TensorLike} logSumExpB
 */
export function mergeAttention(runtime, outputA, logSumExpA, outputB, logSumExpB) {
  return runtime.call((call) => {
    const shape = call.floats('outputA', outputA, kPartRanks);
    call.floats('logSumExpA', logSumExpA, kLogSumExpRanks);
    call.floats('outputB', outputB, kPartRanks);
    call.floats('logSumExpB', logSumExpB, kLogSumExpRanks);
    const output = call.result('output', shape);
    const logSumExp = call.result('logSumExp', shape.slice(0, -1));
    call.run('mergeAttention');
    return { output: call.give(output), logSumExp: call.give(logSumExp) };
  });
}
