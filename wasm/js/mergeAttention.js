/** @import { Runtime } from './runtime.js' */
/** @import { TensorLike } from './tensor.js' */
/** @import { ResultKind, ResultTensor } from './tensorHandle.js' */

/**
 * The result of attention over one part of the keys, or over several merged parts.
 * @template {ResultKind} [As='array']
 * @typedef {object} AttentionPart
 * @property {ResultTensor<As>} output  (B, H, N, Dv), or the lower rank of the parts
 * @property {ResultTensor<As>} logSumExp  (B, H, N)
 */

const kPartRanks = { 2: '(N, Dv)', 3: '(B, N, Dv)', 4: '(B, H, N, Dv)' };
const kLogSumExpRanks = { 1: '(N,)', 2: '(B, N)', 3: '(B, H, N)' };

/**
 * @param {Runtime} runtime
 * @param {TensorLike} outputA
 * @param {TensorLike} logSumExpA
 * @param {TensorLike} outputB
 * @param {TensorLike} logSumExpB
 */
export function mergeAttention(runtime, outputA, logSumExpA, outputB, logSumExpB) {
  return runtime.invoke((call) => {
    const a = call.tensor('outputA', outputA, kPartRanks);
    const sumA = call.tensor('logSumExpA', logSumExpA, kLogSumExpRanks);
    const b = call.tensor('outputB', outputB, kPartRanks);
    const sumB = call.tensor('logSumExpB', logSumExpB, kLogSumExpRanks);
    const output = call.result('output', a.shape);
    const logSumExp = call.result('logSumExp', a.shape.slice(0, -1));
    call.run((native) =>
      native.mergeAttention(
        a.native,
        sumA.native,
        b.native,
        sumB.native,
        output.tensor.native,
        logSumExp.tensor.native,
      ),
    );
    return { output: call.give(output), logSumExp: call.give(logSumExp) };
  });
}
