import { checkText, explainedError, invalid } from './errors.js';
import { isObjectOf, NativeObject } from './nativeObject.js';
import { bytesOf, isA } from './realm.js';

/** @import { ElementsLike } from './elementType.js' */
/** @import * as Native from './native.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { ResultKind, ResultTensor, TensorHandle } from './tensorHandle.js' */

/**
 * A tensor in a .safetensors file.
 * @typedef {object} SafetensorsEntry
 * @property {string} name
 * @property {string} dtype  name of the element type in the file, for example `F32` or `BF16`
 * @property {number[]} shape
 */

/**
 * Names that are only in the layer or only in the file.
 * @typedef {object} IncompatibleKeys
 * @property {string[]} missingKeys  in the layer, but not in the file
 * @property {string[]} unexpectedKeys  in the file, but not in the layer
 */

/**
 * A .safetensors file. The whole file is checked before any part of it is used. F32, F16 and BF16 are read
 * exactly, as float32; F64 is rounded to float32. Tensors of other dtypes are listed but cannot be read.
 * @template {ResultKind} [As='array']
 * @extends {NativeObject<Native.Safetensors>}
 */
export class Safetensors extends NativeObject {
  /** @internal */
  static name = 'Safetensors';

  #entries;
  #metadata;

  /**
   * @param {Runtime} runtime
   * @param {ArrayBuffer | Uint8Array} bytes
   */
  constructor(runtime, bytes) {
    const view = bytesOf(bytes);
    if (!view) {
      throw invalid('bytes', bytes, 'an ArrayBuffer or a Uint8Array');
    }
    const opened = runtime.invoke((call) => {
      const file = call.bytes('bytes', view);
      return call.run((native) => new native.Safetensors(file.native));
    });
    super(runtime, opened);
    this.#entries = /** @type {SafetensorsEntry[]} */ (this.enter((file) => file.tensors()));
    this.#metadata = this.enter((file) => file.metadata());
  }

  /** @protected */
  facts() {
    return { tensors: this.#entries.length };
  }

  /**
   * The tensors in the file, in the order in which the file stores them.
   * @returns {readonly SafetensorsEntry[]}
   */
  get tensors() {
    return this.#entries;
  }

  /**
   * The file's metadata: texts by key.
   * @returns {Readonly<Record<string, string>>}
   */
  get metadata() {
    return this.#metadata;
  }

  /**
   * Reads a tensor's values as float32.
   * @param {string} name
   * @returns {ResultTensor<As>}
   * @throws {AttnError} `not_found`, `unsupported` for a dtype other than F32, F16, BF16 and F64,
   *   `out_of_memory`, `disposed`
   */
  read(name) {
    checkText('name', name, 'the name of a tensor');
    const shape = this.#entries.find((entry) => entry.name === name)?.shape ?? [];
    return this.invoke((call) => {
      const output = call.result(name, shape);
      call.run(() => this.native.read(name, output.tensor.native));
      return call.give(output);
    });
  }
}

/**
 * Values by name: an object without a class, a Map, or any other iterable of pairs of a name and a value.
 * @template T
 * @typedef {Readonly<Record<string, T>> | Iterable<readonly [string, T]>} Named
 */

/**
 * @param {Runtime} runtime
 * @param {Named<ElementsLike | TensorHandle>} tensors
 * @param {Named<string>} [metadata]
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function toSafetensors(runtime, tensors, metadata = {}) {
  const named = entriesOf('tensors', tensors);
  const entries = entriesOf('metadata', metadata);
  return runtime.invoke((call) => {
    const elements = [...named].map(([name, tensor]) => call.elements(name, tensor));
    const names = [...named.keys()].map((name) => call.text(name, name));
    const texts = [...entries].map(([key, value]) => {
      if (typeof value !== 'string') throw invalid(`metadata.${key}`, value, 'a string');
      return [call.text(key, key), call.text(`metadata.${key}`, value)];
    });
    const file = call.run((native) => {
      const writer = call.own(new native.SafetensorsWriter());
      names.forEach((name, i) => writer.addTensor(name.native, elements[i].native));
      for (const [key, value] of texts) writer.addMetadata(key.native, value.native);
      return writer.write();
    });
    return /** @type {Uint8Array<ArrayBuffer>} */ (file.slice());
  });
}

/**
 * @template T
 * @param {string} argument
 * @param {Named<T>} named
 * @returns {Map<string, T>}
 */
function entriesOf(argument, named) {
  const fail = (/** @type {unknown} */ got) =>
    invalid(argument, got, 'a plain object, a Map or [name, value] pairs');
  if (named === null || typeof named !== 'object' || ArrayBuffer.isView(named)) throw fail(named);
  const isIterable = Symbol.iterator in named;
  // Reject instances of other classes, such as a layer, because their properties are not entries of
  // a dictionary.
  const prototype = Object.getPrototypeOf(named);
  const isPlain = prototype === null || Object.getPrototypeOf(prototype) === null;
  if (!isIterable && !isPlain) throw fail(named);
  /** @type {any[]} */
  let pairs;
  try {
    pairs = isIterable ? [...named] : Object.entries(named);
  } catch (error) {
    // Some objects claim to be iterable but are not, for example a Proxy of a Map.
    throw error instanceof TypeError ? fail(named) : error;
  }
  /** @type {Map<string, T>} */
  const entries = new Map();
  for (const pair of pairs) {
    if (!Array.isArray(pair) || pair.length !== 2) throw fail(pair);
    const [name, value] = pair;
    if (typeof name !== 'string') throw fail(pair);
    if (entries.has(name)) {
      const sentence = `the name '${name}' appears twice; use each name once`;
      throw explainedError('invalid_argument', argument, sentence);
    }
    entries.set(name, value);
  }
  return entries;
}

/**
 * Opens a source of weights, passes it to `body`, and closes it afterwards unless the caller had opened it.
 * @template R
 * @param {Runtime} runtime
 * @param {ArrayBuffer | Uint8Array | Safetensors | Named<ElementsLike | TensorHandle>} source
 * @param {(file: Safetensors) => R} body
 * @returns {R}
 */
export function withSafetensors(runtime, source, body) {
  if (isObjectOf(source, Safetensors)) return body(source);
  const bytes =
    isA(source, 'ArrayBuffer') || isA(source, 'Uint8Array')
      ? source
      : toSafetensors(runtime, source);
  const file = new Safetensors(runtime, bytes);
  try {
    return body(file);
  } finally {
    file.dispose();
  }
}
