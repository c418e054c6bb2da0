// The layers of a module that trains: a variable in gives a variable out, and what was computed is
// recorded on its tape.

import { AdditiveAttention } from './additiveAttention.js';
import { kAttention, writeTerms } from './attentionOfVariables.js';
import { kScoreNames, sizesOf, writeLengths } from './attentionOptions.js';
import { kChoiceOfKeys } from './attentionPooling.js';
import { BahdanauDecoder } from './bahdanauDecoder.js';
import { Conv1d } from './conv1d.js';
import { invalid } from './errors.js';
import { Embedding } from './embedding.js';
import { FeedForward } from './feedForward.js';
import { GatedFeedForward } from './gatedFeedForward.js';
import { Kind } from './kind.js';
import { AddNorm, LayerNorm } from './layerNorm.js';
import { LearnedPositionalEncoding } from './learnedPositionalEncoding.js';
import { Linear } from './linear.js';
import { MultiHeadAttention, writeLayerAttention } from './multiHeadAttention.js';
import { readOptions } from './options.js';
import { writePooled } from './poolingOfVariables.js';
import { RMSNorm } from './rmsNorm.js';
import { GRU, RNN } from './recurrent.js';
import { kRecordOptions, RotaryEmbedding, writePositions } from './rotaryEmbedding.js';
import { checkShapeIs } from './shape.js';
import { isVariable, requireTape } from './tape.js';
import { checkIntegers, kHeadRanks, kRowRanks } from './tensor.js';
import { layersOf } from './transformer.js';
import { TransformerDecoder, TransformerDecoderLayer } from './transformerDecoder.js';
import { TransformerEncoder, TransformerEncoderLayer } from './transformerEncoder.js';

/** @import { KeyPositionsOption, PositionsOption } from './attentionPositions.js' */
/** @import { Call } from './call.js' */
/** @import { Dropout } from './dropout.js' */
/** @import { OutputTypeOption } from './elementType.js' */
/** @import { Names } from './options.js' */
/** @import { StartAndDropout } from './positionalEncoding.js' */
/** @import { Operation, Runtime } from './runtime.js' */
/** @import { Tape, Variable } from './tape.js' */
/** @import { Integers, NumbersLike } from './tensor.js' */
/** @import { AttentionOfVariablesOptions } from './attentionOfVariables.js' */
/** @import { ChoiceOfKeys } from './poolingOfVariables.js' */
/** @import { TransformerOptions } from './transformer.js' */

/**
 * A layer whose `forward` takes variables, too: a variable in gives a variable out.
 * @template {unknown[]} A
 * @typedef {{ forward(...args: A): Variable }} Records
 */

/**
 * A layer whose `forward` is recorded on a tape that is given.
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
 * What a recurrent layer gives of variables, as of tensors.
 * @typedef {object} RecurrentVariables
 * @property {Variable} output  (B, N, H)
 * @property {Variable} hN  (numLayers, B, H)
 */

/** @typedef {{ forward(x: Variable, options?: { h0?: Variable }): RecurrentVariables }} RecordsRecurrence */

/**
 * Bahdanau's decoder over variables: a state of variables, and teacher forcing from it.
 * @typedef {object} RecordsBahdanau
 * @property {(encoderOutputs: Variable, hidden: Variable, options?: { encoderLens?: Integers })
 *   => BahdanauVariables} initState
 * @property {(tokens: NumbersLike, state: BahdanauVariables) => { logits: Variable }} forward  decodes tokens from a
 *   state of variables, and records it on their tape
 */

/**
 * @typedef {object} TapeOption
 * @property {Tape} tape  that the call is recorded on
 */

/**
 * Of attention in a layer of a Transformer, for each layer of a stack: a T5 table that is a variable, for
 * example, is one that all layers share.
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
 * @param {...any} args  those of `forward`
 * @returns {Variable}
 */

/**
 * The class of a layer, with a `forward` that takes variables, too.
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
 * The same of a stack, whose layers take variables, too.
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
 * @param {Operation} operation  of one variable and nothing else
 * @returns {RecordLayer}
 */
const recordRows =
  (operation) =>
  (tape, layer, x, options = {}) => {
    readOptions(options, {});
    return tape.record(operation, (call) => tape.write(call, 'x', x), layer);
  };

/** @type {RecordLayer} */
function recordPositions(tape, layer, x, options = {}) {
  options = readOptions(options, kStartAndDropout);
  const { start = 0, dropout } = options;
  const write = (/** @type {Call} */ call) => {
    tape.write(call, 'x', x, kRowRanks);
    call.integer('start', start, 0);
    call.dropout(dropout);
  };
  return tape.record('recordLearnedPositionalEncoding', write, layer);
}

/** @type {RecordLayer} */
function recordAddNorm(tape, layer, x, y, options = {}) {
  options = readOptions(options, { dropout: true });
  const write = (/** @type {Call} */ call) => {
    tape.write(call, 'x', x);
    tape.write(call, 'y', y);
    call.dropout(options.dropout);
  };
  return tape.record('recordAddNorm', write, layer);
}

/**
 * @param {Operation} operation
 * @returns {RecordLayer}
 */
const recordFeedForward =
  (operation) =>
  (tape, layer, x, options = {}) => {
    options = readOptions(options, { dropout: true });
    const write = (/** @type {Call} */ call) => {
      tape.write(call, 'x', x);
      call.dropout(options.dropout);
    };
    return tape.record(operation, write, layer);
  };

/**
 * @param {boolean} projected  whether the keys are
 * @returns {RecordLayer}
 */
const recordAdditive =
  (projected) =>
  (tape, layer, query, key, value, options = {}) => {
    options = readOptions(options, kChoiceOfKeys);
    const write = (/** @type {Call} */ call) => {
      call.has(projected);
      const { batch, length } = sizesOf(tape.write(call, 'query', query, kRowRanks));
      const keys = sizesOf(tape.write(call, 'key', key, kRowRanks));
      tape.write(call, 'value', value, kRowRanks);
      writePooled(call, options, batch, length, keys.length);
    };
    return tape.record('recordAdditiveAttention', write, layer);
  };

/** @type {RecordLayer} */
function recordRotation(tape, rotary, x, options = {}) {
  options = readOptions(options, kRecordOptions);
  return tape.record('recordRotaryEmbedding', (call) => {
    const { numHeads = 1 } = options;
    tape.write(call, 'x', x, numHeads === 1 ? kHeadRanks : kRowRanks);
    call.object('RotaryEmbedding', rotary);
    writePositions(call, options);
    call.integer('numHeads', numHeads, 1);
  });
}

/** @type {RecordLayer} */
function recordMultiHeadAttention(tape, layer, query, key = query, value = key, options = {}) {
  options = readOptions(options, kMultiHead);
  const write = (/** @type {Call} */ call) => {
    const shape = tape.write(call, 'query', query, kRowRanks);
    const keys = tape.write(call, 'key', key, kRowRanks);
    tape.write(call, 'value', value, kRowRanks);
    const writeOwnTerms = writeAttention(tape, call, options, layer, shape, keys);
    call.positions(options.positions);
    call.positions(options.keyPositions, 'keyPositions');
    writeOwnTerms();
  };
  return tape.record('recordMultiHeadAttention', write, layer);
}

/**
 * @param {Operation} operation
 * @returns {RecordLayer}
 */
const recordEncoder =
  (operation) =>
  (tape, layer, x, options = {}) => {
    options = readOptions(options, kEncoder);
    const { attention: given = {}, dropout } = options;
    const attention = readOptions(given, kScoreNames, 'attention');
    const write = (/** @type {Call} */ call) => {
      const shape = tape.write(call, 'x', x, kRowRanks);
      const writeOwnTerms = writeAttention(tape, call, attention, layer, shape, shape);
      call.positions(options.positions);
      call.dropout(dropout);
      writeOwnTerms();
    };
    return tape.record(operation, write, layer);
  };

/**
 * @param {Operation} operation
 * @returns {RecordLayer}
 */
const recordDecoder =
  (operation) =>
  (tape, layer, x, memory, options = {}) => {
    options = readOptions(options, kDecoder);
    const { selfAttention: self = {}, crossAttention: cross = {}, dropout } = options;
    const selfAttention = readOptions(self, kScoreNames, 'selfAttention');
    const crossAttention = readOptions(cross, kScoreNames, 'crossAttention');
    const write = (/** @type {Call} */ call) => {
      const shape = tape.write(call, 'x', x, kRowRanks);
      const other = tape.write(call, 'memory', memory, kRowRanks);
      const writeSelfTerms = writeAttention(tape, call, selfAttention, layer, shape, shape);
      const writeCrossTerms = writeAttention(tape, call, crossAttention, layer, shape, other);
      call.positions(options.positions);
      call.dropout(dropout);
      writeSelfTerms();
      writeCrossTerms();
    };
    return tape.record(operation, write, layer);
  };

/**
 * @param {Tape} tape
 * @param {Call} call
 * @param {AttentionOfVariablesOptions} options
 * @param {any} layer  that attends
 * @param {readonly number[]} queries  their shape
 * @param {readonly number[]} keys
 */
function writeAttention(tape, call, options, layer, queries, keys) {
  return writeTerms(tape, call, options, (values) =>
    writeLayerAttention(call, values, queries, layer.sizes, keys[keys.length - 2]),
  );
}

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

/** A layer of tokens, which are no variables: the tape is given. */
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
    const tensor = checkIntegers('ids', ids, 0, most, `a token from 0 to ${most}`);
    const write = (/** @type {Call} */ call) => void call.numbers('ints', 'ids', tensor);
    return requireTape('tape', /** @type {any} */ (tape)).record('recordEmbedding', write, this);
  }
}

/** The sum that is normalised may be of variables, too. */
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
    const write = (/** @type {Call} */ call) => {
      tape.write(call, 'x', x);
      tape.write(call, 'y', y);
    };
    return tape.record('recordLayerNormOfSum', write, /** @type {any} */ (this));
  }
}

/** @type {(operation: Operation) => (tape: Tape, layer: any, x: any, options?: any) => any} */
const recordRecurrence =
  (operation) =>
  (tape, layer, x, options = {}) => {
    options = readOptions(options, { h0: true });
    const write = (/** @type {Call} */ call) => {
      tape.write(call, 'x', x, kRowRanks);
      if (options.h0 === undefined) call.put(Kind.integer, -1);
      else tape.write(call, 'h0', options.h0);
    };
    const [output, hN] = tape.recordEach(2, operation, write, layer);
    return { output, hN };
  };

export const RecordedConv1d = recorded(Conv1d, recordRows('recordConv1d'));
export const RecordedGRU = recorded(GRU, recordRecurrence('recordGRU'));
export const RecordedRNN = recorded(RNN, recordRecurrence('recordRNN'));

/**
 * What Bahdanau's decoder attends to and goes on from, as variables.
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
    /** (numLayers, B, H), as of now: `forward()` sets it. */
    this.hidden = hidden;
    /** @readonly */
    this.encoderLens = encoderLens;
  }
}

/** The decoder goes on from a state of variables. */
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
      if (!isVariable(variable)) throw invalid(name, variable, 'a Variable, as the other one is');
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
    const ids = checkIntegers('tokens', tokens, 0, most, `a token from 0 to ${most}`);
    const [batch, numKeys] = encoderOutputs.shape;
    const write = (/** @type {Call} */ call) => {
      tape.write(call, 'encoderOutputs', encoderOutputs);
      tape.write(call, 'hidden', state.hidden);
      writeLengths(call, 'encoderLens', encoderLens, batch, undefined, numKeys);
      call.numbers('ints', 'tokens', ids);
    };
    const [logits, hidden] = tape.recordEach(
      2,
      'recordBahdanauDecoder',
      write,
      /** @type {any} */ (this),
    );
    state.hidden = hidden;
    return { logits };
  }
}

/** Keys may be projected by themselves, which is recorded, too. */
export class RecordedAdditiveAttention extends recorded(AdditiveAttention, recordAdditive(false)) {
  static name = AdditiveAttention.name;

  /** @param {any} key */
  projectKeys(key) {
    if (!isVariable(key)) return super.projectKeys(key);
    const write = (/** @type {Call} */ call) => void key.tape.write(call, 'key', key, kRowRanks);
    return key.tape.record('recordProjectKeys', write, /** @type {any} */ (this));
  }

  /** @param {...any} args */
  forwardProjected(...args) {
    const given = args.find(isVariable);
    if (!given) return super.forwardProjected(...args);
    return recordAdditive(true)(given.tape, this, ...args);
  }
}
