// A model from its files: what they say of it is read first, then its weights, slice by slice.

import { checkSignal } from './abort.js';
import { kActivations } from './activation.js';
import { argumentError, AttnError, invalid } from './errors.js';
import { Kind } from './kind.js';
import { LanguageModel } from './languageModel.js';
import { filesOf, sourcesOf } from './modelFiles.js';
import { NativeObject, oldNative } from './nativeObject.js';
import { readOptions } from './options.js';
import { kScalings } from './rotaryEmbedding.js';

/** @import { Activation } from './activation.js' */
/** @import { LanguageModelDescription, WeightType } from './languageModel.js' */
/** @import { ModelFiles, Source } from './modelFiles.js' */
/** @import { Names } from './options.js' */
/** @import { Runtime } from './runtime.js' */

/**
 * What is to be said of a model beside its files. Of what they say themselves, they count first.
 * @typedef {object} LanguageModelHints
 * @property {number} [numHeads]  attention heads, which shapes do not show
 * @property {Activation} [activation]  of a torch.nn.TransformerEncoder; `'relu'` by default
 * @property {boolean} [normFirst]  the same; not by default
 * @property {boolean} [causal]  the same; not by default
 * @property {WeightType} [weightType]  how the embedding and the matrices that products read are kept. By
 *   default as the files have them, all of F16 or all of BF16, which gives the results of float32 bit for
 *   bit, or else as `'float32'`. Training needs `'float32'`.
 */

/**
 * @typedef {object} LoadingOptions
 * @property {number} [maxMemory]  weights that need more bytes are refused before any is read; what
 *   WebAssembly's memory has left by default
 * @property {(done: number, all: number) => void} [onProgress]  called as bytes are read, with how many of
 *   how many there are
 * @property {AbortSignal} [signal]  ends the loading, which is then rejected with its reason
 */

/** @typedef {LanguageModelHints & LoadingOptions} LoadModelOptions */

/**
 * Where weights lie in the files.
 * @typedef {{ file: number, begin: number, end: number }} WeightSource
 */

/** @type {readonly WeightType[]} */
const kWeightTypes = ['float32', 'float16', 'bfloat16'];
/** What descriptions give by its number. @type {Record<string, readonly string[]>} */
const kChosen = {
  activation: kActivations,
  weightType: kWeightTypes,
  rotaryScaling: Object.keys(kScalings),
};
/** @type {Names<LanguageModelHints>} */
const kHints = {
  numHeads: true,
  activation: true,
  normFirst: true,
  causal: true,
  weightType: true,
};
/** @type {Names<LoadModelOptions>} */
const kLoading = { ...kHints, maxMemory: true, onProgress: true, signal: true };
/** What is read at once. */
const kSlice = 1 << 22;
const kLengthBytes = 8;

/** What is kept of the files while they are read. */
class Described extends NativeObject {
  /** @internal */
  static name = 'LanguageModelDescription';

  /**
   * @param {Runtime} runtime
   * @param {number} address
   */
  constructor(runtime, address) {
    super(runtime, oldNative(runtime, 'deleteLanguageModelDescription', address));
  }
}

/** A model whose weights are being written. */
export class Loader extends NativeObject {
  /** @internal */
  static name = 'LanguageModelLoader';

  /**
   * @param {Runtime} runtime
   * @param {Described} described
   * @param {number} [maxMemory]
   */
  constructor(runtime, described, maxMemory) {
    const address = runtime.ask('makeLanguageModelLoader', (call) => {
      call.object('described', described);
      call.optionalInteger('maxMemory', maxMemory, 0);
    });
    super(runtime, oldNative(runtime, 'deleteLanguageModelLoader', address));
  }

  /**
   * @param {number} source
   * @param {Uint8Array} bytes
   */
  write(source, bytes) {
    this.ask('writeLanguageModel', (call) => {
      call.put(Kind.integer, source);
      call.bytes('bytes', bytes);
    });
  }
}

/**
 * The beginning of a .safetensors file, header and all.
 * @param {Runtime} runtime
 * @param {Source} file
 */
async function headerOf(runtime, file) {
  const length = await file.read(0, Math.min(kLengthBytes, file.size));
  try {
    const size = runtime.ask('safetensorsHeaderSize', (call) => {
      call.bytes(file.name, length);
      call.put(Kind.integer, file.size);
    });
    return await file.read(0, size);
  } catch (cause) {
    if (!(cause instanceof AttnError) || cause.code !== 'invalid_format') throw cause;
    // Which of several files it is about.
    const { code, argument, got = '', needs = '' } = cause;
    throw argumentError(code, `${file.name}, ${argument}`, got, needs, { cause });
  }
}

/**
 * @param {Runtime} runtime
 * @param {ModelFiles} files
 * @param {LanguageModelHints} options
 */
async function describe(runtime, files, options) {
  const { weights, config, index } = await filesOf(runtime, sourcesOf(files));
  /** @type {Uint8Array[]} */
  const headers = [];
  for (const file of weights) headers.push(await headerOf(runtime, file));
  return runtime.call((call) => {
    const { numHeads, activation, normFirst = false, causal = false, weightType } = options;
    call.put(Kind.integer, weights.length);
    weights.forEach((file, i) => {
      call.bytes(file.name, headers[i]);
      call.put(Kind.integer, file.size);
    });
    call.text('config', config);
    call.text('index', index);
    call.optionalInteger('numHeads', numHeads, 1);
    call.has(activation !== undefined);
    if (activation !== undefined) call.choice('activation', activation, kActivations);
    call.flag('normFirst', normFirst);
    call.flag('causal', causal);
    call.has(weightType !== undefined);
    if (weightType !== undefined) call.choice('weightType', weightType, kWeightTypes);
    call.run('describeLanguageModel');
    const described = new Described(runtime, call.given(2));
    const { weights: places, ...description } = JSON.parse(
      call.givenTexts()[0],
      (key, value) => kChosen[key]?.[value] ?? Object.freeze(value),
    );
    return {
      described,
      description: /** @type {LanguageModelDescription} */ (Object.freeze(description)),
      places: /** @type {WeightSource[]} */ (places),
      files: weights,
    };
  });
}

/**
 * See `ModelsAttn.describeModel`.
 * @param {Runtime} runtime
 * @param {ModelFiles} files
 * @param {LanguageModelHints} options
 */
export async function describeModel(runtime, files, options) {
  options = readOptions(options, kHints);
  const { described, description } = await describe(runtime, files, options);
  described.dispose();
  return description;
}

/**
 * See `ModelsAttn.loadModel`.
 * @param {Runtime} runtime
 * @param {ModelFiles} given
 * @param {LoadModelOptions} options
 * @returns {Promise<LanguageModel<any>>}
 */
export async function loadModel(runtime, given, options) {
  options = readOptions(options, kLoading);
  const { maxMemory, onProgress, signal, ...hints } = options;
  if (onProgress !== undefined && typeof onProgress !== 'function') {
    throw invalid('onProgress', onProgress, 'a function');
  }
  checkSignal(signal);
  const { described, description, places, files } = await describe(runtime, given, hints);
  /** @type {Loader | undefined} */
  let loader;
  try {
    signal?.throwIfAborted();
    loader = new Loader(runtime, described, maxMemory);
    const slices = places.flatMap(({ file, begin, end }, source) =>
      Array.from({ length: Math.ceil((end - begin) / kSlice) }, (_, i) => ({
        ...{ file: files[file], source, begin: begin + i * kSlice },
        end: Math.min(begin + (i + 1) * kSlice, end),
      })),
    );
    const all = slices.reduce((sum, { begin, end }) => sum + end - begin, 0);
    const read = (/** @type {number} */ i) => {
      const bytes = slices[i]?.file.read(slices[i].begin, slices[i].end);
      // Whoever waits for it hears of its failure, and nobody may wait.
      bytes?.catch(() => {});
      return bytes;
    };
    let done = 0;
    let next = read(0);
    for (let i = 0; i < slices.length; ++i) {
      const bytes = await next;
      signal?.throwIfAborted();
      next = read(i + 1);
      const { file, source, begin, end } = slices[i];
      if (bytes.length !== end - begin) {
        const got = `${file.name}, which ends early`;
        throw argumentError('file_error', 'files', got, 'files that stay as they are');
      }
      loader.write(source, bytes);
      done += end - begin;
      onProgress?.(done, all);
    }
    return new LanguageModel(runtime, { loader, description });
  } finally {
    loader?.dispose();
    described.dispose();
  }
}
