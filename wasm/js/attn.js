import { MultiHeadAttention } from './multiHeadAttention.js';
import { ngramEmbedding } from './ngramEmbedding.js';
import { positionalEncoding } from './positionalEncoding.js';
import { scaledDotProductAttention } from './scaledDotProductAttention.js';
import { applyShift, shiftMatrix } from './shiftMatrix.js';
import { sinusoidalEncoding } from './sinusoidalEncoding.js';

/** @import { MultiHeadAttentionOptions } from './multiHeadAttention.js' */
/** @import { NgramEmbeddingOptions } from './ngramEmbedding.js' */
/** @import { PositionalEncodingOptions } from './positionalEncoding.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { AttentionResult, ScaledDotProductAttentionOptions } from './scaledDotProductAttention.js' */
/** @import { ShiftMatrixOptions, ShiftOptions } from './shiftMatrix.js' */
/** @import { SinusoidalEncodingOptions } from './sinusoidalEncoding.js' */
/** @import { Tensor, TensorLike } from './tensor.js' */
/** @import { Variant } from './variants.js' */

/**
 * A loaded module. Tensors are `{ data, shape }`, row-major; arguments are copied into WebAssembly
 * memory and results out of it, so both are the caller's alone.
 */
export class Attn {
  #runtime;
  #variant;

  /**
   * @internal use `load()`
   * @param {Runtime} runtime
   * @param {Variant} variant
   */
  constructor(runtime, variant) {
    this.#runtime = runtime;
    this.#variant = variant;
    /**
     * The class of multi-head attention layers; see there.
     * @readonly
     * @type {new (options: MultiHeadAttentionOptions) => MultiHeadAttention}
     */
    this.MultiHeadAttention = MultiHeadAttention.bind(null, runtime);
  }

  /** The build in use. */
  get variant() {
    return this.#variant;
  }

  /** The instructions that its kernels use: `wasm_simd128` or `wasm_relaxed_simd`. */
  get instructionSet() {
    return this.#runtime.memory.readText(this.#runtime.native.instructionSet());
  }

  /** How many threads share the work, the calling one included. */
  get numThreads() {
    return this.#runtime.native.numThreads();
  }

  /** The version of the library. */
  get version() {
    return this.#runtime.memory.readText(this.#runtime.native.version());
  }

  /**
   * Scaled dot-product attention (Vaswani et al. 2017):
   *
   *   output_i = Σ_j softmax_j(scale · q_i·k_j) v_j
   *
   * Memory is linear in N, unless the weights are asked for.
   *
   * @param {TensorLike} query  (B, Hq, Nq, D), (B, Nq, D) or (Nq, D)
   * @param {TensorLike} key  (B, Hkv, Nk, D), of the same rank; Hq is a multiple of Hkv, and query
   *   head h reads key head h / (Hq/Hkv)
   * @param {TensorLike} value  (B, Hkv, Nk, Dv), of the same rank
   * @param {ScaledDotProductAttentionOptions} [options]
   * @returns {AttentionResult} `output` (B, Hq, Nq, Dv) and, with `needWeights`, `weights`
   *   (B, Hq, Nq, Nk)
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `size_overflow`, `out_of_memory`
   */
  scaledDotProductAttention(query, key, value, options = {}) {
    return scaledDotProductAttention(this.#runtime, query, key, value, options);
  }

  /**
   * Sinusoidal positional encoding (Vaswani et al. 2017):
   *
   *   P[i, 2j]     = sin(p_i / base^(2j/d))
   *   P[i, 2j + 1] = cos(p_i / base^(2j/d)),   p_i = start + i·step
   *
   * Any width; the last sine of an odd one has no cosine. Each value is within 3.1e-8 +
   * 4.5e-16·|p_i| of the exact one, for base ≥ 1.
   *
   * @param {SinusoidalEncodingOptions} options
   * @returns {Tensor} (length, dModel)
   * @throws {AttnError} `invalid_argument`, `size_overflow`, `out_of_memory`
   */
  sinusoidalEncoding(options) {
    return sinusoidalEncoding(this.#runtime, options);
  }

  /**
   * The matrix that moves a sinusoidal encoding by δ positions: M_δ · P[i] = P[i + δ] for every i,
   * with P[i] as a column. Interleaved, it has on its diagonal a block for each frequency
   * ω_j = base^(−2j/d):
   *
   *    cos(δ·ω_j)  sin(δ·ω_j)
   *   −sin(δ·ω_j)  cos(δ·ω_j)
   *
   * @param {ShiftMatrixOptions} options
   * @returns {Tensor} (dModel, dModel)
   * @throws {AttnError} `invalid_argument`, also for an odd width, whose last sine has no cosine to
   *   turn with; `size_overflow`, `out_of_memory`
   */
  shiftMatrix(options) {
    return shiftMatrix(this.#runtime, options);
  }

  /**
   * M_δ · P[i] for every row of an encoding, without forming M_δ.
   *
   * @param {TensorLike} encoding  (N, d) or (B, N, d), d even
   * @param {number} delta  by how many positions to shift; may be negative or fractional
   * @param {ShiftOptions} [options]
   * @returns {Tensor} the shape of `encoding`
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `out_of_memory`
   */
  applyShift(encoding, delta, options = {}) {
    return applyShift(this.#runtime, encoding, delta, options);
  }

  /**
   * Gives tokens their positions, as D2L's `PositionalEncoding`: x + P, with the sinusoidal
   * encoding P of positions start, start + 1, …
   *
   * @param {TensorLike} x  (B, N, E) or (N, E)
   * @param {PositionalEncodingOptions} [options]
   * @returns {Tensor} the shape of `x`
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `out_of_memory`
   */
  positionalEncoding(x, options = {}) {
    return positionalEncoding(this.#runtime, x, options);
  }

  /**
   * Embeddings for tokens without a trained model: the normalised sum of pseudo-random vectors, one
   * for each of a token's character n-grams (2 to 4 characters) and one for the whole word. Words
   * spelled alike lie close together, identical ones coincide, and others are nearly orthogonal.
   * Every row has root mean square 1, and does not depend on the tokens around it.
   *
   * @param {readonly string[]} tokens  N of them
   * @param {NgramEmbeddingOptions} options
   * @returns {Tensor} (N, dModel)
   * @throws {AttnError} `invalid_argument`, `size_overflow`, `out_of_memory`
   */
  ngramEmbedding(tokens, options) {
    return ngramEmbedding(this.#runtime, tokens, options);
  }

  /**
   * The bytes in use, weights of layers and scratch memory that is kept between calls included, and
   * the size of the WebAssembly memory, which never shrinks.
   * @returns {{ bytesInUse: number, bytesReserved: number }}
   */
  memory() {
    const { native } = this.#runtime;
    return {
      bytesInUse: native.bytesInUse(),
      bytesReserved: native.wasmMemory.buffer.byteLength,
    };
  }
}
