import { AttnError } from './errors.js';
import { Memory } from './memory.js';

/** @import { AttnErrorCode } from './errors.js' */

/** Names that the core spells otherwise. Those of parameters, which have underscores too, stay. */
const kNames = new Map([
  ['d_model', 'dModel'],
  ['num_heads', 'numHeads'],
  ['num_threads', 'threads'],
  ['valid_lens', 'validLens'],
]);

/**
 * What bindings.cpp offers. Tensors and texts are addresses in WebAssembly memory; a call returns
 * whether it succeeded.
 * @typedef {object} Native
 * @property {WebAssembly.Memory} wasmMemory
 * @property {(bytes: number) => number} _malloc
 * @property {(address: number) => void} _free
 * @property {(numThreads: number) => boolean} start
 * @property {() => number} numThreads
 * @property {() => number} instructionSet
 * @property {() => number} version
 * @property {() => number} bytesInUse
 * @property {() => number} errorCode
 * @property {() => number} errorMessage
 * @property {new () => NativeAttentionOptions} AttentionOptions
 * @property {(query: number, key: number, value: number, output: number,
 *   options: NativeAttentionOptions) => boolean} scaledDotProductAttention
 * @property {(output: number, base: number, start: number, step: number,
 *   concatenated: boolean) => boolean} sinusoidalEncoding
 * @property {(output: number, delta: number, base: number,
 *   concatenated: boolean) => boolean} shiftMatrix
 * @property {(encoding: number, delta: number, output: number, base: number,
 *   concatenated: boolean) => boolean} applyShift
 * @property {(x: number, output: number, base: number, start: number,
 *   concatenated: boolean) => boolean} positionalEncoding
 * @property {(utf8: number, ends: number, output: number, seed: number) => boolean} ngramEmbedding
 * @property {(dModel: number, numHeads: number,
 *   bias: boolean) => NativeMultiHeadAttention | null} makeMultiHeadAttention
 */

/**
 * @typedef {object} NativeAttentionOptions
 * @property {() => void} reset
 * @property {(scale: number) => void} setScale
 * @property {(bottomRight: boolean, offset: number) => void} setCausal
 * @property {(left: number, right: number, bottomRight: boolean, offset: number) => void} setWindow
 * @property {(lens: number) => void} setValidLens
 * @property {(mask: number) => void} setMask
 * @property {(weights: number) => void} setWeights
 */

/**
 * @typedef {object} NativeLayer
 * @property {() => void} delete
 * @property {() => number} parameterNames
 * @property {(name: number, record: number) => boolean} parameter
 * @property {(name: number, values: number) => boolean} setParameter
 */

/**
 * @typedef {object} NativeMultiHeadAttentionMethods
 * @property {() => boolean} initializeIdentity
 * @property {(seed: number) => boolean} initializeXavier
 * @property {(query: number, key: number, value: number, output: number,
 *   options: NativeAttentionOptions) => boolean} forward
 */

/** @typedef {NativeLayer & NativeMultiHeadAttentionMethods} NativeMultiHeadAttention */

/** One loaded module: what all concepts call the core through. */
export class Runtime {
  /** @param {Native} native */
  constructor(native) {
    this.native = native;
    this.memory = new Memory(native);
    this.attentionOptions = new native.AttentionOptions();
    /**
     * Deletes the layers that were dropped without dispose().
     * @type {FinalizationRegistry<NativeLayer>}
     */
    this.dropped = new FinalizationRegistry((layer) => layer.delete());
  }

  /**
   * Runs one call of the core: `body` copies in, calls, checks and copies out. Whatever it took of
   * the memory is given back, also when it throws.
   * @template T
   * @param {(memory: Memory, native: Native) => T} body
   * @returns {T}
   */
  call(body) {
    try {
      return this.memory.scope(() => body(this.memory, this.native));
    } catch (error) {
      if (!(error instanceof WebAssembly.RuntimeError)) throw error;
      throw new AttnError('internal', `the core stopped: ${error.message}`, { cause: error });
    }
  }

  /**
   * Throws the core's error if a call did not succeed.
   * @param {boolean} succeeded
   */
  check(succeeded) {
    if (succeeded) return;
    const code = /** @type {AttnErrorCode} */ (this.memory.readText(this.native.errorCode()));
    const message = this.memory.readText(this.native.errorMessage());
    throw new AttnError(
      code,
      message.replace(/\b[a-z]+_[a-z_]+\b/g, (n) => kNames.get(n) ?? n),
    );
  }
}
