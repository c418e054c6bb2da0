// The layers of a training module. A layer that is called with a variable returns a variable, and
// records the computation on the variable's tape.

import { AdditiveAttention } from './additiveAttention.js';
import { kAttention, checkTerms, nativeTerms } from './attentionOfVariables.js';
import { kScoreNames, sizesOf } from './attentionOptions.js';
import { checkChoiceOfKeys, kChoiceOfKeys, nativePoolingOptions } from './attentionPooling.js';
import { BahdanauDecoder } from './bahdanauDecoder.js';
import { Conv1d } from './conv1d.js';
import { checkDropout } from './dropout.js';
import { checkInteger, invalid } from './errors.js';
import { Embedding } from './embedding.js';
import { FeedForward } from './feedForward.js';
import { GatedFeedForward } from './gatedFeedForward.js';
import { AddNorm, LayerNorm } from './layerNorm.js';
import { LearnedPositionalEncoding } from './learnedPositionalEncoding.js';
import { Linear } from './linear.js';
import { leadingOf, MultiHeadAttention } from './multiHeadAttention.js';
import { checkAttentionOptions, lengths } from './nativeAttentionOptions.js';
import { nativeOf } from './nativeObject.js';
import { readOptions } from './options.js';
import { RMSNorm } from './rmsNorm.js';
import { GRU, RNN } from './recurrent.js';
import { checkPositions, kRecordOptions, RotaryEmbedding } from './rotaryEmbedding.js';
import { checkShapeIs } from './shape.js';
import { isVariable, requireTape } from './tape.js';
import { checkIntegers, kHeadRanks, kRowRanks } from './tensor.js';
import { layersOf } from './transformer.js';
import { TransformerDecoder, TransformerDecoderLayer } from './transformerDecoder.js';
import { TransformerEncoder, TransformerEncoderLayer } from './transformerEncoder.js';

/** @import { KeyPositionsOption, PositionsOption } from './attentionPositions.js' */
/** @import { Dropout } from './dropout.js' */
/** @import { OutputTypeOption } from './elementType.js' */
/** @import { NativeCall } from './nativeCall.js' */
/** @import * as Native from './native.js' */
/** @import { Names } from './options.js' */
/** @import { StartAndDropout } from './positionalEncoding.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { Tape, Variable } from './tape.js' */
/** @import { Integers, NumbersLike } from './tensor.js' */
/** @import { AttentionOfVariablesOptions } from './attentionOfVariables.js' */
/** @import { ChoiceOfKeys } from './poolingOfVariables.js' */
/** @import { TransformerOptions } from './transformer.js' */

/**
 * A layer whose `forward` also takes variables. If it is called with a variable, it returns a
 * variable.
 * @template {unknown[]} A
 * @typedef {{ forward(...args: A): Variable }} Records
 */

/**
 * A layer whose `forward` records on the tape that is passed as an option.
 * @typedef {{ forward(ids: Integers, options: TapeOption): Variable }} RecordsTokens
 */

/**
 * Additive attention over variables.
 * @typedef {Records<[query: Variable, key: Variable, value: Variable, options?: ChoiceOfKeys]> & {
 *   projectKeys(key: Variable): Variable,
 *   forwardProjected(query: Variable, projectedKeys: Variable, value: Variable,
 *     options?: ChoiceOfKeys): Variable,
 * }} RecordsPooling
 */

/**
 * The results of a recurrent layer called with variables.
 * @typedef {object} RecurrentVariables
 * @property {Variable} output  (B, N, H)
 * @property {Variable} hN  (numLayers, B, H)
 */

/** @typedef {{ forward(x: Variable, options?: { h0?: Variable }): RecurrentVariables }} RecordsRecurrence */

/**
 * Bahdanau's decoder over variables. `initState` makes a state that consists of variables, and
 * `forward` decodes given tokens from that state (teacher forcing).
 * @typedef {object} RecordsBahdanau
 * @property {(encoderOutputs: Variable, hidden: Variable, options?: { encoderLens?: Integers })
 *   => BahdanauVariables} initState
 * @property {(tokens: NumbersLike, state: BahdanauVariables) => { logits: Variable }} forward  decodes tokens from a
 *   state of variables, and records the computation on their tape
 */

/**
 * @typedef {object} TapeOption
 * @property {Tape} tape  the tape that records the call
 */

/**
 * Options of attention in a Transformer layer. A stack passes the options to every layer, so all
 * layers share a variable in the options, such as a T5 table.
 * @typedef {Omit<AttentionOfVariablesOptions, 'dropout'>} VariableLayerAttentionOptions
 */

/** @typedef {AttentionOfVariablesOptions & PositionsOption & KeyPositionsOption} VariableMultiHeadAttentionOptions */

/**
 * @typedef {object} VariableEncoderCall
 * @property {VariableLayerAttentionOptions} [attention]
 * @property {Dropout | number} [dropout]  like the option for tensors
 */

/** @typedef {VariableEncoderCall & PositionsOption} VariableEncoderOptions */

/**
 * @typedef {object} VariableDecoderCall
 * @property {VariableLayerAttentionOptions} [selfAttention]
 * @property {VariableLayerAttentionOptions} [crossAttention]
 * @property {Dropout | number} [dropout]  like the option for tensors
 */

/** @typedef {VariableDecoderCall & PositionsOption} VariableDecoderOptions */

/** @type {Names<VariableEncoderOptions>} */
const kEncoder = { attention: true, positions: true, dropout: true };
/** @type {Names<VariableDecoderOptions>} */
const kDecoder = { selfAttention: true, crossAttention: true, positions: true, dropout: true };
/** @type {Names<VariableMultiHeadAttentionOptions>} */
const kMultiHead = { ...kAttention, positions: true, keyPositions: true };
/** @type {Names<StartAndDropout>} */
export const kStartAndDropout = { start: true, dropout: true };

/**
 * Runs a layer on variables.
 * @callback RecordLayer
 * @param {Tape} tape
 * @param {any} layer
 * @param {...any} args  the arguments of `forward`
 * @returns {Variable}
 */

/**
 * Returns a subclass of a layer class. The subclass's `forward` also takes variables.
 * @param {new (...args: any[]) => any} Class
 * @param {RecordLayer} record
 * @returns {new (...args: any[]) => any}
 */
const recorded = (Class, record) =>
  class extends Class {
    static name = Class.name;

    /** @param {...any} args */
    forward(...args) {
      const given = args.find(isVariable);
      return given ? record(given.tape, this, ...args) : super.forward(...args);
    }
  };

/**
 * Like recorded(), but for a stack, whose layers also take variables.
 * @param {new (...args: any[]) => any} Class
 * @param {RecordLayer} record
 * @param {new (...args: any[]) => any} LayerClass
 * @returns {new (...args: any[]) => any}
 */
const recordedStack = (Class, record, LayerClass) =>
  class extends recorded(Class, record) {
    static name = Class.name;

    /**
     * @param {Runtime} runtime
     * @param {TransformerOptions} options
     */
    constructor(runtime, options) {
      super(runtime, options);
      const stack = /** @type {any} */ (this);
      this.layers = layersOf(stack, options, stack.sizes, (layer, place) => {
        return new LayerClass(runtime, layer, place);
      });
    }
  };

/**
 * @param {'recordLinear' | 'recordLayerNorm' | 'recordRMSNorm' | 'recordConv1d'} record  an operation with
 *   one input and no options
 * @returns {RecordLayer}
 */
const recordRows =
  (record) =>
  (tape, layer, x, options = {}) => {
    readOptions(options, {});
    return tape.record((call, module) => {
      const input = tape.nativeIn(call, 'x', x);
      return (native) => native[record](module, input);
    }, layer);
  };

/** @type {RecordLayer} */
function recordPositions(tape, layer, x, options = {}) {
  const { start = 0, dropout } = readOptions(options, kStartAndDropout);
  return tape.record((call, module) => {
    const input = tape.nativeIn(call, 'x', x, kRowRanks);
    checkInteger('start', start, 0);
    const dropped = checkDropout(dropout);
    return (native) => native.recordLearnedPositionalEncoding(module, input, start, dropped);
  }, layer);
}

/** @type {RecordLayer} */
function recordAddNorm(tape, layer, x, y, options = {}) {
  const { dropout } = readOptions(options, { dropout: true });
  return tape.record((call, module) => {
    const left = tape.nativeIn(call, 'x', x);
    const right = tape.nativeIn(call, 'y', y);
    const dropped = checkDropout(dropout);
    return (native) => native.recordAddNorm(module, left, right, dropped);
  }, layer);
}

/**
 * @param {'recordFeedForward' | 'recordGatedFeedForward'} record
 * @returns {RecordLayer}
 */
const recordFeedForward =
  (record) =>
  (tape, layer, x, options = {}) => {
    const { dropout } = readOptions(options, { dropout: true });
    return tape.record((call, module) => {
      const input = tape.nativeIn(call, 'x', x);
      const dropped = checkDropout(dropout);
      return (native) => native[record](module, input, dropped);
    }, layer);
  };

/**
 * @param {boolean} projected  true if the keys are already projected
 * @returns {RecordLayer}
 */
const recordAdditive =
  (projected) =>
  (tape, layer, query, key, value, options = {}) => {
    options = readOptions(options, kChoiceOfKeys);
    return tape.record((call, attention) => {
      const inputs = tape.nativesIn(call, { query, key, value }, kRowRanks);
      const { batch, length } = sizesOf(query.shape);
      const keys = checkChoiceOfKeys(call, options, batch, length, sizesOf(key.shape).length);
      return (native) =>
        native.recordAdditiveAttention(
          attention,
          inputs.query,
          inputs.key,
          inputs.value,
          projected,
          nativePoolingOptions(call, keys),
        );
    }, layer);
  };

/** @type {RecordLayer} */
function recordRotation(tape, rotary, x, options = {}) {
  options = readOptions(options, kRecordOptions);
  return tape.record((call) => {
    const { numHeads = 1 } = options;
    const input = tape.nativeIn(call, 'x', x, numHeads === 1 ? kHeadRanks : kRowRanks);
    /** @type {Native.RotaryEmbedding} */
    const embedding = call.object('RotaryEmbedding', rotary);
    const at = checkPositions(call, options);
    checkInteger('numHeads', numHeads, 1);
    return (native) =>
      native.recordRotaryEmbedding(
        embedding,
        input,
        at.start,
        at.positions?.native ?? null,
        at.sequenceLength,
        at.inverse,
        numHeads,
      );
  });
}

/** @type {RecordLayer} */
function recordMultiHeadAttention(tape, layer, query, key = query, value = key, options = {}) {
  options = readOptions(options, kMultiHead);
  return tape.record((call, module) => {
    const inputs = tape.nativesIn(call, { query, key, value }, kRowRanks);
    const checked = checkAttention(tape, call, options, layer, query, key);
    const positions = positionsIn(call, 'positions', options.positions);
    const keyPositions = positionsIn(call, 'keyPositions', options.keyPositions);
    return (native) => {
      const attention = nativeTerms(call, checked);
      return native.recordMultiHeadAttention(
        module,
        inputs.query,
        inputs.key,
        inputs.value,
        attention.options,
        attention.terms,
        positions?.native ?? null,
        keyPositions?.native ?? null,
      );
    };
  }, layer);
}

/**
 * @param {'recordTransformerEncoderLayer' | 'recordTransformerEncoder'} record
 * @returns {RecordLayer}
 */
const recordEncoder =
  (record) =>
  (tape, layer, x, options = {}) => {
    options = readOptions(options, kEncoder);
    const { attention: given = {}, dropout } = options;
    const attention = readOptions(given, kScoreNames, 'attention');
    return tape.record((call, module) => {
      const input = tape.nativeIn(call, 'x', x, kRowRanks);
      const checked = checkAttention(tape, call, attention, layer, x, x);
      const positions = positionsIn(call, 'positions', options.positions);
      const dropped = checkDropout(dropout);
      return (native) => {
        const { options, terms } = nativeTerms(call, checked);
        return native[record](module, input, options, terms, positions?.native ?? null, dropped);
      };
    }, layer);
  };

/**
 * @param {'recordTransformerDecoderLayer' | 'recordTransformerDecoder'} record
 * @returns {RecordLayer}
 */
const recordDecoder =
  (record) =>
  (tape, layer, x, memory, options = {}) => {
    options = readOptions(options, kDecoder);
    const { selfAttention = {}, crossAttention = {}, dropout } = options;
    const selfOptions = readOptions(selfAttention, kScoreNames, 'selfAttention');
    const crossOptions = readOptions(crossAttention, kScoreNames, 'crossAttention');
    return tape.record((call, module) => {
      const inputs = tape.nativesIn(call, { x, memory }, kRowRanks);
      const checkedSelf = checkAttention(tape, call, selfOptions, layer, x, x);
      const checkedCross = checkAttention(tape, call, crossOptions, layer, x, memory);
      const positions = positionsIn(call, 'positions', options.positions);
      const dropped = checkDropout(dropout);
      return (native) => {
        const self = nativeTerms(call, checkedSelf);
        const cross = nativeTerms(call, checkedCross);
        return native[record](
          module,
          inputs.x,
          inputs.memory,
          self.options,
          self.terms,
          cross.options,
          cross.terms,
          positions?.native ?? null,
          dropped,
        );
      };
    }, layer);
  };

/**
 * @param {Tape} tape
 * @param {NativeCall} call
 * @param {AttentionOfVariablesOptions} options
 * @param {any} layer  the layer that contains the attention
 * @param {Variable} queries
 * @param {Variable} keys
 */
function checkAttention(tape, call, options, layer, queries, keys) {
  const { numHeads, headDim } = layer.sizes;
  const { batch, length } = sizesOf(queries.shape);
  const sizes = {
    ...{ batch, numHeads, numQueries: length, numKeys: sizesOf(keys.shape).length },
    ...{ headDim, valueDim: headDim },
  };
  const leading = leadingOf(queries.shape, numHeads);
  return checkTerms(tape, call, options, (values) =>
    checkAttentionOptions(call, values, sizes, leading),
  );
}

/**
 * @param {NativeCall} call
 * @param {string} name
 * @param {Integers} [positions]
 */
export const positionsIn = (call, name, positions) =>
  positions === undefined ? undefined : call.numbers('doubles', name, positions);

export const RecordedLinear = recorded(Linear, recordRows('recordLinear'));
export const RecordedPositions = recorded(LearnedPositionalEncoding, recordPositions);
export const RecordedAddNorm = recorded(AddNorm, recordAddNorm);
export const RecordedFeedForward = recorded(FeedForward, recordFeedForward('recordFeedForward'));
export const RecordedGatedFeedForward = recorded(
  GatedFeedForward,
  recordFeedForward('recordGatedFeedForward'),
);
export const RecordedRotaryEmbedding = recorded(RotaryEmbedding, recordRotation);
export const RecordedRMSNorm = recorded(RMSNorm, recordRows('recordRMSNorm'));
export const RecordedAttention = recorded(MultiHeadAttention, recordMultiHeadAttention);
export const RecordedEncoderLayer = recorded(
  TransformerEncoderLayer,
  recordEncoder('recordTransformerEncoderLayer'),
);
export const RecordedEncoder = recordedStack(
  TransformerEncoder,
  recordEncoder('recordTransformerEncoder'),
  RecordedEncoderLayer,
);
export const RecordedDecoderLayer = recorded(
  TransformerDecoderLayer,
  recordDecoder('recordTransformerDecoderLayer'),
);
export const RecordedDecoder = recordedStack(
  TransformerDecoder,
  recordDecoder('recordTransformerDecoder'),
  RecordedDecoderLayer,
);

/** An embedding that records on a tape. The tape is an option, because tokens are not variables. */
export class RecordedEmbedding extends Embedding {
  static name = Embedding.name;

  /**
   * @param {Integers} ids
   * @param {Partial<TapeOption> & OutputTypeOption} [options]
   * @returns {any}
   */
  forward(ids, options = {}) {
    const given = readOptions(options, { tape: true, outputType: true }, 'options', true);
    if (given.tape === undefined) return super.forward(ids, given);
    const { tape } = readOptions(given, { tape: true });
    const most = this.sizes.numEmbeddings - 1;
    const tensor = checkIntegers('ids', ids, 0, most, `a token id from 0 to ${most}`);
    const recorder = requireTape('tape', /** @type {any} */ (tape));
    return recorder.record((call, embedding) => {
      const tokens = call.numbers('ints', 'ids', tensor);
      return (native) => native.recordEmbedding(nativeOf(recorder).tape, embedding, tokens.native);
    }, this);
  }
}

/** A LayerNorm whose `forward()` and `forwardSum()` also take variables. */
export class RecordedLayerNorm extends recorded(LayerNorm, recordRows('recordLayerNorm')) {
  static name = LayerNorm.name;

  /**
   * @param {any} x
   * @param {any} y
   * @param {object} [options]
   * @returns {any}
   */
  forwardSum(x, y, options = {}) {
    const tape = [x, y].find(isVariable)?.tape;
    if (!tape) return super.forwardSum(x, y, options);
    readOptions(options, {});
    return tape.record((/** @type {NativeCall} */ call, /** @type {any} */ norm) => {
      const left = tape.nativeIn(call, 'x', x);
      const right = tape.nativeIn(call, 'y', y);
      return (/** @type {Native.MainModule} */ native) =>
        native.recordLayerNormOfSum(norm, left, right);
    }, /** @type {any} */ (this));
  }
}

/** @type {(record: 'recordGRU' | 'recordRNN') => (tape: Tape, layer: any, x: any, options?: any) => any} */
const recordRecurrence =
  (record) =>
  (tape, layer, x, options = {}) => {
    const { h0 } = readOptions(options, { h0: true });
    return tape.recordEach((call, module) => {
      const input = tape.nativeIn(call, 'x', x, kRowRanks);
      const first = h0 === undefined ? null : tape.nativeIn(call, 'h0', h0);
      return (native) => native[record](module, input, first);
    }, layer);
  };

export const RecordedConv1d = recorded(Conv1d, recordRows('recordConv1d'));
export const RecordedGRU = recorded(GRU, recordRecurrence('recordGRU'));
export const RecordedRNN = recorded(RNN, recordRecurrence('recordRNN'));

/**
 * The state of Bahdanau's decoder as variables: the encoder outputs that it attends to, and the hidden state that
 * it continues from.
 */
export class BahdanauVariables {
  /** @internal */
  static name = 'BahdanauVariables';

  /**
   * @internal
   * @param {Variable} encoderOutputs
   * @param {Variable} hidden
   * @param {Integers} [encoderLens]
   */
  constructor(encoderOutputs, hidden, encoderLens) {
    /** (B, Nk, encoderDim) @readonly */
    this.encoderOutputs = encoderOutputs;
    /** (numLayers, B, H), the current hidden state. `forward()` updates it. */
    this.hidden = hidden;
    /** @readonly */
    this.encoderLens = encoderLens;
  }
}

/** A BahdanauDecoder that can also decode from a state that consists of variables. */
export class RecordedBahdanauDecoder extends BahdanauDecoder {
  static name = BahdanauDecoder.name;

  /**
   * @param {any} encoderOutputs
   * @param {any} hidden
   * @param {{ encoderLens?: Integers }} [options]
   * @returns {any}
   */
  initState(encoderOutputs, hidden, options = {}) {
    if (![encoderOutputs, hidden].some(isVariable)) {
      return super.initState(encoderOutputs, hidden, options);
    }
    options = readOptions(options, { encoderLens: true });
    for (const [name, variable] of Object.entries({ encoderOutputs, hidden })) {
      const other = name === 'hidden' ? 'encoderOutputs' : 'hidden';
      if (!isVariable(variable))
        throw invalid(name, variable, `a Variable, because ${other} is a Variable`);
    }
    const { encoderDim, numLayers, numHiddens } = this.sizes;
    checkShapeIs('encoderOutputs', encoderOutputs.shape, [-1, -1, encoderDim]);
    checkShapeIs('hidden', hidden.shape, [numLayers, encoderOutputs.shape[0], numHiddens]);
    return new BahdanauVariables(encoderOutputs, hidden, options.encoderLens);
  }

  /**
   * @param {any} tokens
   * @param {any} state
   * @param {any} [options]
   * @returns {any}
   */
  forward(tokens, state, options = {}) {
    if (!(state instanceof BahdanauVariables)) return super.forward(tokens, state, options);
    readOptions(options, {});
    const { encoderOutputs, encoderLens } = state;
    const { tape } = encoderOutputs;
    const most = this.sizes.vocabSize - 1;
    const ids = checkIntegers('tokens', tokens, 0, most, `a token id from 0 to ${most}`);
    const [batch, numKeys] = encoderOutputs.shape;
    const { logits, hidden } = tape.recordEach((call, decoder) => {
      const outputs = tape.nativeIn(call, 'encoderOutputs', encoderOutputs);
      const last = tape.nativeIn(call, 'hidden', state.hidden);
      const lens = lengths(call, 'encoderLens', encoderLens, batch, undefined, numKeys);
      const given = call.numbers('ints', 'tokens', ids);
      return (native) =>
        native.recordBahdanauDecoder(
          nativeOf(tape).tape,
          decoder,
          given.native,
          outputs,
          last,
          lens?.native ?? null,
        );
    }, /** @type {any} */ (this));
    state.hidden = hidden;
    return { logits };
  }
}

/** Additive attention whose methods, including `projectKeys()`, also take variables. */
export class RecordedAdditiveAttention extends recorded(AdditiveAttention, recordAdditive(false)) {
  static name = AdditiveAttention.name;

  /** @param {any} key */
  projectKeys(key) {
    if (!isVariable(key)) return super.projectKeys(key);
    const { tape } = key;
    return tape.record((/** @type {NativeCall} */ call, /** @type {any} */ attention) => {
      const keys = tape.nativeIn(call, 'key', key, kRowRanks);
      return (/** @type {Native.MainModule} */ native) => native.recordProjectKeys(attention, keys);
    }, /** @type {any} */ (this));
  }

  /** @param {...any} args */
  forwardProjected(...args) {
    const given = args.find(isVariable);
    if (!given) return super.forwardProjected(...args);
    return recordAdditive(true)(given.tape, this, ...args);
  }
}
