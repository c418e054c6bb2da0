import { AttnError } from './errors.js';
import { checkTensor, invalid } from './tensor.js';

/** @import { Memory } from './memory.js' */
/** @import { NativeLayer, Runtime } from './runtime.js' */
/** @import { Tensor, TensorLike } from './tensor.js' */

/**
 * What all layers have: parameters with PyTorch's names and layouts, and memory that is freed by
 * `dispose()`, by `using`, or at last when the layer is garbage-collected.
 * @template {NativeLayer} T
 */
export class Layer {
  #runtime;
  /** @type {T | undefined} */
  #native;

  /**
   * @param {Runtime} runtime
   * @param {T | null} native  null when it could not be made
   */
  constructor(runtime, native) {
    runtime.check(native !== null);
    this.#runtime = runtime;
    this.#native = /** @type {T} */ (native);
    runtime.dropped.register(this, this.#native, this);
  }

  /** The names of the parameters, in PyTorch's order. */
  parameterNames() {
    return this.call((memory, native) => {
      const address = native.parameterNames();
      this.#runtime.check(address !== 0);
      return memory.readText(address).split('\n');
    });
  }

  /**
   * A copy of a parameter.
   * @param {string} name
   * @returns {Tensor}
   * @throws {AttnError} `not_found`
   */
  parameter(name) {
    checkName(name);
    return this.call((memory, native) =>
      memory.copyOutOf(name, (record) =>
        this.#runtime.check(native.parameter(memory.text('name', name), record)),
      ),
    );
  }

  /**
   * Sets a parameter.
   * @param {string} name
   * @param {TensorLike} values  of the parameter's shape
   * @throws {AttnError} `not_found`, `shape_mismatch`
   */
  setParameter(name, values) {
    checkName(name);
    checkTensor(name, values, { 1: '(N,)', 2: '(M, N)' });
    this.call((memory, native) => {
      const address = memory.text('name', name);
      this.#runtime.check(native.setParameter(address, memory.floats(name, values)));
    });
  }

  /** Frees the layer's memory. Its methods throw `disposed` from then on; a second call does nothing. */
  dispose() {
    if (!this.#native) return;
    this.#runtime.dropped.unregister(this);
    this.#native.delete();
    this.#native = undefined;
  }

  [Symbol.dispose]() {
    this.dispose();
  }

  /**
   * Runs one call of the core on this layer.
   * @protected
   * @template R
   * @param {(memory: Memory, native: T) => R} body
   * @returns {R}
   */
  call(body) {
    const native = this.#native;
    if (!native) {
      throw new AttnError('disposed', `${this.constructor.name}: used after dispose()`);
    }
    return this.#runtime.call((memory) => body(memory, native));
  }
}

/** @param {string} name */
function checkName(name) {
  if (typeof name !== 'string') throw invalid('name', name, 'the name of a parameter');
}
