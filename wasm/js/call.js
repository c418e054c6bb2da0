import { AttnError } from './errors.js';
import { rowMajor, sizeOf } from './tensor.js';
import { TensorHandle } from './tensorHandle.js';

/** @import { Diagonal } from './attentionOptions.js' */
/** @import { Dropout } from './dropout.js' */
/** @import { AttnErrorCode } from './errors.js' */
/** @import { Memory } from './memory.js' */
/** @import { Native } from './runtime.js' */
/** @import { Mask, Tensor, TensorLike } from './tensor.js' */
/** @import { Block, ResultKind } from './tensorHandle.js' */

/** An operation may write this many numbers where its arguments were. */
const kMostResults = 16;
/** Up to this length a loop copies faster than the methods of typed arrays. */
const kShortCopy = 64;

const utf8Encoder = new TextEncoder();
const utf8Decoder = new TextDecoder();

/**
 * Room for a result of the core.
 * @typedef {object} Result
 * @property {string} name
 * @property {readonly number[]} shape
 * @property {number} address
 * @property {Block} [block]  of a result that becomes a handle
 */

/** @typedef {{ data: ArrayLike<number>, shape: readonly number[] }} Numbers */

/**
 * A call of the core. Its arguments are numbers of 64 bits, one behind the other; Arguments in
 * arguments.hpp has a reader for each of the writers here, and takes them in the same order.
 */
export class Call {
  #native;
  #memory;
  #arguments = new Float64Array(128);
  #count = 0;
  /** Where the operation found its arguments, and left numbers of its own. */
  #address = 0;
  /** Blocks of results that are to become handles. @type {Block[]} */
  #unclaimed = [];

  /**
   * @param {Native} native
   * @param {Memory} memory
   */
  constructor(native, memory) {
    this.#native = native;
    this.#memory = memory;
    /** What its results become. @type {ResultKind} */
    this.as = 'array';
  }

  /**
   * Runs an operation with the arguments written so far.
   * @param {number} operation
   * @param {(message: string) => string} [reword]  the core's message
   */
  run(operation, reword = inJavaScript) {
    const count = this.#count;
    const address = this.#memory.take('arguments', 8 * Math.max(count, kMostResults));
    const { doubles } = this.#memory;
    const values = this.#arguments;
    for (let i = 0; i < count; ++i) doubles[address / 8 + i] = values[i];
    this.#address = address;
    this.#count = 0;
    if (this.#native._attn_run(operation, address)) return;
    const code = /** @type {AttnErrorCode} */ (this.givenText(0));
    throw new AttnError(code, reword(this.givenText(2)));
  }

  /** Ends the call, however it went. */
  end() {
    this.#count = 0;
    this.#memory.reset();
    if (this.#unclaimed.length > 0) {
      for (const { address } of this.#unclaimed.splice(0)) this.#memory.free(address);
    }
  }

  // Arguments

  /** @param {number} value */
  number(value) {
    if (this.#count === this.#arguments.length) this.#grow();
    this.#arguments[this.#count++] = value;
  }

  /** @param {unknown} value */
  flag(value) {
    this.number(value ? 1 : 0);
  }

  /**
   * A number that may be left out.
   * @param {number} [value]
   */
  optional(value) {
    this.number(value === undefined ? NaN : value);
  }

  /**
   * Where query 0 stands among the keys; `true` is at key 0, and `false` nowhere.
   * @param {boolean | Diagonal} diagonal
   */
  diagonal(diagonal) {
    if (diagonal === false) return this.number(0);
    if (diagonal === 'bottomRight') return this.number(1);
    this.number(2);
    this.number(typeof diagonal === 'number' ? diagonal : 0);
  }

  /** @param {{ seed?: number, stream?: number }} random */
  random({ seed = 0, stream = 0 }) {
    this.number(seed);
    this.number(stream);
  }

  /** @param {Dropout} [dropout] */
  dropout(dropout) {
    this.flag(dropout);
    if (!dropout) return;
    this.number(dropout.probability);
    this.random(dropout);
  }

  /** A tensor that is left out. */
  none() {
    this.number(-1);
  }

  /**
   * A tensor that lies in memory.
   * @param {number} address
   * @param {readonly number[]} shape
   * @param {readonly number[]} [strides]  row-major by default
   */
  view(address, shape, strides) {
    const rank = shape.length;
    while (this.#count + 2 + 2 * rank > this.#arguments.length) this.#grow();
    const values = this.#arguments;
    let at = this.#count;
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
   * A tensor of float32: a handle's is passed where it lies, anything else copied in.
   * @param {string} name
   * @param {TensorLike} [tensor]
   * @returns {number} for again()
   */
  floats(name, tensor) {
    const argument = this.#count;
    if (!tensor) {
      this.none();
    } else if (tensor instanceof TensorHandle) {
      const { address, shape, strides } = tensor.placeIn(this.#memory, name);
      this.view(address, shape, strides);
    } else {
      this.view(this.copyIn(name, tensor.data), tensor.shape);
    }
    return argument;
  }

  /**
   * A tensor that is an argument of this operation already.
   * @param {number} argument  what floats() returned for it
   */
  again(argument) {
    const count = 2 + 2 * this.#arguments[argument];
    for (let i = 0; i < count; ++i) this.number(this.#arguments[argument + i]);
    return argument;
  }

  /**
   * Where a tensor of float32 lies, once it is copied in unless it is there.
   * @param {string} name
   * @param {TensorLike} tensor
   * @returns {{ address: number, shape: readonly number[], strides: readonly number[] }}
   */
  place(name, tensor) {
    if (tensor instanceof TensorHandle) return tensor.placeIn(this.#memory, name);
    const { data, shape } = tensor;
    return { address: this.copyIn(name, data), shape, strides: rowMajor(shape) };
  }

  /**
   * Copies float32 numbers in.
   * @param {string} name
   * @param {ArrayLike<number>} data
   * @returns {number} their address
   */
  copyIn(name, data) {
    const { length } = data;
    const address = this.#memory.take(name, 4 * length);
    const { floats } = this.#memory;
    const at = address / 4;
    if (length <= kShortCopy) {
      for (let i = 0; i < length; ++i) floats[at + i] = data[i];
    } else {
      floats.set(data, at);
    }
    return address;
  }

  /**
   * A tensor of int32, copied in.
   * @param {string} name
   * @param {Numbers} [tensor]
   * @returns {number} its address
   */
  ints(name, tensor) {
    if (!tensor) return (this.none(), 0);
    const { data, shape } = tensor;
    const address = this.#memory.take(name, 4 * data.length);
    this.#memory.ints.set(data, address / 4);
    this.view(address, shape);
    return address;
  }

  /**
   * A tensor of whole numbers, copied in as int64.
   * @param {string} name
   * @param {Numbers} [tensor]
   */
  longs(name, tensor) {
    if (!tensor) return this.none();
    const { data, shape } = tensor;
    const address = this.#memory.take(name, 8 * data.length);
    const { ints } = this.#memory;
    for (let i = 0; i < data.length; ++i) {
      ints[address / 4 + 2 * i] = data[i];
      ints[address / 4 + 2 * i + 1] = Math.floor(data[i] / 2 ** 32);
    }
    this.view(address, shape);
  }

  /**
   * A tensor of float64, copied in.
   * @param {string} name
   * @param {Numbers} [tensor]
   * @returns {number} its address
   */
  doubles(name, tensor) {
    if (!tensor) return (this.none(), 0);
    const { data, shape } = tensor;
    const address = this.#memory.take(name, 8 * data.length);
    this.#memory.doubles.set(data, address / 8);
    this.view(address, shape);
    return address;
  }

  /**
   * A boolean tensor, copied in.
   * @param {string} name
   * @param {Mask} [mask]
   */
  mask(name, mask) {
    if (!mask) return this.none();
    const { data, shape } = mask;
    const address = this.#memory.take(name, data.length);
    const { bytes } = this.#memory;
    if (data instanceof Uint8Array) {
      bytes.set(data, address);
    } else {
      for (let i = 0; i < data.length; ++i) bytes[address + i] = data[i] ? 1 : 0;
    }
    this.view(address, shape);
  }

  /**
   * Bytes, copied in.
   * @param {string} name
   * @param {Uint8Array} bytes
   */
  bytes(name, bytes) {
    const address = this.#memory.take(name, bytes.length);
    this.#memory.bytes.set(bytes, address);
    this.view(address, [bytes.length]);
  }

  /**
   * A text, as UTF-8.
   * @param {string} name
   * @param {string} text
   */
  text(name, text) {
    this.bytes(name, utf8Encoder.encode(text));
  }

  /**
   * Texts, one behind the other, and where each of them ends.
   * @param {string} name
   * @param {readonly string[]} texts
   */
  texts(name, texts) {
    const parts = texts.map((text) => utf8Encoder.encode(text));
    let length = 0;
    const ends = parts.map((part) => (length += part.length));
    const all = new Uint8Array(length);
    parts.forEach((part, i) => all.set(part, ends[i] - part.length));
    this.bytes(name, all);
    this.ints(name, { data: ends, shape: [ends.length] });
  }

  // Results

  /**
   * Makes room for a float32 result, whose values are undefined.
   * @param {string} name
   * @param {readonly number[]} shape
   * @param {readonly number[]} [seenAs]  the shape that the core sees, if another
   * @param {readonly number[]} [strides]  of that
   * @returns {Result}
   */
  result(name, shape, seenAs = shape, strides) {
    const bytes = 4 * sizeOf(shape);
    /** @type {Block | undefined} */
    let block;
    if (this.as === 'handle') {
      block = { address: this.#memory.allocate(name, bytes), handles: 0 };
      this.#unclaimed.push(block);
    }
    const address = block ? block.address : this.#memory.take(name, bytes);
    this.view(address, seenAs, strides);
    return { name, shape, address, block };
  }

  /**
   * The same for a result that may not be wanted.
   * @param {unknown} wanted
   * @param {string} name
   * @param {readonly number[]} shape
   * @param {readonly number[]} [seenAs]
   * @returns {Result | undefined}
   */
  resultIf(wanted, name, shape, seenAs) {
    if (wanted) return this.result(name, shape, seenAs);
    this.none();
    return undefined;
  }

  /**
   * A result as the caller gets it: copied out, or the handle that was asked for.
   * @param {Result} result
   * @returns {any}
   */
  give({ name, shape, address, block }) {
    if (!block) return this.copyOut(name, shape, address);
    this.#unclaimed.splice(this.#unclaimed.indexOf(block), 1);
    return new TensorHandle(this.#memory, block, address, shape);
  }

  /**
   * Copies a tensor of float32 out.
   * @param {string} name
   * @param {readonly number[]} shape
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
      return { data, shape: [...shape] };
    }
    try {
      return { data: floats.slice(at, at + length), shape: [...shape] };
    } catch (error) {
      const message = `${name}: ${4 * length} bytes for the copy of the result could not be had`;
      throw new AttnError('out_of_memory', message, { cause: error });
    }
  }

  /**
   * Copies int32 numbers out.
   * @param {number} address
   * @param {number} length
   */
  copyInts(address, length) {
    this.#memory.reach(address + 4 * length);
    return this.#memory.ints.slice(address / 4, address / 4 + length);
  }

  /**
   * Copies float64 numbers out.
   * @param {number} address
   * @param {number} length
   */
  copyDoubles(address, length) {
    this.#memory.reach(address + 8 * length);
    return this.#memory.doubles.slice(address / 8, address / 8 + length);
  }

  // What the operation wrote where its arguments were

  /** @param {number} index */
  given(index) {
    this.#memory.reach(this.#address + 8 * (index + 1));
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
    const address = this.given(index);
    const end = address + this.given(index + 1);
    this.#memory.reach(end);
    return this.#memory.bytes.slice(address, end);
  }

  /** @param {number} [index] */
  givenText(index) {
    return utf8Decoder.decode(this.givenBytes(index));
  }

  #grow() {
    const values = new Float64Array(2 * this.#arguments.length);
    values.set(this.#arguments);
    this.#arguments = values;
  }
}

/** Names that are PyTorch's and have underscores here, too. */
const kParameterName = /_proj|_attn$|_[ih]h_l\d|^relative_attention_bias$/;

/**
 * A message of the core with the names of arguments as they are here: `valid_lens` is `validLens`.
 * @param {string} message
 */
export function inJavaScript(message) {
  return message.replace(/\b[a-z]+(_[a-z0-9]+)+\b/g, (name) => {
    if (kParameterName.test(name)) return name;
    return name === 'num_threads' ? 'threads' : name.replace(/_(.)/g, (_, c) => c.toUpperCase());
  });
}
