import { Call } from './call.js';
import { argumentError } from './errors.js';
import { Memory } from './memory.js';
import { NativeCall } from './nativeCall.js';

/** @import { AttnErrorCode } from './errors.js' */
/** @import { MainModule } from './native.js' */
/** @import { ResultKind } from './tensorHandle.js' */

/**
 * What the module offers. A number stands for an operation: `_attn_run` runs it with the arguments
 * at an address, of these kinds, and returns whether it succeeded. `_attn_exit` ends the threads.
 * @typedef {object} NativeModule
 * @property {WebAssembly.Memory} wasmMemory
 * @property {Promise<void>} [pthreadPoolReady]  the workers that threads run on
 * @property {(bytes: number) => number} _malloc
 * @property {(address: number) => void} _free
 * @property {(operation: number, address: number, kinds: number) => number} _attn_run
 * @property {() => void} _attn_exit
 */

/** @typedef {NativeModule & Record<Operation, number> & MainModule} Native */

/**
 * What wasm/src makes known.
 * @typedef {'start' | 'describe' |
 *   'attentionPooling' | 'makeAdditiveAttention' | 'forwardAdditiveAttention' | 'projectKeys' |
 *   'alibiBias' | 't5Bias' | 't5Buckets' |
 *   'sinusoidalEncoding' | 'sinusoidalEncodingAt' | 'sinusoidalEncodingInFloat32' | 'shiftMatrix'
 *   | 'applyShift' | 'positionalEncoding' | 'makeLearnedPositionalEncoding' |
 *   'forwardLearnedPositionalEncoding' | 'makeRotaryEmbedding' | 'deleteRotaryEmbedding' |
 *   'rotaryFrequencies' | 'rotaryTables' | 'forwardRotaryEmbedding' | 'applyRotaryEmbedding' |
 *   'ngramEmbedding' | 'convolutionCosts' | 'dilatedConvolutionCosts' | 'recurrentCosts' |
 *   'selfAttentionCosts' | 'windowAttentionCosts' | 'makeLinear' | 'forwardLinear' |
 *   'makeEmbedding' | 'forwardEmbedding' | 'makeLayerNorm' | 'forwardLayerNorm' |
 *   'forwardLayerNormOfSum' | 'makeAddNorm' | 'forwardAddNorm' | 'makeFeedForward' |
 *   'forwardFeedForward' | 'makeRMSNorm' | 'forwardRMSNorm' | 'makeGatedFeedForward' |
 *   'forwardGatedFeedForward' | 'makeGRU' | 'forwardGRU' | 'makeRNN' | 'forwardRNN' | 'makeConv1d' |
 *   'forwardConv1d' | 'conv1dOutputLength' | 'deleteLayer' | 'parameterNames' | 'parameter' |
 *   'intermediateNames' |
 *   'setParameter' | 'makeMultiHeadAttention' | 'forwardMultiHeadAttention' | 'deleteState' |
 *   'lengthOfState' | 'truncateState' | 'makeCache' | 'capacityOfCache' | 'readCached' |
 *   'appendToCache' | 'makeAttentionCache' | 'forwardWithCache' | 'appendKeys' | 'attend' |
 *   'makeTransformerEncoderLayer' | 'forwardTransformerEncoderLayer' | 'makeLayerCache' |
 *   'makeTransformerEncoder' | 'layerOfTransformerEncoder' | 'forwardTransformerEncoder' |
 *   'makeCaches' | 'makeTransformerDecoderLayer' | 'forwardTransformerDecoderLayer' |
 *   'startTransformerDecoderLayer' | 'makeTransformerDecoder' | 'layerOfTransformerDecoder' |
 *   'forwardTransformerDecoder' | 'startTransformerDecoder' | 'makeBahdanauDecoder' |
 *   'startBahdanauDecoder' | 'forwardBahdanauDecoder' | 'deleteBahdanauState' |
 *   'hiddenOfBahdanauState' | 'cloneBahdanauState' | 'toSafetensors' | 'freeFile' |
 *   'openSafetensors' | 'deleteSafetensors' | 'describeSafetensors' | 'readSafetensors' |
 *   'loadStateDict' | TrainingOperation | ModelOperation} Operation
 */

/**
 * What the flavour for training has besides.
 * @typedef {'makeTape' | 'deleteTape' | 'clearTape' | 'makeVariable' | 'makeParameter' | 'watch' |
 *   'findIntermediate' | 'backward' | 'gradient' | 'parameterGradient' | 'recordAdd' |
 *   'recordMultiply' | 'recordScale' | 'recordLinearFunction' | 'recordReshape' | 'recordSlice' |
 *   'recordSelect' | 'recordActivation' | 'recordDropout' | 'recordAttention' |
 *   'recordPositionalEncoding' | 'recordCrossEntropy' | 'recordMseLoss' | 'crossEntropy' | 'mseLoss' |
 *   'recordLinear' |
 *   'recordEmbedding' | 'recordLearnedPositionalEncoding' | 'recordLayerNorm' |
 *   'recordLayerNormOfSum' | 'recordAddNorm' | 'recordFeedForward' | 'recordMultiHeadAttention' |
 *   'recordAttentionPooling' | 'recordMaskedSoftmax' | 'recordMergeAttention' | 'recordRotaryEmbedding' |
 *   'recordConcatenate' | 'recordConv1d' | 'recordGRU' | 'recordRNN' | 'recordBahdanauDecoder' |
 *   'recordGatedFeedForward' | 'recordRMSNorm' | 'recordAdditiveAttention' | 'recordProjectKeys' |
 *   'recordTransformerEncoderLayer' | 'recordTransformerEncoder' |
 *   'recordTransformerDecoderLayer' | 'recordTransformerDecoder' | 'makeSgd' | 'makeAdam' |
 *   'makeAdamW' | 'deleteOptimizer' | 'stepOptimizer' | 'learningRate' | 'setLearningRate' |
 *   'optimizerStateNames' | 'optimizerState' | 'loadOptimizerState' | 'clipGradNorm' |
 *   'constantLearningRate' | 'cosineLearningRate' | 'inverseSqrtLearningRate'} TrainingOperation
 */

/**
 * What the flavour for models has besides.
 * @typedef {'safetensorsHeaderSize' | 'safetensorsIndexFiles' | 'chooseWeightFiles' | 'describeLanguageModel' |
 *   'deleteLanguageModelDescription' | 'makeLanguageModelLoader' | 'deleteLanguageModelLoader' |
 *   'writeLanguageModel' | 'makeLanguageModel' | 'layerOfLanguageModel' |
 *   'rotaryFrequenciesOfLayer' | 'makeLanguageModelCaches' | 'forwardLanguageModel' | 'chooseToken' |
 *   'generate'} ModelOperation
 */

/**
 * Ends the threads of modules that were dropped without dispose(): workers live until they are ended, and keep the
 * module's memory.
 * @type {FinalizationRegistry<readonly Pick<Worker, 'terminate'>[]>}
 */
const dropped = new FinalizationRegistry((workers) => {
  for (const worker of workers) worker.terminate();
});

/**
 * Throws an error of the core.
 * @param {AttnErrorCode} code
 * @param {string} argument
 * @param {string} got
 * @param {string} needs
 */
function throwError(code, argument, got, needs) {
  throw argumentError(code, argument, got, needs);
}

/** One loaded module: what all concepts call the core through. */
export class Runtime {
  /**
   * Those that are free: a call that is made while another one reads its arguments takes one for itself.
   * @type {Call[]}
   */
  #calls;

  /**
   * @param {Native} native
   * @param {readonly Pick<Worker, 'terminate'>[]} workers  that threads run on
   * @param {Runtime} [other]  of the same module
   * @param {ResultKind} [as]  what results become
   */
  constructor(native, workers, other, as = 'array') {
    this.as = as;
    this.memory = other?.memory ?? new Memory(native, workers);
    // Everything that uses the module holds on to its memory.
    if (!other && workers.length > 0) dropped.register(this.memory, workers);
    if (!other) native.setErrorHandler(throwError);
    this.#calls = other ? other.#calls : [];
    /**
     * Deletes the native objects that were dropped without dispose().
     * @type {FinalizationRegistry<() => void>}
     */
    this.dropped = new FinalizationRegistry((remove) => {
      try {
        remove();
      } catch {
        // Nobody called this. If it has stopped the module, the next call says so.
      }
    });
  }

  /** The same module, with results that are handles. */
  withHandles() {
    return new Runtime(this.native, [], this, 'handle');
  }

  /** @throws {AttnError} `disposed` */
  get native() {
    return this.memory.native;
  }

  /** Whether `dispose()` was called, here or of a runtime of the same module. */
  get disposed() {
    return this.memory.disposed;
  }

  /** Ends the module, with its threads and its memory. A second call does nothing. */
  dispose() {
    if (!this.disposed) this.memory.dispose();
  }

  /**
   * Makes one call of the core: `body` writes arguments, runs an operation and takes the results.
   * Whatever it took of the memory is given back, also when it throws.
   * @template T
   * @param {(call: Call) => T} body
   * @returns {T}
   */
  call(body) {
    if (this.disposed) throw this.memory.disposedError();
    const call = this.#calls.pop() ?? new Call(this.memory);
    call.as = this.as;
    try {
      return body(call);
    } finally {
      call.end();
      this.#calls.push(call);
    }
  }

  /**
   * Makes one call of C++: `body` checks arguments, places them, calls and takes the results.
   * @template T
   * @param {(call: NativeCall) => T} body
   * @returns {T}
   */
  invoke(body) {
    if (this.disposed) throw this.memory.disposedError();
    const call = new NativeCall(this.memory, this.as);
    try {
      return body(call);
    } finally {
      call.end();
    }
  }

  /**
   * Runs an operation that has one result.
   * @param {Operation} operation
   * @param {(call: Call) => readonly number[]} writeInputs  gives the shape of the result
   * @param {(call: Call) => void} [writeFurther]
   * @returns {any}
   */
  map(operation, writeInputs, writeFurther) {
    return this.call((call) => {
      const output = call.result('output', writeInputs(call));
      writeFurther?.(call);
      call.run(operation);
      return call.give(output);
    });
  }

  /**
   * Runs an operation that gives a number, or nothing.
   * @param {Operation} operation
   * @param {(call: Call) => void} write
   * @returns {number}
   */
  ask(operation, write) {
    return this.call((call) => {
      write(call);
      call.run(operation);
      return call.given(0);
    });
  }
}
