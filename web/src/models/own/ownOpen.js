// Recognises and loads the files of a reader's model. Used in the model's worker.

import { ModelTokens } from '../tokenizer/modelTokens.js';
import { tensorsOf, torchModuleOf } from './torchModule.js';

/** @typedef {import('attn').ModelsAttn} ModelsAttn */

/**
 * How to get the tokenizer of a model that was published without tokenizer.json.
 * @param {string} family
 */
const tokenizerOf = (family) =>
  family === 'marian'
    ? `If the model has none, take it from a copy of the model that has one, such as the copies of Opus-MT models by Xenova on the Hugging Face Hub. Transformers cannot convert this model’s source.spm and target.spm`
    : `If the model has none, this Python code saves it in the folder "converted":

from transformers import AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained("folder")
tokenizer.save_pretrained("converted")`;

/** @param {readonly File[]} files @param {string} name */
const fileOf = (files, name) => files.find((file) => file.name === name);

/** @param {File} file */
async function jsonOf(file) {
  try {
    return JSON.parse(await file.text());
  } catch (cause) {
    throw new Error(`${file.name} is not valid JSON (${/** @type {Error} */ (cause).message})`, {
      cause,
    });
  }
}

/** @typedef {import('attn').LanguageModelDescription} LanguageModelDescription */
/** @typedef {import('attn').EncoderDecoderDescription} EncoderDecoderDescription */
/** @typedef {import('../../core/sentence.js').PartName} PartName */

/**
 * The fields of a description that the page reads.
 * @typedef {Pick<LanguageModelDescription, 'family' | 'numParameters' | 'vocabSize' | 'maxPositions'
 *   | 'sinusoidal' | 'layers' | 'causal' | 'hasLogits' | 'numTokenTypes' | 'unusedTensors'
 *   | 'unusedFields' | 'warnings'> & { t5Bias?: boolean }} Description
 */

/**
 * The kind of a model's positions.
 * @param {Description} description
 */
function positionsOf({ maxPositions, sinusoidal, layers, t5Bias }) {
  if (t5Bias) return /** @type {const} */ ('bias');
  if (maxPositions) return /** @type {const} */ ('learned');
  if (sinusoidal) return /** @type {const} */ ('sinusoidal');
  return layers.some(({ rotaryDim }) => rotaryDim)
    ? /** @type {const} */ ('rotary')
    : /** @type {const} */ ('none');
}

/**
 * @typedef {ReturnType<typeof partFacts> & { parts?: Record<PartName, ReturnType<typeof partFacts>>
 *   }} Facts
 *   parts: if the model has an encoder and a decoder, the facts about each of its parts
 */

/**
 * The facts about a model, or about one of its parts, that the page needs.
 * @param {Description} description
 * @param {string[]} dtypes
 */
function partFacts(description, dtypes) {
  const [{ dModel, numHeads }] = description.layers;
  return {
    ...{ description, dtypes, dModel, numHeads, numLayers: description.layers.length },
    positions: positionsOf(description),
  };
}

/**
 * The facts about the model that the page needs.
 * @param {LanguageModelDescription | EncoderDecoderDescription} description
 * @param {string[]} dtypes
 * @returns {Facts}
 */
function factsOf(description, dtypes) {
  if ('layers' in description) return partFacts(description, dtypes);
  const { encoderLayers, decoderLayers } = description;
  const decoder = { ...description, layers: decoderLayers, hasLogits: true, numTokenTypes: 0 };
  const encoder = { ...decoder, layers: encoderLayers, hasLogits: false, causal: false };
  const parts = {
    encoder: partFacts(encoder, dtypes),
    decoder: partFacts({ ...decoder, causal: true }, dtypes),
    cross: partFacts({ ...decoder, causal: false }, dtypes),
  };
  return { ...parts.encoder, parts };
}

/** The floating-point types of the tensors. @param {import('./torchModule.js').Tensors} tensors */
const dtypesOf = (tensors) =>
  [...new Set(Object.values(tensors).map(({ dtype }) => dtype))].filter((dtype) =>
    /^B?F\d+/.test(dtype),
  );

/** True if config.json describes a model with an encoder and a decoder. @param {File[]} files */
async function isEncoderDecoder(files) {
  const file = fileOf(files, 'config.json');
  if (!file) return false;
  const { is_encoder_decoder: is, model_type: family } = await jsonOf(file);
  return is === true || ['t5', 'mt5', 'marian'].includes(family);
}

/** @param {ModelsAttn} attn @param {File[]} files */
async function described(attn, files) {
  try {
    return await attn.describeModel(files);
  } catch (cause) {
    const { message } = /** @type {Error} */ (cause);
    if (!message.startsWith('numHeads') || fileOf(files, 'config.json')) throw cause;
    // The message needs only the family and the size, which do not depend on the number of heads.
    const { family, numParameters } = await attn.describeModel(files, { numHeads: 1 });
    throw Object.assign(
      new Error(
        `config.json is missing: these are the weights of a ${family} model with ${numParameters.toLocaleString('en')} parameters, but only config.json says how many heads it has. Add that file, too`,
        { cause },
      ),
      { code: 'needs_more' },
    );
  }
}

/**
 * Recognises and loads a model. First yields the facts about the model. Then yields, again and
 * again, which part of its files has been read, from 0 to 1.
 * @param {ModelsAttn} attn
 * @param {{ files: [string, File][], pageTokens: object | null }} given `files` are all files from
 *   the reader, with their paths. `pageTokens` is the tokenizer of the page's own model, which is
 *   used if weights in attn's own format come without a tokenizer.json
 */
export async function* opened(attn, { files: given, pageTokens }) {
  const found = await attn.filesOfModel(given);
  const files = /** @type {File[]} */ ([...found.values()]);
  for (const file of files) Object.defineProperty(file, 'webkitRelativePath', { value: '' });
  const tensors = await tensorsOf(files);
  const torch = torchModuleOf(tensors);
  if (torch) throw new Error(torch);
  const hasTwoParts = await isEncoderDecoder(files);
  const description = hasTwoParts
    ? await attn.describeEncoderDecoder(files)
    : await described(attn, files);
  const { family, vocabSize, numParameters } = description;
  const facts = factsOf(description, dtypesOf(tensors));
  yield { facts, share: 0 };
  const file = fileOf(files, 'tokenizer.json');
  if (!file && !(family === 'attn' && pageTokens)) {
    throw Object.assign(
      new Error(
        `tokenizer.json is missing: this is a ${family} model with ${numParameters.toLocaleString('en')} parameters, but only its tokenizer can split a sentence into tokens of its vocabulary (${vocabSize.toLocaleString('en')}). Add that file, too. ${tokenizerOf(family)}`,
      ),
      { code: 'needs_more' },
    );
  }
  const json = file ? await jsonOf(file) : pageTokens;
  let tokens;
  try {
    tokens = new ModelTokens(json);
  } catch (cause) {
    const { message } = /** @type {Error} */ (cause);
    throw new Error(`tokenizer.json cannot be used (${message})`, { cause });
  }
  const controller = new AbortController();
  let share = 0;
  let more = () => {};
  /** @type {import('attn').LanguageModel | import('attn').EncoderDecoderModel | undefined} */
  let model;
  /** @satisfies {Parameters<ModelsAttn['loadModel']>[1]} */
  const options = {
    signal: controller.signal,
    onProgress: (/** @type {number} */ done, /** @type {number} */ all) => {
      share = done / all;
      more();
    },
  };
  const loading = Promise.resolve(
    hasTwoParts ? attn.loadEncoderDecoder(files, options) : attn.loadModel(files, options),
  ).then((loaded) => {
    model = loaded;
  });
  loading.catch(() => {});
  let told = false;
  try {
    while (!model) {
      const progress = new Promise((resolve) => (more = () => resolve(undefined)));
      await Promise.race([loading, progress]);
      yield { share };
    }
    told = true;
    return { model, tokens, facts };
  } finally {
    // If this generator ends early, the model is no longer wanted, so stop loading it.
    if (!told) controller.abort();
  }
}
