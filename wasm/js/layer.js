import { invalid } from './errors.js';
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
 * The first weights.
 * @typedef {object} InitOption
 * @property {'xavier' | 'zeros'} [init]  drawn by Xavier's uniform rule, or zeros; `'xavier'` by
 *   default
 */

/** @typedef {InitOption & RandomOptions} InitOptions */

/** Names of intermediates, where they are given. @typedef {readonly string[] | undefined} Asked */

/**
 * `intermediates` are names of what the layer is to show of its steps, of those in
 * `intermediateNames()`; what is not asked for costs nothing.
 *
 * In two forms, so that `N` has `undefined` where the names may be left out.
 * @template {Asked} [N=Asked]
 * @typedef {{ intermediates: N } | { intermediates?: N }} IntermediatesOption
 */

/**
 * The intermediates that were asked for, by name. Only one that this call had no need to compute is
 * left out.
 * @template {ResultKind} [As='array']
 * @template {Asked} [N=Asked]
 * @typedef {[N] extends [readonly string[]] ? { intermediates: Record<string, ResultTensor<As>> }
 *   : [N] extends [undefined] ? { intermediates?: never }
 *   : { intermediates?: Record<string, ResultTensor<As>> }} ShownIntermediates
 */

/**
 * A result by itself, or with the intermediates that were asked for beside it.
 * @template {ResultKind} As
 * @template {Asked} N
 * @template {ElementType} [Output='float32']
 * @typedef {[N] extends [undefined] ? ResultOfType<As, Output>
 *   : { output: ResultOfType<As, Output> } & ShownIntermediates<As, N>
 *     | ([N] extends [readonly string[]] ? never : ResultOfType<As, Output>)} OutputOrShown
 */

/**
 * Where a layer of a stack is found.
 * @typedef {object} Place
 * @property {Layer} owner
 * @property {number} index
 */

/** @type {(layer: Layer) => any} */
let sizesOf;

/** @type {Names<OutputTypeOption>} */
export const kOutputType = { outputType: true };

/**
 * What all layers have: parameters with PyTorch's names and layouts, and memory that is freed by
 * `dispose()`, by `using`, or at last when the layer is garbage-collected.
 *
 * @template {object} [Sizes=any]  what it is made of
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
   * @param {Place} [place]  of a layer of a stack; the options are then the stack's
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
   * What the layer is made of, defaults included.
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
   * The names of the parameters, in PyTorch's order.
   * @returns {string[]}
   */
  parameterNames() {
    return this.enter((native) => native.parameterNames());
  }

  /**
   * All names that the option `intermediates` of `forward` may ask for: a path to a layer inside, as
   * in the names of parameters, and what it computes. Of a TransformerEncoder, for example,
   * `layers.0.self_attn.weights` and `layers.0.resid_mid`.
   * @returns {string[]}
   */
  intermediateNames() {
    return this.enter((native) => native.intermediateNames());
  }

  /**
   * A copy of a parameter.
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
   * Calls forward of layers whose one input and one result may have any element type.
   * @protected
   * @template {ElementType} Output
   * @param {OutputTypeOption<Output>} options
   * @param {(call: NativeCall) => { input: NativeTensor, shape: readonly number[] }} check  gives the
   *   input, and the shape of the result
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
   * @param {TensorLike} values  of the parameter's shape
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
   * The weights by name, as PyTorch's `state_dict`: copies.
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
   * Sets the weights from a file or from tensors, as torch.nn.Module.load_state_dict: each from what
   * is named `prefix` + its name. What begins otherwise is left alone. Everything is checked before
   * anything is set.
   * @param {ArrayBuffer | Uint8Array | Safetensors | Named<ElementsLike | TensorHandle>} source  a
   *   .safetensors file, as bytes or opened, or tensors by name, of two bytes a number too
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
function checkName(name) {
  if (typeof name !== 'string') throw invalid('name', name, 'the name of a parameter');
}

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
 * The first weights as options ask for them.
 * @param {Native.MainModule} native
 * @param {Required<InitOptions>} options
 * @returns {Native.FirstWeights}
 */
export const firstWeights = ({ Init }, { init, seed, stream }) => ({
  init: Init[init],
  random: { seed, stream },
});

/** The options of the first weights: drawn from a stream, or zeros. */
export const kFirstWeights = { init: choice(['xavier', 'zeros']), ...kRandomStream };
