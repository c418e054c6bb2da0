import { pointAtCallers } from './callers.js';
import { checkText, finite } from './checks.js';
import { argumentError, checkInteger, invalid, notItself } from './errors.js';
import { addHints, kVariableElsewhere } from './hints.js';
import { Layer } from './layer.js';
import { isObjectOf, nativeOf, NativeObject, runtimeOf } from './nativeObject.js';
import { readArray, readOptions, wanted } from './options.js';
import { printsByRows, printTensor } from './printTensor.js';
import { checkDimension, checkShapeIs, sizeOf, wrongShape } from './shape.js';
import { TensorHandle } from './tensorHandle.js';

/** @import { NativeCall } from './nativeCall.js' */
/** @import * as Native from './native.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { Ranks, Tensor, TensorLike } from './tensor.js' */

/**
 * @typedef {object} ClearOptions
 * @property {boolean} [keepGradients]  keeps the gradients of parameters; `false` by default
 */

const kClear = { keepGradients: true };

/**
 * Returns the variable. Rejects a Proxy of a variable, because a Proxy's properties may be
 * anything.
 * @type {(variable: Variable) => Variable}
 */
let itself;

/**
 * @param {unknown} thing
 * @returns {thing is Variable}
 */
export const isVariable = (thing) => thing instanceof Variable && Boolean(itself(thing));

/**
 * A tensor on a tape: an input, a parameter, or a computed result. It is valid until the tape is cleared.
 */
export class Variable {
  /** @internal */
  static name = 'Variable';

  #tape;
  #era;
  #native;
  #address;
  #shape;
  #layer;

  /**
   * @internal
   * @param {Tape} tape
   * @param {Native.Variable} native
   * @param {number} address  address of the numbers
   * @param {readonly number[]} shape
   * @param {Layer} [layer]  the layer that owns the numbers, for a parameter
   */
  constructor(tape, native, address, shape, layer) {
    this.#tape = tape;
    this.#era = tape.era;
    this.#native = native;
    this.#address = address;
    this.#shape = Object.freeze(shape);
    this.#layer = layer;
  }

  /** The tape that the variable is on. */
  get tape() {
    return itself(this).#tape;
  }

  /** The size of each dimension. */
  get shape() {
    return itself(this).#shape;
  }

  /**
   * Returns a copy of the numbers.
   * @returns {Tensor}
   * @throws {AttnError} `invalid_argument` after `clear()`, `disposed`, `out_of_memory`
   */
  value() {
    this.nativeOn(this.tape, 'variable');
    return runtimeOf(this.#tape).invoke((call) =>
      call.copyOut('value', [...this.#shape], this.#address),
    );
  }

  /**
   * Returns the value of a single-element variable, such as a loss, as a number.
   * @returns {number}
   * @throws {AttnError} `shape_mismatch` for any other number of elements, and the errors of `value()`
   */
  item() {
    if (sizeOf(this.shape) !== 1) throw wrongShape('variable', this.#shape, 'one element');
    return this.value().data[0];
  }

  /**
   * Returns the gradient of the loss passed to `Tape.backward()`, with the shape of the value. Returns `undefined`
   * if the loss does not depend on this variable.
   * @returns {Tensor | undefined}
   * @throws {AttnError} `invalid_argument` before `backward()` and after `clear()`, `disposed`
   */
  gradient() {
    const native = this.nativeOn(this.tape, 'variable');
    return this.#tape.copyGradient(this.#shape, () => native.gradient());
  }

  /**
   * Returns the elementwise sum, for example for a residual connection.
   * @param {Variable} other  a variable with the same shape
   * @returns {Variable}
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `out_of_memory`, `disposed`
   */
  add(other) {
    return itself(this).#record((call, x) => {
      const y = this.#alike(call, 'other', other);
      return (native) => native.recordAdd(x, y);
    });
  }

  /**
   * Returns the elementwise product.
   * @param {Variable | number} factor  a variable with the same shape, or a number
   * @returns {Variable}
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `out_of_memory`, `disposed`
   */
  mul(factor) {
    return itself(this).#record((call, x) => {
      if (typeof factor === 'number') {
        finite('factor', factor);
        return (native) => native.recordScale(x, factor);
      }
      const y = this.#alike(call, 'factor', factor);
      return (native) => native.recordMultiply(x, y);
    });
  }

  /**
   * Returns the same elements, in row-major order, with a different shape of the same number of elements.
   * @param {readonly number[]} shape  one size may be −1 and is then inferred from the others
   * @returns {Variable}
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `disposed`
   */
  reshape(shape) {
    // Tensors in C++ have at most 6 dimensions.
    if (!(Array.isArray(shape) && shape.length < 7)) {
      throw invalid('shape', shape, 'an array of at most 6 sizes');
    }
    const sizes = readArray(shape, (size) => checkInteger('shape', size, -1));
    return itself(this).#record((_, x) => (native) => native.recordReshape(x, sizes));
  }

  /**
   * Returns the part [begin, end) of a dimension.
   * @param {number} dimension  negative dimensions count from the end
   * @param {number} begin
   * @param {number} [end]  the end of the dimension by default
   * @returns {Variable}
   * @throws {AttnError} `invalid_argument`, `out_of_memory`, `disposed`
   */
  slice(dimension, begin, end = this.shape.at(dimension) ?? 0) {
    return itself(this).#record((_, x) => {
      const d = checkDimension('slice', dimension, this.#shape);
      checkInteger('begin', begin, 0);
      checkInteger('end', end, 0);
      return (native) => native.recordSlice(x, d, begin, end);
    });
  }

  /**
   * Returns one entry of a dimension, and drops that dimension.
   * @param {number} dimension  negative dimensions count from the end
   * @param {number} index
   * @returns {Variable}
   * @throws {AttnError} `invalid_argument`, `out_of_memory`, `disposed`
   */
  select(dimension, index) {
    return itself(this).#record((_, x) => {
      const d = checkDimension('select', dimension, this.#shape);
      checkInteger('index', index, 0);
      return (native) => native.recordSelect(x, d, index);
    });
  }

  /** Formats the numbers as text, row by row. */
  toString() {
    const isLive = !this.#tape.disposed && this.#tape.era === this.#era && !this.#layer?.disposed;
    return isLive ? printTensor(this.value().data, this.#shape) : Variable.name;
  }

  /**
   * Returns the variable's class and shape, which JSON.stringify() writes.
   * @returns {{ type: string }}
   */
  toJSON() {
    return { type: Variable.name, ...{ shape: this.#shape } };
  }

  static {
    printsByRows(this.prototype);
    pointAtCallers(this);
    addHints(this.prototype, kVariableElsewhere);
    itself = (variable) => {
      if (#native in variable) return variable;
      throw notItself(Variable.name);
    };
  }

  /**
   * @internal returns the C++ variable
   * @param {Tape} tape  the tape that records the call
   * @param {string} name
   */
  nativeOn(tape, name) {
    const fail = (/** @type {string} */ got, /** @type {string} */ needs) =>
      argumentError('invalid_argument', name, got, needs);
    if (tape !== itself(this).#tape) throw fail('a variable of another tape', 'one of this tape');
    requireLive(tape);
    if (tape.era !== this.#era) {
      throw fail('a variable from before the tape was cleared', 'one recorded since then');
    }
    if (this.#layer) requireLive(this.#layer);
    return this.#native;
  }

  /**
   * @internal returns a handle that reads the values in place; disposing of the handle does not
   *   free the values
   * @param {Tape} tape
   * @param {string} name
   */
  handleOn(tape, name) {
    this.nativeOn(tape, name);
    const block = { address: this.#address, handles: Infinity };
    return new TensorHandle(runtimeOf(tape).memory, block, this.#address, this.#shape);
  }

  /**
   * @param {NativeCall} call
   * @param {string} name
   * @param {Variable} other  must have the same shape
   */
  #alike(call, name, other) {
    const native = this.#tape.nativeIn(call, name, other);
    checkShapeIs(name, other.shape, this.#shape);
    return native;
  }

  /**
   * @param {(call: NativeCall, x: Native.Variable)
   *   => (native: Native.MainModule) => Native.Variable} check
   */
  #record(check) {
    const tape = this.#tape;
    return tape.record((call) => check(call, tape.nativeIn(call, 'variable', this)));
  }
}

/** A C++ tape and its variables. Clearing the tape deletes the variables. */
class TapeWithVariables {
  /** @type {Native.Variable[]} */
  #variables = [];

  /** @param {Native.Tape} tape */
  constructor(tape) {
    this.tape = tape;
  }

  /** @param {Native.Variable[]} variables */
  keep(variables) {
    this.#variables.push(...variables);
  }

  deleteVariables() {
    for (const variable of this.#variables.splice(0)) variable.delete();
  }

  delete() {
    this.deleteVariables();
    this.tape.delete();
  }
}

/**
 * Records the computations of layers and functions on variables. Computes the gradients of a loss
 * by going backwards through the record.
 *
 * ```js
 * const tape = new attn.Tape();
 * for (const { ids, targets } of batches) {
 *   tape.clear();
 *   let x = tokens.forward(ids, { tape });
 *   x = x.add(attention.forward(x, x, x, { causal: true }));
 *   const loss = attn.crossEntropy(unembed.forward(x), targets);
 *   tape.backward(loss);
 *   optimizer.step(tape);
 * }
 * ```
 *
 * The tape records whole layers, not individual numbers. A layer's results are bit-identical for variables and
 * for tensors, and gradients are bit-identical for any number of threads. `clear()` keeps the tape's memory for
 * the next step.
 *
 * @extends {NativeObject<TapeWithVariables>}
 */
export class Tape extends NativeObject {
  /** @internal */
  static name = 'Tape';

  #era = 0;
  /** Keeps layers from being garbage-collected, because the tape has views of their parameters. @type {Set<Layer>} */
  #layers = new Set();
  /** The layers that own the memory of variables, by address. @type {Map<number, Layer>} */
  #owners = new Map();

  /** @param {Runtime} runtime */
  constructor(runtime) {
    const tape = runtime.memory.enter(({ Tape }) => new Tape());
    super(runtime, new TapeWithVariables(tape));
  }

  /**
   * Removes all variables and gradients. With `keepGradients`, the gradients of parameters stay and the next
   * `backward()` adds to them, so several small batches give the gradients of one large batch.
   *
   * ```js
   * for (const { x, targets } of parts) {
   *   tape.clear({ keepGradients: true });
   *   tape.backward(attn.crossEntropy(model.forward(tape.constant(x)), targets, { reduction: 'sum' }));
   * }
   * optimizer.step(tape);
   * tape.clear();
   * ```
   *
   * @param {ClearOptions} [options]
   * @throws {AttnError} `disposed`. With `keepGradients`, also `out_of_memory`, and `invalid_argument` if the last
   *   `backward()` ran out of memory
   */
  clear(options = {}) {
    const keepGradients = wanted('keepGradients', readOptions(options, kClear).keepGradients);
    this.enter(({ tape }) => (keepGradients ? tape.clearKeepingGradients() : tape.clear()));
    this.enter((native) => native.deleteVariables());
    ++this.#era;
    // The kept gradients belong to parameters of the layers, so the tape still needs the layers.
    if (keepGradients) return;
    this.#layers.clear();
    this.#owners.clear();
  }

  /**
   * Copies `values` onto the tape as an input. Read its gradient after `backward()`.
   * @param {TensorLike} values
   * @returns {Variable}
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `out_of_memory`, `disposed`
   */
  variable(values) {
    return this.input('values', values, false);
  }

  /**
   * Copies `values` onto the tape as an input without a gradient, such as training data.
   * @param {TensorLike} values
   * @returns {Variable}
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `out_of_memory`, `disposed`
   */
  constant(values) {
    return this.input('values', values, true);
  }

  /**
   * Returns a layer's parameter as a variable. Layers record their own parameters. Use this method
   * for weights that have additional uses, such as an output layer that is tied to an embedding.
   * All uses of a parameter share one variable, whose gradient is the sum over all uses.
   * @param {Layer} layer
   * @param {string} name
   * @returns {Variable}
   * @throws {AttnError} `not_found`, `invalid_argument`, `out_of_memory`, `disposed`
   */
  parameter(layer, name) {
    return this.record(
      (_, native) => {
        checkText('name', name);
        return () => this.native.tape.parameter(native, name);
      },
      layer,
      layer,
    );
  }

  /**
   * Makes a layer record intermediates on this tape from now on. Read them with `intermediate()`.
   * Another call for the same layer replaces the names.
   * @param {Layer} layer
   * @param {readonly string[]} names  names from `intermediateNames()`
   * @throws {AttnError} `not_found`, `invalid_argument`, `disposed`
   */
  watch(layer, names) {
    this.invoke((call) => {
      const native = this.#layerIn(call, layer);
      const wanted = checkNames('intermediates', names);
      call.run(() => this.native.tape.watch(native, wanted));
    });
  }

  /**
   * Returns an intermediate requested with `watch()`, from the layer's last call since `clear()`.
   * @param {Layer} layer
   * @param {string} name
   * @returns {Variable}
   * @throws {AttnError} `not_found` for an intermediate that was not requested or not computed; `disposed`
   */
  intermediate(layer, name) {
    return this.record((_, native) => {
      checkText('name', name);
      return () => this.native.tape.intermediate(native, name);
    }, layer);
  }

  /**
   * Computes the gradients of a loss with respect to everything from which the loss was computed.
   * Call `backward()` only once before the next `clear()`.
   * @param {Variable} output  the loss, one number; or a variable of any shape if you pass `gradient`
   * @param {TensorLike} [gradient]  gradient of a loss with respect to `output`, with the shape of `output`
   * @throws {AttnError} `shape_mismatch`; `invalid_argument` for a second call, for a loss that is not a finite
   *   number (the message names the first parameter or layer output that is not finite), and for a parameter
   *   that was changed after it was recorded; `out_of_memory`; `disposed`, including if a layer that helped
   *   to compute the loss was disposed of. After an error there are no gradients
   */
  backward(output, gradient) {
    this.requireLayers();
    this.invoke((call) => {
      const native = this.nativeIn(call, 'output', output);
      const given = gradient === undefined ? undefined : call.tensor('gradient', gradient);
      if (given) checkShapeIs('gradient', given.shape, output.shape);
      call.run(() => this.native.tape.backward(native, given?.native ?? null));
    });
  }

  /**
   * Returns the gradient of a parameter, or `undefined` if the loss does not depend on it.
   * @param {Layer} layer
   * @param {string} name
   * @returns {Tensor | undefined}
   * @throws {AttnError} `not_found`, `invalid_argument` before `backward()`, `disposed`
   */
  gradient(layer, name) {
    const native = this.invoke((call) => this.#layerIn(call, layer));
    checkText('name', name);
    const shape = this.enter(() => native.parameterShape(name));
    return this.copyGradient(shape, () => this.native.tape.gradient(native, name));
  }

  /** @internal number of calls to clear() */
  get era() {
    return this.#era;
  }

  /**
   * @internal records a computation in C++
   * @param {(call: NativeCall, layer: any) => (native: Native.MainModule) => Native.Variable} check
   *   checks arguments, and returns a function that calls C++
   * @param {Layer} [layer]  the layer that computes the variable, or has it as a parameter
   * @param {Layer} [owner]  the layer that owns the variable's memory
   * @returns {Variable}
   */
  record(check, layer, owner) {
    const checkOne = (/** @type {NativeCall} */ call, /** @type {any} */ module) => {
      const compute = check(call, module);
      return (/** @type {Native.MainModule} */ native) => ({ variable: compute(native) });
    };
    return this.recordEach(checkOne, layer, owner).variable;
  }

  /**
   * @internal records a function that returns several variables by name; variables that were not requested are
   *   omitted
   * @template {object} R
   * @param {(call: NativeCall, layer: any) => (native: Native.MainModule) => R} check
   * @param {Layer} [layer]
   * @param {Layer} [owner]
   * @returns {Record<keyof R, Variable>}
   */
  recordEach(check, layer, owner) {
    const variables = this.invoke((call) => {
      call.object('tape', this);
      const compute = check(call, layer && this.#layerIn(call, layer));
      if (layer) this.#layers.add(layer);
      return call.run((native) => {
        const variables = compute(native);
        // Call keep() even after an error. The variables are then empty, but the tape must still
        // delete them.
        this.native.keep(Object.values(variables));
        return variables;
      });
    });
    /** @type {any} */
    const result = {};
    for (const [name, native] of Object.entries(variables)) {
      if (!native.isNone()) result[name] = this.#variable(native, owner);
    }
    return result;
  }

  /**
   * @param {Native.Variable} native
   * @param {Layer} [owner]
   */
  #variable(native, owner) {
    const { address, shape } = this.enter(() => ({
      address: native.address(),
      shape: Array.from({ length: native.rank() }, (_, i) => native.size(i)),
    }));
    if (owner) this.#owners.set(address, owner);
    // The variable may be another view of a parameter, for example from reshape(). If the map has a
    // disposed layer for this address, the layer's memory has been reused, and the layer does not
    // own the variable.
    const holder = this.#owners.get(address);
    return new Variable(this, native, address, shape, holder?.disposed ? undefined : holder);
  }

  /**
   * @internal
   * @param {readonly number[]} shape
   * @param {() => number} find  returns the address of the gradient, or 0 if there is none
   * @returns {Tensor | undefined}
   */
  copyGradient(shape, find) {
    return this.invoke((call) => {
      const address = call.run(find);
      return address === 0 ? undefined : call.copyOut('gradient', [...shape], address);
    });
  }

  /**
   * @internal returns a C++ variable
   * @param {Pick<NativeCall, 'check'>} call
   * @param {string} name
   * @param {Variable | undefined} variable
   * @param {Ranks} [ranks]  accepted ranks; any by default
   */
  nativeIn(call, name, variable, ranks) {
    if (!isVariable(variable)) {
      throw invalid(
        name,
        variable,
        'a Variable; create it with tape.variable() or tape.constant()',
      );
    }
    const { shape } = variable;
    if (ranks && ranks[shape.length] === undefined) {
      const needs = Object.entries(ranks).map(([rank, letters]) => `rank ${rank} ${letters}`);
      throw wrongShape(name, shape, needs.join(' or '));
    }
    call.check(() => variable.nativeOn(this, name));
    return variable.nativeOn(this, name);
  }

  /**
   * @internal returns several C++ variables by name
   * @template {string} Name
   * @param {NativeCall} call
   * @param {Record<Name, Variable>} variables
   * @param {Ranks} [ranks]
   * @returns {Record<Name, Native.Variable>}
   */
  nativesIn(call, variables, ranks) {
    /** @type {any} */
    const natives = {};
    for (const name in variables) natives[name] = this.nativeIn(call, name, variables[name], ranks);
    return natives;
  }

  /** @internal throws if a layer was disposed of, because the backward pass reads its parameters */
  requireLayers() {
    this.#layers.forEach(requireLive);
  }

  /**
   * @internal
   * @param {string} name
   * @param {TensorLike} values
   * @param {boolean} isConstant
   */
  input(name, values, isConstant) {
    return this.record((call) => {
      const tensor = call.tensor(name, values);
      return () => {
        const { tape } = this.native;
        return isConstant ? tape.constant(tensor.native) : tape.variable(tensor.native);
      };
    });
  }

  /**
   * @param {NativeCall} call
   * @param {Layer} layer
   * @returns {any} the layer's C++ object
   */
  #layerIn(call, layer) {
    if (!isObjectOf(layer, Layer)) throw invalid('layer', layer, 'a layer');
    return call.object('layer', layer);
  }
}

/**
 * @param {string} name
 * @param {readonly string[]} [names]
 */
function checkNames(name, names = []) {
  const needs = 'an array of names from intermediateNames()';
  if (!Array.isArray(names)) throw invalid(name, names, needs);
  return readArray(names, (text) => {
    if (typeof text !== 'string') throw invalid(name, names, needs);
  });
}

/**
 * Throws if the object or its owner was disposed of.
 * @param {NativeObject} object
 */
const requireLive = (object) => void nativeOf(object);

/**
 * @param {string} name
 * @param {Tape} tape
 * @returns {Tape}
 */
export function requireTape(name, tape) {
  if (isObjectOf(tape, Tape)) return tape;
  throw invalid(name, tape, 'a Tape');
}
