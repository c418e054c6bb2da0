import { checkRandom } from './dropout.js';
import { Layer } from './layer.js';
import {
  checkChoice,
  checkFlag,
  checkInteger,
  checkIntegers,
  checkNumber,
  checkOptions,
  checkShape,
  invalid,
} from './tensor.js';

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
    const { init = 'normal', deviation = 1 } = options;
    checkInteger('numEmbeddings', numEmbeddings, 1);
    checkInteger('embeddingDim', embeddingDim, 1);
    if (paddingIdx !== undefined) checkInteger('paddingIdx', paddingIdx, -numEmbeddings);
    checkFlag('scaleBySqrtDim', scaleBySqrtDim);
    checkChoice('init', init, ['normal', 'zeros']);
    checkNumber('deviation', deviation);
    checkRandom(options);
    checkShape('weight', [numEmbeddings, embeddingDim]);
    super(runtime, 'makeEmbedding', (call) => {
      call.number(numEmbeddings);
      call.number(embeddingDim);
      call.optional(paddingIdx);
      call.flag(scaleBySqrtDim);
    });
    this.#numEmbeddings = numEmbeddings;
    this.#embeddingDim = embeddingDim;
    if (init === 'zeros') return;
    this.initialize('initializeEmbedding', (call) => {
      call.random(options);
      call.number(deviation);
    });
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
    const shape = [...tensor.shape, this.#embeddingDim];
    checkShape('output', shape);
    return this.runtime.call((call) => {
      call.number(this.address);
      call.ints('ids', tensor);
      const output = call.result('output', shape);
      call.run(this.runtime.native.forwardEmbedding);
      return call.give(output);
    });
  }
}
