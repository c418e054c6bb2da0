import { AttnError } from './errors.js';

/** Blocks and tensors start at multiples of a cache line. */
const kAlignment = 64;
/** Memory up to this size is kept from call to call; more is given back when the call ends. */
const kKeptBytes = 1 << 24;
const kSmallestBlock = 1 << 16;
/** Pointers have 32 bits. */
const kAddressableBytes = 2 ** 32;
/** `TensorRecord` of bindings.cpp: address, rank and six sizes. */
const kRecordWords = 8;

const utf8Encoder = new TextEncoder();
const utf8Decoder = new TextDecoder();

/** @param {readonly number[]} sizes */
const product = (sizes) => sizes.reduce((result, size) => result * size, 1);

/**
 * Room for a result of the core.
 * @typedef {object} Result
 * @property {string} name
 * @property {readonly number[]} shape
 * @property {number} length  the number of elements
 * @property {number} address
 * @property {number} record  the address of its record
 */

/**
 * The WebAssembly memory of one module, as a stack: what a call takes, `scope` gives back when the
 * call ends, however it ends. Nothing outside this file touches the heap, so that no view of it
 * outlives a growth of the memory.
 */
export class Memory {
  #native;
  /** @type {{ start: number, size: number, used: number }[]} */
  #blocks = [];
  #nesting = 0;
  /** @type {ArrayBufferLike | undefined} */
  #buffer;
  #bytes = new Uint8Array();
  #words = new Uint32Array();
  #ints = new Int32Array();
  #floats = new Float32Array();

  /** @param {import('./runtime.js').Native} native */
  constructor(native) {
    this.#native = native;
  }

  /**
   * Runs `body` and gives back what was taken meanwhile.
   * @template T
   * @param {() => T} body
   * @returns {T}
   */
  scope(body) {
    const depth = this.#blocks.length;
    const used = this.#blocks.at(-1)?.used ?? 0;
    ++this.#nesting;
    try {
      return body();
    } finally {
      if (--this.#nesting === 0) {
        this.#tidy();
      } else {
        for (const block of this.#blocks.splice(depth)) this.#native._free(block.start);
        const last = this.#blocks.at(-1);
        if (last) last.used = used;
      }
    }
  }

  /**
   * @param {string} name  the argument that the memory is for, as an error is to name it
   * @param {number} bytes
   * @returns {number} an address
   */
  take(name, bytes) {
    const needed = Math.ceil(bytes / kAlignment) * kAlignment;
    let block = this.#blocks.at(-1);
    if (!block || block.size - block.used < needed) {
      block = this.#addBlock(Math.max(needed, kSmallestBlock));
      if (!block) throw new AttnError('out_of_memory', `${name}: ${bytes} bytes could not be had`);
    }
    const address = Math.ceil(block.start / kAlignment) * kAlignment + block.used;
    block.used += needed;
    return address;
  }

  /**
   * Copies a tensor of float32 in.
   * @param {string} name
   * @param {{ data: ArrayLike<number>, shape: readonly number[] }} tensor
   * @returns {number} the address of its record
   */
  floats(name, { data, shape }) {
    const address = this.take(name, 4 * data.length);
    this.#views();
    this.#floats.set(data, address / 4);
    return this.#record(address, shape);
  }

  /**
   * Copies a tensor of int32 in.
   * @param {string} name
   * @param {{ data: ArrayLike<number>, shape: readonly number[] }} tensor
   * @returns {number} the address of its record
   */
  ints(name, { data, shape }) {
    const address = this.take(name, 4 * data.length);
    this.#views();
    this.#ints.set(data, address / 4);
    return this.#record(address, shape);
  }

  /**
   * Copies a tensor of bytes in.
   * @param {string} name
   * @param {{ data: ArrayLike<number>, shape: readonly number[] }} tensor
   * @returns {number} the address of its record
   */
  bytes(name, { data, shape }) {
    const address = this.take(name, data.length);
    this.#views();
    this.#bytes.set(data, address);
    return this.#record(address, shape);
  }

  /**
   * Copies a text in.
   * @param {string} name
   * @param {string} text
   * @returns {number} the address of its UTF-8, ended by a zero byte
   */
  text(name, text) {
    const utf8 = utf8Encoder.encode(`${text}\0`);
    const address = this.take(name, utf8.length);
    this.#views();
    this.#bytes.set(utf8, address);
    return address;
  }

  /**
   * Copies texts in, one behind the other.
   * @param {string} name
   * @param {readonly string[]} texts
   * @returns {{ utf8: number, ends: number }} the records of their UTF-8, and of where each ends
   */
  texts(name, texts) {
    const parts = texts.map((text) => utf8Encoder.encode(text));
    let length = 0;
    const ends = parts.map((part) => (length += part.length));
    const address = this.take(name, length);
    this.#views();
    parts.forEach((part, i) => this.#bytes.set(part, address + ends[i] - part.length));
    return {
      utf8: this.#record(address, [length]),
      ends: this.ints(name, { data: ends, shape: [ends.length] }),
    };
  }

  /**
   * Makes room for a float32 result; its values are undefined.
   * @param {string} name
   * @param {readonly number[]} shape
   * @returns {Result}
   */
  result(name, shape) {
    const length = product(shape);
    const address = this.take(name, 4 * length);
    return { name, shape, length, address, record: this.#record(address, shape) };
  }

  /**
   * Copies a result out.
   * @param {Result} result
   * @returns {import('./tensor.js').Tensor}
   */
  copyOut({ name, shape, length, address }) {
    this.#views();
    try {
      return {
        data: this.#floats.slice(address / 4, address / 4 + length),
        shape: [...shape],
      };
    } catch (error) {
      const message = `${name}: ${4 * length} bytes for the copy of the result could not be had`;
      throw new AttnError('out_of_memory', message, { cause: error });
    }
  }

  /**
   * Copies a tensor of the core out: `fill` writes its record.
   * @param {string} name
   * @param {(record: number) => void} fill
   */
  copyOutOf(name, fill) {
    const record = this.take(name, 4 * kRecordWords);
    fill(record);
    this.#views();
    const at = record / 4;
    const [address, rank] = this.#words.slice(at, at + 2);
    const shape = [...this.#words.slice(at + 2, at + 2 + rank)];
    return this.copyOut({ name, shape, length: product(shape), address, record });
  }

  /**
   * @param {number} address
   * @returns {string} the text up to the zero byte
   */
  readText(address) {
    this.#views();
    const end = this.#bytes.indexOf(0, address);
    return utf8Decoder.decode(this.#bytes.slice(address, end));
  }

  /**
   * @param {number} address
   * @param {readonly number[]} shape
   */
  #record(address, shape) {
    const record = this.take('tensor', 4 * kRecordWords);
    this.#views();
    const at = record / 4;
    this.#words[at] = address;
    this.#words[at + 1] = shape.length;
    for (let i = 0; i < shape.length; ++i) this.#words[at + 2 + i] = shape[i];
    return record;
  }

  #views() {
    const { buffer } = this.#native.wasmMemory;
    if (buffer === this.#buffer) return;
    this.#buffer = buffer;
    this.#bytes = new Uint8Array(buffer);
    this.#words = new Uint32Array(buffer);
    this.#ints = new Int32Array(buffer);
    this.#floats = new Float32Array(buffer);
  }

  /** Keeps one block as large as this call needed, so that the next one like it asks for nothing. */
  #tidy() {
    const size = this.#blocks.reduce((sum, block) => sum + block.size, 0);
    if (this.#blocks.length === 1 && size <= kKeptBytes) {
      this.#blocks[0].used = 0;
      return;
    }
    for (const block of this.#blocks.splice(0)) this.#native._free(block.start);
    if (size > 0 && size <= kKeptBytes) this.#addBlock(size);
  }

  /** @param {number} size */
  #addBlock(size) {
    const start = size < kAddressableBytes ? this.#native._malloc(size + kAlignment) : 0;
    if (start === 0) return undefined;
    const block = { start, size, used: 0 };
    this.#blocks.push(block);
    return block;
  }
}
