// What a module that loads models has besides. Loaded late, so that pages which do not load nothing of it.

import { Attn, runtimeOfAttn } from './attn.js';
import { argumentError } from './errors.js';
import { chooseToken } from './languageModel.js';
import { describeModel, loadModel } from './loadLanguageModel.js';
import { chooseFiles } from './modelFiles.js';

/** @import { ChooseTokenOptions, LanguageModel, LanguageModelDescription } from './languageModel.js' */
/** @import { LanguageModelHints, LoadModelOptions } from './loadLanguageModel.js' */
/** @import { ModelFile, ModelFiles } from './modelFiles.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { TensorLike } from './tensor.js' */
/** @import { ResultKind } from './tensorHandle.js' */
/** @import { Variant } from './variants.js' */

/**
 * A module loaded with `models: true`: all of {@link Attn}, and language models from their files.
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
    throw argumentError('invalid_argument', 'wasm', 'a module without models', 'a models-….wasm');
  }

  /**
   * The same module with results that stay in WebAssembly memory: see {@link Attn}.
   * @override
   * @returns {ModelsAttn<'handle'>}
   */
  get handles() {
    return /** @type {ModelsAttn<'handle'>} */ (super.handles);
  }

  /**
   * What files say of a model: their headers and config.json are read, and no weights.
   *
   * It is recognised by its configuration, or where that is missing by the names of its tensors: GPT-2;
   * BERT, RoBERTa, DistilBERT; Llama, SmolLM, Mistral, Qwen 2 and 3, Gemma 1 to 3, OLMo 2, and gpt-oss
   * without experts, which all need config.json; torch.nn.TransformerEncoder with `numHeads`; and attn's
   * own files.
   * @param {ModelFiles} files
   * @param {LanguageModelHints} [options]
   * @returns {Promise<LanguageModelDescription>}
   * @throws {AttnError} with the tensor, the field or the file as the argument: `unsupported` for an
   *   architecture or a field that attn cannot compute; `invalid_format` for a file that is not what its
   *   format says, a field that is missing or out of range, and a tensor that is there twice; `not_found`
   *   for files or tensors that are missing, or that a layer has no use for; `shape_mismatch` for a tensor
   *   of another shape than the configuration says; `file_error`, `invalid_argument`, `disposed`
   */
  describeModel(files, options = {}) {
    return describeModel(runtimeOfAttn(this), files, options);
  }

  /**
   * The files of one model among all that were given, by name: those that `loadModel` reads, and all others
   * in the same folder, such as tokenizer.json. See {@link ModelFiles} for the rule.
   * @param {ModelFiles} files
   * @returns {Promise<Map<string, ModelFile>>}
   * @throws {AttnError} `not_found` without weights; `invalid_argument` for the files of two models
   */
  filesOfModel(files) {
    return chooseFiles(runtimeOfAttn(this), files);
  }

  /**
   * Loads a language model from its files, F32, F16, BF16 or F64, one or several with their index. Files are
   * read in slices of 4 MiB, and each weight lies in WebAssembly memory alone, of the type that
   * `weightType` says. A tokenizer is not part of it: ids go in and out.
   * @param {ModelFiles} files
   * @param {LoadModelOptions} [options]
   * @returns {Promise<LanguageModel<As>>}
   * @throws {AttnError} as `describeModel`; `unsupported` where the weights need more memory than there is,
   *   before any is read; `invalid_format` with name and place for a weight that is not finite;
   *   `out_of_memory`
   */
  loadModel(files, options = {}) {
    return loadModel(runtimeOfAttn(this), files, options);
  }

  /**
   * The token that logits lead to: the largest with temperature 0, the first of equal ones; otherwise drawn
   * by number `step` of the stream, as the first of the tokens, the most probable first, with which the sum
   * of probabilities exceeds it.
   * @param {TensorLike} logits  (V,)
   * @param {ChooseTokenOptions} [options]
   * @returns {number}
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`
   */
  chooseToken(logits, options = {}) {
    return chooseToken(runtimeOfAttn(this), logits, options);
  }
}
