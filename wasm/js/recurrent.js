import { choice, flag, size } from './checks.js';
import { firstWeights, kFirstWeights, Layer } from './layer.js';
import { checkLayerCall, nativeLayerCall, shown } from './nativeLayerCall.js';
import { readOptions } from './options.js';
import { checkShapeIs } from './shape.js';

/** @import { Asked, InitOptions, IntermediatesOption, ShownIntermediates } from './layer.js' */
/** @import * as Native from './native.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { TensorLike } from './tensor.js' */
/** @import { Given, Gives, ResultKind, ResultTensor } from './tensorHandle.js' */

/**
 * @typedef {object} RecurrentSizes
 * @property {number} inputSize  E, width of the input
 * @property {number} hiddenSize  H, width of the state and the output
 * @property {number} [numLayers]  number of layers, each of which reads the outputs of the previous
 *   layer; 1 by default
 * @property {boolean} [bias]  `true` by default
 */

/** @typedef {RecurrentSizes & InitOptions} GRUOptions */

/** @typedef {GRUOptions & { activation?: 'tanh' | 'relu' }} RNNOptions  tanh by default */

/**
 * @template {ResultKind} [As='array']
 * @typedef {object} RecurrentResult
 * @property {ResultTensor<As>} output  (B, N, H): the last layer's states
 * @property {ResultTensor<As>} hN  (numLayers, B, H): all layers' states after the last step
 */

const kOptions = {
  inputSize: size(),
  hiddenSize: size(),
  numLayers: size(1),
  bias: flag(true),
  ...kFirstWeights,
};

const kRnnOptions = { ...kOptions, activation: choice(['tanh', 'relu']) };

const kCall = { h0: true, intermediates: true };

/**
 * Base class of recurrent layers.
 * @template {ResultKind} [As='array']
 * @extends {Layer<RecurrentSizes, Native.GRU | Native.RNN>}
 */
class Recurrent extends Layer {
  /**
   * Runs the layers over each sequence, from the first token to the last.
   *
   * @template {Asked} [N=undefined]
   * @overload
   * @param {Given<As, TensorLike>} x  (B, N, E) or (N, E)
   * @param {Given<As, { h0?: TensorLike } & IntermediatesOption<N>>} [options]  `h0` is the state before the first step, (numLayers, B, H),
   *   or (numLayers, H) without B; zeros by default
   * @returns {Gives<As, RecurrentResult<As> & ShownIntermediates<As, N>>}
   * @throws {AttnError} `shape_mismatch`, `size_overflow`, `out_of_memory`, `disposed`
   */
  /**
   * @param {any} x
   * @param {any} [options]
   * @returns {any}
   */
  forward(x, options = {}) {
    options = readOptions(options, kCall);
    const { inputSize, hiddenSize, numLayers } = this.sizes;
    return this.invoke((call) => {
      const input = call.rows('x', x, inputSize, 'inputSize');
      const { shape } = input;
      const batch = shape.length === 3 ? [shape[0]] : [];
      const states = [numLayers, ...batch, hiddenSize];
      const output = call.result('output', shape.with(-1, hiddenSize));
      const h0 = options.h0 === undefined ? undefined : call.tensor('h0', options.h0);
      if (h0) checkShapeIs('h0', h0.shape, states);
      const hN = call.result('hN', states);
      const checked = checkLayerCall(call, options);
      call.run(() =>
        this.native.forward(
          input.native,
          output.tensor.native,
          h0?.native ?? null,
          hN.tensor.native,
          nativeLayerCall(call, checked),
        ),
      );
      return { output: call.give(output), hN: call.give(hN), ...shown(call, checked) };
    });
  }
}

/**
 * Gated recurrent units (Cho et al. 2014; torch.nn.GRU with batch_first):
 *
 *   r_t = σ(W_ir x_t + b_ir + W_hr h_(t−1) + b_hr)
 *   z_t = σ(W_iz x_t + b_iz + W_hz h_(t−1) + b_hz)
 *   n_t = tanh(W_in x_t + b_in + r_t ⊙ (W_hn h_(t−1) + b_hn))
 *   h_t = (1 − z_t) ⊙ n_t + z_t ⊙ h_(t−1)
 *
 * Each layer has these parameters, named here for layer 0: `weight_ih_l0` (3·H, E), `weight_hh_l0`
 * (3·H, H), and with `bias` also `bias_ih_l0` and `bias_hh_l0` (3·H,). From layer 1 on, E is H.
 *
 * @template {ResultKind} [As='array']
 * @extends {Recurrent<As>}
 */
export class GRU extends Recurrent {
  /** @internal */
  static name = 'GRU';

  /**
   * @param {Runtime} runtime
   * @param {GRUOptions} options
   */
  constructor(runtime, options) {
    super(
      runtime,
      (native, sizes) => new native.GRU(sizes, firstWeights(native, sizes)),
      options,
      kOptions,
    );
  }
}

/**
 * A recurrent network (Elman 1990; torch.nn.RNN with batch_first):
 *
 *   h_t = tanh(W_ih x_t + b_ih + W_hh h_(t−1) + b_hh)        or relu
 *
 * Each layer has these parameters, named here for layer 0: `weight_ih_l0` (H, E), `weight_hh_l0`
 * (H, H), and with `bias` also `bias_ih_l0` and `bias_hh_l0` (H,). From layer 1 on, E is H.
 *
 * @template {ResultKind} [As='array']
 * @extends {Recurrent<As>}
 */
export class RNN extends Recurrent {
  /** @internal */
  static name = 'RNN';

  /**
   * @param {Runtime} runtime
   * @param {RNNOptions} options
   */
  constructor(runtime, options) {
    super(
      runtime,
      (native, sizes) => {
        const activation = native.RecurrentActivation[/** @type {'tanh'} */ (sizes.activation)];
        return new native.RNN(sizes, activation, firstWeights(native, sizes));
      },
      options,
      kRnnOptions,
    );
  }
}
