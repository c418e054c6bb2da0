import { kDropout } from './dropout.js';
import { bitsOf, kElementTypes } from './elementType.js';
import { argumentError, checkChoice, checkInteger, invalid } from './errors.js';
import { Kind } from './kind.js';
import { outOfMemory } from './memory.js';
import { addressOf, runtimeOf } from './nativeObject.js';
import { readArray, readOptions } from './options.js';
import {
  checkBroadcast,
  checkEqual,
  checkShapeIs,
  readShape,
  rowMajor,
  sizeOf,
  wrongShape,
} from './shape.js';
import { asTensor, checkRank, readMask, readTensor, rowsOf } from './tensor.js';
import { TensorHandle } from './tensorHandle.js';
import { isA, TextDecoder, TextEncoder, typedArrayLength } from './realm.js';

/** @import { Dropout } from './dropout.js' */
/** @import { ElementsLike, ElementType, HalfTensor } from './elementType.js' */
/** @import { AttnErrorCode } from './errors.js' */
/** @import { ShownIntermediates } from './layer.js' */
/** @import { Memory, Views } from './memory.js' */
/** @import { NativeObject } from './nativeObject.js' */
/** @import { Operation } from './runtime.js' */
/** @import { Integers, Mask, Ranks, ReadTensor, Tensor, TensorLike } from './tensor.js' */
/** @import { Block, ResultKind } from './tensorHandle.js' */

/** An operation may write this many numbers where its arguments were: attention over variables, 27. */
const kMostResults = 32;
/** Up to this length a loop copies faster than the methods of typed arrays. */
const kShortCopy = 64;
/** Room for this many numbers is kept from call to call. */
const kKeptArguments = 1 << 16;

const utf8Encoder = new TextEncoder();
const utf8Decoder = new TextDecoder();

/**
 * What run() copies into memory.
 * @typedef {object} Copy
 * @property {string} name
 * @property {any} data  a typed array
 * @property {number} length
 * @property {keyof Views} type
 * @property {number} at  where the arguments have its address
 */

/**
 * A result of the core.
 * @typedef {object} Result
 * @property {string} name
 * @property {number[]} shape  handed over to the caller with the result
 * @property {ElementType} type
 * @property {number} bytes
 * @property {number} at  where the arguments have its address
 * @property {number} address  once run() has taken the memory
 * @property {Block} [block]  of a result that becomes a handle
 */

/**
 * A call of the core. Its arguments are numbers of 64 bits, one after the other; Arguments in
 * arguments.hpp has a reader for each of the writers here, and takes them in the same order.
 *
 * Writers check what they write, and neither take memory nor copy: run() does, when everything is
 * written. Until then, getters of the caller may run and may call attn; afterwards no code of the caller
 * runs.
 */
export class Call {
  #memory;
  #arguments = new Float64Array(128);
  #count = 0;
  #kinds = 0;
  /** As many as #numCopies; the others are kept for later calls. @type {Copy[]} */
  #copies = [];
  #numCopies = 0;
  /** Each throws if an argument has been disposed of. @type {(() => unknown)[]} */
  #checks = [];
  /** Where the operation found its arguments, and left numbers of its own. */
  #address = 0;
  /** @type {Result[]} */
  #results = [];

  /** @param {Memory} memory */
  constructor(memory) {
    this.#memory = memory;
    /** What its results become. @type {ResultKind} */
    this.as = 'array';
  }

  /**
   * Runs an operation with the arguments written so far.
   * @param {Operation} operation
   */
  run(operation) {
    for (const check of this.#checks) check();
    const count = this.#count;
    const kinds = this.#kinds;
    this.#place();
    const address = this.#memory.take('arguments', 8 * Math.max(count, kMostResults));
    this.#copyIn();
    const { doubles, native } = this.#memory;
    const values = this.#arguments;
    for (let i = 0; i < count; ++i) doubles[address / 8 + i] = values[i];
    this.#address = address;
    this.#forget();
    let succeeded;
    try {
      succeeded = native._attn_run(/** @type {any} */ (native)[operation], address, kinds);
    } catch (error) {
      throw this.#memory.stop(error);
    }
    this.#memory.reach(address + 8 * kMostResults);
    if (succeeded) return;
    const code = /** @type {AttnErrorCode} */ (this.givenText(0));
    throw argumentError(code, this.givenText(2), this.givenText(4), this.givenText(6));
  }

  /** Ends the call, however it went. */
  end() {
    this.#forget();
    this.#memory.reset();
    for (let result; (result = this.#results.pop());) {
      if (result.block?.handles === 0) this.#memory.free(result.address);
    }
    // A text of very many tokens, for example, is not what the next calls will be about.
    if (this.#arguments.length > kKeptArguments) {
      this.#arguments = new Float64Array(128);
      this.#copies = [];
    }
  }

  /** Allocates memory for all arguments. */
  #place() {
    const memory = this.#memory;
    const values = this.#arguments;
    for (const result of this.#results) {
      const { name, bytes, at } = result;
      // Of an operation before this one.
      if (result.address) continue;
      if (this.as === 'handle') {
        result.address = memory.allocate(name, bytes);
        result.block = { address: result.address, handles: 0 };
      } else {
        result.address = memory.take(name, bytes);
      }
      values[at] = result.address;
    }
    const copies = this.#copies;
    for (let i = 0; i < this.#numCopies; ++i) {
      const { name, length, type, at } = copies[i];
      const last = this.#sameAsLast(i);
      const size = memory[type].BYTES_PER_ELEMENT;
      values[at] = last ? values[last.at] : memory.take(name, size * length);
    }
  }

  /** Copies data in. From here on nothing may allocate, because growing the memory would detach views. */
  #copyIn() {
    const memory = this.#memory;
    for (let i = 0; i < this.#numCopies; ++i) {
      if (this.#sameAsLast(i)) continue;
      const { name, data, length, type, at } = this.#copies[i];
      if (typedArrayLength(data) !== length) {
        const got = 'data that changed its length';
        throw argumentError('invalid_argument', name, got, 'data that stays during the call');
      }
      const view = memory[type];
      const begin = this.#arguments[at] / view.BYTES_PER_ELEMENT;
      if (length > kShortCopy) view.set(data, begin);
      else for (let i = 0; i < length; ++i) view[begin + i] = data[i];
    }
  }

  /**
   * Returns the previous copy if it has the same data. Queries, keys and values are often the same tensor.
   * @param {number} index
   */
  #sameAsLast(index) {
    if (index === 0) return undefined;
    const last = this.#copies[index - 1];
    const { data, type } = this.#copies[index];
    return last.data === data && last.type === type ? last : undefined;
  }

  #forget() {
    this.#count = this.#kinds = 0;
    while (this.#numCopies > 0) this.#copies[--this.#numCopies].data = undefined;
    this.#checks.length = 0;
  }

  // Arguments

  /** @param {number} kind */
  #note(kind) {
    this.#kinds = (Math.imul(31, this.#kinds) + kind) | 0;
  }

  /**
   * @param {number} kind  of {@link Kind}
   * @param {number} value
   */
  put(kind, value) {
    this.#note(kind);
    if (this.#count === this.#arguments.length) this.#grow();
    this.#arguments[this.#count++] = value;
  }

  /**
   * An object of the module that is called, whose class has been checked; or none.
   * @param {string} name
   * @param {NativeObject} [object]
   */
  object(name, object) {
    // Another module has other memory.
    if (object && runtimeOf(object).memory !== this.#memory) {
      throw invalid(name, object, 'one of the module that is called');
    }
    if (object) this.address(object);
    else this.put(Kind.address, 0);
  }

  /**
   * Passes the address of an object that belongs to this module.
   * @param {NativeObject} object
   */
  address(object) {
    this.put(Kind.address, addressOf(object));
    this.check(() => addressOf(object));
  }

  /**
   * Checks something once more before the operation runs.
   * @param {() => unknown} check  throws if an object was disposed of
   */
  check(check) {
    this.#checks.push(check);
  }

  /**
   * @param {string} name
   * @param {number} value
   */
  real(name, value) {
    if (!Number.isFinite(value)) throw invalid(name, value, 'a finite number');
    this.put(Kind.real, value);
    return value;
  }

  /**
   * @param {string} name
   * @param {number} value
   * @param {number} least
   */
  integer(name, value, least) {
    checkInteger(name, value, least);
    this.put(Kind.integer, value);
    return value;
  }

  /**
   * A number that may be left out.
   * @param {string} name
   * @param {number} [value]
   */
  optionalReal(name, value) {
    if (value !== undefined && !Number.isFinite(value))
      throw invalid(name, value, 'a finite number');
    this.put(Kind.optionalReal, value ?? NaN);
  }

  /**
   * A whole number that may be left out.
   * @param {string} name
   * @param {number | undefined} value
   * @param {number} least
   */
  optionalInteger(name, value, least) {
    if (value !== undefined) checkInteger(name, value, least);
    this.put(Kind.optionalInteger, value ?? NaN);
  }

  /**
   * @param {string} name
   * @param {boolean} value
   */
  flag(name, value) {
    if (typeof value !== 'boolean') throw invalid(name, value, 'true or false');
    this.has(value);
    return value;
  }

  /**
   * Whether something is given, which then follows.
   * @param {unknown} thing
   */
  has(thing) {
    this.put(Kind.flag, thing ? 1 : 0);
  }

  /**
   * One of several, by its place among them, which is that in the C++ enumeration.
   * @param {string} name
   * @param {string} value
   * @param {readonly string[]} choices
   */
  choice(name, value, choices) {
    checkChoice(name, value, choices);
    this.put(Kind.choice, choices.indexOf(value));
    return value;
  }

  /** @param {Dropout | number} [given] */
  dropout(given) {
    this.has(given !== undefined);
    if (given === undefined) return;
    const {
      probability,
      seed = 0,
      stream = 0,
    } = typeof given === 'number'
      ? { probability: given }
      : readOptions(given, kDropout, 'dropout');
    this.real('dropout.probability', probability);
    this.integer('dropout.seed', seed, 0);
    this.integer('dropout.stream', stream, 0);
  }

  /**
   * A tensor that is left out.
   * @param {number} kind  of {@link Kind}
   */
  none(kind) {
    this.put(kind, -1);
  }

  /**
   * A tensor that lies in memory.
   * @param {number} kind  of {@link Kind}
   * @param {number} address
   * @param {readonly number[]} shape
   * @param {readonly number[]} [strides]  row-major by default
   */
  #view(kind, address, shape, strides) {
    const rank = shape.length;
    while (this.#count + 2 + 2 * rank > this.#arguments.length) this.#grow();
    const values = this.#arguments;
    let at = this.#count;
    this.#note(kind);
    values[at++] = rank;
    values[at++] = address;
    for (let i = 0; i < rank; ++i) values[at++] = shape[i];
    let stride = 1;
    for (let i = rank - 1; i >= 0; --i) {
      values[at + i] = strides ? strides[i] : stride;
      stride *= shape[i];
    }
    this.#count = at + rank;
  }

  /**
   * A tensor that is to be copied in.
   * @param {string} name
   * @param {any} data  a typed array
   * @param {keyof Views} type
   * @param {readonly number[]} shape
   * @param {readonly number[]} [strides]
   * @returns {number} where the arguments have its address
   */
  #copy(name, data, type, shape, strides) {
    const at = this.#count + 1;
    const copy = (this.#copies[this.#numCopies++] ??= { name, data, length: 0, type, at });
    copy.name = name;
    copy.data = this.#memory.kept(type, data);
    copy.length = typedArrayLength(data);
    copy.type = type;
    copy.at = at;
    this.#view(Kind[type], 0, shape, strides);
    return at;
  }

  /**
   * A tensor of float32: a handle's is passed where it lies, anything else copied in.
   * @param {string} name
   * @param {TensorLike} tensor
   * @param {Ranks} [ranks]  those accepted; any by default
   * @param {number} [numHeads]  where all heads lie side by side, or (B, N, H, D), and are to be seen
   *   as (B, H, N, D)
   * @returns {readonly number[]} its shape, as the core sees it
   */
  floats(name, tensor, ranks, numHeads) {
    if (tensor instanceof TensorHandle) return this.#handle(name, tensor, ranks, numHeads);
    return this.#tensor(name, readTensor(name, tensor, ranks), 'floats', numHeads);
  }

  /**
   * The same of any element type, which comes before it.
   * @param {string} name
   * @param {ElementsLike | TensorHandle} tensor
   * @param {Ranks} [ranks]
   * @param {number} [numHeads]
   */
  elements(name, tensor, ranks, numHeads) {
    if (tensor instanceof TensorHandle) {
      this.put(Kind.choice, kElementTypes.indexOf('float32'));
      return this.#handle(name, tensor, ranks, numHeads);
    }
    const read = readTensor(name, tensor, ranks, kElementTypes);
    const { type } = read;
    this.put(Kind.choice, kElementTypes.indexOf(type));
    if (type !== 'float32') read.data = bitsOf(read.data);
    return this.#tensor(name, read, type === 'float32' ? 'floats' : 'halves', numHeads);
  }

  /**
   * @param {string} name
   * @param {TensorHandle} handle
   * @param {Ranks} [ranks]
   * @param {number} [numHeads]
   */
  #handle(name, handle, ranks, numHeads) {
    const memory = this.#memory;
    const place = handle.placeIn(memory, name);
    checkRank(name, place.shape, ranks);
    const { shape, strides } =
      numHeads === undefined ? place : seenAsHeads(name, place.shape, numHeads, place.strides);
    this.#view(Kind.floats, place.address, shape, strides);
    this.check(() => handle.placeIn(memory, name));
    return shape;
  }

  /**
   * @param {string} name
   * @param {ReadTensor} tensor
   * @param {'floats' | 'halves'} type
   * @param {number} [numHeads]
   */
  #tensor(name, { data, shape }, type, numHeads) {
    if (numHeads === undefined) {
      this.#copy(name, data, type, shape);
      return shape;
    }
    const seen = seenAsHeads(name, shape, numHeads);
    this.#copy(name, data, type, seen.shape, seen.strides);
    return seen.shape;
  }

  /**
   * A tensor of float32, of one of certain shapes; a size of −1 is any.
   * @param {string} name
   * @param {TensorLike} tensor
   * @param {...readonly number[]} shapes
   */
  floatsOf(name, tensor, ...shapes) {
    const shape = this.floats(name, tensor);
    checkShapeIs(name, shape, ...shapes);
    return shape;
  }

  /**
   * Rows of a width: (N, width) or (B, N, width).
   * @param {string} name
   * @param {ElementsLike | TensorHandle} x
   * @param {number} width
   * @param {string} what  the width is, for the message
   * @param {'floats' | 'elements'} [types]  that they may have
   */
  rows(name, x, width, what, types = 'floats') {
    const shape = this[types](name, x, rowsOf(what));
    checkEqual(name, 'width', shape[shape.length - 1], `the ${what} of this layer`, width);
    return shape;
  }

  /**
   * A tensor of int32 or float64, which may be left out.
   * @param {'ints' | 'doubles'} type
   * @param {string} name
   * @param {Integers} [numbers]
   */
  numbers(type, name, numbers) {
    if (numbers === undefined) return (this.none(Kind[type]), 0);
    const { data, shape } = asTensor(name, numbers);
    return this.#copy(name, data, type, shape);
  }

  /**
   * Positions of rows, which may be left out.
   * @param {Integers} [positions]
   * @param {string} [name]
   */
  positions(positions, name = 'positions') {
    this.numbers('doubles', name, positions);
  }

  /**
   * A boolean tensor that broadcasts to a shape, or may be left out.
   * @param {string} name
   * @param {Mask | undefined} mask
   * @param {readonly number[]} target
   * @param {boolean} [lastMayBeLess]  see checkBroadcast
   */
  mask(name, mask, target, lastMayBeLess) {
    if (mask === undefined) return this.none(Kind.bytes);
    const { data, shape } = readMask(name, mask);
    checkBroadcast(name, shape, target, lastMayBeLess);
    this.#copy(name, data, 'bytes', shape);
  }

  /**
   * @param {string} name
   * @param {Uint8Array} bytes
   */
  bytes(name, bytes) {
    if (!isA(bytes, 'Uint8Array')) throw invalid(name, bytes, 'a Uint8Array');
    this.#copy(name, bytes, 'bytes', [typedArrayLength(bytes)]);
  }

  /**
   * A text, as UTF-8.
   * @param {string} name
   * @param {string} text
   */
  text(name, text) {
    if (typeof text !== 'string') throw invalid(name, text, 'a text');
    this.bytes(name, utf8Encoder.encode(text));
  }

  /**
   * Passes the names of the intermediates that the caller wants.
   * @template {readonly string[] | undefined} N
   * @param {N} names
   * @returns {N} a copy of the names, for shown()
   */
  intermediates(names) {
    const needs = 'an array of names, of those in intermediateNames()';
    if (names !== undefined && !Array.isArray(names)) throw invalid('intermediates', names, needs);
    const read = readArray(names ?? [], (name) => {
      if (typeof name !== 'string') throw invalid('intermediates', names, needs);
    });
    this.put(Kind.integer, read.length);
    for (const name of read) this.text('intermediates', name);
    return /** @type {any} */ (names && read);
  }

  // Results

  /**
   * A float32 result, whose values are undefined at first.
   * @param {string} name
   * @param {readonly number[]} shape
   * @param {readonly number[]} [seenAs]  the shape that the core sees, if another
   * @param {readonly number[]} [strides]  of that
   * @param {ElementType} [type]
   * @returns {Result}
   */
  result(name, shape, seenAs = shape, strides, type = 'float32') {
    const wide = type === 'float32';
    const read = readShape(name, shape);
    const bytes = (wide ? 4 : 2) * sizeOf(read);
    /** @type {Result} */
    const result = { name, shape: read, type, bytes, at: this.#count + 1, address: 0 };
    this.#results.push(result);
    this.#view(wide ? Kind.result : Kind.halves, 0, seenAs, strides);
    return result;
  }

  /**
   * The result `output`, of the type that the option `outputType` says, which comes before it.
   * @param {ElementType | undefined} type  float32 by default
   * @param {readonly number[]} shape
   * @param {number} [numHeads]  of all heads side by side, or (B, N, H, D), which the core sees as
   *   (B, H, N, D); as for floats()
   */
  resultOfType(type = 'float32', shape, numHeads) {
    this.choice('outputType', type, kElementTypes);
    if (this.as === 'handle' && type !== 'float32') {
      throw invalid('outputType', type, `'float32' where results are handles`);
    }
    const seen = numHeads === undefined ? undefined : seenAsHeads('output', shape, numHeads);
    return this.result('output', shape, seen?.shape, seen?.strides, type);
  }

  /**
   * A result that may not be wanted.
   * @param {unknown} wanted
   * @param {string} name
   * @param {readonly number[]} shape
   * @param {readonly number[]} [seenAs]
   * @returns {Result | undefined}
   */
  resultIf(wanted, name, shape, seenAs) {
    if (wanted) return this.result(name, shape, seenAs);
    this.none(Kind.result);
    return undefined;
  }

  /**
   * A result as the caller gets it: copied out, or the handle that was asked for.
   * @param {Result} result
   * @returns {any}
   */
  give({ name, shape, type, address, block }) {
    if (block) return new TensorHandle(this.#memory, block, address, shape);
    if (type === 'float32') return this.copyOut(name, shape, address);
    return this.#copyHalvesOut(name, shape, type, address);
  }

  /**
   * @param {string} name
   * @param {number[]} shape  handed over to the caller with the result
   * @param {HalfTensor['type']} type
   * @param {number} address
   * @returns {HalfTensor}
   */
  #copyHalvesOut(name, shape, type, address) {
    const length = sizeOf(shape);
    try {
      return {
        data: this.#memory.part('halves', address, length).slice(),
        shape,
        type,
      };
    } catch (error) {
      throw outOfMemory(name, 2 * length, error);
    }
  }

  /**
   * Copies a tensor of float32 out.
   * @param {string} name
   * @param {number[]} shape  handed over to the caller with the result
   * @param {number} address
   * @returns {Tensor}
   */
  copyOut(name, shape, address) {
    const length = sizeOf(shape);
    this.#memory.reach(address + 4 * length);
    const { floats } = this.#memory;
    const at = address / 4;
    if (length <= kShortCopy) {
      const data = new Float32Array(length);
      for (let i = 0; i < length; ++i) data[i] = floats[at + i];
      return { data, shape };
    }
    try {
      return { data: floats.slice(at, at + length), shape };
    } catch (error) {
      throw outOfMemory(name, 4 * length, error);
    }
  }

  /**
   * Copies numbers out that were an argument.
   * @template {'ints' | 'doubles'} V
   * @param {V} type
   * @param {number} at  what numbers() gave
   * @param {number} length
   * @returns {Views[V]}
   */
  copyBack(type, at, length) {
    const copied = this.#memory.part(type, this.#arguments[at], length).slice();
    return /** @type {Views[V]} */ (copied);
  }

  // What the operation wrote where its arguments were

  /** @param {number} index */
  given(index) {
    return this.#memory.doubles[this.#address / 8 + index];
  }

  /**
   * A copy of a tensor: address, rank, sizes.
   * @param {string} name
   * @param {number} [index]
   */
  givenTensor(name, index = 0) {
    const shape = [];
    for (let i = 0; i < this.given(index + 1); ++i) shape.push(this.given(index + 2 + i));
    return this.copyOut(name, shape, this.given(index));
  }

  /**
   * A copy of bytes: address, length.
   * @param {number} [index]
   */
  givenBytes(index = 0) {
    return this.#memory.part('bytes', this.given(index), this.given(index + 1)).slice();
  }

  /** @param {number} index */
  givenText(index) {
    return utf8Decoder.decode(this.givenBytes(index));
  }

  /** Texts: address and length of an array that holds the address and the length of each. */
  givenTexts() {
    const memory = this.#memory;
    const places = memory.part('doubles', this.given(0), this.given(1));
    /** @type {string[]} */
    const texts = [];
    for (let i = 0; i < places.length; i += 2) {
      texts.push(utf8Decoder.decode(memory.part('bytes', places[i], places[i + 1]).slice()));
    }
    return texts;
  }

  /**
   * The intermediates that were asked for, by name, to be added to the results. One that this call
   * had no need to compute is left out.
   * @template {readonly string[] | undefined} N
   * @param {N} names  the result of intermediates()
   * @returns {ShownIntermediates<any, N>}
   */
  shown(names) {
    if (names === undefined) return /** @type {any} */ ({});
    let at = names.length > 0 ? this.given(0) / 8 : 0;
    /** @type {Record<string, any>} */
    const intermediates = {};
    for (const name of new Set(names)) {
      this.#memory.reach(8 * (at + 8));
      const { doubles } = this.#memory;
      const [address, rank] = [doubles[at++], doubles[at++]];
      if (rank < 0) continue;
      const shape = Array.from(doubles.subarray(at, (at += rank)));
      intermediates[name] =
        this.as === 'handle'
          ? this.#handleOf(name, shape, address)
          : this.copyOut(name, shape, address);
    }
    return /** @type {any} */ ({ intermediates });
  }

  /**
   * A handle of its own on a copy of a tensor of float32.
   * @param {string} name
   * @param {readonly number[]} shape
   * @param {number} from
   */
  #handleOf(name, shape, from) {
    const memory = this.#memory;
    const bytes = 4 * sizeOf(shape);
    const address = memory.allocate(name, bytes);
    memory.reach(Math.max(address, from) + bytes);
    memory.bytes.copyWithin(address, from, from + bytes);
    return new TensorHandle(memory, { address, handles: 0 }, address, shape);
  }

  #grow() {
    const values = new Float64Array(2 * this.#arguments.length);
    values.set(this.#arguments);
    this.#arguments = values;
  }
}

/**
 * (B, N, H·D) or (B, N, H, D) seen as (B, H, N, D), as TensorView::split_heads() does.
 * @param {string} name
 * @param {readonly number[]} shape
 * @param {number} numHeads
 * @param {readonly number[]} [strides]
 */
function seenAsHeads(name, shape, numHeads, strides = rowMajor(shape)) {
  const [batch, length, width, depth] = shape;
  if (depth === undefined && width % numHeads !== 0) {
    throw wrongShape(name, shape, `a width divisible by ${numHeads} heads`);
  }
  const headDim = depth ?? width / numHeads;
  const [batchStride, rowStride, stride, last = stride] = strides;
  return {
    shape: [batch, depth === undefined ? numHeads : width, length, headDim],
    strides: [batchStride, depth === undefined ? headDim * stride : stride, rowStride, last],
  };
}
