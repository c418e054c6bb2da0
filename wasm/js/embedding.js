import { Layer } from './layer.js';
import { checkIntegers, checkOptions, invalid } from './tensor.js';

/** @import { RandomOptions } from './dropout.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { Integers } from './tensor.js' */
/** @import { ResultKind, ResultTensor } from './tensorHandle.js' */

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

/**
 * A table of learned vectors, one per token of a vocabulary, as torch.nn.Embedding:
 *
 *   output[…, :] = weight[ids[…], :] (· √E)
 *
 * Parameter: `weight` (numEmbeddings, E).
 *
 * @template {ResultKind} [As='array']
 */
export class Embedding extends Layer {
  #numEmbeddings;
  #embeddingDim;

  /**
   * @param {Runtime} runtime
   * @param {EmbeddingOptions} options
   */
  constructor(runtime, options) {
    checkOptions(options);
    const { numEmbeddings, embeddingDim, paddingIdx, scaleBySqrtDim = false } = options;
    const { deviation = 1 } = options;
    super(runtime, 'makeEmbedding', (call) => {
      call.integer('numEmbeddings', numEmbeddings, 1);
      call.integer('embeddingDim', embeddingDim, 1);
      call.optionalInteger('paddingIdx', paddingIdx, -numEmbeddings);
      call.flag('scaleBySqrtDim', scaleBySqrtDim);
      call.init(options, ['normal', 'zeros']);
      call.real('deviation', deviation);
    });
    this.#numEmbeddings = numEmbeddings;
    this.#embeddingDim = embeddingDim;
  }

  /**
   * @param {Integers} ids  (N,) or (B, N)
   * @returns {ResultTensor<As>} (N, E) or (B, N, E)
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `out_of_memory`, `disposed`
   */
  forward(ids) {
    const most = this.#numEmbeddings - 1;
    const tensor = checkIntegers('ids', ids, 0, most, `a token from 0 to ${most}`);
    if (tensor.shape.length > 2) throw invalid('ids', `rank ${tensor.shape.length}`, 'rank 1 or 2');
    return this.map('forwardEmbedding', (call) => {
      call.ints('ids', tensor);
      return [...tensor.shape, this.#embeddingDim];
    });
  }
}
