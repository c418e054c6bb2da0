import { kActivations } from './activation.js';
import { choice, flag, size } from './checks.js';
import { kElementTypes } from './elementType.js';
import { firstWeights, kFirstWeights, Layer } from './layer.js';
import { checkLayerCall, giveShown, nativeLayerCall } from './nativeLayerCall.js';
import { readOptions } from './options.js';

/** @import { CheckTable } from './checks.js' */
/** @import { Activation } from './activation.js' */
/** @import { Dropout } from './dropout.js' */
/** @import { ElementsLike, ElementType, OutputTypeOption } from './elementType.js' */
/** @import { Asked, InitOptions, IntermediatesOption, OutputOrShown } from './layer.js' */
/** @import * as Native from './native.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { Given, Gives, ResultKind, TensorHandle } from './tensorHandle.js' */

/**
 * @typedef {object} GatedFeedForwardSizes
 * @property {number} dModel  width of the input and of the output
 * @property {number} dimFeedforward  width between the layers
 * @property {Activation} [activation]  `'silu'` by default, which gives SwiGLU (Llama, Qwen,
 *   Mistral). `'geluTanh'` gives GeGLU (Gemma, T5 1.1), and `'sigmoid'` gives GLU
 * @property {boolean} [bias]  `false` by default
 */

/** @typedef {GatedFeedForwardSizes & InitOptions} GatedFeedForwardOptions */

const checkActivation = choice(kActivations);

/** @type {CheckTable} */
const kOptions = {
  dModel: size(),
  dimFeedforward: size(),
  activation: (name, value = 'silu', values, given) => checkActivation(name, value, values, given),
  bias: flag(false),
  ...kFirstWeights,
};

const kCall = { outputType: true, dropout: true, intermediates: true };

/**
 * The gated feed-forward network of today's Transformers (Shazeer 2020), like LlamaMLP in Hugging Face's
 * Transformers:
 *
 *   output = dropout(f(x · W_gateᵀ) ∘ (x · W_upᵀ)) · W_downᵀ
 *
 * Parameters: `gate_proj.weight` and `up_proj.weight` (dimFeedforward, dModel), `down_proj.weight` (dModel,
 * dimFeedforward), and, if `bias` is set, `gate_proj.bias`, `up_proj.bias` and `down_proj.bias`.
 *
 * @template {ResultKind} [As='array']
 * @extends {Layer<GatedFeedForwardSizes, Native.GatedFeedForward>}
 */
export class GatedFeedForward extends Layer {
  /** @internal */
  static name = 'GatedFeedForward';

  /**
   * @param {Runtime} runtime
   * @param {GatedFeedForwardOptions} options
   */
  constructor(runtime, options) {
    super(
      runtime,
      (native, sizes) => {
        const activation = native.Activation[/** @type {Activation} */ (sizes.activation)];
        return new native.GatedFeedForward({ ...sizes, activation }, firstWeights(native, sizes));
      },
      options,
      kOptions,
    );
  }

  /**
   * Computes down_proj(activation(gate_proj(x)) ∘ up_proj(x)) for each row.
   *
   * @template {Asked} [N=undefined]
   * @template {ElementType} [Output='float32']
   * @overload
   * @param {Given<As, ElementsLike | TensorHandle>} x  (N, dModel) or (B, N, dModel), of any element type
   * @param {Given<As, { dropout?: Dropout | number } & OutputTypeOption<Output>
   *   & IntermediatesOption<N>>} [options]
   * @returns {Gives<As, OutputOrShown<As, N, Output>>} the shape of `x`; with `intermediates`, an object
   *   with `output` and `intermediates`
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `size_overflow`, `out_of_memory`,
   *   `disposed`
   */
  /**
   * @param {any} x
   * @param {any} [options]
   * @returns {any}
   */
  forward(x, options = {}) {
    options = readOptions(options, kCall);
    return this.invoke((call) => {
      const input = call.rows('x', x, this.sizes.dModel, 'dModel', kElementTypes);
      const output = call.output(options.outputType, input.shape);
      const checked = checkLayerCall(call, options);
      call.run(() =>
        this.native.forward(input.native, output.tensor.native, nativeLayerCall(call, checked)),
      );
      return giveShown(call, output, checked);
    });
  }
}
