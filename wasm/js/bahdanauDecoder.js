import { pointAtCallers } from './callers.js';
import { giveEach, writeLengths } from './attentionOptions.js';
import { invalid } from './errors.js';
import { Layer } from './layer.js';
import { isObjectOf, NativeObject, runtimeOf, oldNative } from './nativeObject.js';
import { checkIntegers, readTensor } from './tensor.js';
import { readOptions, kInit, like, size, wanted } from './options.js';
import { checkEqual } from './shape.js';

/** @import { AskedFor } from './attentionOptions.js' */
/** @import { Asked, InitOptions, IntermediatesOption, ShownIntermediates } from './layer.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { Integers, NumbersLike, Tensor, TensorLike } from './tensor.js' */
/** @import { ResultKind, ResultTensor } from './tensorHandle.js' */

/**
 * @typedef {object} BahdanauDecoderSizes
 * @property {number} vocabSize  V, of the target language
 * @property {number} embedSize  width of the embedding of a target token
 * @property {number} numHiddens  H, of the attention and of the GRU
 * @property {number} [numLayers]  of the GRU; 1 by default
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
 * @property {ResultTensor<As>} alignment  (B, T, Nk), with `needAlignment`: row t is how strongly
 *   step t looks at each of the encoder's outputs
 */

/**
 * @template {ResultKind} [As='array']
 * @template {boolean} [Alignment=boolean]
 * @typedef {BahdanauDecoderOutput<As>
 *   & AskedFor<BahdanauDecoderStages<As>, { alignment: Alignment }>} BahdanauDecoderResult
 */

/** What a BahdanauDecoder carries from step to step. */
export class BahdanauDecoderState extends NativeObject {
  /** @internal */
  static name = 'BahdanauDecoderState';

  static {
    pointAtCallers(this);
  }

  /**
   * @param {Runtime} runtime
   * @param {number} address
   * @param {number} batch
   * @param {number} numKeys
   */
  constructor(runtime, address, batch, numKeys) {
    super(runtime, oldNative(runtime, 'deleteBahdanauState', address));
    /** B. @readonly */
    this.batch = batch;
    /** Length of the encoder's outputs, padding included. @readonly */
    this.numKeys = numKeys;
  }

  /** @protected */
  facts() {
    const { batch, numKeys } = this;
    return { batch, numKeys };
  }

  /**
   * A copy of the hidden state.
   * @returns {Tensor} (numLayers, B, H)
   */
  hidden() {
    return this.call((call) => {
      call.run('hiddenOfBahdanauState');
      return call.givenTensor('hidden');
    });
  }

  /**
   * A state of its own that goes on from here, for example for beam search.
   * @returns {BahdanauDecoderState}
   */
  clone() {
    const address = this.ask('cloneBahdanauState');
    return new BahdanauDecoderState(runtimeOf(this), address, this.batch, this.numKeys);
  }
}

const kOptions = {
  vocabSize: size(),
  embedSize: size(),
  numHiddens: size(),
  numLayers: size(1),
  encoderDim: like('numHiddens', size()),
  ...kInit,
};

const kState = { encoderLens: true };
const kStep = { needAlignment: true, intermediates: true };

/**
 * The decoder of Bahdanau et al. (2015), which learned to align and translate, as D2L 11.4 has it
 * (Seq2SeqAttentionDecoder). At each step
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
 * @extends {Layer<BahdanauDecoderSizes>}
 */
export class BahdanauDecoder extends Layer {
  /** @internal */
  static name = 'BahdanauDecoder';

  /**
   * @param {Runtime} runtime
   * @param {BahdanauDecoderOptions} options
   */
  constructor(runtime, options) {
    super(runtime, 'BahdanauDecoder', options, kOptions);
  }

  /**
   * The state before the first step. Everything is copied.
   * @param {TensorLike} encoderOutputs  (B, Nk, encoderDim)
   * @param {TensorLike} hidden  (numLayers, B, H), the encoder's final state
   * @param {{ encoderLens?: Integers }} [options]  `encoderLens` (B,), where outputs are padded
   * @returns {BahdanauDecoderState}
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `out_of_memory`, `disposed`
   */
  initState(encoderOutputs, hidden, options = {}) {
    options = readOptions(options, kState);
    const { encoderDim, numLayers, numHiddens } = this.sizes;
    let [batch, numKeys] = [0, 0];
    const address = this.ask('startBahdanauDecoder', (call) => {
      const needed = [-1, -1, encoderDim];
      [batch, numKeys] = call.floatsOf('encoderOutputs', encoderOutputs, needed);
      call.floatsOf('hidden', hidden, [numLayers, batch, numHiddens]);
      writeLengths(call, 'encoderLens', options.encoderLens, batch, undefined, numKeys);
    });
    return new BahdanauDecoderState(runtimeOf(this), address, batch, numKeys);
  }

  /**
   * Decodes T tokens one after the other: all at once (teacher forcing) gives the same bits as T
   * calls.
   * @template {boolean} [Alignment=false]
   * @template {Asked} [N=undefined]
   * @param {NumbersLike} tokens  (B, T), from 0 to V − 1
   * @param {BahdanauDecoderState} state  moves on
   * @param {{ needAlignment?: Alignment } & IntermediatesOption<N>} [options]
   * @returns {BahdanauDecoderResult<As, Alignment> & ShownIntermediates<As, N>}
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `out_of_memory`, `disposed`; the state
   *   is then as it was
   */
  forward(tokens, state, options = {}) {
    options = readOptions(options, kStep);
    const needAlignment = wanted('needAlignment', options.needAlignment);
    const read = readTensor('tokens', tokens, { 2: '(B, T)' });
    const most = this.sizes.vocabSize - 1;
    const ids = checkIntegers('tokens', read, 0, most, `a token from 0 to ${most}`);
    if (!isObjectOf(state, BahdanauDecoderState)) {
      throw invalid('state', state, 'what initState() gives');
    }
    const [batch, length] = ids.shape;
    checkEqual('tokens', 'batch', batch, 'the batch of state', state.batch);
    return this.call((call) => {
      call.numbers('ints', 'tokens', ids);
      call.object('state', state);
      const logits = call.result('logits', [batch, length, this.sizes.vocabSize]);
      const shape = [batch, length, state.numKeys];
      const alignment = call.resultIf(needAlignment, 'alignment', shape);
      const names = call.intermediates(options.intermediates);
      call.run('forwardBahdanauDecoder');
      return { ...giveEach(call, { logits, alignment }), ...call.shown(names) };
    });
  }
}
