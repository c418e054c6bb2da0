import { checkText } from './errors.js';
import { checkOptions, choice, kRandomStream } from './checks.js';
import { addHints, kLayerElsewhere } from './hints.js';
import { NativeObject, nativeOf, runtimeOf } from './nativeObject.js';
import { readOptions } from './options.js';
import { brief } from './print.js';
import { loadState, makeStateDict } from './stateDict.js';

/** @import { RandomOptions } from './dropout.js' */
/** @import { ElementsLike, ElementType, OutputTypeOption, ResultOfType } from './elementType.js' */
/** @import { NativeCall, NativeTensor } from './nativeCall.js' */
/** @import * as Native from './native.js' */
/** @import { CheckTable } from './checks.js' */
/** @import { Names } from './options.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { IncompatibleKeys, Named, Safetensors } from './safetensors.js' */
/** @import { LoadStateDictOptions, StateDictOptions } from './stateDict.js' */
/** @import { Tensor, TensorLike } from './tensor.js' */
/** @import { ResultKind, ResultTensor, TensorHandle } from './tensorHandle.js' */

/**
 * Option for the initial weights.
 * @typedef {object} InitOption
 * @property {'xavier' | 'zeros'} [init]  drawn by Xavier's uniform rule, or zeros; `'xavier'` by
 *   default
 */

/** @typedef {InitOption & RandomOptions} InitOptions */

/**
 * The names of the requested intermediates, if there are any.
 * @typedef {readonly string[] | undefined} Asked
 */

/**
 * Option that requests intermediate results by name. `intermediateNames()` lists all names. Results
 * that you do not request cost nothing.
 *
 * The type is a union, so that TypeScript adds `undefined` to `N` if the option may be left out.
 * @template {Asked} [N=Asked]
 * @typedef {{ intermediates: N } | { intermediates?: N }} IntermediatesOption
 */

/**
 * The requested intermediates, by name. An intermediate is missing only if this call did not need
 * to compute it.
 * @template {ResultKind} [As='array']
 * @template {Asked} [N=Asked]
 * @typedef {[N] extends [readonly string[]] ? { intermediates: Record<string, ResultTensor<As>> }
 *   : [N] extends [undefined] ? { intermediates?: never }
 *   : { intermediates?: Record<string, ResultTensor<As>> }} ShownIntermediates
 */

/**
 * A result alone, or together with the requested intermediates.
 * @template {ResultKind} As
 * @template {Asked} N
 * @template {ElementType} [Output='float32']
 * @typedef {[N] extends [undefined] ? ResultOfType<As, Output>
 *   : { output: ResultOfType<As, Output> } & ShownIntermediates<As, N>
 *     | ([N] extends [readonly string[]] ? never : ResultOfType<As, Output>)} OutputOrShown
 */

/**
 * Position of a layer in a stack.
 * @typedef {object} Place
 * @property {Layer} owner
 * @property {number} index
 */

/** @type {(layer: Layer) => any} */
let sizesOf;

/** @type {Names<OutputTypeOption>} */
export const kOutputType = { outputType: true };

/**
 * Base class of all layers. Parameters have PyTorch's names and layouts. A layer's memory is freed
 * by `dispose()`, by `using` or, as a last resort, by garbage collection.
 *
 * @template {object} [Sizes=any]  the sizes of the layer
 * @template {Native.Module} [N=any]
 * @extends {NativeObject<N>}
 */
export class Layer extends NativeObject {
  static {
    sizesOf = (layer) => layer.#sizes;
  }

  /** @type {Required<Sizes>} */
  #sizes;
  #given;

  /**
   * @param {Runtime} runtime
   * @param {(native: Native.MainModule, sizes: any, call: NativeCall) => N} make
   * @param {Sizes} options
   * @param {CheckTable} table
   * @param {Place} [place]  position of a layer in a stack; `options` are then the stack's options
   */
  constructor(runtime, make, options, table, place) {
    const { native, sizes } = place
      ? layerAt(runtime, place)
      : makeLayer(runtime, make, options, table);
    super(runtime, native, place?.owner);
    this.#sizes = Object.freeze(sizes);
    this.#given = brief(options);
  }

  /**
   * The sizes of the layer, including defaults.
   * @protected
   * @returns {Required<Sizes>}
   */
  get sizes() {
    runtimeOf(this);
    return this.#sizes;
  }

  /** @protected */
  facts() {
    return this.#given;
  }

  /**
   * Returns the names of the parameters, in PyTorch's order.
   * @returns {string[]}
   */
  parameterNames() {
    return this.enter((native) => native.parameterNames());
  }

  /**
   * Returns all names that the option `intermediates` of `forward` accepts. A name is the path to an inner layer, as in
   * parameter names, followed by the name of the result. For example, a TransformerEncoder has
   * `layers.0.self_attn.weights` and `layers.0.resid_mid`.
   * @returns {string[]}
   */
  intermediateNames() {
    return this.enter((native) => native.intermediateNames());
  }

  /**
   * Returns a copy of a parameter.
   * @param {string} name
   * @returns {Tensor}
   * @throws {AttnError} `not_found`
   */
  parameter(name) {
    checkName(name);
    const shape = this.enter((native) => native.parameterShape(name));
    return runtimeOf(this).invoke((call) => {
      const values = call.result(name, shape);
      call.run(() => this.native.readParameter(name, values.tensor.native));
      return call.give(values);
    }, 'array');
  }

  /**
   * Calls the layer's C++ `forward`, which takes one input and fills one result. The input and the
   * result may have any element type.
   * @protected
   * @template {ElementType} Output
   * @param {OutputTypeOption<Output>} options
   * @param {(call: NativeCall) => { input: NativeTensor, shape: readonly number[] }} check  checks
   *   the arguments, and returns the input and the shape of the result
   * @returns {ResultOfType<any, Output>}
   */
  forwardElements(options, check) {
    const { outputType } = readOptions(options, kOutputType);
    return this.invoke((call) => {
      const { input, shape } = check(call);
      const output = call.output(outputType, shape);
      call.run(() => {
        /** @type {any} */ (this.native).forward(input.native, output.tensor.native);
      });
      return call.give(output);
    });
  }

  /**
   * Sets a parameter.
   * @param {string} name
   * @param {TensorLike} values  values in the parameter's shape
   * @throws {AttnError} `not_found`, `shape_mismatch`
   */
  setParameter(name, values) {
    checkName(name);
    this.invoke((call) => {
      const tensor = call.tensor(name, values);
      call.run(() => this.native.setParameter(name, tensor.native));
    });
  }

  /**
   * Returns copies of the weights by name, like PyTorch's `state_dict`.
   * @param {StateDictOptions} [options]
   * @returns {Record<string, Tensor>}
   */
  stateDict(options = {}) {
    return makeStateDict(
      options,
      () => this.parameterNames(),
      (name) => this.parameter(name),
    );
  }

  /**
   * Sets the weights from a file or from tensors, like torch.nn.Module.load_state_dict. Each weight comes
   * from the tensor named `prefix` + the name of the weight. Tensors without the prefix are ignored. All
   * tensors are checked before any weight is set.
   * @param {ArrayBuffer | Uint8Array | Safetensors | Named<ElementsLike | TensorHandle>} source  a
   *   .safetensors file, as bytes or opened, or tensors by name; two-byte element types are allowed
   * @param {LoadStateDictOptions} [options]
   * @returns {IncompatibleKeys}
   * @throws {AttnError} `not_found` with all names that are missing or unexpected; `shape_mismatch`,
   *   `unsupported` (a dtype other than F32, F16, BF16 and F64), `invalid_format`, `out_of_memory`
   */
  loadStateDict(source, options = {}) {
    return loadState(this, source, options);
  }
}

addHints(Layer.prototype, kLayerElsewhere);

/** @param {string} name */
const checkName = (name) => checkText('name', name, 'the name of a parameter');

/**
 * @param {Runtime} runtime
 * @param {(native: Native.MainModule, sizes: any, call: NativeCall) => any} make
 * @param {object} options
 * @param {CheckTable} table
 */
function makeLayer(runtime, make, options, table) {
  const sizes = checkOptions(options, table);
  const native = runtime.invoke((call) => call.run((module) => make(module, sizes, call)));
  return { native, sizes };
}

/**
 * @param {Runtime} runtime
 * @param {Place} place
 */
function layerAt({ memory }, { owner, index }) {
  const stack = sizesOf(owner);
  return {
    native: memory.enter(() => nativeOf(owner).layer(index)),
    sizes: stack.layers[index] ?? stack,
  };
}

/**
 * Returns the settings of the initial weights in the form that C++ expects.
 * @param {Native.MainModule} native
 * @param {Required<InitOptions>} options
 * @returns {Native.FirstWeights}
 */
export const firstWeights = ({ Init }, { init, seed, stream }) => ({
  init: Init[init],
  random: { seed, stream },
});

/** Options for the initial weights, which are either drawn from a random stream or zeros. */
export const kFirstWeights = { init: choice(['xavier', 'zeros']), ...kRandomStream };
