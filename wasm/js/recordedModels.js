// Language models that a tape can record.

import { kScoreNames } from './attentionOptions.js';
import { explainedError } from './errors.js';
import { checkIdsOf, checkTypes, LanguageModel } from './languageModel.js';
import { checkLayerAttention } from './multiHeadAttention.js';
import { nativeAttentionOptions } from './nativeAttentionOptions.js';
import { nativeOf } from './nativeObject.js';
import { readOptions } from './options.js';
import { positionsIn, RecordedEncoderLayer } from './recordedLayers.js';
import { requireTape } from './tape.js';

/** @import { ExclusionOptions, ScoreOptions } from './attentionOptions.js' */
/** @import { PositionsOption } from './attentionPositions.js' */
/** @import { LanguageModelDescription } from './languageModel.js' */
/** @import { Loader } from './loadLanguageModel.js' */
/** @import * as Native from './native.js' */
/** @import { Names } from './options.js' */
/** @import { Records, TapeOption, VariableEncoderOptions } from './recordedLayers.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { Variable } from './tape.js' */
/** @import { Integers } from './tensor.js' */
/** @import { ResultKind } from './tensorHandle.js' */
/** @import { TransformerEncoderLayer } from './transformerEncoder.js' */

/**
 * @typedef {object} VariableLanguageModelCall
 * @property {ScoreOptions & ExclusionOptions} [attention]  options for the attention of every layer
 * @property {Integers} [tokenTypes]  the type of each token; 0 by default
 */

/**
 * Options of a language model that is recorded on a tape. `positions` is not accepted by models that add positions
 * to their tokens, such as GPT-2.
 * @typedef {TapeOption & VariableLanguageModelCall & PositionsOption} VariableLanguageModelOptions
 */

/**
 * A language model that can be trained. With the option `tape`, `forward` records the computation and returns the
 * logits of all tokens as a variable, (N, V) or (B, N, V). Its weights must be float32: pass
 * `{ weightType: 'float32' }` to `loadModel`.
 * @template {ResultKind} [As='array']
 * @typedef {{
 *   forward(ids: Integers, options: VariableLanguageModelOptions): { logits: Variable },
 *   readonly layers: readonly (TransformerEncoderLayer<As>
 *     & Records<[x: Variable, options?: VariableEncoderOptions]>)[],
 * }} RecordsModel
 */

/** @type {Names<VariableLanguageModelOptions>} */
const kRecorded = { tape: true, attention: true, positions: true, tokenTypes: true };

/** A language model whose `forward` also takes a tape. */
export class RecordedLanguageModel extends LanguageModel {
  static name = LanguageModel.name;

  /**
   * @param {Runtime} runtime
   * @param {{ loader: Loader, description: LanguageModelDescription }} whole
   */
  constructor(runtime, whole) {
    super(runtime, whole);
    this.layers = whole.description.layers.map(
      (layer, index) => new RecordedEncoderLayer(runtime, layer, { owner: this, index }),
    );
  }

  /**
   * @param {Integers} ids
   * @param {any} [options]
   * @returns {any}
   */
  forward(ids, options = {}) {
    const read = readOptions(options, kRecorded, 'options', true);
    if (read.tape === undefined) return super.forward(ids, read);
    const { tape, attention: given = {}, positions, tokenTypes } = readOptions(read, kRecorded);
    const { description } = this;
    if (description.weightType !== 'float32') {
      const sentence = `the weights are stored as ${description.weightType}; to train the model, load it with { weightType: 'float32' }`;
      throw explainedError('unsupported', 'weightType', sentence);
    }
    const tensor = checkIdsOf(description, ids);
    const attention = readOptions(given, kScoreNames, 'attention');
    const { layers, numTokenTypes } = description;
    const recorder = requireTape('tape', tape);
    return recorder.recordEach((call, model) => {
      const tokens = call.numbers('ints', 'ids', tensor);
      const types =
        tokenTypes === undefined ? undefined : checkTypes(call, tokenTypes, numTokenTypes);
      const shape = [...tensor.shape, layers[0].dModel];
      const length = tensor.shape[tensor.shape.length - 1];
      const checked = checkLayerAttention(call, attention, shape, layers[0], length);
      const at = positionsIn(call, 'positions', positions);
      return (native) => ({
        logits: native.recordLanguageModel(
          nativeOf(recorder).tape,
          model,
          tokens.native,
          types?.native ?? null,
          nativeAttentionOptions(call, checked),
          at?.native ?? null,
        ),
      });
    }, this);
  }
}
