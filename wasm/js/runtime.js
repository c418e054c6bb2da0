import { AttnError } from './errors.js';
import { Memory } from './memory.js';

/** @import { AttnErrorCode } from './errors.js' */

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

/** One loaded module: what all concepts call the core through. */
export class Runtime {
  /** @param {Native} native */
  constructor(native) {
    this.native = native;
    this.memory = new Memory(native);
    this.attentionOptions = new native.AttentionOptions();
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
    const code = /** @type {AttnErrorCode} */ (this.memory.text(this.native.errorCode()));
    const message = this.memory.text(this.native.errorMessage());
    // The core speaks of valid_lens, JavaScript of validLens.
    const camelCase = message.replace(/\b[a-z]+(?:_[a-z]+)+\b/g, (name) =>
      name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase()),
    );
    throw new AttnError(code, camelCase);
  }
}
