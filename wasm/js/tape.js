import { pointAtCallers } from './callers.js';
import { argumentError, checkInteger, invalid, notItself } from './errors.js';
import { addHints, kVariableElsewhere } from './hints.js';
import { Kind } from './kind.js';
import { Layer } from './layer.js';
import { addressOf, isObjectOf, NativeObject, runtimeOf, oldNative } from './nativeObject.js';
import { readArray, readOptions, wanted } from './options.js';
import { printsByRows, printTensor } from './printTensor.js';
import { checkShapeIs, sizeOf, wrongShape } from './shape.js';
import { TensorHandle } from './tensorHandle.js';

/** @import { Call } from './call.js' */
/** @import { Operation, Runtime } from './runtime.js' */
/** @import { Ranks, Tensor, TensorLike } from './tensor.js' */

/**
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
  #place;
  #address;
  #shape;
  #layer;

  /**
   * @internal
   * @param {Tape} tape
   * @param {number} place
   * @param {number} address
   * @param {readonly number[]} shape
   * @param {Layer} [layer]  whose parameter it is
   */
  constructor(tape, place, address, shape, layer) {
    this.#tape = tape;
    this.#era = tape.era;
    this.#place = place;
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
    this.placeOn(this.tape, 'variable');
    return runtimeOf(this.#tape).call((call) =>
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
    return this.tape.look('gradient', (call) => this.#tape.write(call, 'variable', this));
  }

  /**
   * The sum, element by element: a residual connection.
   * @param {Variable} other  of the same shape
   * @returns {Variable}
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `out_of_memory`, `disposed`
   */
  add(other) {
    return itself(this).#record('recordAdd', (call) => this.#writeAlike(call, 'other', other));
  }

  /**
   * The product, element by element.
   * @param {Variable | number} factor  of the same shape, or a number
   * @returns {Variable}
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `out_of_memory`, `disposed`
   */
  mul(factor) {
    return typeof factor === 'number'
      ? itself(this).#record('recordScale', (call) => call.real('factor', factor))
      : itself(this).#record('recordMultiply', (call) => this.#writeAlike(call, 'factor', factor));
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
    return itself(this).#record('recordReshape', (call) => {
      call.put(Kind.integer, sizes.length);
      for (const size of sizes) call.put(Kind.integer, size);
    });
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
    return itself(this).#record('recordSlice', (call) => {
      call.integer('dimension', dimension, -this.#shape.length);
      call.integer('begin', begin, 0);
      call.integer('end', end, 0);
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
    return itself(this).#record('recordSelect', (call) => {
      call.integer('dimension', dimension, -this.#shape.length);
      call.integer('index', index, 0);
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
      if (#place in variable) return variable;
      throw notItself(Variable.name);
    };
  }

  /**
   * @internal where the tape has it
   * @param {Tape} tape  the one that is computed on
   * @param {string} name
   */
  placeOn(tape, name) {
    const fail = (/** @type {string} */ got, /** @type {string} */ needs) =>
      argumentError('invalid_argument', name, got, needs);
    if (tape !== itself(this).#tape) throw fail('a variable of another tape', 'one of this tape');
    requireLive(tape);
    if (tape.era !== this.#era) {
      throw fail('a variable from before the tape was cleared', 'a newer one');
    }
    if (this.#layer) requireLive(this.#layer);
    return this.#place;
  }

  /**
   * @internal where the numbers lie, to be read and not to be freed
   * @param {Tape} tape
   * @param {string} name
   */
  handleOn(tape, name) {
    this.placeOn(tape, name);
    const block = { address: this.#address, handles: Infinity };
    return new TensorHandle(runtimeOf(tape).memory, block, this.#address, this.#shape);
  }

  /**
   * @param {Call} call
   * @param {string} name
   * @param {Variable} other  of the same shape
   */
  #writeAlike(call, name, other) {
    checkShapeIs(name, this.#tape.write(call, name, other), this.#shape);
  }

  /**
   * @param {Operation} operation
   * @param {(call: Call) => void} write
   */
  #record(operation, write) {
    return this.#tape.record(operation, (call) => {
      this.#tape.write(call, 'variable', this);
      write(call);
    });
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
    const address = runtime.ask('makeTape', () => {});
    super(runtime, oldNative(runtime, 'deleteTape', address));
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
    this.ask('clearTape', (call) => call.has(keepGradients));
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
    return this.record('makeParameter', (call) => call.text('name', name), layer, layer);
  }

  /**
   * Asks a layer that computes on this tape from now on to show what lies between its steps; see
   * `intermediate()`. A later call takes the place of an earlier one.
   * @param {Layer} layer
   * @param {readonly string[]} names  of those in `intermediateNames()`
   * @throws {AttnError} `not_found`, `invalid_argument`, `disposed`
   */
  watch(layer, names) {
    this.ask('watch', (call) => {
      this.#writeLayer(call, layer);
      call.intermediates(names);
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
    return this.record('findIntermediate', (call) => call.text('name', name), layer);
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
    this.ask('backward', (call) => {
      const shape = this.write(call, 'output', output);
      if (gradient === undefined) call.none(Kind.floats);
      else checkShapeIs('gradient', call.floats('gradient', gradient), shape);
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
    return this.look('parameterGradient', (call) => {
      this.#writeLayer(call, layer);
      call.text('name', name);
    });
  }

  /** @internal counts calls of clear() */
  get era() {
    return this.#era;
  }

  /**
   * @internal runs an operation that gives a variable
   * @param {Operation} operation
   * @param {(call: Call) => void} write
   * @param {Layer} [layer]  that computes it, or has it
   * @param {Layer} [owner]  whose memory it lies in
   * @returns {Variable}
   */
  record(operation, write, layer, owner) {
    return this.recordEach(1, operation, write, layer, owner)[0];
  }

  /**
   * @internal the same that gives several
   * @param {number} count
   * @param {Operation} operation
   * @param {(call: Call) => void} write
   * @param {Layer} [layer]
   * @param {Layer} [owner]
   * @returns {Variable[]}
   */
  recordEach(count, operation, write, layer, owner) {
    return this.call((call) => {
      if (layer !== undefined) this.#writeLayer(call, layer);
      write(call);
      if (layer !== undefined) this.#layers.add(layer);
      call.run(operation);
      let at = 0;
      return Array.from({ length: count }, () => {
        const [place, address, rank] = [at, at + 1, at + 2].map((index) => call.given(index));
        const shape = Array.from({ length: rank }, (_, i) => call.given(at + 3 + i));
        at += 3 + rank;
        if (owner) this.#owners.set(address, owner);
        // Another view of a parameter, such as reshape() gives. Of a layer that is gone there is no new one.
        const holder = this.#owners.get(address);
        return new Variable(this, place, address, shape, holder?.disposed ? undefined : holder);
      });
    });
  }

  /**
   * @internal runs an operation that gives a gradient
   * @param {Operation} operation
   * @param {(call: Call) => void} write
   * @returns {Tensor | undefined}
   */
  look(operation, write) {
    return this.call((call) => {
      write(call);
      call.run(operation);
      return call.given(1) < 0 ? undefined : call.givenTensor('gradient');
    });
  }

  /**
   * @internal
   * @param {Call} call
   * @param {string} name
   * @param {Variable | undefined} variable
   * @param {Ranks} [ranks]  those accepted; any by default
   */
  write(call, name, variable, ranks) {
    if (!isVariable(variable)) {
      throw invalid(name, variable, 'a Variable; variable() and constant() of a Tape make one');
    }
    const { shape } = variable;
    if (ranks && ranks[shape.length] === undefined) {
      const needs = Object.entries(ranks).map(([rank, letters]) => `rank ${rank} ${letters}`);
      throw wrongShape(name, shape, needs.join(' or '));
    }
    call.put(Kind.integer, variable.placeOn(this, name));
    call.check(() => variable.placeOn(this, name));
    return shape;
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
    return this.record('makeVariable', (call) => {
      call.has(isConstant);
      call.floats(name, values);
    });
  }

  /**
   * @param {Call} call
   * @param {Layer} layer
   */
  #writeLayer(call, layer) {
    if (!isObjectOf(layer, Layer)) throw invalid('layer', layer, 'a layer');
    call.object('layer', layer);
  }
}

/**
 * Throws for one that was disposed of, or whose owner was.
 * @param {NativeObject} object
 */
const requireLive = (object) => void addressOf(object);

/**
 * @param {string} name
 * @param {Tape} tape
 * @returns {Tape}
 */
export function requireTape(name, tape) {
  if (isObjectOf(tape, Tape)) return tape;
  throw invalid(name, tape, 'a Tape');
}
