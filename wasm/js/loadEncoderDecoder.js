// Loads an encoder–decoder model from its files.

import { EncoderDecoderModel } from './encoderDecoderModel.js';
import { describeAs, loadAs } from './loadLanguageModel.js';
import { readOptions } from './options.js';

/** @import { LanguageModelHints, LoadingOptions, ModelKind } from './loadLanguageModel.js' */
/** @import { ModelFiles } from './modelFiles.js' */
/** @import { Names } from './options.js' */
/** @import { Runtime } from './runtime.js' */

/** @typedef {Pick<LanguageModelHints, 'weightType'>} EncoderDecoderHints */

/** @typedef {EncoderDecoderHints & LoadingOptions} LoadEncoderDecoderOptions */

/** @type {ModelKind} */
const kKind = { Description: 'EncoderDecoderDescription', Loader: 'EncoderDecoderLoader' };
/** @type {Names<EncoderDecoderHints>} */
const kHints = { weightType: true };
/** @type {Names<LoadEncoderDecoderOptions>} */
const kLoading = { ...kHints, maxMemory: true, onProgress: true, signal: true };

/**
 * Implements `ModelsAttn.describeEncoderDecoder`.
 * @param {Runtime} runtime
 * @param {ModelFiles} files
 * @param {EncoderDecoderHints} options
 */
export async function describeEncoderDecoder(runtime, files, options) {
  return describeAs(kKind, runtime, files, readOptions(options, kHints));
}

/**
 * Implements `ModelsAttn.loadEncoderDecoder`.
 * @param {Runtime} runtime
 * @param {ModelFiles} files
 * @param {LoadEncoderDecoderOptions} options
 * @returns {Promise<EncoderDecoderModel<any>>}
 */
export async function loadEncoderDecoder(runtime, files, options) {
  const whole = readOptions(options, kLoading);
  return loadAs(kKind, runtime, files, whole, (loaded) => new EncoderDecoderModel(runtime, loaded));
}
