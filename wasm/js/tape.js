import { pointAtCallers } from './callers.js';
import { checkText, finite } from './checks.js';
import { argumentError, checkInteger, invalid, notItself } from './errors.js';
import { addHints, kVariableElsewhere } from './hints.js';
import { Layer } from './layer.js';
import { isObjectOf, nativeOf, NativeObject, runtimeOf } from './nativeObject.js';
import { readArray, readOptions, wanted } from './options.js';
import { printsByRows, printTensor } from './printTensor.js';
import { checkShapeIs, sizeOf, wrongShape } from './shape.js';
import { TensorHandle } from './tensorHandle.js';

/** @import { NativeCall } from './nativeCall.js' */
/** @import * as Native from './native.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { Ranks, Tensor, TensorLike } from './tensor.js' */

/**
 * @typedef {object} ClearOptions
 * @property {boolean} [keepGradients]  keep the gradients of parameters; `false` by default
 */

const kClear = { keepGradients: true };

/**
 * Returns the variable, and rejects a Proxy of one, because its properties may be anything.
 * @type {(variable: Variable) => Variable}
 */
let itself;

/**
 * @param {unknown} thing
 * @returns {thing is Variable}
 */
export const isVariable = (thing) => thing instanceof Variable && Boolean(itself(thing));

/**
 * A tensor on a tape: an input, a parameter, or what was computed. Valid until the tape is cleared.
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
   * @param {number} address  where the numbers lie
   * @param {readonly number[]} shape
   * @param {Layer} [layer]  whose parameter it is
   */
  constructor(tape, native, address, shape, layer) {
    this.#tape = tape;
    this.#era = tape.era;
    this.#native = native;
    this.#address = address;
    this.#shape = Object.freeze(shape);
    this.#layer = layer;
  }

  /** The tape that it is on. */
  get tape() {
    return itself(this).#tape;
  }

  /** The size of each dimension. */
  get shape() {
    return itself(this).#shape;
  }

  /**
   * A copy of the numbers.
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
   * The only number of a variable that has one, such as a loss.
   * @returns {number}
   * @throws {AttnError} `shape_mismatch` for more, and what `value()` does
   */
  item() {
    if (sizeOf(this.shape) !== 1) throw wrongShape('variable', this.#shape, 'one element');
    return this.value().data[0];
  }

  /**
   * The gradient of the loss that `Tape.backward()` was given, of the value's shape; `undefined` where
   * the loss does not depend on this variable.
   * @returns {Tensor | undefined}
   * @throws {AttnError} `invalid_argument` before `backward()` and after `clear()`, `disposed`
   */
  gradient() {
    const native = this.nativeOn(this.tape, 'variable');
    return this.#tape.copyGradient(this.#shape, () => native.gradient());
  }

  /**
   * The sum, element by element: a residual connection.
   * @param {Variable} other  of the same shape
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
   * The product, element by element.
   * @param {Variable | number} factor  of the same shape, or a number
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
   * The same elements in their row-major order, in another shape of as many.
   * @param {readonly number[]} shape  one size may be −1, and is what is left
   * @returns {Variable}
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `disposed`
   */
  reshape(shape) {
    // C++ has room for as many.
    if (!(Array.isArray(shape) && shape.length < 7)) {
      throw invalid('shape', shape, 'an array of 6 sizes at most');
    }
    const sizes = readArray(shape, (size) => checkInteger('shape', size, -1));
    return itself(this).#record((_, x) => (native) => native.recordReshape(x, sizes));
  }

  /**
   * The part [begin, end) of a dimension.
   * @param {number} dimension  a negative one counts from the last
   * @param {number} begin
   * @param {number} [end]  to the end by default
   * @returns {Variable}
   * @throws {AttnError} `invalid_argument`, `out_of_memory`, `disposed`
   */
  slice(dimension, begin, end = this.shape.at(dimension) ?? 0) {
    return itself(this).#record((_, x) => {
      checkInteger('dimension', dimension, -this.#shape.length);
      checkInteger('begin', begin, 0);
      checkInteger('end', end, 0);
      return (native) => native.recordSlice(x, dimension, begin, end);
    });
  }

  /**
   * One entry of a dimension, without that dimension.
   * @param {number} dimension  a negative one counts from the last
   * @param {number} index
   * @returns {Variable}
   * @throws {AttnError} `invalid_argument`, `out_of_memory`, `disposed`
   */
  select(dimension, index) {
    return itself(this).#record((_, x) => {
      checkInteger('dimension', dimension, -this.#shape.length);
      checkInteger('index', index, 0);
      return (native) => native.recordSelect(x, dimension, index);
    });
  }

  /** Formats the numbers as text by rows. */
  toString() {
    const isLive = !this.#tape.disposed && this.#tape.era === this.#era && !this.#layer?.disposed;
    return isLive ? printTensor(this.value().data, this.#shape) : Variable.name;
  }

  /**
   * What prints in place of the variable.
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
   * @internal the variable in C++
   * @param {Tape} tape  the one that is computed on
   * @param {string} name
   */
  nativeOn(tape, name) {
    const fail = (/** @type {string} */ got, /** @type {string} */ needs) =>
      argumentError('invalid_argument', name, got, needs);
    if (tape !== itself(this).#tape) throw fail('a variable of another tape', 'one of this tape');
    requireLive(tape);
    if (tape.era !== this.#era) {
      throw fail('a variable from before the tape was cleared', 'a newer one');
    }
    if (this.#layer) requireLive(this.#layer);
    return this.#native;
  }

  /**
   * @internal where the numbers lie, to be read and not to be freed
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
   * @param {Variable} other  of the same shape
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

/** A tape in C++ with its variables, which are deleted when it is cleared. */
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
 * Records what layers and functions compute from variables, and goes back through it for the gradients
 * of a loss.
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
 * Whole layers are recorded, not single numbers. What a layer computes from variables has the same bits as
 * what it computes from tensors, and gradients have the same bits for any number of threads. Memory is
 * kept from one `clear()` to the next.
 *
 * @extends {NativeObject<TapeWithVariables>}
 */
export class Tape extends NativeObject {
  /** @internal */
  static name = 'Tape';

  #era = 0;
  /** What the tape has views of: it keeps them from being garbage-collected. @type {Set<Layer>} */
  #layers = new Set();
  /** Whose memory variables lie in, by address. @type {Map<number, Layer>} */
  #owners = new Map();

  /** @param {Runtime} runtime */
  constructor(runtime) {
    const tape = runtime.memory.enter(({ Tape }) => new Tape());
    super(runtime, new TapeWithVariables(tape));
  }

  /**
   * Removes all variables and gradients. With `keepGradients` the gradients of parameters stay, and the next
   * `backward()` adds to them, so that several small batches have the gradients of a large one.
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
   * @throws {AttnError} `disposed`; with `keepGradients` also `invalid_argument` after a `backward()` that ran out
   *   of memory, and `out_of_memory`
   */
  clear(options = {}) {
    const keepGradients = wanted('keepGradients', readOptions(options, kClear).keepGradients);
    this.enter((native) => {
      if (keepGradients) native.tape.clearKeepingGradients();
      else native.tape.clear();
      native.deleteVariables();
    });
    ++this.#era;
    // The gradients that stay need their layers.
    if (keepGradients) return;
    this.#layers.clear();
    this.#owners.clear();
  }

  /**
   * An input, whose gradient can be looked at: a copy.
   * @param {TensorLike} values
   * @returns {Variable}
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `out_of_memory`, `disposed`
   */
  variable(values) {
    return this.input('values', values, false);
  }

  /**
   * The same without a gradient: what a model is given and does not learn.
   * @param {TensorLike} values
   * @returns {Variable}
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `out_of_memory`, `disposed`
   */
  constant(values) {
    return this.input('values', values, true);
  }

  /**
   * A parameter of a layer. Layers record their own by themselves; this is for weights that are used in
   * other ways, too, such as an output layer that is tied to an embedding. The same parameter is one
   * variable, whose gradient is the sum over all its uses.
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
   * Asks a layer that computes on this tape from now on to show what lies between its steps; see
   * `intermediate()`. A later call takes the place of an earlier one.
   * @param {Layer} layer
   * @param {readonly string[]} names  of those in `intermediateNames()`
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
   * What was asked for by `watch()`, as the layer's last call since `clear()` computed it.
   * @param {Layer} layer
   * @param {string} name
   * @returns {Variable}
   * @throws {AttnError} `not_found` for what was not asked for, or not computed; `disposed`
   */
  intermediate(layer, name) {
    return this.record((_, native) => {
      checkText('name', name);
      return () => this.native.tape.intermediate(native, name);
    }, layer);
  }

  /**
   * Computes the gradients of a loss with respect to all that it was computed from. Once, until `clear()`.
   * @param {Variable} output  one number; or of any shape, if the gradient is given
   * @param {TensorLike} [gradient]  of a loss with respect to `output`, of its shape
   * @throws {AttnError} `shape_mismatch`; `invalid_argument` for a second call, for a loss that is no finite
   *   number (the message says which parameter or which layer's output was the first to hold one), and for
   *   a parameter that was changed since it was recorded; `out_of_memory`; `disposed`, also of a layer that
   *   the loss was computed with. There are no gradients then
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
   * The gradient of a parameter; `undefined` for one that the loss does not depend on.
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

  /** @internal counts calls of clear() */
  get era() {
    return this.#era;
  }

  /**
   * @internal records what C++ computes
   * @param {(call: NativeCall, layer: any) => (native: Native.MainModule) => Native.Variable} check
   *   checks arguments, and returns what calls C++
   * @param {Layer} [layer]  that computes it, or has it
   * @param {Layer} [owner]  whose memory it lies in
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
   * @internal records what gives several variables, by name; those not asked for are none
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
        // Also after an error, where they are none.
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
    // Another view of a parameter, such as reshape() gives. Of a layer that is gone there is no new one.
    const holder = this.#owners.get(address);
    return new Variable(this, native, address, shape, holder?.disposed ? undefined : holder);
  }

  /**
   * @internal
   * @param {readonly number[]} shape
   * @param {() => number} find  gives its address, or 0 for none
   * @returns {Tensor | undefined}
   */
  copyGradient(shape, find) {
    return this.invoke((call) => {
      const address = call.run(find);
      return address === 0 ? undefined : call.copyOut('gradient', [...shape], address);
    });
  }

  /**
   * @internal a variable in C++
   * @param {Pick<NativeCall, 'check'>} call
   * @param {string} name
   * @param {Variable | undefined} variable
   * @param {Ranks} [ranks]  those accepted; any by default
   */
  nativeIn(call, name, variable, ranks) {
    if (!isVariable(variable)) {
      throw invalid(name, variable, 'a Variable; variable() and constant() of a Tape make one');
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
   * @internal the same of several
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

  /** @internal the backward pass reads the parameters of layers */
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
   * @returns {any} its object of C++
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
  const needs = 'an array of names, of those in intermediateNames()';
  if (!Array.isArray(names)) throw invalid(name, names, needs);
  return readArray(names, (text) => {
    if (typeof text !== 'string') throw invalid(name, names, needs);
  });
}

/**
 * Throws for one that was disposed of, or whose owner was.
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
