import { isObjectOf } from './nativeObject.js';
import { Embedding } from './embedding.js';
import { invalid } from './errors.js';
import { Layer } from './layer.js';
import { kInit } from './options.js';

/** @import { ElementsLike, ElementType, OutputTypeOption, ResultOfType } from './elementType.js' */
/** @import { InitOptions } from './layer.js' */
/** @import { Rule } from './options.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { ResultKind, TensorHandle } from './tensorHandle.js' */

/**
 * @typedef {object} LinearSizes
 * @property {number} inFeatures  width of the input
 * @property {number} outFeatures  width of the output
 * @property {boolean} [bias]  `true` by default
 */

/**
 * An output layer whose weight is the embedding's, and stays a parameter of that alone.
 * @typedef {object} TiedLinearSizes
 * @property {Embedding<any>} tiedTo  as many features come in as the embedding is wide, and as many go
 *   out as it has tokens
 * @property {boolean} [bias]  `false` by default
 */

/** @typedef {(LinearSizes | TiedLinearSizes) & InitOptions} LinearOptions */

/** @type {Rule} */
const tiedTo = (call, name, value) => {
  if (value !== undefined && !isObjectOf(value, Embedding)) {
    throw invalid(name, value, 'an Embedding');
  }
  call.object(name, value);
  return value;
};

/**
 * @param {'embeddingDim' | 'numEmbeddings'} size  of the embedding
 * @returns {Rule}
 */
const features =
  (size) =>
  (call, name, value, { tiedTo }) => {
    if (tiedTo && value !== undefined) throw invalid(name, value, 'none beside tiedTo');
    return call.integer(name, tiedTo ? tiedTo.sizes[size] : value, 1);
  };

const kOptions = {
  tiedTo,
  inFeatures: features('embeddingDim'),
  outFeatures: features('numEmbeddings'),
  /** @type {Rule} */
  bias: (call, name, value, { tiedTo }) => call.flag(name, value === undefined ? !tiedTo : value),
  ...kInit,
};

/**
 * A dense layer, as torch.nn.Linear: y = x · Wᵀ + b.
 *
 * Parameters: `weight` (outFeatures, inFeatures), unless it is an embedding's, and, with `bias`,
 * `bias` (outFeatures,).
 *
 * @template {ResultKind} [As='array']
 * @extends {Layer<LinearSizes>}
 */
export class Linear extends Layer {
  /** @internal */
  static name = 'Linear';

  /**
   * @param {Runtime} runtime
   * @param {LinearOptions} options
   */
  constructor(runtime, options) {
    super(runtime, 'Linear', /** @type {any} */ (options), kOptions);
  }

  /**
   * Computes x · weightᵀ + bias for each row.
   *
   * @template {ElementType} [Output='float32']
   * @param {ElementsLike | TensorHandle} x  (N, inFeatures) or (B, N, inFeatures), of any element type
   * @param {OutputTypeOption<Output>} [options]
   * @returns {ResultOfType<As, Output>} (N, outFeatures) or (B, N, outFeatures)
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `size_overflow`, `out_of_memory`,
   *   `disposed`
   */
  forward(x, options = {}) {
    const { inFeatures, outFeatures } = this.sizes;
    return this.mapElements('forwardLinear', options, (call) =>
      call.rows('x', x, inFeatures, 'inFeatures', 'elements').with(-1, outFeatures),
    );
  }
}
