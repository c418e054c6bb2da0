import { checkRandom } from './dropout.js';
import { make, NativeObject } from './nativeObject.js';
import { withSafetensors } from './safetensors.js';
import {
  checkChoice,
  checkEqual,
  checkFlag,
  checkOptions,
  checkShape,
  checkTensor,
  checkTensorOf,
  invalid,
} from './tensor.js';

/** @import { Call } from './call.js' */
/** @import { RandomOptions } from './dropout.js' */
/** @import { Operation, Runtime } from './runtime.js' */
/** @import { IncompatibleKeys, Safetensors } from './safetensors.js' */
/** @import { Tensor, TensorLike } from './tensor.js' */

/**
 * The first weights.
 * @typedef {object} InitOption
 * @property {'xavier' | 'zeros'} [init]  drawn by Xavier's uniform rule, or zeros; `'xavier'` by
 *   default
 */

/** @typedef {InitOption & RandomOptions} InitOptions */

/**
 * What all layers have: parameters with PyTorch's names and layouts, and memory that is freed by
 * `dispose()`, by `using`, or at last when the layer is garbage-collected.
 */
export class Layer extends NativeObject {
  /**
   * @param {Runtime} runtime
   * @param {Operation} operation  makes it
   * @param {(call: Call) => void} writeOptions
   * @param {NativeObject} [owner]  of a layer that is part of another one
   */
  constructor(runtime, operation, writeOptions, owner) {
    super(runtime, 'deleteLayer', make(runtime, operation, writeOptions), owner);
  }

  /**
   * The names of the parameters, in PyTorch's order.
   * @returns {string[]}
   */
  parameterNames() {
    return this.runtime.call((call) => {
      call.number(this.address);
      call.run(this.runtime.native.parameterNames);
      return call.givenText().split('\n').slice(0, -1);
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
    return this.runtime.call((call) => {
      call.number(this.address);
      call.text('name', name);
      call.run(this.runtime.native.parameter, asWritten);
      return call.givenTensor(name);
    });
  }

  /**
   * Sets a parameter.
   * @param {string} name
   * @param {TensorLike} values  of the parameter's shape
   * @throws {AttnError} `not_found`, `shape_mismatch`
   */
  setParameter(name, values) {
    checkName(name);
    checkTensor(name, values);
    this.runtime.call((call) => {
      call.number(this.address);
      call.text('name', name);
      call.floats(name, values);
      call.run(this.runtime.native.setParameter, asWritten);
    });
  }

  /**
   * The weights by name, as PyTorch's `state_dict`: copies.
   * @param {{ prefix?: string }} [options]  `prefix` is put in front of each name
   * @returns {Record<string, Tensor>}
   */
  stateDict({ prefix = '' } = {}) {
    const names = this.parameterNames();
    return Object.fromEntries(names.map((name) => [prefix + name, this.parameter(name)]));
  }

  /**
   * Sets the weights from a file or from tensors, as torch.nn.Module.load_state_dict: each from what
   * is named `prefix` + its name. What begins otherwise is left alone. Everything is checked before
   * anything is set.
   * @param {ArrayBuffer | Uint8Array | Safetensors | Record<string, TensorLike>} source  a
   *   .safetensors file, as bytes or opened, or tensors by name
   * @param {{ prefix?: string, strict?: boolean }} [options]  `strict`, as by default, makes missing
   *   and unexpected names an error
   * @returns {IncompatibleKeys}
   * @throws {AttnError} `not_found` with all names that are missing or unexpected; `shape_mismatch`,
   *   `unsupported` (a dtype other than F32, F16 and BF16), `invalid_format`, `out_of_memory`
   */
  loadStateDict(source, options = {}) {
    checkOptions(options);
    const { prefix = '', strict = true } = options;
    checkFlag('strict', strict);
    const address = this.address;
    return withSafetensors(this.runtime, source, (file) =>
      this.runtime.call((call) => {
        call.number(address);
        call.number(file.address);
        call.text('prefix', prefix);
        call.flag(strict);
        call.run(this.runtime.native.loadStateDict, asWritten);
        const names = (/** @type {number} */ at) => call.givenText(at).split('\0').slice(0, -1);
        return { missingKeys: names(0), unexpectedKeys: names(2) };
      }),
    );
  }

  /**
   * Gives the layer weights drawn from a stream, unless they are to be zeros.
   * @protected
   * @param {Operation} operation
   * @param {InitOptions} options
   */
  initializeFrom(operation, options) {
    if (options.init === 'zeros') return;
    this.initialize(operation, (call) => call.random(options));
  }

  /**
   * Runs an operation with one input and one result.
   * @protected
   * @param {Operation} operation
   * @param {TensorLike} x
   * @param {readonly number[]} shape  of the result
   * @param {(call: Call) => void} [writeFurther]
   */
  rows(operation, x, shape, writeFurther) {
    checkShape('output', shape);
    return this.runtime.call((call) => {
      call.number(this.address);
      call.floats('x', x);
      const output = call.result('output', shape);
      writeFurther?.(call);
      call.run(this.runtime.native[operation]);
      return call.give(output);
    });
  }

  /**
   * Runs an operation that gives the layer its first weights; without them there is no layer.
   * @protected
   * @param {Operation} operation
   * @param {(call: Call) => void} [writeOptions]
   */
  initialize(operation, writeOptions = () => {}) {
    try {
      this.runtime.call((call) => {
        call.number(this.address);
        writeOptions(call);
        call.run(this.runtime.native[operation]);
      });
    } catch (error) {
      this.dispose();
      throw error;
    }
  }
}

/**
 * Names of parameters have underscores here, too.
 * @param {string} message
 */
export const asWritten = (message) => message;

/**
 * Checks rows of a width.
 * @param {string} name
 * @param {TensorLike} x
 * @param {number} width
 * @param {string} what  the width is, for the message
 */
export function checkRows(name, x, width, what) {
  checkTensor(name, x, { 2: `(N, ${what})`, 3: `(B, N, ${what})` });
  checkEqual(name, 'width', x.shape[x.shape.length - 1], what, width);
}

/**
 * @param {string} name
 * @param {TensorLike} tensor
 * @param {string} other
 * @param {TensorLike} needed
 */
export function sameShape(name, tensor, other, needed) {
  checkTensor(other, needed);
  checkTensorOf(name, tensor, needed.shape);
}

/** @param {InitOptions} options */
export function checkInit(options) {
  checkChoice('init', options.init ?? 'xavier', ['xavier', 'zeros']);
  checkRandom(options);
}

/** @param {string} name */
function checkName(name) {
  if (typeof name !== 'string') throw invalid('name', name, 'the name of a parameter');
}
