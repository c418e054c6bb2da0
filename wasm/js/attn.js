import { scaledDotProductAttention } from './scaledDotProductAttention.js';

/** @import { Runtime } from './runtime.js' */
/** @import { AttentionResult, ScaledDotProductAttentionOptions } from './scaledDotProductAttention.js' */
/** @import { TensorLike } from './tensor.js' */
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
  }

  /** The build in use. */
  get variant() {
    return this.#variant;
  }

  /** The instructions that its kernels use: `wasm_simd128` or `wasm_relaxed_simd`. */
  get instructionSet() {
    return this.#runtime.memory.text(this.#runtime.native.instructionSet());
  }

  /** How many threads share the work, the calling one included. */
  get numThreads() {
    return this.#runtime.native.numThreads();
  }

  /** The version of the library. */
  get version() {
    return this.#runtime.memory.text(this.#runtime.native.version());
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
}
