import { isObjectOf, nativeIn } from './nativeObject.js';
import { flag, size } from './checks.js';
import { kElementTypes } from './elementType.js';
import { Embedding } from './embedding.js';
import { explainedError, invalid } from './errors.js';
import { firstWeights, kFirstWeights, Layer } from './layer.js';

/** @import { Check } from './checks.js' */
/** @import { ElementsLike, ElementType, OutputTypeOption, ResultOfType } from './elementType.js' */
/** @import { InitOptions } from './layer.js' */
/** @import * as Native from './native.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { Given, Gives, ResultKind, TensorHandle } from './tensorHandle.js' */

/**
 * @typedef {object} LinearSizes
 * @property {number} inFeatures  width of the input
 * @property {number} outFeatures  width of the output
 * @property {boolean} [bias]  `true` by default
 */

/**
 * An output layer that shares the weight of an embedding. Only the embedding has the weight as a
 * parameter.
 * @typedef {object} TiedLinearSizes
 * @property {Embedding<any>} tiedTo  the embedding. The width of the input is its `embeddingDim`,
 *   and the width of the output is its `numEmbeddings`
 * @property {boolean} [bias]  `false` by default
 */

/** @typedef {(LinearSizes | TiedLinearSizes) & InitOptions} LinearOptions */

/** @type {Check} */
const tiedTo = (name, value) => {
  if (value !== undefined && !isObjectOf(value, Embedding)) {
    throw invalid(name, value, 'an Embedding');
  }
  return value;
};

const checkSize = size();

/**
 * @param {'embeddingDim' | 'numEmbeddings'} ofEmbedding
 * @returns {Check}
 */
const features = (ofEmbedding) => (name, value, values, options) => {
  const { tiedTo } = values;
  if (!tiedTo) return checkSize(name, value, values, options);
  if (value !== undefined) {
    const sentence = 'cannot be combined with tiedTo, which determines it; leave it out';
    throw explainedError('invalid_argument', name, sentence);
  }
  return tiedTo.sizes[ofEmbedding];
};

const kOptions = {
  tiedTo,
  inFeatures: features('embeddingDim'),
  outFeatures: features('numEmbeddings'),
  /** @type {Check} */
  bias: (name, value, values, options) => flag(!values.tiedTo)(name, value, values, options),
  ...kFirstWeights,
};

/**
 * A dense layer, like torch.nn.Linear: y = x · Wᵀ + b.
 *
 * Parameters: `weight` (outFeatures, inFeatures), unless the layer shares the weight of an
 * embedding, and `bias` (outFeatures,) if the option `bias` is true.
 *
 * @template {ResultKind} [As='array']
 * @extends {Layer<LinearSizes, Native.Linear>}
 */
export class Linear extends Layer {
  /** @internal */
  static name = 'Linear';

  /**
   * @param {Runtime} runtime
   * @param {LinearOptions} options
   */
  constructor(runtime, options) {
    super(runtime, makeLinear(runtime), /** @type {any} */ (options), kOptions);
  }

  /**
   * Computes x · weightᵀ + bias for each row.
   *
   * @template {ElementType} [Output='float32']
   * @overload
   * @param {Given<As, ElementsLike | TensorHandle>} x  (N, inFeatures) or (B, N, inFeatures), of any element type
   * @param {Given<As, OutputTypeOption<Output>>} [options]
   * @returns {Gives<As, ResultOfType<As, Output>>} (N, outFeatures) or (B, N, outFeatures)
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `size_overflow`, `out_of_memory`,
   *   `disposed`
   */
  /**
   * @param {any} x
   * @param {any} [options]
   * @returns {any}
   */
  forward(x, options = {}) {
    const { inFeatures, outFeatures } = this.sizes;
    return this.forwardElements(options, (call) => {
      const input = call.rows('x', x, inFeatures, 'inFeatures', kElementTypes);
      return { input, shape: input.shape.with(-1, outFeatures) };
    });
  }
}

/**
 * @param {Runtime} runtime
 * @returns {(native: Native.MainModule, sizes: Required<LinearOptions>) => Native.Linear}
 */
const makeLinear = (runtime) => (native, sizes) => {
  const { tiedTo, inFeatures, outFeatures, bias } = /** @type {any} */ (sizes);
  const weights = firstWeights(native, sizes);
  if (tiedTo) return new native.Linear(nativeIn(runtime, 'tiedTo', tiedTo), bias, weights);
  return new native.Linear(inFeatures, outFeatures, bias, weights);
};
