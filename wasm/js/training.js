// Support for training, imported on demand. Pages that do not train never download this file.

import { isObjectOf } from './nativeObject.js';
import { kActivations } from './activation.js';
import { Attn, madeIn, runtimeOfAttn } from './attn.js';
import { attentionOfVariables } from './attentionOfVariables.js';
import { finite } from './checks.js';
import { checkChoice, explainedError, invalid } from './errors.js';
import { checkDimension } from './shape.js';
import { KeyValueCache } from './keyValueCache.js';
import {
  constantLearningRate,
  cosineLearningRate,
  inverseSqrtLearningRate,
} from './learningRates.js';
import { crossEntropy, mseLoss } from './losses.js';
import { kSoftmaxRanks, checkSoftmaxOptions } from './maskedSoftmax.js';
import { checkDropout, kDropout } from './dropout.js';
import { readArray, readOptions } from './options.js';
import { Adam, AdamW, SGD } from './optimizers.js';
import { poolingOfVariables } from './poolingOfVariables.js';
import { recordEachOn, recordOn } from './recording.js';
import { kSinusoid, checkSinusoids } from './sinusoidalEncoding.js';
import { isVariable, requireTape, Tape } from './tape.js';
import {
  RecordedAddNorm,
  RecordedAdditiveAttention,
  RecordedAttention,
  RecordedBahdanauDecoder,
  RecordedConv1d,
  RecordedDecoder,
  RecordedDecoderLayer,
  RecordedEmbedding,
  RecordedEncoder,
  RecordedEncoderLayer,
  RecordedFeedForward,
  RecordedGRU,
  RecordedGatedFeedForward,
  RecordedLayerNorm,
  RecordedLinear,
  RecordedPositions,
  RecordedRMSNorm,
  RecordedRNN,
  RecordedRotaryEmbedding,
  kStartAndDropout,
} from './recordedLayers.js';

/** @import { Activation } from './activation.js' */
/** @import { AdditiveAttention, AdditiveAttentionOptions } from './additiveAttention.js' */
/** @import { AttentionOfVariables, AttentionOfVariablesOptions, ShownAttentionOptions } from './attentionOfVariables.js' */
/** @import { AttentionPoolingOptions, AttentionPoolingResult } from './attentionPooling.js' */
/** @import { BahdanauDecoder, BahdanauDecoderOptions } from './bahdanauDecoder.js' */
/** @import { Conv1d, Conv1dOptions } from './conv1d.js' */
/** @import { Dropout } from './dropout.js' */
/** @import { ElementsLike, ElementType } from './elementType.js' */
/** @import { Embedding, EmbeddingOptions } from './embedding.js' */
/** @import { FeedForward, FeedForwardOptions } from './feedForward.js' */
/** @import { GatedFeedForward, GatedFeedForwardOptions } from './gatedFeedForward.js' */
/** @import { AddNorm, AddNormOptions, LayerNorm, LayerNormOptions } from './layerNorm.js' */
/** @import { ConstantScheduleOptions, CosineScheduleOptions, InverseSqrtScheduleOptions } from './learningRates.js' */
/** @import { LearnedPositionalEncoding, LearnedPositionalEncodingOptions } from './learnedPositionalEncoding.js' */
/** @import { Linear, LinearOptions } from './linear.js' */
/** @import { CrossEntropyOptions, LossResult, MseLossOptions, NeedGradientOption } from './losses.js' */
/** @import { MaskedSoftmaxOptions } from './maskedSoftmax.js' */
/** @import { AttentionPart } from './mergeAttention.js' */
/** @import { MultiHeadAttention, MultiHeadAttentionOptions } from './multiHeadAttention.js' */
/** @import { AdamOptions, Model, SgdOptions } from './optimizers.js' */
/** @import { NativeCall } from './nativeCall.js' */
/** @import * as Native from './native.js' */
/** @import { Names } from './options.js' */
/** @import { VariablePoolingOptions } from './poolingOfVariables.js' */
/** @import { PositionalEncodingOptions, StartAndDropout } from './positionalEncoding.js' */
/** @import { Records, RecordsBahdanau, RecordsPooling, RecordsRecurrence, RecordsTokens, VariableDecoderOptions, VariableEncoderOptions, VariableMultiHeadAttentionOptions } from './recordedLayers.js' */
/** @import { GRU, GRUOptions, RNN, RNNOptions } from './recurrent.js' */
/** @import { RMSNorm, RMSNormOptions } from './rmsNorm.js' */
/** @import { RotaryEmbedding, RotaryEmbeddingOptions, RotaryPositions, HeadsOption } from './rotaryEmbedding.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { AttentionResult, ScaledDotProductAttentionOptions } from './scaledDotProductAttention.js' */
/** @import { Variable } from './tape.js' */
/** @import { Integers, TensorLike } from './tensor.js' */
/** @import { Given, Gives, ResultKind, ResultTensor, TensorHandle } from './tensorHandle.js' */
/** @import { TransformerLayerOptions, TransformerOptions } from './transformer.js' */
/** @import { TransformerDecoder, TransformerDecoderLayer } from './transformerDecoder.js' */
/** @import { TransformerEncoder, TransformerEncoderLayer } from './transformerEncoder.js' */
/** @import { Variant } from './variants.js' */

/** @type {Names<PositionalEncodingOptions>} */
const kPositionalEncoding = { ...kStartAndDropout, ...kSinusoid };

/**
 * @param {object} attn
 * @param {new (runtime: Runtime, ...args: any[]) => any} Class
 * @returns {any}
 */
const made = (attn, Class) => madeIn(runtimeOfAttn(attn), Class);

/**
 * A module loaded with `training: true`. It has everything in {@link Attn}, and also tapes, losses and optimisers.
 * The layers listed here accept variables of a tape in place of tensors, and then return a variable.
 *
 * ```js
 * const attn = await load({ training: true });
 * const model = { first: new attn.Linear({ inFeatures: 2, outFeatures: 8 }), last: … };
 * const optimizer = new attn.AdamW(model, { lr: 3e-3 });
 * const tape = new attn.Tape();
 * ```
 *
 * @template {ResultKind} [As='array']
 * @extends {Attn<As>}
 */
export class TrainingAttn extends Attn {
  /** @internal */
  static name = 'TrainingAttn';

  /**
   * @internal use `load({ training: true })`
   * @param {Runtime} runtime
   * @param {Variant} variant
   * @param {string} [fallback]
   */
  constructor(runtime, variant, fallback) {
    super(runtime, variant, fallback);
    if (runtime.native.Tape !== undefined) return;
    const sentence = 'this module cannot train; pass a training-….wasm';
    throw explainedError('invalid_argument', 'wasm', sentence);
  }

  /**
   * The same module, with results that stay in WebAssembly memory. See {@link Attn}.
   * @override
   * @returns {TrainingAttn<'handle'>}
   */
  get handles() {
    return /** @type {TrainingAttn<'handle'>} */ (super.handles);
  }

  /**
   * Records the computations of layers and functions on variables, and computes the gradients of a
   * loss.
   * @readonly
   * @type {new () => Tape}
   */
  Tape = made(this, Tape);
  /**
   * Optimiser: stochastic gradient descent with momentum, like torch.optim.SGD.
   * @readonly
   * @type {new (model: Model, options?: SgdOptions) => SGD}
   */
  SGD = made(this, SGD);
  /**
   * Optimiser: Adam, like torch.optim.Adam.
   * @readonly
   * @type {new (model: Model, options?: AdamOptions) => Adam}
   */
  Adam = made(this, Adam);
  /**
   * Optimiser: Adam with decoupled weight decay, like torch.optim.AdamW.
   * @readonly
   * @type {new (model: Model, options?: AdamOptions) => AdamW}
   */
  AdamW = made(this, AdamW);

  /**
   * @readonly
   * @type {new (options: LinearOptions) => Linear<As> & Records<[x: Variable]>}
   */
  Linear = made(this, RecordedLinear);
  /**
   * @readonly
   * @type {new (options: EmbeddingOptions) => Embedding<As> & RecordsTokens}
   */
  Embedding = made(this, RecordedEmbedding);
  /**
   * @readonly
   * @type {new (options: LearnedPositionalEncodingOptions) => LearnedPositionalEncoding<As>
   *   & Records<[x: Variable, options?: StartAndDropout]>}
   */
  LearnedPositionalEncoding = made(this, RecordedPositions);
  /**
   * @readonly
   * @type {new (options: LayerNormOptions) => LayerNorm<As>
   *   & Records<[x: Variable]> & { forwardSum(x: Variable, y: Variable): Variable }}
   */
  LayerNorm = made(this, RecordedLayerNorm);
  /**
   * @readonly
   * @type {new (options: AddNormOptions) => AddNorm<As>
   *   & Records<[x: Variable, y: Variable, options?: { dropout?: Dropout | number }]>}
   */
  AddNorm = made(this, RecordedAddNorm);
  /**
   * @readonly
   * @type {new (options: FeedForwardOptions) => FeedForward<As>
   *   & Records<[x: Variable, options?: { dropout?: Dropout | number }]>}
   */
  FeedForward = made(this, RecordedFeedForward);
  /**
   * @readonly
   * @type {new (options: GatedFeedForwardOptions) => GatedFeedForward<As>
   *   & Records<[x: Variable, options?: { dropout?: Dropout | number }]>}
   */
  GatedFeedForward = made(this, RecordedGatedFeedForward);
  /**
   * @readonly
   * @type {new (options: RMSNormOptions) => RMSNorm<As> & Records<[x: Variable]>}
   */
  RMSNorm = made(this, RecordedRMSNorm);
  /**
   * @readonly
   * @type {new (options: RotaryEmbeddingOptions) => RotaryEmbedding<As>
   *   & Records<[x: Variable, options?: RotaryPositions & HeadsOption]>}
   */
  RotaryEmbedding = made(this, RecordedRotaryEmbedding);
  /**
   * @readonly
   * @type {new (options: Conv1dOptions) => Conv1d<As> & Records<[x: Variable]>}
   */
  Conv1d = made(this, RecordedConv1d);
  /**
   * @readonly
   * @type {new (options: GRUOptions) => GRU<As> & RecordsRecurrence}
   */
  GRU = made(this, RecordedGRU);
  /**
   * @readonly
   * @type {new (options: RNNOptions) => RNN<As> & RecordsRecurrence}
   */
  RNN = made(this, RecordedRNN);
  /**
   * @readonly
   * @type {new (options: BahdanauDecoderOptions) => BahdanauDecoder<As> & RecordsBahdanau}
   */
  BahdanauDecoder = made(this, RecordedBahdanauDecoder);
  /**
   * @readonly
   * @type {new (options: AdditiveAttentionOptions) => AdditiveAttention<As> & RecordsPooling}
   */
  AdditiveAttention = made(this, RecordedAdditiveAttention);
  /**
   * @readonly
   * @type {new (options: MultiHeadAttentionOptions) => MultiHeadAttention<As> & Records<[
   *   query: Variable, key?: Variable, value?: Variable,
   *   options?: VariableMultiHeadAttentionOptions]>}
   */
  MultiHeadAttention = made(this, RecordedAttention);
  /**
   * @readonly
   * @type {new (options: TransformerLayerOptions) => TransformerEncoderLayer<As>
   *   & Records<[x: Variable, options?: VariableEncoderOptions]>}
   */
  TransformerEncoderLayer = made(this, RecordedEncoderLayer);
  /**
   * @readonly
   * @type {new (options: TransformerOptions) => TransformerEncoder<As>
   *   & Records<[x: Variable, options?: VariableEncoderOptions]>}
   */
  TransformerEncoder = made(this, RecordedEncoder);
  /**
   * @readonly
   * @type {new (options: TransformerLayerOptions) => TransformerDecoderLayer<As>
   *   & Records<[x: Variable, memory: Variable, options?: VariableDecoderOptions]>}
   */
  TransformerDecoderLayer = made(this, RecordedDecoderLayer);
  /**
   * @readonly
   * @type {new (options: TransformerOptions) => TransformerDecoder<As>
   *   & Records<[x: Variable, memory: Variable, options?: VariableDecoderOptions]>}
   */
  TransformerDecoder = made(this, RecordedDecoder);

  /**
   * The cross-entropy loss between logits and target classes, like torch.nn.functional.cross_entropy. With
   * tensors, nothing is recorded.
   * @overload
   * @param {Variable} logits  (N, C) or (B, N, C)
   * @param {Integers} targets  (N) or (B, N), or (B·N)
   * @param {CrossEntropyOptions} [options]
   * @returns {Variable} the loss, one number
   * @throws {AttnError} `shape_mismatch`; `invalid_argument`, including for a target that is not a class and for a mean
   *   over no targets; `out_of_memory`, `disposed`
   */
  /**
   * @template {boolean} [Gradient=false]
   * @overload
   * @param {TensorLike} logits  (N, C) or (B, N, C)
   * @param {Integers} targets  (N) or (B, N), or (B·N)
   * @param {CrossEntropyOptions & NeedGradientOption<Gradient>} [options]
   * @returns {LossResult<As, Gradient>} `gradient` is the gradient with respect to the logits
   */
  /**
   * @param {any} logits
   * @param {Integers} targets
   * @param {any} [options]
   * @returns {any}
   */
  crossEntropy(logits, targets, options = {}) {
    return crossEntropy(runtimeOfAttn(this), logits, targets, options);
  }

  /**
   * The mean squared error, like torch.nn.functional.mse_loss. With tensors, nothing is recorded.
   * @overload
   * @param {Variable} prediction
   * @param {Variable | TensorLike} target  targets in the shape of `prediction`
   * @param {MseLossOptions} [options]
   * @returns {Variable} the loss, one number
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `out_of_memory`, `disposed`
   */
  /**
   * @template {boolean} [Gradient=false]
   * @overload
   * @param {TensorLike} prediction
   * @param {TensorLike} target  targets in the shape of `prediction`
   * @param {MseLossOptions & NeedGradientOption<Gradient>} [options]
   * @returns {LossResult<As, Gradient>} `gradient` is the gradient with respect to the prediction
   */
  /**
   * @param {any} prediction
   * @param {any} target
   * @param {any} [options]
   * @returns {any}
   */
  mseLoss(prediction, target, options = {}) {
    return mseLoss(runtimeOfAttn(this), prediction, target, options);
  }

  /**
   * Computes y = x · weightᵀ + bias, for weights that are used in more than one place.
   * @param {Variable} x  (N, in) or (B, N, in)
   * @param {Variable} weight  (out, in), for example from `tape.parameter()`
   * @param {Variable} [bias]  (out)
   * @returns {Variable}
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `out_of_memory`, `disposed`
   */
  linear(x, weight, bias) {
    /** @type {Record<string, Variable>} */
    const variables = bias ? { x, weight, bias } : { x, weight };
    return recordOn(variables, (_, { x, weight, bias = null }) => {
      return (native) => native.recordLinearFunction(x, weight, bias);
    });
  }

  /**
   * Concatenates variables along a dimension. All other dimensions must have the same sizes.
   * @param {readonly Variable[]} parts
   * @param {number} dimension  negative dimensions count from the end
   * @returns {Variable}
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `out_of_memory`, `disposed`
   */
  concatenate(parts, dimension) {
    const fail = () => invalid('parts', parts, 'an array of Variables');
    if (!Array.isArray(parts)) throw fail();
    const variables = readArray(parts, (part) => {
      if (!isVariable(part)) throw fail();
    });
    if (variables.length === 0) throw fail();
    const [{ tape, shape }] = variables;
    return tape.record((/** @type {NativeCall} */ call) => {
      const d = checkDimension('concatenate', dimension, shape);
      const natives = variables.map((part, i) => tape.nativeIn(call, `parts[${i}]`, part));
      return (/** @type {Native.MainModule} */ native) => native.recordConcatenate(natives, d);
    });
  }

  /**
   * @overload
   * @param {Variable} x
   * @param {Activation} activation
   * @returns {Variable}
   */
  /**
   * @overload
   * @param {TensorLike} x
   * @param {Activation} activation
   * @returns {ResultTensor<As>}
   */
  /**
   * @param {any} x
   * @param {Activation} activation
   * @returns {any}
   */
  applyActivation(x, activation) {
    if (!isVariable(x)) return super.applyActivation(x, activation);
    return recordOn({ x }, (_, input) => {
      checkChoice('activation', activation, kActivations);
      return (native) => native.recordActivation(input.x, native.Activation[activation]);
    });
  }

  /**
   * @overload
   * @param {Variable} x
   * @param {Dropout | number} dropout
   * @returns {Variable}
   */
  /**
   * @overload
   * @param {TensorLike} x
   * @param {Dropout | number} dropout
   * @returns {ResultTensor<As>}
   */
  /**
   * @param {any} x
   * @param {Dropout | number} dropout
   * @returns {any}
   */
  applyDropout(x, dropout) {
    if (!isVariable(x)) return super.applyDropout(x, dropout);
    if (typeof dropout !== 'number') dropout = readOptions(dropout, kDropout);
    return recordOn({ x }, (_, input) => {
      const dropped = checkDropout(dropout);
      return (native) => native.recordDropout(input.x, dropped);
    });
  }

  /**
   * @overload
   * @param {Variable} x
   * @param {PositionalEncodingOptions} [options]
   * @returns {Variable}
   */
  /**
   * @overload
   * @param {TensorLike} x
   * @param {PositionalEncodingOptions} [options]
   * @returns {ResultTensor<As>}
   */
  /**
   * @param {any} x
   * @param {PositionalEncodingOptions} [options]
   * @returns {any}
   */
  positionalEncoding(x, options = {}) {
    if (!isVariable(x)) return super.positionalEncoding(x, options);
    options = readOptions(options, kPositionalEncoding);
    const { start = 0, dropout } = options;
    return recordOn({ x }, (call, input) => {
      const sinusoids = checkSinusoids(call, options);
      finite('start', start);
      const dropped = checkDropout(dropout);
      return (native) => native.recordPositionalEncoding(input.x, sinusoids, start, dropped);
    });
  }

  /**
   * @template {boolean} [Biased=false]
   * @template {boolean} [Weights=false]
   * @template {boolean} [LogSumExp=false]
   * @overload
   * @param {Variable} query  (B, Hq, Nq, D), (B, Nq, D) or (Nq, D)
   * @param {Variable} key  (B, Hkv, Nk, D), with the rank of `query`
   * @param {Variable} value  (B, Hkv, Nk, Dv), with the rank of `query`
   * @param {AttentionOfVariablesOptions & ShownAttentionOptions<Biased, Weights, LogSumExp>} [options]
   * @returns {AttentionOfVariables<Biased, Weights, LogSumExp>} the output (B, Hq, Nq, Dv); or, with
   *   `needBiasedScores`, `needWeights` or `needLogSumExp`, an object with `output` and these results
   */
  /**
   * @template {boolean} [Scaled=false]
   * @template {boolean} [Capped=false]
   * @template {boolean} [Biased=false]
   * @template {boolean} [Weights=false]
   * @template {boolean} [LogSumExp=false]
   * @template {boolean} [Sums=false]
   * @template {ElementType} [Output='float32']
   * @overload
   * @param {Given<As, ElementsLike | TensorHandle>} query
   * @param {Given<As, ElementsLike | TensorHandle>} key
   * @param {Given<As, ElementsLike | TensorHandle>} value
   * @param {Given<As, ScaledDotProductAttentionOptions<Scaled, Capped, Biased, Weights, LogSumExp, Sums, Output>>} [options]
   * @returns {Gives<As, AttentionResult<As, Scaled, Capped, Biased, Weights, LogSumExp, Sums, Output>>}
   */
  /**
   * @template {boolean} [Scaled=false]
   * @template {boolean} [Capped=false]
   * @template {boolean} [Biased=false]
   * @template {boolean} [Weights=false]
   * @template {boolean} [LogSumExp=false]
   * @template {boolean} [Sums=false]
   * @template {ElementType} [Output='float32']
   * @overload
   * @param {Given<As, ElementsLike | TensorHandle>} query
   * @param {Given<As, KeyValueCache<any>>} cache
   * @param {Given<As, ScaledDotProductAttentionOptions<Scaled, Capped, Biased, Weights, LogSumExp, Sums, Output>>} [options]
   * @returns {Gives<As, AttentionResult<As, Scaled, Capped, Biased, Weights, LogSumExp, Sums, Output>>}
   */
  /**
   * @param {any} query
   * @param {any} key
   * @param {any} [value]
   * @param {any} [options]
   * @returns {any}
   */
  scaledDotProductAttention(query, key, value, options = {}) {
    if (isObjectOf(key, KeyValueCache)) {
      return super.scaledDotProductAttention(query, /** @type {any} */ (key), value);
    }
    if (![query, key, value].some(isVariable)) {
      return super.scaledDotProductAttention(query, key, value, options);
    }
    return attentionOfVariables(query, key, value, options);
  }

  /**
   * @overload
   * @param {Variable} query  (B, Nq, D); here and below, B may be omitted
   * @param {Variable} key  (B, Nk, D)
   * @param {Variable} value  (B, Nk, Dv)
   * @param {VariablePoolingOptions} [options]
   * @returns {Variable} (B, Nq, Dv)
   */
  /**
   * @template {boolean} [Scores=false]
   * @template {boolean} [Weights=false]
   * @overload
   * @param {Given<As, TensorLike>} query
   * @param {Given<As, TensorLike>} key
   * @param {Given<As, TensorLike>} value
   * @param {Given<As, AttentionPoolingOptions<Scores, Weights>>} [options]
   * @returns {Gives<As, AttentionPoolingResult<As, Scores, Weights>>}
   */
  /**
   * @param {any} query
   * @param {any} key
   * @param {any} value
   * @param {any} [options]
   * @returns {any}
   */
  attentionPooling(query, key, value, options = {}) {
    if (![query, key, value].some(isVariable)) {
      return super.attentionPooling(query, key, value, options);
    }
    return poolingOfVariables(query, key, value, options);
  }

  /**
   * @overload
   * @param {Variable} outputA
   * @param {Variable} logSumExpA
   * @param {Variable} outputB
   * @param {Variable} logSumExpB
   * @returns {{ output: Variable, logSumExp: Variable }}
   */
  /**
   * @overload
   * @param {TensorLike} outputA
   * @param {TensorLike} logSumExpA
   * @param {TensorLike} outputB
   * @param {TensorLike} logSumExpB
   * @returns {AttentionPart<As>}
   */
  /**
   * @param {any} outputA
   * @param {any} logSumExpA
   * @param {any} outputB
   * @param {any} logSumExpB
   * @returns {any}
   */
  mergeAttention(outputA, logSumExpA, outputB, logSumExpB) {
    const inputs = { outputA, logSumExpA, outputB, logSumExpB };
    if (!Object.values(inputs).some(isVariable)) {
      return super.mergeAttention(outputA, logSumExpA, outputB, logSumExpB);
    }
    return recordEachOn(
      inputs,
      (_, { outputA, logSumExpA, outputB, logSumExpB }) =>
        (native) =>
          native.recordMergeAttention(outputA, logSumExpA, outputB, logSumExpB),
    );
  }

  /**
   * @overload
   * @param {Variable} x  (N, K), (B, N, K) or (B, H, N, K)
   * @param {MaskedSoftmaxOptions} [options]
   * @returns {Variable}
   */
  /**
   * @overload
   * @param {TensorLike} x
   * @param {MaskedSoftmaxOptions} [options]
   * @returns {ResultTensor<As>}
   */
  /**
   * @param {any} x
   * @param {MaskedSoftmaxOptions} [options]
   * @returns {any}
   */
  maskedSoftmax(x, options = {}) {
    if (!isVariable(x)) return super.maskedSoftmax(x, options);
    return recordOn(
      { x },
      (call, input) => {
        const { validLens, mask } = checkSoftmaxOptions(call, options, x.shape);
        return (native) =>
          native.recordMaskedSoftmax(input.x, validLens?.native ?? null, mask?.native ?? null);
      },
      kSoftmaxRanks,
    );
  }

  /**
   * Scales the gradients of all parameters on a tape so that their total norm is at most `maxNorm`, like
   * torch.nn.utils.clip_grad_norm_.
   * @param {Tape} tape  after `backward()`
   * @param {number} maxNorm
   * @returns {number} the norm before scaling
   * @throws {AttnError} `invalid_argument`, including for a norm that is not finite (the message names the first
   *   parameter whose gradient is not finite), without changing any gradients; `disposed`
   */
  clipGradNorm(tape, maxNorm) {
    requireTape('tape', tape).requireLayers();
    finite('maxNorm', maxNorm);
    return runtimeOfAttn(this).invoke((call) => {
      const { tape: native } = call.object('tape', tape);
      return call.run(({ clipGradNorm }) => clipGradNorm(native, maxNorm));
    });
  }

  /**
   * Linear warm-up, then a constant rate: peak · min(1, step / warmupSteps).
   * @param {number} step  counts from 1, as in all schedules
   * @param {ConstantScheduleOptions} options
   * @returns {number}
   * @throws {AttnError} `invalid_argument`, like all schedules
   */
  constantLearningRate(step, options) {
    return constantLearningRate(runtimeOfAttn(this), step, options);
  }

  /**
   * Linear warm-up, then cosine decay over half a period (Loshchilov and Hutter 2017).
   * @param {number} step
   * @param {CosineScheduleOptions} options
   * @returns {number}
   */
  cosineLearningRate(step, options) {
    return cosineLearningRate(runtimeOfAttn(this), step, options);
  }

  /**
   * The schedule of the original Transformer (Vaswani et al. 2017):
   * factor · dModel^(−1/2) · min(step^(−1/2), step · warmupSteps^(−3/2)).
   * @param {number} step
   * @param {InverseSqrtScheduleOptions} options
   * @returns {number}
   */
  inverseSqrtLearningRate(step, options) {
    return inverseSqrtLearningRate(runtimeOfAttn(this), step, options);
  }
}
