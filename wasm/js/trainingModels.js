// Support for training language models, imported on demand.

import { runtimeOfAttn } from './attn.js';
import { explainedError } from './errors.js';
import { chooseToken } from './languageModel.js';
import { describeEncoderDecoder, loadEncoderDecoder } from './loadEncoderDecoder.js';
import { describeModel, loadModel } from './loadLanguageModel.js';
import { chooseFiles } from './modelFiles.js';
import { RecordedLanguageModel } from './recordedModels.js';
import { TrainingAttn } from './training.js';

/** @import { EncoderDecoderDescription, EncoderDecoderModel } from './encoderDecoderModel.js' */
/** @import { EncoderDecoderHints, LoadEncoderDecoderOptions } from './loadEncoderDecoder.js' */
/** @import { ChooseTokenOptions, LanguageModel, LanguageModelDescription } from './languageModel.js' */
/** @import { LanguageModelHints, LoadModelOptions } from './loadLanguageModel.js' */
/** @import { ModelFile, ModelFiles } from './modelFiles.js' */
/** @import { RecordsModel } from './recordedModels.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { TensorLike } from './tensor.js' */
/** @import { ResultKind } from './tensorHandle.js' */
/** @import { Variant } from './variants.js' */

/**
 * A module loaded with `models: true` and `training: true`. It has everything in {@link TrainingAttn} and in
 * `ModelsAttn`, and the language models that it loads can be trained.
 *
 * ```js
 * const attn = await load({ models: true, training: true });
 * const model = await attn.loadModel(files, { weightType: 'float32' });
 * const optimizer = new attn.AdamW(model, { lr: 1e-5 });
 * const tape = new attn.Tape();
 * for (const ids of batches) {
 *   tape.clear();
 *   const { logits } = model.forward(ids.slice(0, -1), { tape });
 *   tape.backward(attn.crossEntropy(logits, ids.slice(1)));
 *   optimizer.step(tape);
 * }
 * ```
 *
 * @template {ResultKind} [As='array']
 * @extends {TrainingAttn<As>}
 */
export class TrainingModelsAttn extends TrainingAttn {
  /** @internal */
  static name = 'TrainingModelsAttn';

  /**
   * @internal use `load({ models: true, training: true })`
   * @param {Runtime} runtime
   * @param {Variant} variant
   * @param {string} [fallback]
   */
  constructor(runtime, variant, fallback) {
    super(runtime, variant, fallback);
    if ('recordLanguageModel' in runtime.native) return;
    const sentence = 'this module cannot train language models; pass an all-….wasm';
    throw explainedError('invalid_argument', 'wasm', sentence);
  }

  /**
   * The same module, with results that stay in WebAssembly memory. See `Attn.handles`.
   * @override
   * @returns {TrainingModelsAttn<'handle'>}
   */
  get handles() {
    return /** @type {TrainingModelsAttn<'handle'>} */ (super.handles);
  }

  /**
   * Describes a model from its files, like `ModelsAttn.describeModel`.
   * @param {ModelFiles} files
   * @param {LanguageModelHints} [options]
   * @returns {Promise<LanguageModelDescription>}
   * @throws {AttnError} like `ModelsAttn.describeModel`
   */
  describeModel(files, options = {}) {
    return describeModel(runtimeOfAttn(this), files, options);
  }

  /**
   * Selects the files of one model, like `ModelsAttn.filesOfModel`.
   * @param {ModelFiles} files
   * @returns {Promise<Map<string, ModelFile>>}
   * @throws {AttnError} like `ModelsAttn.filesOfModel`
   */
  filesOfModel(files) {
    return chooseFiles(runtimeOfAttn(this), files);
  }

  /**
   * Loads a language model, like `ModelsAttn.loadModel`. With the option `tape`, the model's `forward` records
   * the computation on the tape. The model must have an embedding and an output layer, and its weights must be
   * float32: pass `{ weightType: 'float32' }` if the files contain F16 or BF16.
   * @param {ModelFiles} files
   * @param {LoadModelOptions} [options]
   * @returns {Promise<LanguageModel<As> & RecordsModel<As>>}
   * @throws {AttnError} like `ModelsAttn.loadModel`
   */
  loadModel(files, options = {}) {
    const model = loadModel(runtimeOfAttn(this), files, options, RecordedLanguageModel);
    return /** @type {Promise<any>} */ (model);
  }

  /**
   * Describes an encoder–decoder model from its files, like `ModelsAttn.describeEncoderDecoder`.
   * @param {ModelFiles} files
   * @param {EncoderDecoderHints} [options]
   * @returns {Promise<EncoderDecoderDescription>}
   * @throws {AttnError} like `ModelsAttn.describeEncoderDecoder`
   */
  describeEncoderDecoder(files, options = {}) {
    return describeEncoderDecoder(runtimeOfAttn(this), files, options);
  }

  /**
   * Loads an encoder–decoder model, like `ModelsAttn.loadEncoderDecoder`. Such a model cannot be trained: its methods
   * reject the option `tape`.
   * @param {ModelFiles} files
   * @param {LoadEncoderDecoderOptions} [options]
   * @returns {Promise<EncoderDecoderModel<As>>}
   * @throws {AttnError} like `ModelsAttn.loadEncoderDecoder`
   */
  loadEncoderDecoder(files, options = {}) {
    return loadEncoderDecoder(runtimeOfAttn(this), files, options);
  }

  /**
   * Chooses the next token from logits, like `ModelsAttn.chooseToken`.
   * @param {TensorLike} logits  (V,)
   * @param {ChooseTokenOptions} [options]
   * @returns {number}
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`
   */
  chooseToken(logits, options = {}) {
    return chooseToken(runtimeOfAttn(this), logits, options);
  }
}
