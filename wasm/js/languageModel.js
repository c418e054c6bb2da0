import { pointAtCallers } from './callers.js';
import { argumentError, checkInteger, explainedError, invalid } from './errors.js';
import { kScoreNames } from './attentionOptions.js';
import { computeContributions, kContributionOptions } from './contributions.js';
import { kInterventions } from './interventions.js';
import { lengthOfCaches, makeCaches } from './keyValueCache.js';
import { Layer } from './layer.js';
import { checkLayerAttention } from './multiHeadAttention.js';
import { giveAll } from './nativeAttentionOptions.js';
import { checkLayerCall, nativeLayerCall, shown } from './nativeLayerCall.js';
import { nativeIn, runtimeOf } from './nativeObject.js';
import { checkOptions, checkValues, finite, kRandomStream, natural, real } from './checks.js';
import { readOptions, readArray, wanted } from './options.js';
import { checkIntegers, readTensor } from './tensor.js';
import { TensorHandle } from './tensorHandle.js';
import { TransformerEncoderLayer } from './transformerEncoder.js';

/** @import { Activation } from './activation.js' */
/** @import { AskedFor, ExclusionOptions, ScoreOptions } from './attentionOptions.js' */
/** @import { PositionsOption } from './attentionPositions.js' */
/** @import { ContributionOptions, Contributions } from './contributions.js' */
/** @import { RandomOptions } from './dropout.js' */
/** @import { CapacityOption, LayerCaches } from './keyValueCache.js' */
/** @import { InterventionOptions } from './interventions.js' */
/** @import { Asked, IntermediatesOption, ShownIntermediates } from './layer.js' */
/** @import { Loader } from './loadLanguageModel.js' */
/** @import { CheckTable } from './checks.js' */
/** @import * as Native from './native.js' */
/** @import { NativeCall, NativeTensor } from './nativeCall.js' */
/** @import { NativeObject } from './nativeObject.js' */
/** @import { Names } from './options.js' */
/** @import { RotaryScaling } from './rotaryEmbedding.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { Integers, TensorLike } from './tensor.js' */
/** @import { ResultKind, ResultTensor } from './tensorHandle.js' */

/** @typedef {'float32' | 'float16' | 'bfloat16'} WeightType */

/**
 * One layer, as described by the files of a model.
 * @typedef {object} LanguageModelLayer
 * @property {number} dModel  E
 * @property {number} numHeads
 * @property {number} numKvHeads
 * @property {number} headDim
 * @property {number} dimFeedforward
 * @property {Activation} activation
 * @property {boolean} gatedFeedForward
 * @property {boolean} normFirst
 * @property {boolean} normOutputs
 * @property {boolean} parallelResidual
 * @property {boolean} qkNorm
 * @property {boolean} sinks
 * @property {number} softcap  0 if there is none
 * @property {number} [scale]  1/√D if absent
 * @property {number} [windowLeft]  number of previous tokens that a token attends to, if limited
 * @property {boolean} rmsNorm  true for RMSNorm, false for LayerNorm
 * @property {boolean} zeroCentredNorm  true if norms multiply by 1 + weight, as in Gemma
 * @property {number} normEps  rounded to float32
 * @property {number} [rotaryDim]  number of rotated columns of a head, if positions are rotary
 * @property {number} [rotaryBase]  base of the rotary frequencies, before scaling
 * @property {RotaryScaling['type']} [rotaryScaling]  the rule that scales the frequencies, if any
 */

/**
 * Description of a model, read from its files.
 * @typedef {object} LanguageModelDescription
 * @property {string} family  `'gpt2'`, `'llama'` and so on, as `model_type` in config.json;
 *   `'torch.nn.TransformerEncoder'` or `'attn'`
 * @property {number} numParameters
 * @property {WeightType} weightType  storage type of the embedding and of the weight matrices
 * @property {number} memory  bytes for the weights. A 16-bit weight takes 2 bytes. A float32 weight
 *   takes 4 bytes, or 8 in a matrix that also has a copy in the order in which matrix products read
 *   it. Caches and calls need additional memory.
 * @property {number} vocabSize  V; 0 if the model takes vectors
 * @property {number} maxPositions  rows of the learned table of positions; 0 if there is none
 * @property {boolean} sinusoidal  true if a sinusoidal encoding is added
 * @property {number} numTokenTypes
 * @property {boolean} causal
 * @property {boolean} hasLogits
 * @property {boolean} tied  true if the output layer shares the weight of the embedding
 * @property {boolean} hasPooler
 * @property {number} finalSoftcap  0 if there is none
 * @property {readonly LanguageModelLayer[]} layers
 * @property {readonly string[]} unusedTensors  names of tensors in the files that the model does
 *   not use
 * @property {readonly string[]} unusedFields  fields of config.json that have no effect
 * @property {readonly string[]} warnings  sentences about problems in the files, for example a flag
 *   in config.json that contradicts the tensors
 */

/**
 * @template {boolean} [Logits=boolean]
 * @template {boolean} [Hidden=boolean]
 * @template {boolean} [Pooled=boolean]
 * @typedef {object} LanguageModelCall
 * @property {ScoreOptions & ExclusionOptions} [attention]  for every layer; `causal` applies in
 *   addition to the model's own `causal`
 * @property {LayerCaches} [caches]  from `makeCaches()`; the tokens then continue a sequence
 * @property {Integers} [tokenTypes]  for BERT, with the shape of the ids; all 0 by default
 * @property {Logits} [needLogits]  `true` by default
 * @property {number} [numLogits]  number of tokens, counted from the end, that get logits; all by
 *   default
 * @property {Hidden} [needHidden]  return the output of the last layer, after the last norm
 * @property {Pooled} [needPooled]  return the output of BERT's pooler
 */

/**
 * @template {ResultKind} [As='array']
 * @typedef {object} EveryLanguageModelResult
 * @property {ResultTensor<As>} logits  (B, n, V) or (n, V), with `needLogits`
 * @property {ResultTensor<As>} hidden  (B, N, E) or (N, E), with `needHidden`
 * @property {ResultTensor<As>} pooled  (B, E) or (E,), with `needPooled`
 */

/**
 * @template {ResultKind} [As='array']
 * @template {boolean} [Logits=boolean]
 * @template {boolean} [Hidden=boolean]
 * @template {boolean} [Pooled=boolean]
 * @template {Asked} [N=Asked]
 * @typedef {AskedFor<EveryLanguageModelResult<As>,
 *   { logits: Logits, hidden: Hidden, pooled: Pooled }> & ShownIntermediates<As, N>} LanguageModelResult
 */

/**
 * Options for choosing a token from logits.
 * @typedef {object} SamplingChoice
 * @property {number} [temperature]  divides the logits; 0, the default, chooses the token with the
 *   largest logit
 * @property {number} [topK]  number of most probable tokens to choose from; 0, the default, allows all
 */

/** @typedef {SamplingChoice & RandomOptions} SamplingOptions */

/**
 * @typedef {SamplingOptions & { step?: number }} ChooseTokenOptions  `step` is the index of the
 * random number in its stream; 0 by default
 */

/**
 * @typedef {object} GenerationLimits
 * @property {number} [maxNewTokens]  20 by default
 * @property {readonly number[]} [stopIds]  token ids that end generation; the result includes the
 *   id that ended it
 */

/** @typedef {SamplingOptions & GenerationLimits} GenerationOptions */

/** @type {Names<LanguageModelCall & PositionsOption & IntermediatesOption & InterventionOptions>} */
const kCall = {
  attention: true,
  positions: true,
  caches: true,
  tokenTypes: true,
  needLogits: true,
  numLogits: true,
  needHidden: true,
  needPooled: true,
  intermediates: true,
  ...kInterventions,
};
/** @type {CheckTable} */
const kSampling = { temperature: real(0), topK: natural(0), ...kRandomStream };
/** @type {CheckTable} */
const kChoosing = { ...kSampling, step: natural(0) };
const kGenerating = { ...kSampling, maxNewTokens: true, stopIds: true };

/**
 * A language model loaded from files: an embedding, a Transformer and an output layer. See
 * `attn.loadModel()`.
 *
 * Parameters: `embedding.weight`, `project_in.weight` if the width of the embedding differs from
 * the width of the layers, `positions.weight`, `token_types.weight`, `embedding_norm.…`,
 * `encoder.…` (see `TransformerEncoder`), `transform.…` and `transform_norm.…` of BERT's head,
 * `project_out.weight`, `output.weight` unless it is tied, `output.bias`, and `pooler.…`.
 *
 * @template {ResultKind} [As='array']
 * @extends {Layer<any, Native.LanguageModel>}
 */
export class LanguageModel extends Layer {
  /** @internal */
  static name = 'LanguageModel';

  static {
    pointAtCallers(this);
  }

  #description;

  /**
   * @internal use `loadModel()`
   * @param {Runtime} runtime
   * @param {{ loader: Loader, description: LanguageModelDescription }} whole
   */
  constructor(runtime, { loader, description }) {
    super(
      runtime,
      (native) => new native.LanguageModel(nativeIn(runtime, 'loader', loader)),
      { layers: description.layers },
      { layers: (/** @type {string} */ _, /** @type {unknown} */ layers) => layers },
    );
    this.#description = description;
    /**
     * The layers, which share the weights of the model. You can run each layer alone, for example
     * to see all stages of its attention. The layers live as long as the model.
     * @readonly
     * @type {readonly TransformerEncoderLayer<As>[]}
     */
    this.layers = description.layers.map(
      (layer, index) =>
        new TransformerEncoderLayer(runtime, /** @type {any} */ (layer), { owner: this, index }),
    );
  }

  /** Description of the model from its files. It is frozen. */
  get description() {
    return this.#description;
  }

  /** @protected */
  facts() {
    const { family, numParameters, layers } = this.#description;
    return { family, numParameters, numLayers: layers.length };
  }

  /**
   * Runs the model on tokens: embeddings, all layers and the output layer.
   *
   * @template {boolean} [Logits=true]
   * @template {boolean} [Hidden=false]
   * @template {boolean} [Pooled=false]
   * @template {Asked} [N=undefined]
   * @param {Integers} ids  (N,) or (B, N)
   * @param {LanguageModelCall<Logits, Hidden, Pooled> & PositionsOption
   *   & IntermediatesOption<N> & InterventionOptions} [options]
   * @returns {LanguageModelResult<As, Logits, Hidden, Pooled, N>}
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `not_found`, `size_overflow`, `out_of_memory`,
   *   `disposed`; `unsupported` if a result needs a layer that the model lacks, or if numbers overflow. For an overflow,
   *   the error's `argument` is the first layer in which it happens. After an error, caches are unchanged
   */
  forward(ids, options = {}) {
    const tensor = checkIdsOf(this.#description, ids);
    return this.#run(tensor.shape, options, 'forward', (call) =>
      call.numbers('ints', 'ids', tensor),
    );
  }

  /**
   * Runs the model on vectors instead of token embeddings. Positions and token types are still added.
   * @template {boolean} [Logits=true]
   * @template {boolean} [Hidden=false]
   * @template {boolean} [Pooled=false]
   * @template {Asked} [N=undefined]
   * @param {TensorLike} x  (N, E) or (B, N, E)
   * @param {LanguageModelCall<Logits, Hidden, Pooled> & PositionsOption
   *   & IntermediatesOption<N> & InterventionOptions} [options]
   * @returns {LanguageModelResult<As, Logits, Hidden, Pooled, N>}
   * @throws {AttnError} like `forward`
   */
  forwardVectors(x, options = {}) {
    const width = this.#description.layers[0].dModel;
    const read = x instanceof TensorHandle ? x : readTensor('x', x);
    return this.#run(read.shape.slice(0, -1), options, 'forwardVectors', (call) =>
      call.rows('x', read, width, 'dModel'),
    );
  }

  /**
   * @param {readonly number[]} tokens  shape of the tokens
   * @param {LanguageModelCall & PositionsOption & IntermediatesOption & InterventionOptions} options
   * @param {'forward' | 'forwardVectors'} forward
   * @param {(call: NativeCall) => NativeTensor} check  checks the input and returns it
   * @returns {any}
   */
  #run(tokens, options, forward, check) {
    options = readOptions(options, kCall);
    const length = tokens[tokens.length - 1];
    const { attention: given = {}, caches, tokenTypes, numLogits = length } = options;
    const attention = readOptions(given, kScoreNames, 'attention');
    const { needLogits = true } = options;
    wanted('needLogits', needLogits);
    const needHidden = wanted('needHidden', options.needHidden);
    const needPooled = wanted('needPooled', options.needPooled);
    // The length of a cache must be read before invoke(), because reading the length calls C++.
    const past = lengthOfCaches(caches);
    const { layers, vocabSize, numTokenTypes } = this.#description;
    const { dModel } = layers[0];
    const batch = tokens.slice(0, -1);
    return this.invoke((call) => {
      const input = check(call);
      const types =
        tokenTypes === undefined ? undefined : checkTypes(call, tokenTypes, numTokenTypes);
      checkNumLogits(numLogits, length);
      const results = {
        logits: needLogits ? call.result('logits', [...batch, numLogits, vocabSize]) : undefined,
        hidden: needHidden ? call.result('hidden', [...batch, length, dModel]) : undefined,
        pooled: needPooled ? call.result('pooled', [...batch, dModel]) : undefined,
      };
      const kept = caches === undefined ? null : call.object('caches', caches);
      const shape = [...batch, length, dModel];
      const checked = {
        attention: checkLayerAttention(call, attention, shape, layers[0], past + length),
        ...checkLayerCall(call, options),
      };
      call.run(() =>
        this.native[forward](
          input.native,
          types?.native ?? null,
          results.logits?.tensor.native ?? null,
          results.hidden?.tensor.native ?? null,
          results.pooled?.tensor.native ?? null,
          kept,
          nativeLayerCall(call, checked),
        ),
      );
      return { ...giveAll(call, results), ...shown(call, checked) };
    });
  }

  /**
   * Applies only the final norm and the output layer: computes the logits that the model would give if `x` were the
   * output of its last layer. For the output of an earlier layer, such as the intermediate
   * `encoder.layers.3.output`, this is the logit lens.
   * @param {TensorLike} x  (N, E) or (B, N, E)
   * @returns {ResultTensor<As>} (N, V) or (B, N, V)
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `size_overflow`, `out_of_memory`, `disposed`;
   *   `unsupported` if the model has no output layer
   */
  unembed(x) {
    const { layers, vocabSize } = this.#description;
    return this.invoke((call) => {
      const input = call.rows('x', x, layers[0].dModel, 'dModel');
      const logits = call.result('logits', [...input.shape.slice(0, -1), vocabSize]);
      call.run(() => this.native.unembed(input.native, logits.tensor.native));
      return call.give(logits);
    });
  }

  /**
   * Splits the logit of a token into the contributions of the embedding, the heads, the feed-forward networks and
   * the biases. They add up to the logit before the final softcap.
   * @param {Integers} ids  (N,)
   * @param {number} target  id of the token
   * @param {ContributionOptions & PositionsOption} [options]
   * @returns {Contributions}
   * @throws {AttnError} like `forward`; `unsupported` if layers normalise the residual stream, as in BERT, or if the
   *   model has no output layer
   */
  contributions(ids, target, options = {}) {
    const tensor = checkIdsOf(this.#description, ids);
    options = readOptions(options, kContributionOptions);
    checkInteger('target', target, 0);
    const { layers } = this.#description;
    return this.invoke((call) => {
      const input = call.numbers('ints', 'ids', tensor);
      return computeContributions(
        ...[call, options, [...tensor.shape, layers[0].dModel], layers[0]],
        layers.map(({ numHeads }) => numHeads),
        (position, given) => this.native.contributions(input.native, target, position, given),
      );
    });
  }

  /**
   * Makes an empty cache for each layer of a causal model.
   * @param {number} [batch]  1 by default
   * @param {CapacityOption} [options]
   * @returns {LayerCaches}
   * @throws {AttnError} `unsupported` if the model is not causal
   */
  makeCaches(batch = 1, options = {}) {
    return makeCaches(this, batch, options);
  }

  /**
   * Generates the tokens that follow the ids, one at a time, with a cache. The result does not
   * include `ids`. To stop early, or to show each token as soon as it is chosen, call `forward`
   * with `caches` and `attn.chooseToken()` instead.
   * @param {Integers} ids  (N,), N ≥ 1
   * @param {GenerationOptions} [options]
   * @returns {number[]}
   * @throws {AttnError} like `forward`; `invalid_argument` if there are more tokens than positions
   */
  generate(ids, options = {}) {
    return generate(this, checkIdsOf(this.#description, ids), options);
  }

  /**
   * Returns the frequencies of a layer's rotary positions. The model's scaling rule is already applied.
   * @param {number} layer
   * @param {number} [sequenceLength]  length that dynamic scaling uses; 0 by default
   * @returns {{ frequencies: Float64Array, attentionFactor: number } | undefined} the frequencies in
   *   radians per position, and the factor that multiplies cosines and sines; undefined if the layer has no
   *   rotary positions
   */
  rotaryFrequencies(layer, sequenceLength = 0) {
    checkInteger('layer', layer, 0);
    const { rotaryDim } = this.#description.layers[layer] ?? {};
    if (rotaryDim === undefined) return undefined;
    finite('sequenceLength', sequenceLength);
    const { frequencies, attentionFactor } = this.enter((model) =>
      model.rotaryFrequencies(layer, sequenceLength),
    );
    return { frequencies: Float64Array.from(frequencies), attentionFactor };
  }
}

/**
 * Checks token ids of a language model, (N,) or (B, N).
 * @param {LanguageModelDescription} description
 * @param {Integers} ids
 */
export function checkIdsOf({ vocabSize }, ids) {
  if (vocabSize === 0) {
    const sentence = 'this model has no embedding; pass vectors to forwardVectors()';
    throw explainedError('unsupported', 'ids', sentence);
  }
  return checkIds(ids, vocabSize);
}

/**
 * Checks token ids, (N,) or (B, N).
 * @param {Integers} ids
 * @param {number} vocabSize
 */
export function checkIds(ids, vocabSize) {
  const most = vocabSize - 1;
  const tensor = checkIntegers('ids', ids, 0, most, `a token id from 0 to ${most}`);
  const rank = tensor.shape.length;
  if (rank > 2) throw argumentError('invalid_argument', 'ids', `rank ${rank}`, 'rank 1 or 2');
  return tensor;
}

/**
 * Checks the number of tokens that get logits.
 * @param {number} numLogits
 * @param {number} length  number of tokens
 */
export function checkNumLogits(numLogits, length) {
  if (Number.isInteger(numLogits) && numLogits >= 0 && numLogits <= length) return;
  const needs = `a whole number from 0 to ${length}, the number of tokens`;
  throw invalid('numLogits', numLogits, needs);
}

/**
 * Implements the method `generate` of models.
 * @param {NativeObject<Native.LanguageModel | Native.EncoderDecoderModel>} model
 * @param {Integers} ids  checked ids
 * @param {GenerationOptions} options
 * @returns {number[]}
 */
export function generate(model, ids, options) {
  options = readOptions(options, kGenerating);
  const { maxNewTokens = 20, stopIds = [], ...given } = options;
  checkInteger('maxNewTokens', maxNewTokens, 0);
  const sampling = samplingOf(checkValues(given, kSampling));
  if (!Array.isArray(stopIds)) throw invalid('stopIds', stopIds, 'an array of token ids');
  const stops = readArray(stopIds, (id) => checkInteger('stopIds', id, 0));
  return runtimeOf(model).invoke((call) => {
    const tokens = call.numbers('ints', 'ids', ids);
    const native = call.object('model', model);
    return call.run(() => native.generate(tokens.native, maxNewTokens, stops, sampling));
  });
}

/**
 * @param {NativeCall} call
 * @param {Integers} tokenTypes
 * @param {number} numTokenTypes
 */
export function checkTypes(call, tokenTypes, numTokenTypes) {
  const most = Math.max(numTokenTypes - 1, 0);
  const types = checkIntegers('tokenTypes', tokenTypes, 0, most, `a token type from 0 to ${most}`);
  return call.numbers('ints', 'tokenTypes', types);
}

/**
 * Returns sampling options in the form that C++ expects.
 * @param {Required<SamplingOptions>} checked
 * @returns {Native.SamplingOptions}
 */
const samplingOf = ({ temperature, topK, seed, stream }) => ({
  temperature,
  topK,
  random: { seed, stream },
});

/**
 * Implements `ModelsAttn.chooseToken`. @param {Runtime} runtime @param {TensorLike} logits @param
 * {ChooseTokenOptions} options
 */
export function chooseToken(runtime, logits, options) {
  const { step, ...sampling } = checkOptions(options, kChoosing);
  return runtime.invoke((call) => {
    const tensor = call.tensor('logits', logits);
    return call.run((native) => native.chooseToken(tensor.native, samplingOf(sampling), step));
  });
}
