import { checkRandom } from './dropout.js';
import { make, NativeObject } from './nativeObject.js';
import { checkChoice, checkTensor, invalid } from './tensor.js';

/** @import { Call } from './call.js' */
/** @import { RandomOptions } from './dropout.js' */
/** @import { Operation, Runtime } from './runtime.js' */
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
   */
  constructor(runtime, operation, writeOptions) {
    super(runtime, 'deleteLayer', make(runtime, operation, writeOptions));
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

/** @param {InitOptions} options */
export function checkInit(options) {
  checkChoice('init', options.init ?? 'xavier', ['xavier', 'zeros']);
  checkRandom(options);
}

/** @param {string} name */
function checkName(name) {
  if (typeof name !== 'string') throw invalid('name', name, 'the name of a parameter');
}
