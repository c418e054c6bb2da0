import { argumentError, invalid } from './errors.js';
import { kActivations } from './activation.js';
import { kScoreNames } from './attentionOptions.js';
import { LayerCaches, lengthOfCaches, writeCapacity } from './keyValueCache.js';
import { Kind } from './kind.js';
import { Layer } from './layer.js';
import { writeLayerAttention } from './multiHeadAttention.js';
import { NativeObject, runtimeOf } from './nativeObject.js';
import { checkOptions, kRandom, natural, real, wanted, writeValues } from './options.js';
import { kScalings } from './rotaryEmbedding.js';
import { checkIntegers, checkTensor } from './tensor.js';
import { TransformerEncoderLayer } from './transformerEncoder.js';

/** @import { Activation } from './activation.js' */
/** @import { AskedFor, ExclusionOptions, ScoreOptions } from './attentionOptions.js' */
/** @import { Call } from './call.js' */
/** @import { RandomOptions } from './dropout.js' */
/** @import { CapacityOption } from './keyValueCache.js' */
/** @import { Asked, IntermediatesOption, ShownIntermediates } from './layer.js' */
/** @import { Names, OptionTable } from './options.js' */
/** @import { RotaryScaling } from './rotaryEmbedding.js' */
/** @import { Runtime } from './runtime.js' */
/** @import { Named } from './safetensors.js' */
/** @import { Integers, TensorLike } from './tensor.js' */
/** @import { ResultKind, ResultTensor } from './tensorHandle.js' */

/** A file, or the bytes of one. @typedef {Blob | ArrayBuffer | Uint8Array} ModelFile */

/**
 * The files of a model: those that were dropped on a page or chosen there, files by path, or one
 * .safetensors file. The model is what lies in the outermost folder that has `….safetensors`, with the
 * `….safetensors.index.json` and the `config.json` of that folder; all else is left alone.
 * @typedef {ModelFile | Iterable<File> | Named<ModelFile>} ModelFiles
 */

/** @typedef {'float32' | 'float16' | 'bfloat16'} WeightType */

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
 * One layer, as a model's files have it.
 * @typedef {object} LanguageModelLayer
 * @property {number} dModel  E
 * @property {number} numHeads
 * @property {number} numKvHeads
 * @property {number} headDim
 * @property {number} dimFeedforward
 * @property {Activation} activation
 * @property {boolean} gatedFeedForward
 * @property {boolean} normFirst
 * @property {boolean} normOutputs
 * @property {boolean} qkNorm
 * @property {boolean} sinks
 * @property {number} softcap  0 where there is none
 * @property {number} [scale]  1/√D where there is none
 * @property {number} [windowLeft]  how many tokens before it a token attends to, where that is bounded
 * @property {boolean} rmsNorm  whether norms are RMSNorm, and not LayerNorm
 * @property {boolean} zeroCentredNorm  whether they multiply by 1 + weight, as Gemma's
 * @property {number} normEps  as float32
 * @property {number} [rotaryDim]  columns of a head that turn with the position, where positions are rotary
 * @property {number} [rotaryBase]  of their frequencies, before any rule
 * @property {RotaryScaling['type']} [rotaryScaling]  the rule that the frequencies were changed by, if there is one
 */

/**
 * What files say of a model.
 * @typedef {object} LanguageModelDescription
 * @property {string} family  `'gpt2'`, `'llama'` and so on, as `model_type` in config.json;
 *   `'torch.nn.TransformerEncoder'` or `'attn'`
 * @property {number} numParameters
 * @property {WeightType} weightType  how the embedding and the matrices that products read are kept
 * @property {number} memory  bytes for the weights: of float32 4 for each, and 4 more for each of a matrix
 *   that products read; of 16 bits 2 for each. Caches and the numbers of a call come on top.
 * @property {number} vocabSize  V; 0 where the model takes vectors
 * @property {number} maxPositions  of a learned table; 0 where there is none
 * @property {boolean} sinusoidal  whether a sinusoidal encoding is added
 * @property {number} numTokenTypes
 * @property {boolean} causal
 * @property {boolean} hasLogits
 * @property {boolean} tied  whether the output layer's weight is the embedding's
 * @property {boolean} hasPooler
 * @property {number} finalSoftcap  0 where there is none
 * @property {readonly LanguageModelLayer[]} layers
 * @property {readonly string[]} unusedTensors  that the model has no part in
 * @property {readonly string[]} unusedFields  of config.json, that nothing depends on
 */

/**
 * Where weights lie in the files.
 * @typedef {{ file: number, begin: number, end: number }} WeightSource
 */

/**
 * @template {boolean} [Logits=boolean]
 * @template {boolean} [Hidden=boolean]
 * @template {boolean} [Pooled=boolean]
 * @typedef {object} LanguageModelCall
 * @property {ScoreOptions & ExclusionOptions} [attention]  of every layer; `causal` stands beside the
 *   model's own
 * @property {LayerCaches} [caches]  of `makeCaches()`: the tokens are then the next ones of a sequence
 * @property {Integers} [tokenTypes]  of BERT, in the shape of the ids; all 0 by default
 * @property {Logits} [needLogits]  `true` by default
 * @property {number} [numLogits]  of how many of the last tokens; of all by default
 * @property {Hidden} [needHidden]  whether to return what the last layer gives, after the last norm
 * @property {Pooled} [needPooled]  whether to return what BERT's pooler gives
 */

/**
 * @template {ResultKind} [As='array']
 * @typedef {object} EveryLanguageModelResult
 * @property {ResultTensor<As>} logits  (B, n, V) or (n, V), with `needLogits`
 * @property {ResultTensor<As>} hidden  (B, N, E) or (N, E), with `needHidden`
 * @property {ResultTensor<As>} pooled  (B, E) or (E,), with `needPooled`
 */

/**
 * @template {ResultKind} [As='array']
 * @template {boolean} [Logits=boolean]
 * @template {boolean} [Hidden=boolean]
 * @template {boolean} [Pooled=boolean]
 * @template {Asked} [N=Asked]
 * @typedef {AskedFor<EveryLanguageModelResult<As>,
 *   { logits: Logits, hidden: Hidden, pooled: Pooled }> & ShownIntermediates<As, N>} LanguageModelResult
 */

/**
 * A choice among logits.
 * @typedef {object} SamplingChoice
 * @property {number} [temperature]  divides the logits; 0, the default, takes the largest
 * @property {number} [topK]  how many of the most probable tokens are left in; 0, the default: all
 */

/** @typedef {SamplingChoice & RandomOptions} SamplingOptions */

/** @typedef {SamplingOptions & { step?: number }} ChooseTokenOptions  step: which number of the stream; 0 by default */

/**
 * @typedef {object} GenerationLimits
 * @property {number} [maxNewTokens]  20 by default
 * @property {readonly number[]} [stopIds]  ends after one of these, which is given, too
 */

/** @typedef {SamplingOptions & GenerationLimits} GenerationOptions */

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
/** @type {Names<LanguageModelCall & IntermediatesOption>} */
const kCall = {
  attention: true,
  caches: true,
  tokenTypes: true,
  needLogits: true,
  numLogits: true,
  needHidden: true,
  needPooled: true,
  intermediates: true,
};
/** @type {OptionTable} */
const kSampling = { temperature: real(0), topK: natural(0), ...kRandom };
/** @type {OptionTable} */
const kChoosing = { ...kSampling, step: natural(0) };
const kGenerating = { ...kSampling, maxNewTokens: true, stopIds: true };

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
    super(runtime, 'deleteLanguageModelDescription', address);
  }
}

/** A model whose weights are being written. */
class Loader extends NativeObject {
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
    super(runtime, 'deleteLanguageModelLoader', address);
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
 * A language model from its files: a Transformer between an embedding and an output layer. See
 * `attn.loadModel()`.
 *
 * Parameters: `embedding.weight`, `positions.weight`, `token_types.weight`, `embedding_norm.…`,
 * `encoder.…` (see `TransformerEncoder`), `transform.…` and `transform_norm.…` of BERT's head,
 * `output.weight` unless it is tied, `output.bias`, and `pooler.…`.
 *
 * @template {ResultKind} [As='array']
 * @extends {Layer<any>}
 */
export class LanguageModel extends Layer {
  /** @internal */
  static name = 'LanguageModel';

  #description;

  /**
   * @internal use `loadModel()`
   * @param {Runtime} runtime
   * @param {{ loader: Loader, description: LanguageModelDescription }} whole
   */
  constructor(runtime, { loader, description }) {
    super(runtime, 'LanguageModel', { loader, layers: description.layers }, kWhole);
    this.#description = description;
    /**
     * The layers, on the weights of the model: each can be run by itself, for every stage of its
     * attention. They live as long as the model.
     * @readonly
     * @type {readonly TransformerEncoderLayer<As>[]}
     */
    this.layers = description.layers.map(
      (layer, index) =>
        new TransformerEncoderLayer(runtime, /** @type {any} */ (layer), { owner: this, index }),
    );
  }

  /** What the files say of the model. It is frozen. */
  get description() {
    return this.#description;
  }

  /** @protected */
  facts() {
    const { family, numParameters, layers } = this.#description;
    return { family, numParameters, numLayers: layers.length };
  }

  /**
   * @template {boolean} [Logits=true]
   * @template {boolean} [Hidden=false]
   * @template {boolean} [Pooled=false]
   * @template {Asked} [N=undefined]
   * @param {Integers} ids  (N,) or (B, N)
   * @param {LanguageModelCall<Logits, Hidden, Pooled> & IntermediatesOption<N>} [options]
   * @returns {LanguageModelResult<As, Logits, Hidden, Pooled, N>}
   * @throws {AttnError} `shape_mismatch`, `invalid_argument`, `size_overflow`, `out_of_memory`, `disposed`;
   *   `unsupported` for what the model has no layer for; caches are then as they were
   */
  forward(ids, options = {}) {
    const tensor = this.#checkIds(ids);
    return this.#run(tensor.shape, options, (call) => {
      call.numbers('ints', 'ids', tensor);
      call.none(Kind.floats);
    });
  }

  /**
   * The same from vectors in place of embeddings, to which positions and so on are added.
   * @template {boolean} [Logits=true]
   * @template {boolean} [Hidden=false]
   * @template {boolean} [Pooled=false]
   * @template {Asked} [N=undefined]
   * @param {TensorLike} x  (N, E) or (B, N, E)
   * @param {LanguageModelCall<Logits, Hidden, Pooled> & IntermediatesOption<N>} [options]
   * @returns {LanguageModelResult<As, Logits, Hidden, Pooled, N>}
   * @throws {AttnError} as `forward`
   */
  forwardVectors(x, options = {}) {
    const width = this.#description.layers[0].dModel;
    checkTensor('x', x);
    return this.#run(x.shape.slice(0, -1), options, (call) => {
      call.none(Kind.ints);
      call.rows('x', x, width, 'dModel');
    });
  }

  /**
   * @param {readonly number[]} tokens  their shape
   * @param {LanguageModelCall & IntermediatesOption} options
   * @param {(call: Call) => void} write
   * @returns {any}
   */
  #run(tokens, options, write) {
    checkOptions(options, kCall);
    const length = tokens[tokens.length - 1];
    const { attention = {}, caches, tokenTypes, numLogits = length } = options;
    checkOptions(attention, kScoreNames, 'attention');
    const { needLogits = true } = options;
    wanted('needLogits', needLogits);
    const needHidden = wanted('needHidden', options.needHidden);
    const needPooled = wanted('needPooled', options.needPooled);
    // Asked for before the call begins, since it is a call of its own.
    const past = lengthOfCaches(caches);
    const { layers, vocabSize, numTokenTypes } = this.#description;
    const { dModel } = layers[0];
    const batch = tokens.slice(0, -1);
    return this.call((call) => {
      write(call);
      if (tokenTypes === undefined) call.none(Kind.ints);
      else {
        const most = Math.max(numTokenTypes - 1, 0);
        const types = checkIntegers('tokenTypes', tokenTypes, 0, most, `a type from 0 to ${most}`);
        call.numbers('ints', 'tokenTypes', types);
      }
      if (!Number.isInteger(numLogits) || numLogits < 0 || numLogits > length) {
        throw invalid('numLogits', numLogits, `a whole number up to the ${length} tokens`);
      }
      const logits = call.resultIf(needLogits, 'logits', [...batch, numLogits, vocabSize]);
      const hidden = call.resultIf(needHidden, 'hidden', [...batch, length, dModel]);
      const pooled = call.resultIf(needPooled, 'pooled', [...batch, dModel]);
      call.object('caches', caches);
      const shape = [...batch, length, dModel];
      writeLayerAttention(call, attention, shape, layers[0], past + length);
      call.intermediates(options.intermediates);
      call.run('forwardLanguageModel');
      return {
        ...(logits && { logits: call.give(logits) }),
        ...(hidden && { hidden: call.give(hidden) }),
        ...(pooled && { pooled: call.give(pooled) }),
        ...call.shown(options.intermediates),
      };
    });
  }

  /**
   * An empty cache for each layer of a causal model.
   * @param {number} [batch]  1 by default
   * @param {CapacityOption} [options]
   * @returns {LayerCaches}
   * @throws {AttnError} `unsupported` where the model is not causal
   */
  makeCaches(batch = 1, options = {}) {
    const address = this.ask('makeLanguageModelCaches', writeCapacity(batch, options));
    return new LayerCaches(runtimeOf(this), address, batch);
  }

  /**
   * What follows the ids, token by token from a cache; without the ids themselves. To stop or to show each
   * token as it comes, call `forward` with `caches` and `attn.chooseToken()` instead.
   * @param {Integers} ids  (N,), N ≥ 1
   * @param {GenerationOptions} [options]
   * @returns {number[]}
   * @throws {AttnError} as `forward`; `invalid_argument` for more tokens than there are positions
   */
  generate(ids, options = {}) {
    checkOptions(options, kGenerating);
    const { maxNewTokens = 20, stopIds = [], ...sampling } = options;
    if (!Array.isArray(stopIds)) throw invalid('stopIds', stopIds, 'an array of tokens');
    const tensor = this.#checkIds(ids);
    return this.call((call) => {
      call.numbers('ints', 'ids', tensor);
      call.integer('maxNewTokens', maxNewTokens, 0);
      writeValues(call, sampling, kSampling);
      call.put(Kind.integer, stopIds.length);
      for (const id of stopIds) call.integer('stopIds', id, 0);
      call.run('generate');
      return call.givenTexts().map(Number);
    });
  }

  /**
   * The frequencies of a layer's rotary positions, after the model's scaling rule.
   * @param {number} layer
   * @param {number} [sequenceLength]  that dynamic scaling goes by; 0 by default
   * @returns {{ frequencies: Float64Array, attentionFactor: number } | undefined} in radians per
   *   position, and what cosines and sines are multiplied by; undefined where the layer has none
   */
  rotaryFrequencies(layer, sequenceLength = 0) {
    const { rotaryDim } = this.#description.layers[layer] ?? {};
    if (rotaryDim === undefined) return undefined;
    const length = rotaryDim / 2;
    return this.call((call) => {
      call.put(Kind.integer, layer);
      call.real('sequenceLength', sequenceLength);
      const at = call.numbers('doubles', 'frequencies', new Float64Array(length));
      call.run('rotaryFrequenciesOfLayer');
      const attentionFactor = call.given(0);
      return { frequencies: call.copyBack('doubles', at, length), attentionFactor };
    });
  }

  /** @param {Integers} ids */
  #checkIds(ids) {
    const { vocabSize } = this.#description;
    if (vocabSize === 0) {
      const needs = 'vectors: the model has no embedding, use forwardVectors()';
      throw argumentError('unsupported', 'ids', 'some', needs);
    }
    const most = vocabSize - 1;
    const tensor = checkIntegers('ids', ids, 0, most, `a token from 0 to ${most}`);
    if (tensor.shape.length > 2) throw invalid('ids', `rank ${tensor.shape.length}`, 'rank 1 or 2');
    return tensor;
  }
}

/** What a model is made of, once it is whole. @type {OptionTable} */
const kWhole = {
  loader: (call, _, loader) => call.object('loader', loader),
  layers: (_, __, layers) => layers,
};

/** See `ModelsAttn.chooseToken`. @param {Runtime} runtime @param {TensorLike} logits @param {ChooseTokenOptions} options */
export function chooseToken(runtime, logits, options) {
  checkOptions(options, kChoosing);
  return runtime.ask('chooseToken', (call) => {
    call.floats('logits', logits);
    writeValues(call, options, kChoosing);
  });
}

/**
 * A file whose parts can be read.
 * @typedef {object} Source
 * @property {string} name
 * @property {string} folder  '' or what ends with a /
 * @property {number} size
 * @property {(begin: number, end: number) => Promise<Uint8Array>} read
 */

/**
 * @param {string} path
 * @param {unknown} file
 * @returns {Source}
 */
function sourceOf(path, file) {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const folder = path.slice(0, path.length - name.length);
  if (typeof Blob === 'function' && file instanceof Blob) {
    const read = async (/** @type {number} */ begin, /** @type {number} */ end) => {
      try {
        return new Uint8Array(await file.slice(begin, end).arrayBuffer());
      } catch (cause) {
        // A file that has changed, or gone, since it was chosen.
        const got = `${name} (${/** @type {any} */ (cause)?.message ?? cause})`;
        throw argumentError('file_error', 'files', got, 'a file that can be read', { cause });
      }
    };
    return { name, folder, size: file.size, read };
  }
  const bytes = file instanceof ArrayBuffer ? new Uint8Array(file) : file;
  if (!(bytes instanceof Uint8Array)) {
    throw invalid(`files.${name}`, file, 'a File, a Blob, an ArrayBuffer or a Uint8Array');
  }
  const read = async (/** @type {number} */ begin, /** @type {number} */ end) =>
    bytes.subarray(begin, end);
  return { name, folder, size: bytes.length, read };
}

/**
 * @param {ModelFiles} files
 * @returns {Source[]}
 */
function sourcesOf(files) {
  if (files === null || typeof files !== 'object') {
    throw invalid('files', files, 'files, files by name, or one of them');
  }
  const isBlob = typeof Blob === 'function' && files instanceof Blob;
  if (isBlob || files instanceof ArrayBuffer || files instanceof Uint8Array) {
    return [sourceOf('model.safetensors', files)];
  }
  const isIterable = Symbol.iterator in files;
  const given = isIterable ? [.../** @type {Iterable<any>} */ (files)] : Object.entries(files);
  return given.map((file) => {
    const path = file?.webkitRelativePath || file?.name;
    const [name, content] = Array.isArray(file) ? file : [path, file];
    if (typeof name !== 'string') throw invalid('files', file, 'files with names');
    return sourceOf(name, content);
  });
}

const kWeights = '.safetensors';
const kModelFile = /\.safetensors(\.index\.json)?$|^config\.json$/;

/**
 * Those of the outermost folder that has weights: folders within it hold other things than this model.
 * @param {Source[]} sources
 * @returns {Source[]}
 */
function filesOfModel(sources) {
  const depth = (/** @type {Source} */ { folder }) => folder.split('/').length;
  const [first, ...others] = sources
    .filter(({ name }) => name.endsWith(kWeights))
    .sort((a, b) => depth(a) - depth(b));
  if (!first) {
    const names = sources.map(({ name }) => name).join(', ') || 'none';
    throw argumentError('not_found', 'files', names, 'one or more .safetensors files');
  }
  const refuse = (/** @type {string} */ got) =>
    argumentError('invalid_argument', 'files', got, 'those of one model');
  const other = others.find((file) => file.folder !== first.folder && depth(file) === depth(first));
  if (other) throw refuse(`${first.folder + first.name} and ${other.folder + other.name}`);
  const names = new Set();
  return sources.filter(({ name, folder }) => {
    if (folder !== first.folder || !kModelFile.test(name)) return false;
    if (names.has(name)) throw refuse(`${folder + name} twice`);
    return names.add(name);
  });
}

/**
 * @param {Runtime} runtime
 * @param {Source[]} given
 * @returns {Promise<{ weights: Source[], config: string }>}
 */
async function filesOf(runtime, given) {
  const sources = filesOfModel(given);
  const textOf = async (/** @type {Source | undefined} */ file) =>
    file ? new TextDecoder().decode(await file.read(0, file.size)) : '';
  const config = await textOf(sources.find(({ name }) => name === 'config.json'));
  let weights = sources.filter(({ name }) => name.endsWith(kWeights));
  const index = sources.find(({ name }) => name.endsWith('.safetensors.index.json'));
  if (index) {
    const text = await textOf(index);
    const names = runtime.call((call) => {
      call.text('index', text);
      call.run('safetensorsIndexFiles');
      return call.givenTexts();
    });
    weights = names.map((name) => {
      const file = weights.find((other) => other.name === name);
      if (file) return file;
      throw argumentError('not_found', 'files', `no ${name}`, `it, which ${index.name} names`);
    });
  }
  return { weights, config };
}

/**
 * The beginning of a .safetensors file, header and all.
 * @param {Runtime} runtime
 * @param {Source} file
 */
async function headerOf(runtime, file) {
  const length = await file.read(0, Math.min(kLengthBytes, file.size));
  const size = runtime.ask('safetensorsHeaderSize', (call) => {
    call.bytes(file.name, length);
    call.put(Kind.integer, file.size);
  });
  return file.read(0, size);
}

/**
 * @param {Runtime} runtime
 * @param {ModelFiles} files
 * @param {LanguageModelHints} options
 */
async function describe(runtime, files, options) {
  const { weights, config } = await filesOf(runtime, sourcesOf(files));
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
  checkOptions(options, kHints);
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
  checkOptions(options, kLoading);
  const { maxMemory, onProgress, signal, ...hints } = options;
  if (onProgress !== undefined && typeof onProgress !== 'function') {
    throw invalid('onProgress', onProgress, 'a function');
  }
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw invalid('signal', signal, 'an AbortSignal');
  }
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
