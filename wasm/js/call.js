import { AttnError } from './errors.js';
import {
  checkBroadcast,
  checkChoice,
  checkInteger,
  checkMask,
  checkShape,
  checkTensor,
  checkTensorOf,
  invalid,
  checkRows,
  rowMajor,
  sizeOf,
  wrongShape,
} from './tensor.js';
import { TensorHandle } from './tensorHandle.js';

/** @import { Dropout } from './dropout.js' */
/** @import { AttnErrorCode } from './errors.js' */
/** @import { Memory } from './memory.js' */
/** @import { Native, Operation } from './runtime.js' */
/** @import { Mask, NumbersLike, Ranks, Tensor, TensorLike } from './tensor.js' */
/** @import { Block, ResultKind } from './tensorHandle.js' */

/** An operation may write this many numbers where its arguments were. */
const kMostResults = 16;
/** Up to this length a loop copies faster than the methods of typed arrays. */
const kShortCopy = 64;

const utf8Encoder = new TextEncoder();
const utf8Decoder = new TextDecoder();

/**
 * What run() copies into memory.
 * @typedef {object} Copy
 * @property {string} name
 * @property {any} data
 * @property {number} bytes
 * @property {(memory: Memory, address: number, data: any) => void} write
 * @property {number} at  where the arguments have its address
 */

/**
 * A result of the core, for which run() makes room.
 * @typedef {object} Result
 * @property {string} name
 * @property {readonly number[]} shape
 * @property {number} at  where the arguments have its address
 * @property {Block} [block]  of a result that becomes a handle
 */

/**
 * A call of the core. Its arguments are numbers of 64 bits, one behind the other; Arguments in
 * arguments.hpp has a reader for each of the writers here, and takes them in the same order.
 *
 * Writers check what they write, and copy nothing: data is copied, and memory taken for it and for
 * results, when everything is written.
 */
export class Call {
  #native;
  #memory;
  #arguments = new Float64Array(128);
  #count = 0;
  /** As many as #numCopies; the others are kept for later calls. @type {Copy[]} */
  #copies = [];
  #numCopies = 0;
  /** As many as #numResults. @type {Result[]} */
  #results = [];
  #numResults = 0;
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
   * @param {Operation} operation
   * @param {(message: string) => string} [reword]  the core's message
   */
  run(operation, reword = inJavaScript) {
    this.#place();
    const count = this.#count;
    const address = this.#memory.take('arguments', 8 * Math.max(count, kMostResults));
    const { doubles } = this.#memory;
    const values = this.#arguments;
    for (let i = 0; i < count; ++i) doubles[address / 8 + i] = values[i];
    this.#address = address;
    this.#forget();
    if (this.#native._attn_run(this.#native[operation], address)) return;
    const code = /** @type {AttnErrorCode} */ (this.givenText(0));
    throw new AttnError(code, reword(this.givenText(2)));
  }

  /** Ends the call, however it went. */
  end() {
    this.#forget();
    this.#memory.reset();
    if (this.#unclaimed.length > 0) {
      for (const { address } of this.#unclaimed.splice(0)) this.#memory.free(address);
    }
  }

  /** Takes memory for what was written, and copies data into it. */
  #place() {
    const memory = this.#memory;
    const values = this.#arguments;
    const copies = this.#copies;
    for (let i = 0; i < this.#numCopies; ++i) {
      const { name, data, bytes, write, at } = copies[i];
      // Queries, keys and values are often the same.
      let twin = i - 1;
      while (twin >= 0 && (copies[twin].data !== data || copies[twin].write !== write)) --twin;
      if (twin >= 0) {
        values[at] = values[copies[twin].at];
        continue;
      }
      values[at] = memory.take(name, bytes);
      write(memory, values[at], data);
    }
    for (let i = 0; i < this.#numResults; ++i) {
      const result = this.#results[i];
      const { name, shape, at } = result;
      const bytes = 4 * sizeOf(shape);
      if (this.as === 'handle') {
        values[at] = memory.allocate(name, bytes);
        result.block = { address: values[at], handles: 0 };
        this.#unclaimed.push(result.block);
      } else {
        values[at] = memory.take(name, bytes);
      }
    }
  }

  #forget() {
    this.#count = 0;
    while (this.#numCopies > 0) this.#copies[--this.#numCopies].data = undefined;
    this.#numResults = 0;
  }

  // Arguments

  /** @param {number} value */
  number(value) {
    if (this.#count === this.#arguments.length) this.#grow();
    this.#arguments[this.#count++] = value;
  }

  /**
   * @param {string} name
   * @param {number} value
   */
  real(name, value) {
    if (!Number.isFinite(value)) throw invalid(name, value, 'a finite number');
    this.number(value);
    return value;
  }

  /**
   * @param {string} name
   * @param {number} value
   * @param {number} least
   */
  integer(name, value, least) {
    checkInteger(name, value, least);
    this.number(value);
    return value;
  }

  /**
   * A number that may be left out.
   * @param {string} name
   * @param {number} [value]
   */
  optionalReal(name, value) {
    if (value === undefined) return this.number(NaN);
    this.real(name, value);
  }

  /**
   * A whole number that may be left out.
   * @param {string} name
   * @param {number | undefined} value
   * @param {number} least
   */
  optionalInteger(name, value, least) {
    if (value === undefined) return this.number(NaN);
    this.integer(name, value, least);
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
    this.number(thing ? 1 : 0);
  }

  /**
   * One of several, by its place among them, which is that in the C++ enumeration.
   * @param {string} name
   * @param {string} value
   * @param {readonly string[]} choices
   */
  choice(name, value, choices) {
    checkChoice(name, value, choices);
    this.number(choices.indexOf(value));
    return value;
  }

  /** @param {{ seed?: number, stream?: number }} random */
  random({ seed = 0, stream = 0 }) {
    this.integer('seed', seed, 0);
    this.integer('stream', stream, 0);
  }

  /** @param {Dropout} [dropout] */
  dropout(dropout) {
    if (dropout === undefined) return this.number(0);
    if (dropout === null || typeof dropout !== 'object') {
      throw invalid('dropout', dropout, 'an object { probability, seed, stream }');
    }
    const { probability } = dropout;
    if (!(probability >= 0 && probability <= 1)) {
      throw invalid('dropout.probability', probability, 'a number from 0 to 1');
    }
    this.number(1);
    this.number(probability);
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
  #view(address, shape, strides) {
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
   * A tensor that is to be copied in.
   * @param {string} name
   * @param {any} data
   * @param {number} bytes
   * @param {Copy['write']} write
   * @param {readonly number[]} shape
   * @param {readonly number[]} [strides]
   * @returns {number} where the arguments have its address
   */
  #copy(name, data, bytes, write, shape, strides) {
    const at = this.#count + 1;
    const copy = (this.#copies[this.#numCopies++] ??= { name, data, bytes, write, at });
    copy.name = name;
    copy.data = data;
    copy.bytes = bytes;
    copy.write = write;
    copy.at = at;
    this.#view(0, shape, strides);
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
    checkTensor(name, tensor, ranks);
    return this.#floats(name, tensor, numHeads);
  }

  /**
   * The same with one of certain shapes; a size of −1 is any.
   * @param {string} name
   * @param {TensorLike} tensor
   * @param {...readonly number[]} shapes
   */
  floatsOf(name, tensor, ...shapes) {
    checkTensorOf(name, tensor, ...shapes);
    return this.#floats(name, tensor);
  }

  /**
   * Rows of a width: (N, width) or (B, N, width).
   * @param {string} name
   * @param {TensorLike} x
   * @param {number} width
   * @param {string} what  the width is, for the message
   */
  rows(name, x, width, what) {
    checkRows(name, x, width, what);
    return this.#floats(name, x);
  }

  /**
   * @param {string} name
   * @param {TensorLike} tensor
   * @param {number} [numHeads]
   */
  #floats(name, tensor, numHeads) {
    let { shape } = tensor;
    /** @type {readonly number[] | undefined} */
    let strides;
    const place = tensor instanceof TensorHandle ? tensor.placeIn(this.#memory, name) : undefined;
    if (place) strides = place.strides;
    if (numHeads !== undefined) {
      ({ shape, strides } = seenAsHeads(name, shape, numHeads, strides));
    }
    if (place) {
      this.#view(place.address, shape, strides);
    } else {
      const { data } = /** @type {NumbersLike} */ (tensor);
      this.#copy(name, data, 4 * data.length, writeFloats, shape, strides);
    }
    return shape;
  }

  /**
   * A tensor of int32, of numbers that have been checked.
   * @param {string} name
   * @param {NumbersLike} tensor
   */
  ints(name, { data, shape }) {
    return this.#copy(name, data, 4 * data.length, writeInts, shape);
  }

  /**
   * The same as int64.
   * @param {string} name
   * @param {NumbersLike} tensor
   */
  longs(name, { data, shape }) {
    this.#copy(name, data, 8 * data.length, writeLongs, shape);
  }

  /**
   * The same as float64, which may be left out.
   * @param {string} name
   * @param {NumbersLike} [tensor]
   */
  doubles(name, tensor) {
    if (!tensor) return (this.none(), 0);
    const { data, shape } = tensor;
    return this.#copy(name, data, 8 * data.length, writeDoubles, shape);
  }

  /**
   * A boolean tensor that broadcasts to a shape, or may be left out.
   * @param {string} name
   * @param {Mask | undefined} mask
   * @param {readonly number[]} target
   * @param {boolean} [lastMayBeLess]  see checkBroadcast
   */
  mask(name, mask, target, lastMayBeLess) {
    if (!mask) return this.none();
    checkMask(name, mask);
    const { data, shape } = mask;
    checkBroadcast(name, shape, target, lastMayBeLess);
    this.#copy(name, data, data.length, writeMask, shape);
  }

  /**
   * @param {string} name
   * @param {Uint8Array} bytes
   */
  bytes(name, bytes) {
    this.#copy(name, bytes, bytes.length, writeBytes, [bytes.length]);
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
   * A float32 result, whose values are undefined at first.
   * @param {string} name
   * @param {readonly number[]} shape
   * @param {readonly number[]} [seenAs]  the shape that the core sees, if another
   * @param {readonly number[]} [strides]  of that
   * @returns {Result}
   */
  result(name, shape, seenAs = shape, strides) {
    checkShape(name, shape);
    const result = { name, shape, at: this.#count + 1, block: undefined };
    this.#results[this.#numResults++] = result;
    this.#view(0, seenAs, strides);
    return result;
  }

  /**
   * A result of all heads side by side, or (B, N, H, D), which the core sees as (B, H, N, D).
   * @param {string} name
   * @param {readonly number[]} shape
   * @param {number} [numHeads]  as for floats()
   */
  resultOfHeads(name, shape, numHeads) {
    if (numHeads === undefined) return this.result(name, shape);
    const seen = seenAsHeads(name, shape, numHeads);
    return this.result(name, shape, seen.shape, seen.strides);
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
    this.none();
    return undefined;
  }

  /**
   * A result as the caller gets it: copied out, or the handle that was asked for.
   * @param {Result} result
   * @returns {any}
   */
  give({ name, shape, at, block }) {
    if (!block) return this.copyOut(name, shape, this.#arguments[at]);
    this.#unclaimed.splice(this.#unclaimed.indexOf(block), 1);
    return new TensorHandle(this.#memory, block, block.address, shape);
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
   * Copies numbers out that were an argument.
   * @template {'ints' | 'doubles'} V
   * @param {V} type
   * @param {number} at  what the writer of that name gave
   * @param {number} length
   * @returns {Memory[V]}
   */
  copyBack(type, at, length) {
    const address = this.#arguments[at];
    this.#memory.reach(address + 8 * length);
    const view = this.#memory[type];
    const begin = address / view.BYTES_PER_ELEMENT;
    return /** @type {Memory[V]} */ (view.slice(begin, begin + length));
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

/** @type {Copy['write']} */
function writeFloats({ floats }, address, data) {
  const { length } = data;
  const at = address / 4;
  if (length > kShortCopy) return floats.set(data, at);
  for (let i = 0; i < length; ++i) floats[at + i] = data[i];
}

/** @type {Copy['write']} */
const writeInts = ({ ints }, address, data) => ints.set(data, address / 4);

/** @type {Copy['write']} */
const writeDoubles = ({ doubles }, address, data) => doubles.set(data, address / 8);

/** @type {Copy['write']} */
const writeBytes = ({ bytes }, address, data) => bytes.set(data, address);

/** @type {Copy['write']} */
function writeLongs({ ints }, address, data) {
  for (let i = 0; i < data.length; ++i) {
    ints[address / 4 + 2 * i] = data[i];
    ints[address / 4 + 2 * i + 1] = Math.floor(data[i] / 2 ** 32);
  }
}

/** @type {Copy['write']} */
function writeMask({ bytes }, address, data) {
  if (data instanceof Uint8Array) return bytes.set(data, address);
  for (let i = 0; i < data.length; ++i) bytes[address + i] = data[i] ? 1 : 0;
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

/**
 * Names of parameters and of what is in a file have underscores here, too.
 * @param {string} message
 */
export const asWritten = (message) => message;

/** Names that are PyTorch's and have underscores here, too. */
const kParameterName = /_proj|_attn$|_[ih]h_l\d|^relative_attention_bias$/;

/**
 * A message of the core with the names of arguments as they are here: `valid_lens` is `validLens`.
 * @param {string} message
 */
function inJavaScript(message) {
  return message.replace(/\b[a-z]+(_[a-z0-9]+)+\b/g, (name) => {
    if (kParameterName.test(name)) return name;
    return name === 'num_threads' ? 'threads' : name.replace(/_(.)/g, (_, c) => c.toUpperCase());
  });
}
