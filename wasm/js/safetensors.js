import { checkOptions, invalid } from './errors.js';
import { NativeObject } from './nativeObject.js';

/** @import { Runtime } from './runtime.js' */
/** @import { TensorLike } from './tensor.js' */
/** @import { ResultKind, ResultTensor } from './tensorHandle.js' */

/**
 * A tensor in a .safetensors file.
 * @typedef {object} SafetensorsEntry
 * @property {string} name
 * @property {string} dtype  as the file calls it, for example `F32` or `BF16`
 * @property {number[]} shape
 */

/**
 * What a file and a layer did not have in common.
 * @typedef {object} IncompatibleKeys
 * @property {string[]} missingKeys  in the layer, not in the file
 * @property {string[]} unexpectedKeys  in the file, not in the layer
 */

/**
 * A .safetensors file, which is checked as a whole before anything of it is used. Numbers of F32,
 * F16 and BF16 are read, as float32 and so exactly; tensors of other dtypes are listed.
 * @template {ResultKind} [As='array']
 */
export class Safetensors extends NativeObject {
  /** @internal */
  static name = 'Safetensors';

  /** @type {SafetensorsEntry[]} */
  #entries = [];
  /** @type {Record<string, string>} */
  #metadata = {};

  /**
   * @param {Runtime} runtime
   * @param {ArrayBuffer | Uint8Array} bytes
   */
  constructor(runtime, bytes) {
    const view = bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : bytes;
    if (!(view instanceof Uint8Array)) {
      throw invalid('bytes', bytes, 'an ArrayBuffer or a Uint8Array');
    }
    const address = runtime.ask('openSafetensors', (call) => call.bytes('bytes', view));
    super(runtime, 'deleteSafetensors', address);
    this.call((call) => {
      call.run('describeSafetensors');
      const texts = call.givenTexts().values();
      const next = () => /** @type {string} */ (texts.next().value);
      for (let i = call.given(2); i > 0; --i) {
        this.#entries.push({ name: next(), dtype: next(), shape: JSON.parse(next()) });
      }
      for (const key of texts) this.#metadata[key] = next();
    });
  }

  /**
   * In the order of their bytes.
   * @returns {readonly SafetensorsEntry[]}
   */
  get tensors() {
    return this.#entries;
  }

  /**
   * Free text about the file, key by key.
   * @returns {Readonly<Record<string, string>>}
   */
  get metadata() {
    return this.#metadata;
  }

  /**
   * A tensor's values.
   * @param {string} name
   * @returns {ResultTensor<As>}
   * @throws {AttnError} `not_found`, `unsupported` for a dtype other than F32, F16 and BF16,
   *   `out_of_memory`, `disposed`
   */
  read(name) {
    if (typeof name !== 'string') throw invalid('name', name, 'the name of a tensor');
    const shape = this.#entries.find((entry) => entry.name === name)?.shape ?? [];
    return this.call((call) => {
      call.text('name', name);
      const output = call.result(name, shape);
      call.run('readSafetensors');
      return call.give(output);
    });
  }
}

/**
 * @param {Runtime} runtime
 * @param {Record<string, TensorLike>} tensors
 * @param {Record<string, string>} [metadata]
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function toSafetensors(runtime, tensors, metadata = {}) {
  checkOptions(tensors, 'tensors');
  checkOptions(metadata, 'metadata');
  return runtime.call((call) => {
    call.number(Object.keys(tensors).length);
    for (const [name, tensor] of Object.entries(tensors)) {
      call.text('name', name);
      call.floats(name, tensor);
    }
    call.number(Object.keys(metadata).length);
    for (const [key, value] of Object.entries(metadata)) {
      call.text('metadata', key);
      call.text('metadata', value);
    }
    call.run('toSafetensors');
    const file = call.givenBytes();
    call.run('freeFile');
    return file;
  });
}

/**
 * Opens what weights are loaded from, as long as `body` needs it.
 * @template R
 * @param {Runtime} runtime
 * @param {ArrayBuffer | Uint8Array | Safetensors | Record<string, TensorLike>} source
 * @param {(file: Safetensors) => R} body
 * @returns {R}
 */
export function withSafetensors(runtime, source, body) {
  if (source instanceof Safetensors) return body(source);
  const bytes =
    source instanceof ArrayBuffer || source instanceof Uint8Array
      ? source
      : toSafetensors(runtime, source);
  const file = new Safetensors(runtime, bytes);
  try {
    return body(file);
  } finally {
    file.dispose();
  }
}
