import { sizesOf } from './attentionOptions.js';
import { lengths } from './nativeAttentionOptions.js';
import { readOptions } from './options.js';

/** @import { NativeCall } from './nativeCall.js' */
/** @import { Names } from './options.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { Integers, Mask, TensorLike } from './tensor.js' */

/**
 * Options that select the columns of the softmax; all columns by default. If you pass both options,
 * a column must be allowed by both.
 * @typedef {object} MaskedSoftmaxOptions
 * @property {Integers} [validLens]  number of leading columns that take part: (B,) for all rows of
 *   a batch entry, or (B, N) for each row. (N,) if `x` has rank 2
 * @property {Mask} [mask]  `true` where a column takes part; broadcasts to the shape of `x` from the right
 */

/** @type {Names<MaskedSoftmaxOptions>} */
const kOptions = { validLens: true, mask: true };

export const kSoftmaxRanks = { 2: '(N, K)', 3: '(B, N, K)', 4: '(B, H, N, K)' };

/**
 * @param {Runtime} runtime
 * @param {TensorLike} x
 * @param {MaskedSoftmaxOptions} options
 */
export function maskedSoftmax(runtime, x, options) {
  return runtime.invoke((call) => {
    const input = call.tensor('x', x, kSoftmaxRanks);
    const output = call.result('output', input.shape);
    const { validLens, mask } = checkSoftmaxOptions(call, options, input.shape);
    call.run((native) =>
      native.maskedSoftmax(
        input.native,
        output.tensor.native,
        validLens?.native ?? null,
        mask?.native ?? null,
      ),
    );
    return call.give(output);
  });
}

/**
 * @param {NativeCall} call
 * @param {MaskedSoftmaxOptions} options
 * @param {readonly number[]} shape  shape of `x`
 */
export function checkSoftmaxOptions(call, options, shape) {
  const { validLens, mask } = readOptions(options, kOptions);
  const { length, width } = sizesOf(shape);
  const numRows = shape.length === 2 ? undefined : length;
  return {
    validLens: lengths(call, 'validLens', validLens, shape[0], numRows, width),
    mask: mask === undefined ? undefined : call.mask('mask', mask, shape),
  };
}
