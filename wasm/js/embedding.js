import { invalid } from './errors.js';
import { Layer } from './layer.js';
import { checkIntegers } from './tensor.js';
import { choice, flag, kRandom, real, size } from './options.js';

/** @import { RandomOptions } from './dropout.js' */
/** @import { ElementType, OutputTypeOption, ResultOfType } from './elementType.js' */
/** @import { Rule } from './options.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { Integers } from './tensor.js' */
/** @import { ResultKind } from './tensorHandle.js' */

/**
 * @typedef {object} EmbeddingSizes
 * @property {number} numEmbeddings  size of the vocabulary
 * @property {number} embeddingDim  E
 * @property {number} [paddingIdx]  the row of a token that stands for padding, from the end if
 *   negative: zero at first
 * @property {boolean} [scaleBySqrtDim]  multiply rows by √E, as Transformers do before they add a
 *   positional encoding; not by default
 * @property {'normal' | 'zeros'} [init]  the first weights; `'normal'` by default
 * @property {number} [deviation]  of the normal distribution; 1 by default, as PyTorch
 */

/** @typedef {EmbeddingSizes & RandomOptions} EmbeddingOptions */

/** @type {Rule} */
const paddingIdx = (call, name, value, { numEmbeddings }) =>
  call.optionalInteger(name, value, -numEmbeddings);

const kOptions = {
  numEmbeddings: size(),
  embeddingDim: size(),
  scaleBySqrtDim: flag(false),
  paddingIdx,
  init: choice(['normal', 'zeros']),
  ...kRandom,
  deviation: real(1),
};

/**
 * A table of learned vectors, one per token of a vocabulary, as torch.nn.Embedding:
 *
 *   output[…, :] = weight[ids[…], :] (· √E)
 *
 * Parameter: `weight` (numEmbeddings, E).
 *
 * @template {ResultKind} [As='array']
 * @extends {Layer<EmbeddingSizes>}
 */
export class Embedding extends Layer {
  /** @internal */
  static name = 'Embedding';

  /**
   * @param {Runtime} runtime
   * @param {EmbeddingOptions} options
   */
  constructor(runtime, options) {
    super(runtime, 'Embedding', options, kOptions);
  }

  /**
   * Looks up the vector of each token.
   *
   * @template {ElementType} [Output='float32']
   * @param {Integers} ids  (N,) or (B, N)
   * @param {OutputTypeOption<Output>} [options]
   * @returns {ResultOfType<As, Output>} (N, E) or (B, N, E)
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `out_of_memory`, `disposed`
   */
  forward(ids, options = {}) {
    const most = this.sizes.numEmbeddings - 1;
    const tensor = checkIntegers('ids', ids, 0, most, `a token from 0 to ${most}`);
    if (tensor.shape.length > 2) throw invalid('ids', `rank ${tensor.shape.length}`, 'rank 1 or 2');
    return this.mapElements('forwardEmbedding', options, (call) => {
      call.numbers('ints', 'ids', tensor);
      return [...tensor.shape, this.sizes.embeddingDim];
    });
  }
}
