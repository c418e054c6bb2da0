import { kScoreNames, sizesOf } from './attentionOptions.js';
import { pointAtCallers } from './callers.js';
import { argumentError, explainedError } from './errors.js';
import { checkCapacity, DecodingState } from './keyValueCache.js';
import { checkIds, checkNumLogits, generate } from './languageModel.js';
import { Layer } from './layer.js';
import { checkLayerAttention } from './multiHeadAttention.js';
import { giveAll } from './nativeAttentionOptions.js';
import { checkLayerCall, nativeLayerCall, shown } from './nativeLayerCall.js';
import { isObjectOf, nativeIn, runtimeOf } from './nativeObject.js';
import { readOptions, wanted } from './options.js';
import { checkEqual } from './shape.js';

/** @import { AskedFor, ExclusionOptions, ScoreOptions } from './attentionOptions.js' */
/** @import { CapacityOption } from './keyValueCache.js' */
/** @import { GenerationOptions, LanguageModelLayer, WeightType } from './languageModel.js' */
/** @import { Asked, IntermediatesOption, ShownIntermediates } from './layer.js' */
/** @import { Loader } from './loadLanguageModel.js' */
/** @import * as Native from './native.js' */
/** @import { NativeCall, NativeTensor } from './nativeCall.js' */
/** @import { Names } from './options.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { Integers, TensorLike } from './tensor.js' */
/** @import { ResultKind, ResultTensor } from './tensorHandle.js' */

/**
 * Description of an encoder–decoder model, read from its files.
 * @typedef {object} EncoderDecoderDescription
 * @property {string} family  `'t5'`, `'mt5'` or `'marian'`, as `model_type` in config.json
 * @property {number} numParameters
 * @property {WeightType} weightType  storage type of the embedding and of the weight matrices
 * @property {number} memory  bytes for the weights, as in LanguageModelDescription
 * @property {number} vocabSize  V
 * @property {number} maxPositions  rows of each table of positions; 0 if there are no tables
 * @property {boolean} sinusoidal  true if a sinusoidal encoding is added
 * @property {boolean} t5Bias  true if all layers of a stack share T5's bias of relative positions
 * @property {number} startId  id of the token with which every target begins
 * @property {boolean} tied  true if the output layer shares the weight of the embedding
 * @property {readonly LanguageModelLayer[]} encoderLayers
 * @property {readonly LanguageModelLayer[]} decoderLayers
 * @property {readonly string[]} unusedTensors  names of tensors in the files that the model does
 *   not use
 * @property {readonly string[]} unusedFields  fields of config.json that have no effect
 * @property {readonly string[]} warnings  sentences about problems in the files
 */

/**
 * @typedef {object} EncodeCall
 * @property {ScoreOptions & ExclusionOptions} [attention]  for every encoder layer. For a batch
 *   that is padded at the end, set `validLens` here and in `crossAttention`
 */

/**
 * @template {boolean} [Logits=boolean]
 * @template {boolean} [Hidden=boolean]
 * @typedef {object} DecodeCall
 * @property {ScoreOptions & ExclusionOptions} [selfAttention]  for every decoder layer, which is
 *   always causal
 * @property {ScoreOptions & ExclusionOptions} [crossAttention]  for every decoder layer
 * @property {Logits} [needLogits]  `true` by default
 * @property {number} [numLogits]  number of tokens, counted from the end, that get logits; all by
 *   default
 * @property {Hidden} [needHidden]  return the output of the last layer, after the last norm
 */

/**
 * @template {ResultKind} [As='array']
 * @typedef {object} EveryDecodeResult
 * @property {ResultTensor<As>} logits  (B, m, V) or (m, V), with `needLogits`
 * @property {ResultTensor<As>} hidden  (B, M, E) or (M, E), with `needHidden`
 */

/**
 * @template {ResultKind} [As='array']
 * @template {boolean} [Logits=boolean]
 * @template {boolean} [Hidden=boolean]
 * @template {Asked} [N=Asked]
 * @typedef {AskedFor<EveryDecodeResult<As>, { logits: Logits, hidden: Hidden }>
 *   & ShownIntermediates<As, N>} DecodeResult
 */

/**
 * @template {ResultKind} [As='array']
 * @template {Asked} [N=Asked]
 * @typedef {{ memory: ResultTensor<As> } & ShownIntermediates<As, N>} EncodeResult  `memory` is
 *   (B, N, E) or (N, E)
 */

/** @type {Names<EncodeCall & IntermediatesOption>} */
const kEncode = { attention: true, intermediates: true };
/** @type {Names<DecodeCall & IntermediatesOption>} */
const kDecode = {
  selfAttention: true,
  crossAttention: true,
  needLogits: true,
  numLogits: true,
  needHidden: true,
  intermediates: true,
};
const kState = 'a state of an encoder–decoder model';

/**
 * Rejects the option `tape`, with which language models are trained.
 * @template T
 * @param {T} options
 * @returns {T}
 */
function withoutTape(options) {
  if (options === null || typeof options !== 'object' || !('tape' in options)) return options;
  const sentence =
    'attn cannot train encoder–decoder models, so a tape cannot record this model; train a language model from loadModel(), or a model that you build from layers such as TransformerEncoder and TransformerDecoder';
  throw explainedError('unsupported', 'tape', sentence);
}

/**
 * An encoder–decoder model loaded from files: an embedding, an encoder, a decoder and an output layer. See
 * `attn.loadEncoderDecoder()`.
 *
 * Parameters: `embedding.weight`, `encoder_positions.weight` and `decoder_positions.weight` if the files have tables
 * of positions, `encoder.…` (see `TransformerEncoder`), `decoder.…` (see `TransformerDecoder`), `output.weight` unless
 * it is tied, and `output.bias`.
 *
 * @template {ResultKind} [As='array']
 * @extends {Layer<any, Native.EncoderDecoderModel>}
 */
export class EncoderDecoderModel extends Layer {
  /** @internal */
  static name = 'EncoderDecoderModel';

  static {
    pointAtCallers(this);
  }

  #description;

  /**
   * @internal use `loadEncoderDecoder()`
   * @param {Runtime} runtime
   * @param {{ loader: Loader, description: EncoderDecoderDescription }} whole
   */
  constructor(runtime, { loader, description }) {
    super(
      runtime,
      (native) =>
        new native.EncoderDecoderModel(/** @type {any} */ (nativeIn(runtime, 'loader', loader))),
      {},
      {},
    );
    this.#description = description;
  }

  /** Description of the model from its files. It is frozen. */
  get description() {
    return this.#description;
  }

  /** @protected */
  facts() {
    const { family, numParameters, encoderLayers, decoderLayers } = this.#description;
    return {
      ...{ family, numParameters },
      ...{ numEncoderLayers: encoderLayers.length, numDecoderLayers: decoderLayers.length },
    };
  }

  /**
   * Encodes a source sequence.
   * @template {Asked} [N=undefined]
   * @param {Integers} ids  (N,) or (B, N)
   * @param {EncodeCall & IntermediatesOption<N>} [options]  for example, `intermediates:
   *   ['encoder.layers.0.self_attn.weights', 'encoder_embedded']`
   * @returns {EncodeResult<As, N>}
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `size_overflow`, `out_of_memory`, `disposed`;
   *   `unsupported` for the option `tape`, or if numbers overflow
   */
  encode(ids, options = {}) {
    const { attention: given = {}, intermediates } = readOptions(withoutTape(options), kEncode);
    const attention = readOptions(given, kScoreNames, 'attention');
    const { encoderLayers, vocabSize } = this.#description;
    const tensor = checkIds(ids, vocabSize);
    const { shape } = tensor;
    const length = shape[shape.length - 1];
    return this.invoke((call) => {
      const tokens = call.numbers('ints', 'ids', tensor);
      const rows = [...shape, encoderLayers[0].dModel];
      const memory = call.result('memory', rows);
      const checked = {
        attention: checkLayerAttention(call, attention, rows, encoderLayers[0], length),
        ...checkLayerCall(call, { intermediates }),
      };
      call.run(() =>
        this.native.encode(tokens.native, memory.tensor.native, nativeLayerCall(call, checked)),
      );
      return /** @type {any} */ ({ memory: call.give(memory), ...shown(call, checked) });
    });
  }

  /**
   * Starts decoding token by token: returns a state with the projected `memory` and no tokens yet.
   * @param {TensorLike} memory  (B, N, E) or (N, E), from `encode()`
   * @param {CapacityOption} [options]
   * @returns {DecodingState}
   */
  start(memory, options = {}) {
    return this.invoke((call) => {
      const rows = this.#checkMemory(call, memory);
      const { batch, length } = sizesOf(rows.shape);
      const { capacity, type } = checkCapacity(options);
      const state = call.run(({ ElementType }) =>
        this.native.start(rows.native, capacity, ElementType[type]),
      );
      return new DecodingState(
        runtimeOf(this),
        /** @type {Native.TransformerDecoderState} */ (state),
        kState,
        batch,
        length,
      );
    });
  }

  /**
   * Decodes tokens of a target. Row i of the logits predicts the token after token i.
   * @template {boolean} [Logits=true]
   * @template {boolean} [Hidden=false]
   * @template {Asked} [N=undefined]
   * @param {Integers} ids  (M,) or (B, M); the first token of a target is `description.startId`
   * @param {TensorLike | DecodingState} memory  from `encode()`, or a state from `start()`. With a
   *   state, `ids` are the next tokens of the target
   * @param {DecodeCall<Logits, Hidden> & IntermediatesOption<N>} [options]  names of intermediates
   *   are, for example, `decoder.layers.0.self_attn.weights` and
   *   `decoder.layers.0.multihead_attn.weights` (cross attention)
   * @returns {DecodeResult<As, Logits, Hidden, N>}
   * @throws {AttnError} like `encode`. After an error, the state is unchanged
   */
  decode(ids, memory, options = {}) {
    /** @type {DecodeCall & IntermediatesOption} */
    const call = readOptions(withoutTape(options), kDecode);
    const { selfAttention: self = {}, crossAttention: cross = {}, intermediates } = call;
    const selfAttention = readOptions(self, kScoreNames, 'selfAttention');
    const crossAttention = readOptions(cross, kScoreNames, 'crossAttention');
    const { needLogits = true } = call;
    wanted('needLogits', needLogits);
    const needHidden = wanted('needHidden', call.needHidden);
    const { decoderLayers, vocabSize } = this.#description;
    const tensor = checkIds(ids, vocabSize);
    const { shape } = tensor;
    const length = shape[shape.length - 1];
    const { numLogits = length } = call;
    const state = isObjectOf(memory, DecodingState) ? memory : undefined;
    const past = state ? state.length : 0;
    return this.invoke((native) => {
      const tokens = native.numbers('ints', 'ids', tensor);
      checkNumLogits(numLogits, length);
      const batch = shape.slice(0, -1);
      const rows = [...shape, decoderLayers[0].dModel];
      const kept = state ? checkState(native, state, batch[0] ?? 1) : null;
      const encoded = state
        ? undefined
        : this.#checkMemory(native, /** @type {TensorLike} */ (memory), rows);
      const numKeys = state ? state.memoryLength : sizesOf(encoded?.shape ?? []).length;
      const results = {
        logits: needLogits ? native.result('logits', [...batch, numLogits, vocabSize]) : undefined,
        hidden: needHidden ? native.result('hidden', rows) : undefined,
      };
      const checked = {
        attention: checkLayerAttention(
          native,
          selfAttention,
          rows,
          decoderLayers[0],
          past + length,
        ),
        crossAttention: checkLayerAttention(
          native,
          crossAttention,
          rows,
          decoderLayers[0],
          numKeys,
        ),
        ...checkLayerCall(native, { intermediates }),
      };
      native.run(() =>
        this.native.decode(
          tokens.native,
          encoded?.native ?? null,
          kept,
          results.logits?.tensor.native ?? null,
          results.hidden?.tensor.native ?? null,
          nativeLayerCall(native, checked),
        ),
      );
      return /** @type {any} */ ({ ...giveAll(native, results), ...shown(native, checked) });
    });
  }

  /**
   * Encodes the ids and generates the tokens of a target, one at a time, with a state. The result
   * does not include the start token. There is no beam search.
   * @param {Integers} ids  (N,), N ≥ 1
   * @param {GenerationOptions} [options]
   * @returns {number[]}
   * @throws {AttnError} like `decode`; `invalid_argument` if there are more tokens than positions
   */
  generate(ids, options = {}) {
    return generate(this, checkIds(ids, this.#description.vocabSize), options);
  }

  /**
   * @param {NativeCall} call
   * @param {TensorLike} memory
   * @param {readonly number[]} [rows]  shape of the decoder's input
   * @returns {NativeTensor}
   */
  #checkMemory(call, memory, rows) {
    const { dModel } = this.#description.encoderLayers[0];
    const encoded = call.rows('memory', memory, dModel, 'dModel');
    if (!rows) return encoded;
    const { shape } = encoded;
    checkEqual('memory', 'rank', shape.length, 'the rank that fits the ids', rows.length);
    if (rows.length === 3) checkEqual('memory', 'batch', shape[0], 'the batch of ids', rows[0]);
    return encoded;
  }
}

/**
 * @param {NativeCall} call
 * @param {DecodingState} state
 * @param {number} batch  batch of the ids
 */
function checkState(call, state, batch) {
  const native = call.object('memory', state);
  if (state.kind !== kState) {
    throw argumentError('invalid_argument', 'memory', state.kind, kState);
  }
  checkEqual('ids', 'batch', batch, 'the batch of the state', state.batch);
  return /** @type {Native.TransformerDecoderState} */ (native);
}
