// The class with the functions for models. This file is imported on demand, so pages without models
// never download it.

import { Attn, runtimeOfAttn } from './attn.js';
import { describeEncoderDecoder, loadEncoderDecoder } from './loadEncoderDecoder.js';
import { explainedError } from './errors.js';
import { chooseToken } from './languageModel.js';
import { describeModel, loadModel } from './loadLanguageModel.js';
import { chooseFiles } from './modelFiles.js';

/** @import { EncoderDecoderDescription, EncoderDecoderModel } from './encoderDecoderModel.js' */
/** @import { EncoderDecoderHints, LoadEncoderDecoderOptions } from './loadEncoderDecoder.js' */
/** @import { ChooseTokenOptions, LanguageModel, LanguageModelDescription } from './languageModel.js' */
/** @import { LanguageModelHints, LoadModelOptions } from './loadLanguageModel.js' */
/** @import { ModelFile, ModelFiles } from './modelFiles.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { TensorLike } from './tensor.js' */
/** @import { ResultKind } from './tensorHandle.js' */
/** @import { Variant } from './variants.js' */

/**
 * A module loaded with `models: true`. It has everything in {@link Attn}, and also loads language models from
 * their files.
 *
 * ```js
 * const attn = await load({ models: true });
 * const model = await attn.loadModel(input.files, { onProgress: (done, all) => … });
 * const { logits } = model.forward(ids, { numLogits: 1 });
 * ```
 *
 * @template {ResultKind} [As='array']
 * @extends {Attn<As>}
 */
export class ModelsAttn extends Attn {
  /** @internal */
  static name = 'ModelsAttn';

  /**
   * @internal use `load({ models: true })`
   * @param {Runtime} runtime
   * @param {Variant} variant
   * @param {string} [fallback]
   */
  constructor(runtime, variant, fallback) {
    super(runtime, variant, fallback);
    if ('LanguageModel' in runtime.native) return;
    const sentence = 'this module has no language models; pass a models-….wasm';
    throw explainedError('invalid_argument', 'wasm', sentence);
  }

  /**
   * The same module, with results that stay in WebAssembly memory. See {@link Attn}.
   * @override
   * @returns {ModelsAttn<'handle'>}
   */
  get handles() {
    return /** @type {ModelsAttn<'handle'>} */ (super.handles);
  }

  /**
   * Describes a model from its files. Reads the headers of the files and config.json, but no
   * weights.
   *
   * The model is recognised by its configuration or, if that is missing, by the names of its
   * tensors. Supported are:
   * - GPT-2, BERT, RoBERTa, DistilBERT, and attn's own files
   * - with a config.json: GPT-NeoX, GPT-Neo, OPT, Llama, SmolLM, Mistral, Qwen 2 and 3, Gemma 1 to
   *   3, OLMo 2, and gpt-oss without experts
   * - torch.nn.TransformerEncoder, if `numHeads` is given
   * @param {ModelFiles} files
   * @param {LanguageModelHints} [options]
   * @returns {Promise<LanguageModelDescription>}
   * @throws {AttnError} (`argument` is the tensor, the field or the file) `unsupported` for an architecture or a field
   *   that attn cannot compute; `invalid_format` for a file that violates its format, a field that is missing or out of
   *   range, or a tensor that appears twice; `not_found` for a file or tensor that is missing or that no layer uses;
   *   `shape_mismatch` for a tensor with a shape that differs from the configuration; `file_error`, `invalid_argument`,
   *   `disposed`
   */
  describeModel(files, options = {}) {
    return describeModel(runtimeOfAttn(this), files, options);
  }

  /**
   * Selects the files of one model among all files passed, and returns them by name: the files that
   * `loadModel` reads, and all other files in the same folder, such as tokenizer.json. See {@link
   * ModelFiles} for the rule.
   * @param {ModelFiles} files
   * @returns {Promise<Map<string, ModelFile>>}
   * @throws {AttnError} `not_found` if no file contains weights; `invalid_argument` if the files belong to
   *   two models
   */
  filesOfModel(files) {
    return chooseFiles(runtimeOfAttn(this), files);
  }

  /**
   * Loads a language model from one file, or from several with their index. The weights may be F32, F16, BF16 or
   * F64. Files are read in slices of 4 MiB, and each weight is kept only in WebAssembly memory, in the type that
   * `weightType` sets. There is no tokenizer: input and output are token ids.
   * @param {ModelFiles} files
   * @param {LoadModelOptions} [options]
   * @returns {Promise<LanguageModel<As>>}
   * @throws {AttnError} like `describeModel`; `unsupported`, before any weight is read, if the weights need
   *   more memory than is available; `invalid_format` if a weight is not finite (the message names the tensor
   *   and the position); `out_of_memory`
   */
  loadModel(files, options = {}) {
    return loadModel(runtimeOfAttn(this), files, options);
  }

  /**
   * Describes an encoder–decoder model from its files, which must include config.json: T5
   * (including T5 1.1, Flan-T5 and ByT5), mT5, or Marian. Reads no weights.
   * @param {ModelFiles} files
   * @param {EncoderDecoderHints} [options]
   * @returns {Promise<EncoderDecoderDescription>}
   * @throws {AttnError} like `describeModel`
   */
  describeEncoderDecoder(files, options = {}) {
    return describeEncoderDecoder(runtimeOfAttn(this), files, options);
  }

  /**
   * Loads an encoder–decoder model, from the same files as `loadModel`.
   *
   * ```js
   * const model = await attn.loadEncoderDecoder(input.files);
   * const target = model.generate(ids, { stopIds: [0] });
   * ```
   * @param {ModelFiles} files
   * @param {LoadEncoderDecoderOptions} [options]
   * @returns {Promise<EncoderDecoderModel<As>>}
   * @throws {AttnError} like `loadModel`
   */
  loadEncoderDecoder(files, options = {}) {
    return loadEncoderDecoder(runtimeOfAttn(this), files, options);
  }

  /**
   * Chooses the next token from logits. With temperature 0, chooses the token with the largest logit (the first one if
   * several are equal). Otherwise samples the token: sorts tokens from most to least probable, adds
   * up their probabilities in this order, and chooses the token at which the sum first exceeds
   * random number `step` of the stream.
   * @param {TensorLike} logits  (V,)
   * @param {ChooseTokenOptions} [options]
   * @returns {number}
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`
   */
  chooseToken(logits, options = {}) {
    return chooseToken(runtimeOfAttn(this), logits, options);
  }
}
