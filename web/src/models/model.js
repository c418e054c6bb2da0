// The interface of all models that the page shows, and a base class for models that are made of
// attn's own layers.

import { exclusionOf } from '../core/exclusion.js';
import { editOf, effectOf, projectionOf } from '../core/edit.js';
import { orderEffects } from '../core/effects.js';
import { describedLayer } from '../core/layer.js';
import { parametersOf } from '../core/parameters.js';
import { layerOutput, turnsBy } from '../core/sentence.js';
import { orderOf } from '../core/shuffle.js';
import { projectionsOf, stagesOf } from '../core/stages.js';
import { turnOf } from '../core/turned.js';
import { inSlices } from '../work/inSlices.js';
import { Kept } from '../work/kept.js';

/** @typedef {import('attn').Attn} Attn */
/** @typedef {import('attn').Tensor} Tensor */
/** @typedef {import('attn').ExclusionOptions} ExclusionOptions */
/** @typedef {import('../core/sentence.js').Given} Given */
/** @typedef {InstanceType<Attn['MultiHeadAttention']>} Layer */
/** @typedef {import('./language/languageModel.js').LanguageModel} LanguageModel */
/** @typedef {import('../core/block.js').Block} Block */
/** @typedef {import('../programs/print.js').Code} Code */

/**
 * A model that the page shows: `Spelled`, `Pages` or `Own`.
 * @typedef {object} Model
 * @property {number} id 0 for the page's own models
 * @property {Config | null} config null if the reader chooses the sizes
 * @property {string} sizes the sizes in words
 * @property {'own' | undefined} chosenAs the model's name in the bar, if it differs from the name
 * of its weights
 * @property {boolean} hasFixedPositions whether the reader cannot switch its positions off
 * @property {Record<string, string>} lacks the parts of the page that do not support the model,
 * with the reasons
 * @property {(text: string) => Split} split tokenizes a text
 * @property {boolean} [hasTarget] true if the model reads a second text, the target
 * @property {(part: import('../core/sentence.js').PartName) => void} [choosePart] selects the
 *   attention that figures show; only if the model has a target
 * @property {(chosen: Chosen) => Partial<Given>} adapt the settings that the model determines
 * @property {(given: Given, here: boolean) => boolean} isLong whether a worker computes this sentence;
 *   here: whether this thread must compute the sentence if possible
 * @property {boolean} readsHere whether this thread embeds even long sentences
 * @property {(given: Given, exclusion: ExclusionOptions, most?: number) => Reading} read reads
 *   a sentence, or only its first `most` tokens
 * @property {(given: Given) => Tensor} positions see `Pipeline.positions`
 * @property {(given: Given) => Layer} layer the attention layer; the caller must
 *   release it
 * @property {(layer: Layer) => void} release
 * @property {LanguageModel | null} model the model in attn's layers on this thread, if any
 * @property {{ says: string, notes: string[] } | null} about a description of a model that the
 *   reader opened, and notes on its files
 * @property {(given: Given) => import('attn').LanguageModelLayer} described describes the layer
 * @property {(given: Given) => boolean} encodes whether P is added to X
 * @property {number} mostInBlock largest number of tokens in the figure of a whole block
 * @property {(load: () => Promise<any>, name: string, given: Given) => Code | undefined} code the
 *   programs of a figure: load() imports a module with programs for the page's models, and `name` is
 *   the function that writes them
 *
 * @property {(question: Question, given: any, options: Answering) => Promise<{ value: any } | null>}
 *   answer null if the model has been closed
 * @property {import('./own/own.svelte.js').Own['texts'] | null} texts the chapters' texts about the
 * model, if they differ from the texts about the page's models
 *
 * @typedef {object} Predicts additional members of models that predict tokens
 * @property {(given: Given, total: number) => Context} context the part of a text that the model
 * reads and continues; total: number of all tokens, including those beyond the limit
 * @property {(text: string) => string} continued a text to which tokens can be appended
 * @property {(given: Writing, options: Answering) => Promise<any>} write reports the text that
 *   each token appends
 *
 * @typedef {Pick<Given, import('../core/sentence.js').Name>} Chosen the settings
 *
 * @typedef {'next' | 'change' | 'rank' | 'lens' | 'contributions' | 'circuits' | 'compare' | 'patch' | 'losses' | 'block' | 'parameters' | 'decode' | 'places' | 'write'} Question
 * @typedef {{ signal: AbortSignal, onProgress?: (progress: any) => void }} Answering
 * @typedef {{ ids: number[], place: number, count: number, temperature: number, topK: number, seed:
 *   number, pair?: import('../core/sentence.js').Pair }} Writing place: index of the first new token
 * in the whole sentence
 * @typedef {{ first: number, left: number, note: string }} Context first: index of the first token
 * that the model still sees; left: number of tokens that it can append; note: explains these limits
 *
 * @typedef {{ id: number, label: string, text: string, probability: number }} Candidate text: the
 *   text that it appends
 * @typedef {object} Next
 * @property {number} first index of the first token after which predictions were computed
 * @property {number[]} probabilities the probability that the model gave each token, NaN if unknown
 * @property {Float32Array} weights attention from the selected token to each token
 * @property {Candidate[]} candidates predictions for the token after it, the most probable first; none
 *   if they were not computed or are not numbers
 * @property {number} at index of the selected token
 *
 * @typedef {{ id: number, label: string, probability: number }} Likely
 * @typedef {object} ChangeGiven
 * @property {number[]} ids
 * @property {number} layer the layer whose weights are drawn
 * @property {string} encoding
 * @property {import('../core/cuts.js').Cut[]} cuts
 * @property {import('../core/silence.js').Part[]} silenced
 * @property {import('../core/silence.js').Replacement} replacement
 * @property {number} token the followed token; −1 for the most probable one
 * @property {number} drawn number of predictions
 * @typedef {object} Moved how much the prediction after a token changes
 * @property {number} divergence Kullback–Leibler divergence, in nats; NaN if one of the predictions
 *   is not a number
 * @property {boolean} isSame whether the logits of both predictions are exactly the same numbers
 * @property {number | null} change the change of the log-probability of the token that comes next;
 *   null after the last token
 * @typedef {object} ChangeAnswer
 * @property {Tensor} weights the layer's weights with the changes, (heads, n, n)
 * @property {Likely[]} before predictions without the changes, the most probable first; none if they
 *   are not numbers
 * @property {Likely[]} after predictions with the changes
 * @property {{ id: number, label: string, before: number, after: number, change: number }} chosen the
 *   log-probability of the followed token without and with the changes, and their difference
 * @property {Moved[]} moved one entry for each token
 *
 * @typedef {{ ids: number[], encoding: string }} LensGiven
 * @typedef {object} LensAnswer
 * @property {number} first index of the first token that has predictions
 * @property {Likely[][][]} layers the most probable next tokens, by layer (the embedding first) and by
 *   token; none if their probabilities are not numbers
 * @typedef {{ ids: number[], encoding: string, token: number, drawn: number }} ContributionsGiven
 *   token: id of the token whose logit is split, −1 for the most probable token; drawn: number of
 *   most probable tokens to name
 * @typedef {{ id: number, label: string }} Named
 * @typedef {object} ContributionsAnswer
 * @property {Named | null} chosen the token whose logit is split; null if the logits are not numbers
 * @property {Named[]} likely the most probable tokens
 * @property {number} total the logit
 * @property {import('../core/contributions.js').Part[]} parts
 *
 * @typedef {object} CircuitsGiven
 * @property {number} token id of the token
 * @property {number} layer
 * @property {number} head
 * @property {string} encoding
 * @property {number} query the token's position
 * @property {number} key position of the keys, at most `query`
 * @property {number} drawn number of tokens to list
 * @typedef {Named & { value: number }} Scored
 * @typedef {{ most: Scored[], least: Scored[] }} Extremes the tokens with the largest scores, the
 *   largest first, and with the smallest scores, the smallest first
 * @typedef {object} CircuitsAnswer
 * @property {Extremes | null} matches by the score of the token's query with their keys; null if a
 *   score is not a number
 * @property {Extremes | null} promotes by what the token's value adds to their logits
 *
 * @typedef {import('../core/silence.js').Part | { key: number }} Changed a place in the model that
 *   is changed alone: a part that is silenced, or the position of a token that is hidden from all
 *   later queries
 * @typedef {{ ids: readonly number[], token: number, of: 'parts' | 'tokens', replacement:
 *   import('../core/silence.js').Replacement }} RankGiven of: the places that are changed
 * @typedef {object} RankAnswer
 * @property {{ id: number, label: string, before: number }} chosen the followed token and its
 *   log-probability
 * @property {(Changed & { change: number })[]} changes the change of its log-probability for each
 *   place so far
 * @property {number} total number of places
 * @property {number} time time in ms
 *
 * @typedef {object} CompareGiven
 * @property {number[]} ids the last tokens of the reader's sentence
 * @property {number} total number of all tokens of the reader's sentence
 * @property {string} text the other sentence
 * @property {string} encoding
 * @property {number} token the followed token; −1 for the most probable one
 * @property {number} drawn number of predictions
 * @property {import('../core/patching.js').Stage} stage
 * @property {number} head
 * @typedef {object} Compared two sentences with the same number of tokens
 * @property {{ id: number, label: string, first: number, second: number }} chosen the
 *   log-probabilities of the followed token after each sentence
 * @property {Likely[][]} likely predictions after each sentence, the most probable first
 * @property {Tensor} distances how far the values differ, (n, values)
 * @typedef {object} CompareAnswer
 * @property {number} total number of all tokens of the other sentence
 * @property {string[]} tokens the last tokens of the other sentence
 * @property {number[]} ids
 * @property {Compared | null} compared null if the numbers of tokens differ
 *
 * @typedef {object} PatchGiven
 * @property {number[]} ids the last tokens of the reader's sentence
 * @property {number[]} other as many tokens of the other sentence
 * @property {string} encoding
 * @property {number} token the followed token
 * @property {import('../core/patching.js').Stage} stage
 * @property {number} head
 * @typedef {object} PatchAnswer
 * @property {{ value: number, likely: Likely }[]} cells for each patch so far, the log-probability of
 *   the followed token and the most probable token. The patches of the first value come first,
 *   one for each token
 * @property {number} total number of all patches
 * @property {number} time time in ms
 *
 * @typedef {object} Known the parameters of a layer
 * @property {Record<string, Tensor>} parameters parameters by the id of the stage that they compute
 * @property {import('../core/turned.js').Turn} [turn]
 *
 * @typedef {object} Reading a sentence before the attention of a layer
 * @property {Tensor} embedding (n, E)
 * @property {Tensor} input input of the layer's attention, (n, E)
 * @property {Tensor | null} [positions] given if only the worker knows them
 * @property {ReturnType<LanguageModel['read']> | null} [reading]
 *
 * @typedef {object} Config
 * @property {number} dModel E
 * @property {number} numHeads
 * @property {number} numLayers
 * @property {string} positions
 * @property {number} base
 * @property {number} vocabularySize
 * @property {number} maxLength largest number of tokens that it predicts
 * @property {string} activation
 *
 * @typedef {import('../core/sentence.js').Words & Pick<Given, 'types' | 'pair'>} Split
 */

/**
 * A sentence in a layer of a model, on the thread that computes it. Tasks take all results from
 * this object.
 * @typedef {object} Computing
 * @property {() => { output: Tensor, weights: Tensor }} attend (n, E) and (heads, queries, keys)
 * @property {() => import('../core/stages.js').Stages & { how: How }} stages stages of the selected head
 * @property {() => Effect} edit the effect of one changed number
 * @property {() => import('../core/effects.js').OrderEffects} ordered the effect of token order
 * @property {() => void} dispose
 *
 * @typedef {Reading & Computing} Sentence
 *
 * @typedef {object} How how a head computes its stages
 * @property {number} depth D
 * @property {number} kvHead the head whose keys and values it reads
 * @property {number} [scale] scale of scores, if it is not 1/√D
 * @property {number} softcap 0 if there is none
 * @property {boolean} [hasBias] true if a learned bias is added to scores
 * @property {number} [sink]
 * @property {boolean} normalises true if queries and keys are normalised
 * @property {import('../core/turned.js').Turn} [turn]
 * @property {import('../core/stages.js').Projections} projections
 *
 * @typedef {import('../core/edit.js').Changes & {
 *   projection: Tensor,
 *   ofHead: boolean,
 *   edit: { row: number, column: number, original: number, value: number },
 * }} Effect projection: its numbers before the change; ofHead: whether these are only the head's part
 */

/**
 * @typedef {object} Parts
 * @property {Tensor | null} embedding
 * @property {Tensor | null} input
 * @property {Layer} layer
 * @property {ExclusionOptions} exclusion
 * @property {LanguageModel | null} model the model that contains the layer
 * @property {ReturnType<LanguageModel['read']> | null} reading
 * @property {{ output: Tensor, weights: Tensor } | null} [attention] results of the layer, if they are known
 */

/**
 * If a pass through a layer needs more multiply-adds than this, a worker computes it. A pass of
 * this size takes 3 to 5 ms, and the visible figures need three or four passes.
 */
export const mostHere = 8e6;

/**
 * Adapts the settings to a model of these sizes.
 * @param {Chosen} chosen
 * @param {Config} config
 */
export const sized = ({ layer, base }, config) => ({
  ...{ dModel: config.dModel, heads: config.numHeads, base: config.base || base },
  ...{ layer: Math.min(layer, config.numLayers - 1), rotary: config.positions === 'rotary' },
  norm: /** @type {const} */ ('pre'),
});

/** A sentence and its results in one of attn's layers. @implements {Sentence} */
export class LayerSentence {
  #attn;
  #given;
  /** The parts of the results. Each part is computed only when it is needed. */
  parts;
  dispose;

  /**
   * @param {Attn} attn
   * @param {Given} given
   * @param {Parts} parts
   * @param {() => void} [dispose]
   */
  constructor(attn, given, parts, dispose = () => {}) {
    this.#attn = attn;
    this.#given = given;
    this.parts = parts;
    this.dispose = dispose;
  }

  get #none() {
    return { data: new Float32Array(), shape: [0, this.#given.dModel] };
  }

  get embedding() {
    return this.parts.embedding ?? this.#none;
  }

  get input() {
    return this.parts.input ?? this.#none;
  }

  attend() {
    const { input } = this;
    const { layer, exclusion } = this.parts;
    return layer.forward(input, input, input, { ...exclusion, needWeights: true });
  }

  stages() {
    const { layer, exclusion } = this.parts;
    const { head, dModel, heads } = this.#given;
    const depth = dModel / heads;
    const base = turnsBy(this.#given);
    return {
      ...stagesOf(this.#attn, this.input, layer, exclusion, head),
      how: {
        ...{ depth, kvHead: head, softcap: 0, normalises: false },
        turn: base === undefined ? undefined : turnOf(base, depth),
        projections: projectionsOf(parametersOf(layer), head, depth),
      },
    };
  }

  edit() {
    const { input } = this;
    const { layer, exclusion, attention } = this.parts;
    const { editMatrix: which, head } = this.#given;
    const projection = projectionOf(layer, which);
    const edit = editOf(projection, this.#given);
    const change = { which, ...edit, base: turnsBy(this.#given) };
    return {
      ...effectOf(this.#attn, layer, change, input, exclusion, head, attention ?? undefined),
      ...{ projection, ofHead: false, edit },
    };
  }

  ordered() {
    const { layer, model } = this.parts;
    const { tokens, orderCausal: causal } = this.#given;
    return orderEffects(
      layerOutput(this.#attn, this.#given, model, layer, { causal }),
      this.embedding,
      orderOf(tokens.length, this.#given),
    );
  }
}

/** Whether parts of a model can be silenced before it predicts a token. @param {Model} model */
export const canSilence = ({ config, lacks }) =>
  config !== null && !('next' in lacks || 'change' in lacks);

/** The base class of models that are made of attn's layers. @abstract */
export class Layered {
  id = 0;
  /** @type {Model['lacks']} */
  lacks = {};
  readsHere = false;
  chosenAs = undefined;
  hasFixedPositions = false;
  texts = null;
  about = null;
  mostInBlock = 128;
  /** @type {LanguageModel | null} */
  model = null;
  attn;

  /** @param {Attn} attn the module on this thread */
  constructor(attn) {
    this.attn = attn;
  }

  /** @param {Given} given */
  described(given) {
    const { dModel, heads, norm } = given;
    const rotaryDim = turnsBy(given) === undefined ? undefined : dModel / heads;
    return describedLayer({ dModel, heads, normFirst: norm === 'pre', rotaryDim });
  }

  /** @param {Given} given */
  encodes({ encoding, rotary }) {
    return encoding !== 'none' && !rotary;
  }

  /** @type {Model['code']} */
  code(load, name, given) {
    return { load, of: (programs) => programs[name](given, null) };
  }

  /** @type {Model['answer']} */
  async answer(question, given, { signal }) {
    const answer = /** @type {any} */ (this)[question](given);
    return Symbol.iterator in answer ? inSlices(answer, signal) : { value: answer };
  }

  /** Keeps the most recently requested layer. @abstract @type {Kept<any, Block>} */
  blocks = new Kept(() => {
    throw new Error('this model has no blocks');
  });

  /** @param {Given} given */
  #block(given) {
    const { dModel, heads, weights, seed, layer, norm, encoding, rotary, base } = given;
    return this.blocks.of({ dModel, heads, weights, seed, layer, norm, encoding, rotary, base });
  }

  /** The input of the block: (n, E). @param {Given} given @returns {Tensor} */
  stream(given) {
    return /** @type {any} */ (this).read(given, exclusionOf(given, given.tokens.length)).input;
  }

  /** Every matrix of a layer. @param {Given} given */
  block(given) {
    const exclusion = exclusionOf(given, given.tokens.length);
    return this.#block(given).forward(this.stream(given), exclusion, given.head);
  }

  /** The parameters of a layer's products and norms. @param {Given} given */
  parameters(given) {
    const base = turnsBy(given);
    return {
      parameters: this.#block(given).parameters(),
      turn: base === undefined ? undefined : turnOf(base, given.dModel / given.heads),
    };
  }

  /** Runs a layer token by token with a cache. @param {Given} given */
  decode(given) {
    return this.#block(given).decode(this.stream(given));
  }

  /**
   * Returns a sentence and its results for tasks in the worker.
   * @param {Given} given @param {ExclusionOptions} exclusion
   * @returns {Sentence}
   */
  sentence(given, exclusion) {
    const model = /** @type {Layered & Model} */ (/** @type {unknown} */ (this));
    const layer = model.layer(given);
    const parts = { reading: null, ...model.read(given, exclusion), layer, exclusion };
    return new LayerSentence(this.attn, given, { ...parts, model: this.model }, () =>
      model.release(layer),
    );
  }
}
