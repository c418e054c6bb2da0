import { choice, flag, kRandomStream, real, size } from './checks.js';
import { argumentError, checkInteger } from './errors.js';
import { firstWeights, Layer } from './layer.js';
import { checkIntegers } from './tensor.js';

/** @import { Check } from './checks.js' */
/** @import { RandomOptions } from './dropout.js' */
/** @import { ElementType, OutputTypeOption, ResultOfType } from './elementType.js' */
/** @import * as Native from './native.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { Integers } from './tensor.js' */
/** @import { Given, Gives, ResultKind } from './tensorHandle.js' */

/**
 * @typedef {object} EmbeddingSizes
 * @property {number} numEmbeddings  size of the vocabulary
 * @property {number} embeddingDim  E
 * @property {number} [paddingIdx]  row of the padding token, counted from the end if negative; this
 *   row is zero at first
 * @property {boolean} [scaleBySqrtDim]  multiply rows by √E, as Transformers do before they add a
 *   positional encoding; `false` by default
 * @property {'normal' | 'zeros'} [init]  initial weights; `'normal'` by default
 * @property {number} [deviation]  standard deviation of the normal distribution; 1 by default, as in PyTorch
 */

/** @typedef {EmbeddingSizes & RandomOptions} EmbeddingOptions */

/** Index of a row. NaN means no row. @type {Check} */
const paddingIdx = (name, value, { numEmbeddings }) => {
  if (value === undefined) return NaN;
  checkInteger(name, value, -numEmbeddings);
  return value;
};

const kOptions = {
  numEmbeddings: size(),
  embeddingDim: size(),
  scaleBySqrtDim: flag(false),
  paddingIdx,
  init: choice(['normal', 'zeros']),
  ...kRandomStream,
  deviation: real(1),
};

/**
 * A table of learned vectors, one per token of a vocabulary, like torch.nn.Embedding:
 *
 *   output[…, :] = weight[ids[…], :] (· √E)
 *
 * Parameter: `weight` (numEmbeddings, E).
 *
 * @template {ResultKind} [As='array']
 * @extends {Layer<EmbeddingSizes, Native.Embedding>}
 */
export class Embedding extends Layer {
  /** @internal */
  static name = 'Embedding';

  /**
   * @param {Runtime} runtime
   * @param {EmbeddingOptions} options
   */
  constructor(runtime, options) {
    super(
      runtime,
      (native, sizes) => new native.Embedding(sizes, firstWeights(native, sizes), sizes.deviation),
      options,
      kOptions,
    );
  }

  /**
   * Looks up the vector of each token.
   *
   * @template {ElementType} [Output='float32']
   * @overload
   * @param {Given<As, Integers>} ids  (N,) or (B, N)
   * @param {Given<As, OutputTypeOption<Output>>} [options]
   * @returns {Gives<As, ResultOfType<As, Output>>} (N, E) or (B, N, E)
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `out_of_memory`, `disposed`
   */
  /**
   * @param {any} ids
   * @param {any} [options]
   * @returns {any}
   */
  forward(ids, options = {}) {
    const most = this.sizes.numEmbeddings - 1;
    const tensor = checkIntegers('ids', ids, 0, most, `a token id from 0 to ${most}`);
    const rank = tensor.shape.length;
    if (rank > 2) throw argumentError('invalid_argument', 'ids', `rank ${rank}`, 'rank 1 or 2');
    return this.forwardElements(options, (call) => ({
      input: call.numbers('ints', 'ids', tensor),
      shape: [...tensor.shape, this.sizes.embeddingDim],
    }));
  }
}
