import { pointAtCallers } from './callers.js';
import { like, size } from './checks.js';
import { invalid } from './errors.js';
import { firstWeights, kFirstWeights, Layer } from './layer.js';
import { giveAll, lengths } from './nativeAttentionOptions.js';
import { checkLayerCall, nativeLayerCall, shown } from './nativeLayerCall.js';
import { isObjectOf, NativeObject, runtimeOf } from './nativeObject.js';
import { readOptions, wanted } from './options.js';
import { checkEqual, checkShapeIs } from './shape.js';
import { checkIntegers, readTensor } from './tensor.js';

/** @import { AskedFor } from './attentionOptions.js' */
/** @import { Asked, InitOptions, IntermediatesOption, ShownIntermediates } from './layer.js' */
/** @import * as Native from './native.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { Integers, NumbersLike, Tensor, TensorLike } from './tensor.js' */
/** @import { Given, Gives, ResultKind, ResultTensor } from './tensorHandle.js' */

/**
 * @typedef {object} BahdanauDecoderSizes
 * @property {number} vocabSize  V, the number of tokens in the target language
 * @property {number} embedSize  width of the embedding of a target token
 * @property {number} numHiddens  H, the width of the attention and of the GRU
 * @property {number} [numLayers]  number of layers of the GRU; 1 by default
 * @property {number} [encoderDim]  width of the encoder's outputs; H by default
 */

/** @typedef {BahdanauDecoderSizes & InitOptions} BahdanauDecoderOptions */

/**
 * @template {ResultKind} [As='array']
 * @typedef {object} BahdanauDecoderOutput
 * @property {ResultTensor<As>} logits  (B, T, V)
 */

/**
 * @template {ResultKind} [As='array']
 * @typedef {object} BahdanauDecoderStages
 * @property {ResultTensor<As>} alignment  (B, T, Nk), with `needAlignment`: row t holds the weights of
 *   step t on the encoder's outputs
 */

/**
 * @template {ResultKind} [As='array']
 * @template {boolean} [Alignment=boolean]
 * @typedef {BahdanauDecoderOutput<As>
 *   & AskedFor<BahdanauDecoderStages<As>, { alignment: Alignment }>} BahdanauDecoderResult
 */

/**
 * State that a BahdanauDecoder carries from step to step.
 * @extends {NativeObject<Native.BahdanauDecoderState>}
 */
export class BahdanauDecoderState extends NativeObject {
  /** @internal */
  static name = 'BahdanauDecoderState';

  static {
    pointAtCallers(this);
  }

  #hiddenShape;

  /**
   * @param {Runtime} runtime
   * @param {Native.BahdanauDecoderState} native
   * @param {readonly number[]} hiddenShape  (numLayers, B, H)
   * @param {number} numKeys
   */
  constructor(runtime, native, hiddenShape, numKeys) {
    super(runtime, native);
    this.#hiddenShape = hiddenShape;
    /** B. @readonly */
    this.batch = hiddenShape[1];
    /** Length of the encoder's outputs, including padding. @readonly */
    this.numKeys = numKeys;
  }

  /** @protected */
  facts() {
    const { batch, numKeys } = this;
    return { batch, numKeys };
  }

  /**
   * Returns a copy of the hidden state.
   * @returns {Tensor} (numLayers, B, H)
   */
  hidden() {
    return runtimeOf(this).invoke((call) => {
      const hidden = call.result('hidden', this.#hiddenShape);
      call.run(() => this.native.readHidden(hidden.tensor.native));
      return call.give(hidden);
    }, 'array');
  }

  /**
   * Returns an independent copy of this state, for example for beam search.
   * @returns {BahdanauDecoderState}
   */
  clone() {
    const copy = /** @type {Native.BahdanauDecoderState} */ (this.enter((state) => state.copy()));
    return new BahdanauDecoderState(runtimeOf(this), copy, this.#hiddenShape, this.numKeys);
  }
}

const kOptions = {
  vocabSize: size(),
  embedSize: size(),
  numHiddens: size(),
  numLayers: size(1),
  encoderDim: like('numHiddens', size()),
  ...kFirstWeights,
};

const kState = { encoderLens: true };
const kStep = { needAlignment: true, intermediates: true };

/**
 * The decoder of Bahdanau et al. (2015), which learns to align and translate, as in D2L 11.4
 * (Seq2SeqAttentionDecoder). At each step:
 *
 *   context = additive attention(query: the last layer's hidden state, keys and values: the
 *             encoder's outputs)
 *   output, hidden = GRU([context, embedding of the token], hidden)
 *   logits = dense(output)
 *
 * Parameters, with the names of D2L's state_dict: `attention.W_k.weight`, `attention.W_q.weight`,
 * `attention.w_v.weight`, `embedding.weight` (V, embedSize), `rnn.weight_ih_l0` …, `dense.weight`
 * (V, H), `dense.bias` (V,).
 *
 * @template {ResultKind} [As='array']
 * @extends {Layer<BahdanauDecoderSizes, Native.BahdanauDecoder>}
 */
export class BahdanauDecoder extends Layer {
  /** @internal */
  static name = 'BahdanauDecoder';

  /**
   * @param {Runtime} runtime
   * @param {BahdanauDecoderOptions} options
   */
  constructor(runtime, options) {
    super(
      runtime,
      (native, sizes) => new native.BahdanauDecoder(sizes, firstWeights(native, sizes)),
      options,
      kOptions,
    );
  }

  /**
   * Returns the state before the first step. All arguments are copied.
   * @param {TensorLike} encoderOutputs  (B, Nk, encoderDim)
   * @param {TensorLike} hidden  (numLayers, B, H), the encoder's final state
   * @param {{ encoderLens?: Integers }} [options]  `encoderLens` (B,), if outputs are padded
   * @returns {BahdanauDecoderState}
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `out_of_memory`, `disposed`
   */
  initState(encoderOutputs, hidden, options = {}) {
    options = readOptions(options, kState);
    const { encoderDim, numLayers, numHiddens } = this.sizes;
    return this.invoke((call) => {
      const outputs = call.tensor('encoderOutputs', encoderOutputs);
      checkShapeIs('encoderOutputs', outputs.shape, [-1, -1, encoderDim]);
      const [batch, numKeys] = outputs.shape;
      const first = call.tensor('hidden', hidden);
      checkShapeIs('hidden', first.shape, [numLayers, batch, numHiddens]);
      const lens = lengths(call, 'encoderLens', options.encoderLens, batch, undefined, numKeys);
      const state = call.run(() =>
        this.native.initState(outputs.native, first.native, lens?.native ?? null),
      );
      const native = /** @type {Native.BahdanauDecoderState} */ (state);
      return new BahdanauDecoderState(runtimeOf(this), native, first.shape, numKeys);
    });
  }

  /**
   * Decodes T tokens one after another. One call for all tokens (teacher forcing) gives the same bits as
   * T calls.
   * @template {boolean} [Alignment=false]
   * @template {Asked} [N=undefined]
   * @overload
   * @param {Given<As, NumbersLike>} tokens  (B, T), from 0 to V − 1
   * @param {Given<As, BahdanauDecoderState>} state  the call advances it by T steps
   * @param {Given<As, { needAlignment?: Alignment } & IntermediatesOption<N>>} [options]
   * @returns {Gives<As, BahdanauDecoderResult<As, Alignment> & ShownIntermediates<As, N>>}
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `out_of_memory`, `disposed`; the state
   *   is then unchanged
   */
  /**
   * @param {any} tokens
   * @param {any} state
   * @param {any} [options]
   * @returns {any}
   */
  forward(tokens, state, options = {}) {
    options = readOptions(options, kStep);
    const needAlignment = wanted('needAlignment', options.needAlignment);
    const read = readTensor('tokens', tokens, { 2: '(B, T)' });
    const most = this.sizes.vocabSize - 1;
    const ids = checkIntegers('tokens', read, 0, most, `a token id from 0 to ${most}`);
    if (!isObjectOf(state, BahdanauDecoderState)) {
      throw invalid('state', state, 'a state from initState()');
    }
    const [batch, length] = ids.shape;
    checkEqual('tokens', 'batch', batch, 'the batch of the state', state.batch);
    return this.invoke((call) => {
      const given = call.numbers('ints', 'tokens', ids);
      const kept = call.object('state', state);
      const logits = call.result('logits', [batch, length, this.sizes.vocabSize]);
      const alignment = needAlignment
        ? call.result('alignment', [batch, length, state.numKeys])
        : undefined;
      const checked = checkLayerCall(call, options);
      call.run(() =>
        this.native.forward(
          given.native,
          kept,
          logits.tensor.native,
          alignment?.tensor.native ?? null,
          nativeLayerCall(call, checked),
        ),
      );
      return { ...giveAll(call, { logits, alignment }), ...shown(call, checked) };
    });
  }
}
