import { kLayerAttentionNames, kScoreNames } from './attentionOptions.js';
import { computeContributions, kContributionOptions } from './contributions.js';
import { kElementTypes } from './elementType.js';
import { kInterventions } from './interventions.js';
import { lengthOfCaches, makeCache, makeCaches } from './keyValueCache.js';
import { Layer } from './layer.js';
import { checkLayerAttention, giveWithStages, lengthOf } from './multiHeadAttention.js';
import { checkLayerCall, nativeLayerCall, shown } from './nativeLayerCall.js';
import { readOptions, wanted } from './options.js';
import {
  kLayerOptions,
  kStackOptions,
  layersOf,
  layerWeights,
  makeBlock,
  makeStack,
} from './transformer.js';

/** @import { AskedFor, ExclusionOptions, LayerAttentionOptions, ScoreOptions } from './attentionOptions.js' */
/** @import { PositionsOption } from './attentionPositions.js' */
/** @import { ContributionOptions, Contributions } from './contributions.js' */
/** @import { Dropout } from './dropout.js' */
/** @import { ElementsLike, ElementType, OutputTypeOption, ResultOfType } from './elementType.js' */
/** @import { InterventionOptions } from './interventions.js' */
/** @import { CapacityOption, KeyValueCache, LayerCaches } from './keyValueCache.js' */
/** @import { Asked, IntermediatesOption, Place, ShownIntermediates } from './layer.js' */
/** @import { MultiHeadAttentionResult } from './multiHeadAttention.js' */
/** @import * as Native from './native.js' */
/** @import { Names } from './options.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { TensorLike } from './tensor.js' */
/** @import { Given, Gives, ResultKind, ResultTensor, TensorHandle } from './tensorHandle.js' */
/** @import { TransformerLayerOptions, TransformerLayerSizes, TransformerOptions, TransformerSizes } from './transformer.js' */

/**
 * @template {boolean} [Scaled=boolean]
 * @template {boolean} [Capped=boolean]
 * @template {boolean} [Biased=boolean]
 * @template {boolean} [Weights=boolean]
 * @template {boolean} [LogSumExp=boolean]
 * @template {boolean} [Sums=boolean]
 * @typedef {object} EncoderLayerCall
 * @property {LayerAttentionOptions<Scaled, Capped, Biased, Weights, LogSumExp, Sums>} [attention]  options of
 *   self-attention, including its stages
 * @property {Dropout | number} [dropout]  applied in four places, with the streams `stream` to `stream + 3`; for training
 * @property {KeyValueCache<any>} [cache]  from `makeCache()`. `x` then contains the next tokens of a
 *   sequence, which are appended and also attend to all tokens before them
 */

/**
 * @template {boolean} [Weights=boolean]
 * @typedef {object} EncoderCall
 * @property {ScoreOptions & ExclusionOptions} [attention]  options of self-attention in every layer
 * @property {Dropout | number} [dropout]  layer l uses the streams `stream + 4·l` to `stream + 4·l + 3`; for training
 * @property {Weights} [needWeights]  true to return the attention weights of every layer
 * @property {LayerCaches} [caches]  from `makeCaches()`; used like `cache` of a layer
 */

/**
 * @template {ResultKind} [As='array']
 * @template {ElementType} [Output='float32']
 * @typedef {object} EncoderOutput
 * @property {ResultOfType<As, Output>} output  the shape of `x`
 */

/**
 * @template {ResultKind} [As='array']
 * @typedef {object} EncoderStages
 * @property {ResultTensor<As>[]} weights  for each layer, (B, H, Nq, Nk), with `needWeights`
 */

/**
 * @template {ResultKind} [As='array']
 * @template {boolean} [Weights=boolean]
 * @template {ElementType} [Output='float32']
 * @typedef {EncoderOutput<As, Output> & AskedFor<EncoderStages<As>, { weights: Weights }>} EncoderResult
 */

const kBoth = {
  attention: true,
  positions: true,
  dropout: true,
  outputType: true,
  intermediates: true,
  ...kInterventions,
};
/** @type {Names<EncoderLayerCall & PositionsOption & OutputTypeOption & IntermediatesOption & InterventionOptions>} */
const kLayerCall = { ...kBoth, cache: true };
/** @type {Names<EncoderCall & PositionsOption & OutputTypeOption & IntermediatesOption & InterventionOptions>} */
const kCall = { ...kBoth, needWeights: true, caches: true };

/**
 * A layer of a Transformer's encoder (Vaswani et al. 2017; torch.nn.TransformerEncoderLayer):
 *
 *   post-norm:  h = norm1(x + dropout(self_attn(x, x, x)))
 *               output = norm2(h + dropout(feed_forward(h)))
 *   pre-norm:   h = x + dropout(self_attn(n, n, n)),  n = norm1(x)
 *               output = h + dropout(feed_forward(norm2(h)))
 *
 * With `normOutputs`, output_norm1(self_attn(…)) and output_norm2(feed_forward(…)) replace self_attn(…) and
 * feed_forward(…). In that case, a layer without `normFirst` has no norm1 or norm2. With `parallelResidual`,
 * the feed-forward network reads norm2(x) instead of norm2(h).
 *
 * Parameters, in PyTorch's order: `self_attn.…` (see `MultiHeadAttention`), `linear1.…` and
 * `linear2.…`, or `gate_proj.…`, `up_proj.…` and `down_proj.…`, then `norm1.…`, `norm2.…`,
 * `output_norm1.…` and `output_norm2.…`.
 *
 * @template {ResultKind} [As='array']
 * @extends {Layer<TransformerLayerSizes, Native.TransformerEncoderLayer>}
 */
export class TransformerEncoderLayer extends Layer {
  /** @internal */
  static name = 'TransformerEncoderLayer';

  /**
   * @param {Runtime} runtime
   * @param {TransformerLayerOptions} options
   * @param {Place} [place]  the layer's position in its stack, if it belongs to a stack
   */
  constructor(runtime, options, place) {
    super(runtime, makeBlock('TransformerEncoderLayer'), options, kLayerOptions, place);
  }

  /**
   * Runs one layer: self-attention and the feed-forward network, each with its residual connection and norm.
   *
   * @template {boolean} [Scaled=false]
   * @template {boolean} [Capped=false]
   * @template {boolean} [Biased=false]
   * @template {boolean} [Weights=false]
   * @template {boolean} [LogSumExp=false]
   * @template {boolean} [Sums=false]
   * @template {Asked} [N=undefined]
   * @template {ElementType} [Output='float32']
   * @overload
   * @param {Given<As, ElementsLike | TensorHandle>} x  (B, N, E) or (N, E), of any element type
   * @param {Given<As, EncoderLayerCall<Scaled, Capped, Biased, Weights, LogSumExp, Sums>
   *   & PositionsOption & OutputTypeOption<Output> & IntermediatesOption<N> & InterventionOptions>} [options]
   * @returns {Gives<As, MultiHeadAttentionResult<As, Scaled, Capped, Biased, Weights, LogSumExp, Sums, N, Output>>} `output` with
   *   the shape of `x`, and the requested stages of attention
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `not_found`, `unsupported`, `size_overflow`,
   *   `out_of_memory`, `disposed`
   */
  /**
   * @param {any} x
   * @param {any} [options]
   * @returns {any}
   */
  forward(x, options = {}) {
    options = readOptions(options, kLayerCall);
    const { attention: given = {}, cache } = options;
    const attention = readOptions(given, kLayerAttentionNames, 'attention');
    const past = cache === undefined ? 0 : lengthOf(cache);
    return this.invoke((call) => {
      const input = call.rows('x', x, this.sizes.dModel, 'dModel', kElementTypes);
      const { shape } = input;
      const output = call.output(options.outputType, shape);
      /** @type {Native.KeyValueCache | null} */
      const kept = cache === undefined ? null : call.object('cache', cache);
      const numKeys = past + shape[shape.length - 2];
      const checked = {
        attention: checkLayerAttention(call, attention, shape, this.sizes, numKeys),
        ...checkLayerCall(call, options),
      };
      call.run(() => {
        const given = nativeLayerCall(call, checked);
        this.native.forward(input.native, output.tensor.native, kept, given);
      });
      return giveWithStages(call, output, checked);
    });
  }

  /**
   * Makes an empty cache for `forward()`.
   * @param {number} [batch]  1 by default
   * @param {CapacityOption} [options]
   * @returns {KeyValueCache<As>}
   */
  makeCache(batch = 1, options = {}) {
    return makeCache(this, this.sizes, batch, options);
  }
}

/**
 * A stack of Transformer encoder layers (torch.nn.TransformerEncoder). Parameters: `layers.0.…` and so on.
 * With `finalNorm` there is also `norm.weight` and, for a LayerNorm, `norm.bias`.
 *
 * @template {ResultKind} [As='array']
 * @extends {Layer<TransformerSizes, Native.TransformerEncoder>}
 */
export class TransformerEncoder extends Layer {
  /** @internal */
  static name = 'TransformerEncoder';

  /**
   * @param {Runtime} runtime
   * @param {TransformerOptions} options
   */
  constructor(runtime, options) {
    super(runtime, makeStack('TransformerEncoder'), options, kStackOptions);
    /**
     * The layers, which share the weights of the stack. To get every stage of a layer's attention,
     * run that layer alone. The layers live as long as the stack.
     * @readonly
     * @type {readonly TransformerEncoderLayer<As>[]}
     */
    this.layers = layersOf(this, options, this.sizes, (layer, place) => {
      return new TransformerEncoderLayer(runtime, layer, place);
    });
  }

  /**
   * Runs all layers of the encoder, one after the other.
   *
   * @template {boolean} [Weights=false]
   * @template {Asked} [N=undefined]
   * @template {ElementType} [Output='float32']
   * @overload
   * @param {Given<As, ElementsLike | TensorHandle>} x  (B, N, E) or (N, E), of any element type
   * @param {Given<As, EncoderCall<Weights> & PositionsOption & OutputTypeOption<Output>
   *   & IntermediatesOption<N> & InterventionOptions>} [options]  `positions` apply to each layer with rotary positions
   * @returns {Gives<As, EncoderResult<As, Weights, Output> & ShownIntermediates<As, N>>}
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `not_found`, `unsupported`, `size_overflow`,
   *   `out_of_memory`, `disposed`
   */
  /**
   * @param {any} x
   * @param {any} [options]
   * @returns {any}
   */
  forward(x, options = {}) {
    options = readOptions(options, kCall);
    const { attention: given = {}, caches } = options;
    const attention = readOptions(given, kScoreNames, 'attention');
    const needWeights = wanted('needWeights', options.needWeights);
    const past = lengthOfCaches(caches);
    return this.invoke((call) => {
      const input = call.rows('x', x, this.sizes.dModel, 'dModel', kElementTypes);
      const { shape } = input;
      const output = call.output(options.outputType, shape);
      /** @type {Native.LayerCaches | null} */
      const kept = caches === undefined ? null : call.object('caches', caches);
      const numKeys = past + shape[shape.length - 2];
      const checked = {
        attention: checkLayerAttention(call, attention, shape, this.sizes, numKeys),
        ...checkLayerCall(call, options),
        weights: layerWeights(call, needWeights, this.sizes, shape, numKeys),
      };
      call.run(() => {
        const given = nativeLayerCall(call, checked);
        this.native.forward(input.native, output.tensor.native, kept, given);
      });
      return /** @type {any} */ ({
        output: call.give(output),
        ...(checked.weights && { weights: checked.weights.map((result) => call.give(result)) }),
        ...shown(call, checked),
      });
    });
  }

  /**
   * Splits the dot product of a direction and one row of the output into the contributions of the embedding, the
   * heads, the feed-forward networks and the biases. Requires layers with `normFirst` or `normOutputs`.
   *
   * @overload
   * @param {Given<As, TensorLike | TensorHandle>} x  (N, E)
   * @param {Given<As, TensorLike | TensorHandle>} direction  (E)
   * @param {Given<As, ContributionOptions & PositionsOption>} [options]
   * @returns {Contributions}
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `size_overflow`, `out_of_memory`, `disposed`;
   *   `unsupported` for layers that normalise the residual stream
   */
  /**
   * @param {any} x
   * @param {any} direction
   * @param {any} [options]
   * @returns {any}
   */
  contributions(x, direction, options = {}) {
    options = readOptions(options, kContributionOptions);
    return this.invoke((call) => {
      const { sizes } = this;
      const input = call.tensor('x', x, { 2: '(N, E)' });
      const along = call.tensor('direction', direction, { 1: '(E)' });
      const { layers, numLayers } = sizes;
      const heads = layers.length
        ? layers.map(({ numHeads = sizes.numHeads }) => numHeads)
        : Array(numLayers).fill(sizes.numHeads);
      return computeContributions(
        ...[call, options, input.shape, sizes, heads],
        (position, given) => this.native.contributions(input.native, along.native, position, given),
      );
    });
  }

  /**
   * Makes an empty cache for each layer. With `causal` attention, the stack is then a decoder without cross
   * attention, like GPT.
   * @param {number} [batch]  1 by default
   * @param {CapacityOption} [options]
   * @returns {LayerCaches}
   */
  makeCaches(batch = 1, options = {}) {
    return makeCaches(this, batch, options);
  }
}
