import { isObjectOf } from './nativeObject.js';
import { applyActivation } from './activation.js';
import { AdditiveAttention } from './additiveAttention.js';
import { alibiBias, alibiSlopes } from './alibi.js';
import { architectureCosts } from './architectureCosts.js';
import { attentionPooling } from './attentionPooling.js';
import { pointAtCallers, startAtCallerOf } from './callers.js';
import { explainedError } from './errors.js';
import { addHints, kFunctionsElsewhere } from './hints.js';
import { arange, asNumbers, formatTensor, full, matmul, slice } from './creation.js';
import { applyDropout } from './dropout.js';
import { Linear } from './linear.js';
import { Embedding } from './embedding.js';
import { LayerNorm, AddNorm } from './layerNorm.js';
import { FeedForward } from './feedForward.js';
import { GatedFeedForward } from './gatedFeedForward.js';
import { RMSNorm } from './rmsNorm.js';
import { KeyValueCache } from './keyValueCache.js';
import { TransformerEncoderLayer, TransformerEncoder } from './transformerEncoder.js';
import { TransformerDecoderLayer, TransformerDecoder } from './transformerDecoder.js';
import { GRU, RNN } from './recurrent.js';
import { Conv1d } from './conv1d.js';
import { BahdanauDecoder } from './bahdanauDecoder.js';
import { Safetensors, toSafetensors } from './safetensors.js';
import { LearnedPositionalEncoding } from './learnedPositionalEncoding.js';
import { maskedSoftmax } from './maskedSoftmax.js';
import { mergeAttention } from './mergeAttention.js';
import { MultiHeadAttention } from './multiHeadAttention.js';
import { ngramEmbedding } from './ngramEmbedding.js';
import { positionalEncoding } from './positionalEncoding.js';
import { randomNormal, randomUniform, xavierUniform } from './random.js';
import { printsBriefly } from './print.js';
import { relativeKeysOfSkew, relativeSkew } from './relativeSkew.js';
import { applyRotaryEmbedding, RotaryEmbedding } from './rotaryEmbedding.js';
import { scaledDotProductAttention } from './scaledDotProductAttention.js';
import { applyShift, shiftMatrix } from './shiftMatrix.js';
import { sinusoidalEncoding, sinusoidalEncodingInFloat32 } from './sinusoidalEncoding.js';
import { t5Bias, t5Buckets } from './t5Bias.js';
import { tensor } from './tensor.js';

/** @import { Activation } from './activation.js' */
/** @import { AdditiveAttentionOptions } from './additiveAttention.js' */
/** @import { AlibiBiasOptions } from './alibi.js' */
/** @import { CostsOfArchitectures } from './architectureCosts.js' */
/** @import { AttentionPoolingOptions, AttentionPoolingResult } from './attentionPooling.js' */
/** @import { NestedNumbers } from './creation.js' */
/** @import { Dropout } from './dropout.js' */
/** @import { ElementsLike, ElementType, ResultOfType } from './elementType.js' */
/** @import { LinearOptions } from './linear.js' */
/** @import { EmbeddingOptions } from './embedding.js' */
/** @import { AddNormOptions, LayerNormOptions } from './layerNorm.js' */
/** @import { FeedForwardOptions } from './feedForward.js' */
/** @import { GatedFeedForwardOptions } from './gatedFeedForward.js' */
/** @import { RMSNormOptions } from './rmsNorm.js' */
/** @import { KeyValueCacheOptions } from './keyValueCache.js' */
/** @import { TransformerLayerOptions, TransformerOptions } from './transformer.js' */
/** @import { GRUOptions, RNNOptions } from './recurrent.js' */
/** @import { Conv1dOptions } from './conv1d.js' */
/** @import { BahdanauDecoderOptions } from './bahdanauDecoder.js' */
/** @import { LearnedPositionalEncodingOptions } from './learnedPositionalEncoding.js' */
/** @import { MaskedSoftmaxOptions } from './maskedSoftmax.js' */
/** @import { AttentionPart } from './mergeAttention.js' */
/** @import { MultiHeadAttentionOptions } from './multiHeadAttention.js' */
/** @import { NgramEmbeddingOptions } from './ngramEmbedding.js' */
/** @import { PositionalEncodingOptions } from './positionalEncoding.js' */
/** @import { NormalOptions, UniformOptions, XavierOptions } from './random.js' */
/** @import { RelativeSkewOptions } from './relativeSkew.js' */
/** @import { RotaryCacheOptions, RotaryEmbeddingOptions } from './rotaryEmbedding.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { AttentionResult, ScaledDotProductAttentionOptions } from './scaledDotProductAttention.js' */
/** @import { Named } from './safetensors.js' */
/** @import { ShiftMatrixOptions, ShiftOptions } from './shiftMatrix.js' */
/** @import * as sinusoidal from './sinusoidalEncoding.js' */
/** @import { T5BiasMatrixOptions, T5BucketOptions } from './t5Bias.js' */
/** @import { NumbersLike, TensorLike } from './tensor.js' */
/** @import { Given, Gives, ResultKind, ResultTensor, TensorHandle } from './tensorHandle.js' */
/** @import { Variable } from './tape.js' */
/** @import { Variant } from './variants.js' */

/** Members that exist only in modules loaded for training or for models. */
const kElsewhere = [
  ...['Tape', 'SGD', 'Adam', 'AdamW', 'crossEntropy', 'mseLoss', 'clipGradNorm'].map((name) => [
    name,
    'training',
  ]),
  ...[
    'loadModel',
    'describeModel',
    'loadEncoderDecoder',
    'describeEncoderDecoder',
    'chooseToken',
  ].map((name) => [name, 'models']),
];

/**
 * Returns the runtime of a module.
 * @type {(attn: object) => Runtime}
 */
export let runtimeOfAttn;

/**
 * A loaded module. Tensors are `{ data, shape }`, row-major. Calls copy arguments into WebAssembly
 * memory and results out of it, so both belong to you alone. To avoid the copies, keep tensors in
 * WebAssembly memory: see `tensor()` and `handles`.
 *
 * @template {ResultKind} [As='array']
 */
export class Attn {
  /** @internal */
  static name = 'Attn';

  #runtime;
  #variant;
  #fallback;
  /** @type {Attn<'handle'> | undefined} */
  #handles;

  /**
   * @internal use `load()`
   * @param {Runtime} runtime
   * @param {Variant} variant
   * @param {string} [fallback]
   */
  constructor(runtime, variant, fallback) {
    this.#runtime = runtime;
    this.#variant = variant;
    this.#fallback = fallback;
    pointAtCallers(this.constructor);

    /**
     * Multi-head attention, with learned projections of queries, keys, values and the output.
     * @readonly
     * @type {new (options: MultiHeadAttentionOptions) => MultiHeadAttention<As>}
     */
    this.MultiHeadAttention = madeIn(runtime, MultiHeadAttention);

    /**
     * Additive attention (Bahdanau et al. 2015).
     * @readonly
     * @type {new (options: AdditiveAttentionOptions) => AdditiveAttention<As>}
     */
    this.AdditiveAttention = madeIn(runtime, AdditiveAttention);

    /**
     * Positional encoding by a learned table, as in BERT and GPT-2.
     * @readonly
     * @type {new (options: LearnedPositionalEncodingOptions) => LearnedPositionalEncoding<As>}
     */
    this.LearnedPositionalEncoding = madeIn(runtime, LearnedPositionalEncoding);

    /**
     * Rotary positional embedding (RoPE).
     * @readonly
     * @type {new (options: RotaryEmbeddingOptions) => RotaryEmbedding<As>}
     */
    this.RotaryEmbedding = madeIn(runtime, RotaryEmbedding);
    /**
     * A dense layer, like torch.nn.Linear.
     * @readonly
     * @type {new (options: LinearOptions) => Linear<As>}
     */
    this.Linear = madeIn(runtime, Linear);
    /**
     * A table of learned vectors, one per token, like torch.nn.Embedding.
     * @readonly
     * @type {new (options: EmbeddingOptions) => Embedding<As>}
     */
    this.Embedding = madeIn(runtime, Embedding);
    /**
     * Layer normalisation over the last dimension, like torch.nn.LayerNorm.
     * @readonly
     * @type {new (options: LayerNormOptions) => LayerNorm<As>}
     */
    this.LayerNorm = madeIn(runtime, LayerNorm);
    /**
     * A residual connection followed by layer normalisation.
     * @readonly
     * @type {new (options: AddNormOptions) => AddNorm<As>}
     */
    this.AddNorm = madeIn(runtime, AddNorm);
    /**
     * The position-wise feed-forward network of a Transformer.
     * @readonly
     * @type {new (options: FeedForwardOptions) => FeedForward<As>}
     */
    this.FeedForward = madeIn(runtime, FeedForward);
    /**
     * A gated feed-forward network, such as SwiGLU or GeGLU.
     * @readonly
     * @type {new (options: GatedFeedForwardOptions) => GatedFeedForward<As>}
     */
    this.GatedFeedForward = madeIn(runtime, GatedFeedForward);
    /**
     * Normalisation by the root mean square (RMSNorm).
     * @readonly
     * @type {new (options: RMSNormOptions) => RMSNorm<As>}
     */
    this.RMSNorm = madeIn(runtime, RMSNorm);
    /**
     * A cache of the keys and values of past tokens, for decoding token by token.
     * @readonly
     * @type {new (options: KeyValueCacheOptions) => KeyValueCache<As>}
     */
    this.KeyValueCache = madeIn(runtime, KeyValueCache);
    /**
     * One layer of a Transformer encoder.
     * @readonly
     * @type {new (options: TransformerLayerOptions) => TransformerEncoderLayer<As>}
     */
    this.TransformerEncoderLayer = madeIn(runtime, TransformerEncoderLayer);
    /**
     * A Transformer encoder: a stack of encoder layers.
     * @readonly
     * @type {new (options: TransformerOptions) => TransformerEncoder<As>}
     */
    this.TransformerEncoder = madeIn(runtime, TransformerEncoder);
    /**
     * One layer of a Transformer decoder.
     * @readonly
     * @type {new (options: TransformerLayerOptions) => TransformerDecoderLayer<As>}
     */
    this.TransformerDecoderLayer = madeIn(runtime, TransformerDecoderLayer);
    /**
     * A Transformer decoder: a stack of decoder layers.
     * @readonly
     * @type {new (options: TransformerOptions) => TransformerDecoder<As>}
     */
    this.TransformerDecoder = madeIn(runtime, TransformerDecoder);
    /**
     * A recurrent network of gated recurrent units (GRU).
     * @readonly
     * @type {new (options: GRUOptions) => GRU<As>}
     */
    this.GRU = madeIn(runtime, GRU);
    /**
     * A plain recurrent network (RNN).
     * @readonly
     * @type {new (options: RNNOptions) => RNN<As>}
     */
    this.RNN = madeIn(runtime, RNN);
    /**
     * A convolution along a sequence, like torch.nn.Conv1d.
     * @readonly
     * @type {new (options: Conv1dOptions) => Conv1d<As>}
     */
    this.Conv1d = madeIn(runtime, Conv1d);
    /**
     * The decoder of Bahdanau et al. (2015): a GRU with additive attention.
     * @readonly
     * @type {new (options: BahdanauDecoderOptions) => BahdanauDecoder<As>}
     */
    this.BahdanauDecoder = madeIn(runtime, BahdanauDecoder);
    /**
     * A .safetensors file. `new attn.Safetensors(bytes)` opens it and copies the bytes. If the file
     * is invalid, the constructor throws an `invalid_format` error that names the tensor and the
     * problem.
     * @readonly
     * @type {new (bytes: ArrayBuffer | Uint8Array) => Safetensors<As>}
     */
    this.Safetensors = madeIn(runtime, Safetensors);
    /**
     * Compares the costs of convolutions, recurrent layers and attention.
     * @readonly
     * @type {CostsOfArchitectures}
     */
    this.architectureCosts = architectureCosts(runtime);
  }

  /**
   * Returns the object that is printed in place of the module.
   * @returns {{ type: string }}
   */
  toJSON() {
    return { type: 'Attn', ...{ variant: this.#variant } };
  }

  static {
    runtimeOfAttn = (attn) => /** @type {Attn} */ (attn).#runtime;
    printsBriefly(this.prototype);
    for (const [name, what] of kElsewhere) {
      // Not an arrow function, because it may also be called with `new`.
      const value = function () {
        const sentence = `this module was loaded without ${what}; use load({ ${what}: true })`;
        throw explainedError('unsupported', name, sentence);
      };
      Object.defineProperty(this.prototype, name, { value, configurable: true, writable: true });
    }
    addHints(this.prototype, kFunctionsElsewhere);
  }

  /** True after `dispose()`. */
  get disposed() {
    return this.#runtime.disposed;
  }

  /**
   * Stops the threads of the module and frees its memory. Later calls to the module, its layers and its handles throw
   * `disposed`, but a second `dispose()` does nothing. Until you call `dispose()`, the module keeps its worker threads.
   */
  dispose() {
    this.#runtime.dispose();
  }

  [Symbol.dispose]() {
    this.dispose();
  }

  /** The variant in use, for example `simd128`. */
  get variant() {
    return this.#variant;
  }

  /**
   * Why `load()` chose a variant without threads although this engine supports threads, for example because a content
   * security policy forbids workers. Undefined if nothing failed.
   * @returns {string | undefined}
   */
  get fallback() {
    return this.#fallback;
  }

  /**
   * The instruction set that the kernels use: `wasm_simd128` or `wasm_relaxed_simd`.
   * @returns {string}
   */
  get instructionSet() {
    return /** @type {string} */ (this.#describe().instructionSet);
  }

  /** Number of threads that share the work, including the calling thread. */
  get numThreads() {
    return this.#describe().numThreads;
  }

  /**
   * The version of the library.
   * @returns {string}
   */
  get version() {
    return /** @type {string} */ (this.#describe().version);
  }

  /**
   * Returns the bytes in use and the size of the WebAssembly memory, which never shrinks. The bytes in
   * use include weights, handles, and scratch memory that is kept between calls.
   * @returns {{ bytesInUse: number, bytesReserved: number }}
   */
  memory() {
    return {
      bytesInUse: this.#describe().bytesInUse,
      bytesReserved: this.#runtime.native.wasmMemory.buffer.byteLength,
    };
  }

  /**
   * Copies a tensor into WebAssembly memory, where calls read it without copying.
   *
   * ```js
   * using weights = attn.tensor(data, [512, 512]);
   * const { output } = attn.scaledDotProductAttention(query, weights, weights);
   * using identity = attn.tensor([[1, 0], [0, 1]]);
   * ```
   *
   * @param {ArrayLike<number> | NumbersLike | NestedNumbers} data  the elements, row-major. Without `shape`, pass
   *   a tensor { data, shape } or nested arrays
   * @param {readonly number[]} [shape]
   * @returns {TensorHandle}
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `size_overflow`, `out_of_memory`
   */
  tensor(data, shape) {
    const given = shape === undefined ? asNumbers(data) : { data, shape };
    return tensor(this.#runtime.memory, /** @type {any} */ (given.data), given.shape);
  }

  /**
   * Returns a tensor of zeros.
   *
   * @param {readonly number[]} shape
   * @returns {ResultTensor<As>}
   * @throws {AttnError} `invalid_argument`, `size_overflow`, `out_of_memory`
   */
  zeros(shape) {
    return full(this.#runtime, shape, 0);
  }

  /**
   * Returns a tensor of ones.
   *
   * @param {readonly number[]} shape
   * @returns {ResultTensor<As>}
   */
  ones(shape) {
    return full(this.#runtime, shape, 1);
  }

  /**
   * Returns a tensor with all elements equal to `value`.
   *
   * @param {readonly number[]} shape
   * @param {number} value
   * @returns {ResultTensor<As>}
   */
  full(shape, value) {
    return full(this.#runtime, shape, value);
  }

  /**
   * Returns the numbers start, start + step, … that are less than `end`, or greater than `end` if the step
   * is negative. `arange(end)` starts at 0.
   *
   * @param {number} start
   * @param {number} [end]
   * @param {number} [step]  1 by default
   * @returns {ResultTensor<As>} (N,), N = ⌈(end − start) / step⌉
   */
  arange(start, end, step) {
    return arange(this.#runtime, start, end, step);
  }

  /**
   * Multiplies matrices: output[…, i, j] = Σ_k a[…, i, k] · b[…, k, j].
   *
   * @param {TensorLike} a  (M, K), (B, M, K) or (B, H, M, K)
   * @param {TensorLike} b  (…, K, N) with the same leading sizes, or (K, N) for all matrices of `a`
   * @returns {ResultTensor<As>} (…, M, N)
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `size_overflow`, `out_of_memory`, `disposed`
   */
  matmul(a, b) {
    return matmul(this.#runtime, a, b);
  }

  /**
   * Copies the part [begin, end) of a dimension. The `slice` method of handles and variables copies nothing.
   *
   * @param {NumbersLike} x  any shape
   * @param {number} dimension  negative dimensions count from the end
   * @param {number} begin
   * @param {number} [end]  the end of the dimension by default
   * @returns {ResultTensor<As>}
   * @throws {AttnError} `invalid_argument`, `shape_mismatch`, `out_of_memory`
   */
  slice(x, dimension, begin, end) {
    return slice(this.#runtime, x, dimension, begin, end);
  }

  /**
   * Formats a tensor as text, row by row, like PyTorch. `toString()` of handles and variables does the same.
   *
   * @param {TensorLike | Variable} x
   * @returns {string}
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`
   */
  formatTensor(x) {
    return formatTensor(x);
  }

  /**
   * The same module, but results stay in WebAssembly memory. Its functions, and the methods of layers
   * made with its classes, return a `TensorHandle` instead of a `Tensor`. Dispose of every handle that
   * you receive.
   *
   * ```js
   * const { handles } = attn;
   * using x = handles.ngramEmbedding(tokens, { dModel: 512 });
   * using encoded = handles.positionalEncoding(x);
   * const { output } = attn.scaledDotProductAttention(encoded, encoded, encoded);
   * ```
   *
   * @returns {Attn<'handle'>}
   */
  get handles() {
    const Class = /** @type {new (...args: any) => Attn<'handle'>} */ (this.constructor);
    this.#handles ??= new Class(this.#runtime.withHandles(), this.#variant);
    return this.#handles;
  }

  /**
   * Scaled dot-product attention (Vaswani et al. 2017):
   *
   *   output_i = Σ_j softmax_j(scale · q_i·k_j) v_j
   *
   * Scores pass through these stages: scale and relative keys, softcap, bias (ALiBi, T5, additive),
   * exclusion, softmax, dropout. You can request each stage as a result. Excluded keys are skipped, so NaN
   * and infinity in them have no effect. A query with nothing to attend to gives output 0, weights 0 and
   * log-sum-exp −∞. Memory is linear in N unless you request a stage. Sums, softmax and log-sum-exp are
   * float32 for all element types.
   *
   * @template {boolean} [Scaled=false]
   * @template {boolean} [Capped=false]
   * @template {boolean} [Biased=false]
   * @template {boolean} [Weights=false]
   * @template {boolean} [LogSumExp=false]
   * @template {boolean} [Sums=false]
   * @template {ElementType} [Output='float32']
   * @overload
   * @param {Given<As, ElementsLike | TensorHandle>} query  (B, Hq, Nq, D), (B, Nq, D) or (Nq, D)
   * @param {Given<As, ElementsLike | TensorHandle>} key  (B, Hkv, Nk, D), of the same rank; Hq is a multiple of Hkv, and
   *   query head h reads key head h / (Hq/Hkv)
   * @param {Given<As, ElementsLike | TensorHandle>} value  (B, Hkv, Nk, Dv), of the same rank
   * @param {Given<As, ScaledDotProductAttentionOptions<Scaled, Capped, Biased, Weights, LogSumExp, Sums, Output>>} [options]
   * @returns {Gives<As, AttentionResult<As, Scaled, Capped, Biased, Weights, LogSumExp, Sums, Output>>} `output`
   *   (B, Hq, Nq, Dv), and the requested stages, (B, Hq, Nq, Nk)
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `size_overflow`, `out_of_memory`, `disposed`
   */
  /**
   * Scaled dot-product attention over the keys and values of a cache, read in their stored format:
   *
   * ```js
   * cache.append(newKeys, newValues);
   * const { output } = attn.scaledDotProductAttention(newQueries, cache, {
   *   causal: true,
   *   diagonal: 'bottomRight',
   * });
   * ```
   *
   * @template {boolean} [Scaled=false]
   * @template {boolean} [Capped=false]
   * @template {boolean} [Biased=false]
   * @template {boolean} [Weights=false]
   * @template {boolean} [LogSumExp=false]
   * @template {boolean} [Sums=false]
   * @template {ElementType} [Output='float32']
   * @overload
   * @param {Given<As, ElementsLike | TensorHandle>} query  (B, Hq, Nq, D), or the shape that `layout` or `numHeads` defines
   * @param {Given<As, KeyValueCache<any>>} cache  a cache with the same batch size and head dimension
   * @param {Given<As, ScaledDotProductAttentionOptions<Scaled, Capped, Biased, Weights, LogSumExp, Sums, Output>>} [options]
   * @returns {Gives<As, AttentionResult<As, Scaled, Capped, Biased, Weights, LogSumExp, Sums, Output>>}
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `size_overflow`, `out_of_memory`, `disposed`
   */
  /**
   * @param {any} query
   * @param {any} key
   * @param {any} [value]
   * @param {any} [options]
   * @returns {any}
   */
  scaledDotProductAttention(query, key, value, options) {
    return isObjectOf(key, KeyValueCache)
      ? scaledDotProductAttention(this.#runtime, query, key, undefined, value)
      : scaledDotProductAttention(this.#runtime, query, key, value, options);
  }

  /**
   * Softmax over the last dimension with part of it excluded (D2L 11.3, `masked_softmax`):
   *
   *   output_j = exp(x_j) / Σ_k exp(x_k)   over the included j and k, 0 for the others
   *
   * Excluded elements are not read, so NaN and infinity in them have no effect. A row in which everything
   * is excluded gives zeros.
   *
   * @param {TensorLike} x  (N, K), (B, N, K) or (B, H, N, K)
   * @param {MaskedSoftmaxOptions} [options]
   * @returns {ResultTensor<As>} the shape of `x`
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `out_of_memory`, `disposed`
   */
  maskedSoftmax(x, options = {}) {
    return maskedSoftmax(this.#runtime, x, options);
  }

  /**
   * Merges the attention of the same queries over two parts of the keys into attention over both parts:
   *
   *   logSumExp = ln(exp(logSumExpA) + exp(logSumExpB))
   *   output = exp(logSumExpA − logSumExp) · outputA + exp(logSumExpB − logSumExp) · outputB
   *
   * To get a part, call `scaledDotProductAttention()` with `needLogSumExp`. If the log-sum-exp of a
   * part is −∞, the part has nothing to attend to, and its output is not read. If you merge several
   * parts pairwise, the grouping changes the result only by rounding errors.
   *
   * @param {TensorLike} outputA  (N, Dv), (B, N, Dv) or (B, H, N, Dv)
   * @param {TensorLike} logSumExpA  (N,), (B, N) or (B, H, N)
   * @param {TensorLike} outputB
   * @param {TensorLike} logSumExpB
   * @returns {AttentionPart<As>}
   * @throws {AttnError} `shape_mismatch`, `out_of_memory`, `disposed`
   */
  mergeAttention(outputA, logSumExpA, outputB, logSumExpB) {
    return mergeAttention(this.#runtime, outputA, logSumExpA, outputB, logSumExpB);
  }

  /**
   * Attention pooling (D2L 11.2 and 11.3; Nadaraya 1964, Watson 1964):
   *
   *   output_i = Σ_j weight_ij · v_j
   *
   * The weights are computed from the scores a(q_i, k_j); see `Scoring`. The output is zero for a
   * query that has nothing to attend to. It is also zero if a kernel's scores for the query are all
   * 0.
   *
   * @template {boolean} [Scores=false]
   * @template {boolean} [Weights=false]
   * @overload
   * @param {Given<As, TensorLike>} query  (B, Nq, D), or all inputs without B
   * @param {Given<As, TensorLike>} key  (B, Nk, D)
   * @param {Given<As, TensorLike>} value  (B, Nk, Dv)
   * @param {Given<As, AttentionPoolingOptions<Scores, Weights>>} [options]
   * @returns {Gives<As, AttentionPoolingResult<As, Scores, Weights>>}
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `size_overflow`, `out_of_memory`, `disposed`
   */
  /**
   * @param {any} query
   * @param {any} key
   * @param {any} value
   * @param {any} [options]
   * @returns {any}
   */
  attentionPooling(query, key, value, options = {}) {
    return attentionPooling(this.#runtime, query, key, value, options);
  }

  /**
   * Returns ALiBi's slope for each head (Press et al. 2022), for the option `alibiSlopes` of
   * attention: 2^(−8·(h+1)/H) if H is a power of two, otherwise as in the authors' code.
   *
   * @param {number} numHeads  H
   * @returns {ResultTensor<As>} (H,)
   * @throws {AttnError} `invalid_argument`, `size_overflow`, `out_of_memory`
   */
  alibiSlopes(numHeads) {
    return alibiSlopes(this.#runtime, numHeads);
  }

  /**
   * The bias that ALiBi adds to the scores: −slope_h · |j − (i + offset)|.
   *
   * @param {AlibiBiasOptions} options
   * @returns {ResultTensor<As>} (H, Nq, Nk)
   * @throws {AttnError} `invalid_argument`, `size_overflow`, `out_of_memory`
   */
  alibiBias(options) {
    return alibiBias(this.#runtime, options);
  }

  /**
   * Returns the buckets of T5's relative position bias (Raffel et al. 2020). Each short distance
   * has its own bucket. Longer distances share buckets, which are spaced logarithmically up to
   * `maxDistance`.
   *
   * @param {ArrayLike<number>} distances  key position − query position
   * @param {T5BucketOptions} [options]
   * @returns {Int32Array} a bucket for each distance
   * @throws {AttnError} `invalid_argument`, `out_of_memory`
   */
  t5Buckets(distances, options = {}) {
    return t5Buckets(this.#runtime, distances, options);
  }

  /**
   * The bias that T5's relative positions add to the scores: table[bucket(j − (i + offset)), h].
   *
   * @param {TensorLike} table  (numBuckets, H)
   * @param {T5BiasMatrixOptions} options
   * @returns {ResultTensor<As>} (H, Nq, Nk)
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `size_overflow`, `out_of_memory`, `disposed`
   */
  t5Bias(table, options) {
    return t5Bias(this.#runtime, table, options);
  }

  /**
   * Relative logits as Music Transformer computes them (Huang et al. 2018):
   *
   *   S[i, j] = scale · q_i · e_r,   r = L − 1 + j − i
   *
   * S[i, j] is 0 for j > i, unless `bidirectional` is true. The option `relativeKeys` of attention
   * adds the same numbers to the scores.
   *
   * @param {TensorLike} query  (B, H, N, D), (B, N, D) or (N, D), N ≤ L
   * @param {TensorLike} embeddings  (L, D) or (H, L, D); with `bidirectional`, 2L − 1 rows instead
   *   of L
   * @param {RelativeSkewOptions} [options]
   * @returns {ResultTensor<As>} the shape of `query` with N in place of D
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `size_overflow`, `out_of_memory`, `disposed`
   */
  relativeSkew(query, embeddings, options = {}) {
    return relativeSkew(this.#runtime, query, embeddings, options);
  }

  /**
   * Returns the `relativeKeys` table that gives the same logits as `relativeSkew`, with zeros for keys
   * after the query.
   *
   * @param {TensorLike} embeddings  (L, D) or (H, L, D)
   * @returns {ResultTensor<As>} (2L − 1, D) or (H, 2L − 1, D)
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `out_of_memory`, `disposed`
   */
  relativeKeysOfSkew(embeddings) {
    return relativeKeysOfSkew(this.#runtime, embeddings);
  }

  /**
   * Sinusoidal positional encoding (Vaswani et al. 2017):
   *
   *   P[i, 2j]     = sin(p_i / base^(2j/d))
   *   P[i, 2j + 1] = cos(p_i / base^(2j/d)),   p_i = start + i·step, or positions[i]
   *
   * Any width works; if it is odd, the last sine has no cosine. For base ≥ 1, each value is within
   * 3.1e-8 + 4.5e-16·|p_i| of the exact value.
   *
   * @param {sinusoidal.SinusoidalEncodingOptions} options
   * @returns {ResultTensor<As>} (N, dModel)
   * @throws {AttnError} `invalid_argument`, `size_overflow`, `out_of_memory`
   */
  sinusoidalEncoding(options) {
    return sinusoidalEncoding(this.#runtime, options);
  }

  /**
   * The sinusoidal encoding computed in float32, for comparison. Every step is rounded to float, as in
   * D2L 11.6 and common PyTorch code:
   *
   *   angle = float(p_i) / float(base^float(2j/d)),   sin and cos of that angle
   *
   * The error at position p can be as large as p · 6e-8.
   *
   * @param {sinusoidal.SinusoidalTableOptions} options
   * @returns {sinusoidal.SinusoidalEncodingInFloat32<As>} `encoding` (N, dModel), and `error`, the
   *   encoding minus its exact values
   * @throws {AttnError} `invalid_argument`, `size_overflow`, `out_of_memory`
   */
  sinusoidalEncodingInFloat32(options) {
    return sinusoidalEncodingInFloat32(this.#runtime, options);
  }

  /**
   * The matrix that moves a sinusoidal encoding by δ positions: M_δ · P[i] = P[i + δ] for every i,
   * with P[i] as a column. In the interleaved layout, the diagonal of M_δ has one block for each
   * frequency ω_j = base^(−2j/d):
   *
   *    cos(δ·ω_j)  sin(δ·ω_j)
   *   −sin(δ·ω_j)  cos(δ·ω_j)
   *
   * @param {ShiftMatrixOptions} options
   * @returns {ResultTensor<As>} (dModel, dModel)
   * @throws {AttnError} `invalid_argument`, including if the width is odd, because the last sine then has no cosine;
   *   `size_overflow`, `out_of_memory`
   */
  shiftMatrix(options) {
    return shiftMatrix(this.#runtime, options);
  }

  /**
   * Computes M_δ · P[i] for every row of an encoding, without forming M_δ.
   *
   * @param {TensorLike} encoding  (N, d) or (B, N, d), d even
   * @param {number} delta  number of positions to shift by; may be negative or fractional
   * @param {ShiftOptions} [options]
   * @returns {ResultTensor<As>} the shape of `encoding`
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `out_of_memory`, `disposed`
   */
  applyShift(encoding, delta, options = {}) {
    return applyShift(this.#runtime, encoding, delta, options);
  }

  /**
   * Adds positions to tokens, like D2L's `PositionalEncoding`: dropout(x + P), where P is the sinusoidal
   * encoding of positions start, start + 1, …
   *
   * @param {TensorLike} x  (B, N, E) or (N, E)
   * @param {PositionalEncodingOptions} [options]
   * @returns {ResultTensor<As>} the shape of `x`
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `out_of_memory`, `disposed`
   */
  positionalEncoding(x, options = {}) {
    return positionalEncoding(this.#runtime, x, options);
  }

  /**
   * The ONNX operator RotaryEmbedding. It rotates `x` by cosines and sines that you pass as tables.
   * `RotaryEmbedding.tables()` returns such tables.
   *
   * @template {ElementType} [Output='float32']
   * @overload
   * @param {Given<As, ElementsLike | TensorHandle>} x  (B, H, N, D), (B, N, D) or (N, D), of any element type
   * @param {Given<As, TensorLike>} cosCache  (rows, rotaryDim/2) with `positionIds`; otherwise (N, rotaryDim/2) or (B,
   *   N, rotaryDim/2)
   * @param {Given<As, TensorLike>} sinCache  sines in the same shape
   * @param {Given<As, RotaryCacheOptions<Output>>} [options]
   * @returns {Gives<As, ResultOfType<As, Output>>} the shape of `x`
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `out_of_memory`, `disposed`
   */
  /**
   * @param {any} x
   * @param {any} cosCache
   * @param {any} sinCache
   * @param {any} [options]
   * @returns {any}
   */
  applyRotaryEmbedding(x, cosCache, sinCache, options = {}) {
    return applyRotaryEmbedding(this.#runtime, x, cosCache, sinCache, options);
  }

  /**
   * Embeds tokens without a trained model. Each row is the normalised sum of pseudo-random vectors: one
   * for each character n-gram of the token (2 to 4 characters) and one for the whole word. Words with
   * similar spelling get similar vectors, and identical words get the same vector. The vectors of other words
   * are nearly orthogonal. Case matters; to ignore it, pass tokens in lower case. Every row has root mean square 1
   * and does not depend on the tokens around it.
   *
   * @param {readonly string[]} tokens  N tokens
   * @param {NgramEmbeddingOptions} options
   * @returns {ResultTensor<As>} (N, dModel)
   * @throws {AttnError} `invalid_argument`, `size_overflow`, `out_of_memory`
   */
  ngramEmbedding(tokens, options) {
    return ngramEmbedding(this.#runtime, tokens, options);
  }

  /**
   * Applies an activation function to each element.
   *
   * @param {TensorLike} x  any shape
   * @param {Activation} activation
   * @returns {ResultTensor<As>} the shape of `x`
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `out_of_memory`, `disposed`
   */
  applyActivation(x, activation) {
    return applyActivation(this.#runtime, x, activation);
  }

  /**
   * Inverted dropout (Srivastava et al. 2014): each element becomes 0 with the given probability p, and
   * x / (1 − p) otherwise. Every machine drops the same elements.
   *
   * @param {TensorLike} x  any shape
   * @param {Dropout | number} options
   * @returns {ResultTensor<As>} the shape of `x`
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `out_of_memory`, `disposed`
   */
  applyDropout(x, options) {
    return applyDropout(this.#runtime, x, options);
  }

  /**
   * Returns uniform random numbers from [low, high), drawn with Philox4x32-10. The numbers are bit-identical on every
   * machine.
   *
   * @param {UniformOptions} options
   * @returns {ResultTensor<As>}
   * @throws {AttnError} `invalid_argument`, `size_overflow`, `out_of_memory`
   */
  randomUniform(options) {
    return randomUniform(this.#runtime, options);
  }

  /**
   * Returns normally distributed random numbers, all within 6.77 standard deviations of the mean.
   *
   * @param {NormalOptions} options
   * @returns {ResultTensor<As>}
   * @throws {AttnError} `invalid_argument`, `size_overflow`, `out_of_memory`
   */
  randomNormal(options) {
    return randomNormal(this.#runtime, options);
  }

  /**
   * Returns weights from Xavier initialisation (Glorot & Bengio 2010): uniform in [−a, a], a = gain · √(6 / (fan in +
   * fan out)).
   *
   * @param {XavierOptions} options
   * @returns {ResultTensor<As>}
   * @throws {AttnError} `invalid_argument`, `size_overflow`, `out_of_memory`
   */
  xavierUniform(options) {
    return xavierUniform(this.#runtime, options);
  }

  /**
   * Returns the bytes of a .safetensors file with these tensors. The official implementation writes the
   * same bytes. float16 and bfloat16 tensors keep their bits and are written as F16 and BF16. All others are written as
   * F32.
   *
   * ```js
   * const bytes = attn.toSafetensors(model.stateDict(), { format: 'pt' });
   * ```
   *
   * @param {Named<ElementsLike | TensorHandle>} tensors  by name: a plain object, a Map or [name, tensor]
   *   pairs. Without tensors, the file is valid and empty
   * @param {Named<string>} [metadata]  texts by name: a plain object, a Map or [name, text] pairs
   * @returns {Uint8Array<ArrayBuffer>}
   * @throws {AttnError} `invalid_argument`, `size_overflow`, `out_of_memory`
   */
  toSafetensors(tensors, metadata = {}) {
    return toSafetensors(this.#runtime, tensors, metadata);
  }

  #describe() {
    return this.#runtime.memory.enter((native) => native.describe());
  }
}

/**
 * Returns a class for users: its constructor takes only options, and its objects belong to this module.
 * A proxy keeps the prototype, name and static members of the class, so users can extend it.
 * @param {Runtime} runtime
 * @param {new (runtime: Runtime, ...args: any[]) => any} Class
 * @returns {any}
 */
export function madeIn(runtime, Class) {
  pointAtCallers(Class);
  /** @param {unknown} _ @param {unknown[]} args @param {Function} target */
  function construct(_, args, target) {
    try {
      return Reflect.construct(Class, [runtime, ...args], target);
    } catch (error) {
      throw startAtCallerOf(construct, error);
    }
  }
  return new Proxy(Class, { construct });
}
