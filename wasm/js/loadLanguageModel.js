// Loads a model from its files. Reads the description first, then the weights in slices.

import { checkSignal } from './abort.js';
import { kActivations } from './activation.js';
import { kElementTypes } from './elementType.js';
import {
  argumentError,
  AttnError,
  checkChoice,
  checkInteger,
  explainedError,
  invalid,
} from './errors.js';
import { LanguageModel } from './languageModel.js';
import { filesOf, sourcesOf } from './modelFiles.js';
import { NativeObject, runtimeOf } from './nativeObject.js';
import { readOptions, wanted } from './options.js';
import { kScalings } from './rotaryEmbedding.js';

/** @import { Activation } from './activation.js' */
/** @import { LanguageModelLayer, WeightType } from './languageModel.js' */
/** @import { ModelFiles, Source } from './modelFiles.js' */
/** @import * as Native from './native.js' */
/** @import { Names } from './options.js' */
/** @import { Runtime } from './runtime.js' */

/**
 * Facts about a model that its files may lack. A fact in the files takes precedence.
 * @typedef {object} LanguageModelHints
 * @property {number} [numHeads]  number of attention heads, which cannot be inferred from the
 *   shapes of the weights
 * @property {Activation} [activation]  activation of a torch.nn.TransformerEncoder, `'relu'` by default; or of a nanoGPT
 *   model without config.json, `'gelu'` by default
 * @property {boolean} [normFirst]  true if a torch.nn.TransformerEncoder uses pre-norm; `false` by default
 * @property {boolean} [causal]  true if tokens of a torch.nn.TransformerEncoder attend only to themselves and earlier
 *   tokens; `false` by default
 * @property {WeightType} [weightType]  type in which the embedding and the weight matrices are
 *   stored. By default, the type in the files if they are all F16 or all BF16, which gives the same
 *   results as float32; otherwise `'float32'`. Training needs `'float32'`.
 */

/**
 * @typedef {object} LoadingOptions
 * @property {number} [maxMemory]  limit for the weights, in bytes. A model that exceeds it is
 *   rejected before any weight is read. The default is the free WebAssembly memory
 * @property {(done: number, all: number) => void} [onProgress]  called while bytes are read, with the
 *   number read and the total
 * @property {AbortSignal} [signal]  stops loading, which then rejects with the reason of the signal
 */

/** @typedef {LanguageModelHints & LoadingOptions} LoadModelOptions */

const kScalingTypes = Object.keys(kScalings);
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
/** Number of bytes read at a time. */
const kSlice = 1 << 22;
const kLengthBytes = 8;

/**
 * The C++ classes that describe and load a kind of model.
 * @typedef {object} ModelKind
 * @property {'LanguageModelDescription' | 'EncoderDecoderDescription'} Description
 * @property {'LanguageModelLoader' | 'EncoderDecoderLoader'} Loader
 */

/** @type {ModelKind} */
const kLanguageModel = {
  Description: 'LanguageModelDescription',
  Loader: 'LanguageModelLoader',
};

/**
 * The description of a model whose files are being read.
 * @extends {NativeObject<Native.LanguageModelDescription | Native.EncoderDecoderDescription>}
 */
class Described extends NativeObject {
  /** @internal */
  static name = 'ModelDescription';

  /** Returns the model's description, and the locations of its weights in the files. */
  read() {
    const { weights, ...facts } = this.enter((described) => described.facts());
    const entries = Object.entries(facts).map(([name, value]) => {
      if (!Array.isArray(value)) return [name, value];
      const isOfLayers = /[lL]ayers$/.test(name);
      return [name, Object.freeze(isOfLayers ? /** @type {any[]} */ (value).map(layerOf) : value)];
    });
    return { description: Object.freeze(Object.fromEntries(entries)), weights };
  }

  /**
   * @param {ModelKind} kind
   * @param {number} [maxMemory]  the free WebAssembly memory by default
   */
  makeLoader(kind, maxMemory = Infinity) {
    const runtime = runtimeOf(this);
    const native = this.enter((described) => {
      return new runtime.native[kind.Loader](/** @type {any} */ (described), maxMemory);
    });
    return new Loader(runtime, native);
  }
}

/**
 * A model whose weights are being copied into WebAssembly memory.
 * @extends {NativeObject<Native.LanguageModelLoader | Native.EncoderDecoderLoader>}
 */
export class Loader extends NativeObject {
  /** @internal */
  static name = 'ModelLoader';

  /**
   * @param {number} source
   * @param {Uint8Array} bytes
   */
  write(source, bytes) {
    this.invoke((call) => {
      const written = call.bytes('bytes', bytes);
      call.run(() => this.native.write(source, written.native));
    });
  }
}

/**
 * Returns a copy of a layer's description. It contains names instead of enumeration values, and
 * omits fields without a value.
 * @param {Native.LanguageModelLayer} facts
 * @returns {LanguageModelLayer}
 */
function layerOf(facts) {
  const activation = kActivations[facts.activation.value];
  const rotaryScaling = kScalingTypes[facts.rotaryScaling];
  const given = Object.entries({ ...facts, activation, rotaryScaling }).filter(
    ([, value]) => value !== undefined && !Number.isNaN(value),
  );
  return /** @type {any} */ (Object.freeze(Object.fromEntries(given)));
}

/**
 * Reads the beginning of a .safetensors file, up to the end of its header.
 * @param {Runtime} runtime
 * @param {Source} file
 */
async function headerOf(runtime, file) {
  const length = await file.read(0, Math.min(kLengthBytes, file.size));
  try {
    const size = runtime.invoke((call) => {
      const beginning = call.bytes(file.name, length);
      return call.run((native) => native.safetensorsHeaderSize(beginning.native, file.size));
    });
    return await file.read(0, size);
  } catch (cause) {
    if (!(cause instanceof AttnError) || cause.code !== 'invalid_format') throw cause;
    // Add the file's name to the error, because there may be several files.
    const { code, argument, got = '', needs = '' } = cause;
    throw argumentError(code, `${file.name}, ${argument}`, got, needs, { cause });
  }
}

/**
 * @param {Runtime} runtime
 * @param {ModelFiles} files
 * @param {LanguageModelHints} options
 * @param {ModelKind} kind
 */
async function describe(runtime, files, options, kind) {
  const { weights, config, index } = await filesOf(runtime, sourcesOf(files));
  /** @type {Uint8Array[]} */
  const headers = [];
  for (const file of weights) headers.push(await headerOf(runtime, file));
  const { numHeads, activation, weightType } = options;
  if (numHeads !== undefined) checkInteger('numHeads', numHeads, 1);
  if (activation !== undefined) checkChoice('activation', activation, kActivations);
  const normFirst = wanted('normFirst', options.normFirst);
  const causal = wanted('causal', options.causal);
  if (weightType !== undefined) checkChoice('weightType', weightType, kElementTypes);
  const described = runtime.invoke((call) => {
    const beginnings = weights.map((file, i) => call.bytes(file.name, headers[i]));
    const [configText, indexText] = [call.text('config', config), call.text('index', index)];
    return call.run((native) => {
      const read = call.own(new native.LanguageModelFiles());
      weights.forEach(({ size }, i) => read.addHeader(beginnings[i].native, size));
      if (numHeads !== undefined) read.setNumHeads(numHeads);
      if (activation !== undefined) read.setActivation(native.Activation[activation]);
      read.setNormFirst(normFirst);
      read.setCausal(causal);
      if (weightType !== undefined) read.setWeightType(native.ElementType[weightType]);
      return new native[kind.Description](read, configText.native, indexText.native);
    });
  });
  return { described: new Described(runtime, described), files: weights };
}

/**
 * Implements `ModelsAttn.describeModel`.
 * @param {Runtime} runtime
 * @param {ModelFiles} files
 * @param {LanguageModelHints} options
 */
export async function describeModel(runtime, files, options) {
  return describeAs(kLanguageModel, runtime, files, readOptions(options, kHints));
}

/**
 * @param {ModelKind} kind
 * @param {Runtime} runtime
 * @param {ModelFiles} files
 * @param {LanguageModelHints} options
 */
export async function describeAs(kind, runtime, files, options) {
  const { described } = await describe(runtime, files, options, kind);
  try {
    return described.read().description;
  } finally {
    described.dispose();
  }
}

/**
 * Implements `ModelsAttn.loadModel`.
 * @param {Runtime} runtime
 * @param {ModelFiles} given
 * @param {LoadModelOptions} options
 * @param {new (runtime: Runtime, whole: { loader: Loader, description: any }) => LanguageModel<any>} [Model]  the class
 *   of the result
 * @returns {Promise<LanguageModel<any>>}
 */
export async function loadModel(runtime, given, options, Model = LanguageModel) {
  const whole = readOptions(options, kLoading);
  return loadAs(kLanguageModel, runtime, given, whole, (loaded) => new Model(runtime, loaded));
}

/**
 * Loads a model.
 * @template M
 * @param {ModelKind} kind
 * @param {Runtime} runtime
 * @param {ModelFiles} given
 * @param {LoadModelOptions} options
 * @param {(loaded: { loader: Loader, description: any }) => M} make  makes the model from its weights
 * @returns {Promise<M>}
 */
export async function loadAs(kind, runtime, given, options, make) {
  const { maxMemory, onProgress, signal, ...hints } = options;
  if (onProgress !== undefined && typeof onProgress !== 'function') {
    throw invalid('onProgress', onProgress, 'a function');
  }
  if (maxMemory !== undefined) checkInteger('maxMemory', maxMemory, 0);
  checkSignal(signal);
  const { described, files } = await describe(runtime, given, hints, kind);
  /** @type {Loader | undefined} */
  let loader;
  try {
    signal?.throwIfAborted();
    const { description, weights } = described.read();
    loader = described.makeLoader(kind, maxMemory);
    const slices = weights.flatMap(({ file, begin, end }, source) =>
      Array.from({ length: Math.ceil((end - begin) / kSlice) }, (_, i) => ({
        ...{ file: files[file], source, begin: begin + i * kSlice },
        end: Math.min(begin + (i + 1) * kSlice, end),
      })),
    );
    const all = slices.reduce((sum, { begin, end }) => sum + end - begin, 0);
    const read = (/** @type {number} */ i) => {
      const bytes = slices[i]?.file.read(slices[i].begin, slices[i].end);
      // `await next` reports a failed read. If loading ends before `await next`, this handler
      // prevents an unhandled rejection.
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
        const sentence = `${file.name} became shorter while it was read; load the model again`;
        throw explainedError('file_error', 'files', sentence);
      }
      loader.write(source, bytes);
      done += end - begin;
      onProgress?.(done, all);
    }
    return make({ loader, description });
  } finally {
    loader?.dispose();
    described.dispose();
  }
}
