// The reader's model in its own worker.

import { Block } from '../../core/block.js';
import { knockOutOf } from '../../core/cuts.js';
import { exclusionOf } from '../../core/exclusion.js';
import { orderOf } from '../../core/shuffle.js';
import { ablateOf } from '../../core/silence.js';
import { Kept } from '../../work/kept.js';
import { changeAnswer, contributed, ranked } from '../changes.js';
import { lastRows, lensRows, listed } from '../lensRows.js';
import { comparison, patched } from '../patching.js';
import { checkRows } from './checkRows.js';
import { ownCircuits } from './circuits.js';
import { EncoderDecoder } from './encoderDecoder.js';
import { editedBy } from './ownEdit.js';
import { likeliest, NextTokens } from './ownNext.js';
import { opened } from './ownOpen.js';
import { lossesOf, orderedBy } from './ownOrder.js';
import { learnedPlaces, positionsOf, turnings } from './ownPlaces.js';
import { howOf, stagesOf } from './ownStages.js';

/** @typedef {import('attn').ModelsAttn} ModelsAttn */
/** @typedef {import('attn').Tensor} Tensor */
/** @typedef {import('attn').ExclusionOptions} ExclusionOptions */
/** @typedef {import('../../core/sentence.js').Given} Given */
/** @typedef {import('./ownOpen.js').Facts} Facts */

/**
 * Longest sentence, in tokens. The limit bounds the memory for the weights of all heads of a layer.
 */
const mostTokens = 512;

/** If the inputs of all layers have at most this many elements (64 MB), all inputs are kept. */
const mostKept = 2 ** 24;

/**
 * Largest number of multiply-adds for the logit lens. The worker computes this many in a few
 * seconds.
 */
const mostLens = 8e9;

/**
 * Number of sentences whose values are kept: the reader's sentence and the sentence that it is
 * compared with.
 */
const mostSentences = 2;

export class OwnModel {
  #attn;
  #model;
  #tokens;
  #next;
  facts;
  /**
   * Values between the layers for the last sentences.
   * @type {{ key: string, streams: Map<string, Tensor> }[]}
   */
  #kept = [];
  /**
   * Predictions without cuts or silenced parts.
   * @type {{ key: string } & import('../changes.js').Run | null}
   */
  #unchanged = null;
  /** The most recently requested layer. */
  #blocks = new Kept(
    (/** @type {{ layer: number }} */ { layer: at }) =>
      new Block(/** @type {any} */ (this.#model.layers[at]), this.facts.description.layers[at], {
        parameter: (name) => this.#model.parameter(`encoder.layers.${at}.${name}`),
      }),
  );

  /**
   * @param {ModelsAttn} attn
   * @param {import('attn').LanguageModel} model
   * @param {import('../tokenizer/modelTokens.js').ModelTokens} tokens
   * @param {Facts} facts
   */
  constructor(attn, model, tokens, facts) {
    this.#attn = attn;
    this.#model = model;
    this.#tokens = tokens;
    this.#next = new NextTokens(attn, model, tokens);
    this.facts = facts;
  }

  /**
   * Opens a model. Yields the same progress as `opened()`.
   * @param {ModelsAttn} attn
   * @param {Parameters<typeof opened>[1]} given
   */
  static async *open(attn, given) {
    const { model, tokens, facts } = yield* opened(attn, given);
    const own =
      'encode' in model
        ? new EncoderDecoder(attn, model, tokens, facts)
        : new OwnModel(attn, model, tokens, facts);
    await own.checkNumbers();
    return own;
  }

  /** Runs the model once, which fails if the model cannot be computed at all. */
  async checkNumbers() {
    this.#model.forward([0], { needLogits: false });
  }

  get #most() {
    return Math.min(mostTokens, this.facts.description.maxPositions || Infinity);
  }

  /** @param {{ text: string }} given */
  encode({ text }) {
    const split = this.#tokens.of(text, this.#most);
    checkRows(split, this.facts.description);
    return { ...split, types: this.#typesOf(split.ids) };
  }

  /**
   * The types of tokens. Undefined if all tokens belong to one sentence, as in most texts, or if
   * the model does not have these types.
   * @param {readonly number[]} ids
   */
  #typesOf(ids) {
    const { numTokenTypes } = this.facts.description;
    const types = this.#tokens.typesOf(ids);
    return types.some(Boolean) && types.every((type) => type < numTokenTypes) ? types : undefined;
  }

  /**
   * Adds causal attention to the exclusion if the model is causal.
   * @param {ExclusionOptions} exclusion
   */
  #masks(exclusion) {
    return this.facts.description.causal ? { ...exclusion, causal: true } : exclusion;
  }

  /**
   * The input of a layer: (n, E).
   * @param {readonly number[]} ids
   * @param {ExclusionOptions} exclusion
   * @param {number} layer
   */
  #stream(ids, exclusion, layer) {
    const { numLayers, dModel } = this.facts;
    const key = JSON.stringify([ids, exclusion]);
    const name = (/** @type {number} */ l) => `encoder.layers.${l}.resid_pre`;
    const { streams } = this.#kept.find((each) => each.key === key) ?? { streams: new Map() };
    this.#kept = [{ key, streams }, ...this.#kept.filter((each) => each.key !== key)].slice(
      0,
      mostSentences,
    );
    if (!streams.has(name(layer))) {
      const all = ids.length * dModel * numLayers <= mostKept;
      const names = all
        ? Array.from({ length: numLayers }, (_, l) => name(l))
        : [name(0), name(layer)];
      const { intermediates } = this.#model.forward([...ids], {
        ...{ attention: exclusion, needLogits: false, intermediates: names },
        tokenTypes: this.#typesOf(ids),
      });
      for (const each of names) streams.set(each, intermediates[each]);
    }
    return /** @type {Tensor} */ (streams.get(name(layer)));
  }

  /**
   * The results of a layer's attention, with the requested intermediates.
   * @param {readonly number[]} ids
   * @param {ExclusionOptions} exclusion
   * @param {number} layer
   * @param {string[]} [intermediates]
   * @param {object} [stages]
   */
  #layer(ids, exclusion, layer, intermediates = [], stages = { needWeights: true }) {
    return /** @type {any} */ (this.#model.layers[layer]).forward(
      this.#stream(ids, exclusion, layer),
      { attention: { ...this.#masks(exclusion), ...stages }, intermediates },
    );
  }

  /**
   * @param {Given} given
   * @param {ExclusionOptions} exclusion
   * @returns {import('../model.js').Sentence}
   */
  sentence(given, exclusion) {
    const { ids, layer: at } = given;
    const { normFirst } = this.facts.description.layers[at];
    const stream = (/** @type {number} */ layer) => this.#stream(ids, exclusion, layer);
    const normalized = () =>
      this.#layer(ids, exclusion, at, ['norm1.output'], {}).intermediates['norm1.output'];
    const positions = () => positionsOf(this.#attn, this.#model, ids.length, at);
    // These are getters, because each one needs a pass through the model, and most tasks read only
    // some of them.
    return {
      get embedding() {
        return stream(0);
      },
      get input() {
        return normFirst ? normalized() : stream(at);
      },
      get positions() {
        return positions();
      },
      attend: () => this.#attend(ids, exclusion, at),
      stages: () => this.stages(given),
      edit: () => this.edit(given),
      ordered: () => this.ordered(given, orderOf(ids.length, given)),
      dispose: () => {},
    };
  }

  /**
   * @param {readonly number[]} ids
   * @param {ExclusionOptions} exclusion
   * @param {number} at
   */
  #attend(ids, exclusion, at) {
    const { weights, intermediates } = this.#layer(ids, exclusion, at, ['self_attn.output']);
    return { weights, output: intermediates['self_attn.output'] };
  }

  /**
   * The masks in the settings, combined with the layer's own window.
   * @param {ExclusionOptions} exclusion
   * @param {number} at
   */
  #masksOf(exclusion, at) {
    const { windowLeft } = this.facts.description.layers[at];
    const masks = this.#masks(exclusion);
    return windowLeft === undefined || masks.window
      ? masks
      : { ...masks, window: { left: windowLeft } };
  }

  /**
   * The stages of a head.
   * @param {Given} given
   * @returns {import('../../core/stages.js').Stages & { how: import('../model.js').How }}
   */
  stages({ ids, layer, head, ...settings }) {
    const exclusion = exclusionOf(settings, ids.length);
    const names = ['q', 'k', 'v', 'head_output', 'output'];
    const { intermediates } = this.#layer(
      ...[ids, exclusion, layer, names.map((name) => `self_attn.${name}`)],
      {},
    );
    const shown = Object.fromEntries(
      names.map((name) => [name, intermediates[`self_attn.${name}`]]),
    );
    const how = howOf(this.#model, { layer, head, length: ids.length });
    const described = this.facts.description.layers[layer];
    const masks = this.#masksOf(exclusion, layer);
    return {
      ...stagesOf(this.#attn, /** @type {any} */ (shown), described, how, head, masks),
      how,
    };
  }

  /** The effect of changing one number in a projection. @param {Given} given */
  edit(given) {
    const { ids, layer, ...settings } = given;
    const exclusion = exclusionOf(settings, ids.length);
    return editedBy(this.#model, given, () => this.#attend(ids, exclusion, layer));
  }

  /** The effect of token order in the first layer. @param {Given} given @param {number[]} order */
  ordered({ ids, orderCausal: causal }, order) {
    const types = this.#typesOf(ids);
    return orderedBy(this.#attn, this.#model, { ids, types, causal, order });
  }

  /**
   * The model's losses on the tokens in order, in another order and, if possible, without
   * positions.
   * @param {{ ids: number[], order: number[] }} given
   */
  losses(given) {
    return lossesOf(this.#attn, this.#model, given);
  }

  /** Every matrix of a layer. @param {Given} given */
  block({ ids, layer, head, ...settings }) {
    const exclusion = exclusionOf(settings, ids.length);
    const x = this.#stream(ids, exclusion, layer);
    return this.#blocks.of({ layer }).forward(x, this.#masks(exclusion), head);
  }

  /** The parameters of a layer's products and norms. @param {{ layer: number }} given */
  parameters({ layer }) {
    return {
      parameters: this.#blocks.of({ layer }).parameters(),
      turn: howOf(this.#model, { layer, head: 0, length: 1 }).turn,
    };
  }

  /** Runs a layer token by token with a cache. @param {{ ids: number[], layer: number }} given */
  decode({ ids, layer }) {
    return this.#blocks.of({ layer }).decode(this.#stream(ids, {}, layer));
  }

  /**
   * Predictions for the token after position `at`, with a head's attention weights at that
   * position.
   * @param {{ ids: number[], at: number, layer: number, head: number, temperature: number, topK:
   *   number, drawn: number }} given
   * @returns {import('../model.js').Next}
   */
  next({ layer, head, ...given }) {
    const { ids, at } = given;
    const { data } = this.#layer(ids, { causal: true }, layer).weights;
    const row = (head * ids.length + at) * ids.length;
    return { ...this.#next.of(given), weights: data.slice(row, row + ids.length) };
  }

  /**
   * Predicts the next token without and with cuts and silenced parts, and measures how the
   * predictions after all tokens move.
   * @param {import('../model.js').ChangeGiven} given
   */
  change({ layer, cuts, silenced, replacement, ...given }) {
    const { ids } = given;
    const name = `encoder.layers.${layer}.self_attn.weights`;
    const run = (/** @type {import('attn').InterventionOptions} */ changes) => {
      const { logits, intermediates } = this.#model.forward(ids, {
        ...{ intermediates: [name], ...changes },
      });
      return { logits: logits.data, weights: intermediates[name] };
    };
    const key = JSON.stringify([ids, layer]);
    if (this.#unchanged?.key !== key) this.#unchanged = { key, ...run({}) };
    const changes = {
      knockOut: knockOutOf(cuts, this.facts.numLayers, 'encoder.'),
      ablate: ablateOf(silenced, replacement, 'encoder.'),
    };
    const after = cuts.length || silenced.length ? run(changes) : this.#unchanged;
    return changeAnswer(this.#unchanged, after, given, this.#changeable(ids));
  }

  /**
   * The most probable next tokens after the embedding and after each layer, for as many of the last
   * tokens as the limit allows.
   * @param {import('../model.js').LensGiven} given
   * @returns {import('../model.js').LensAnswer}
   */
  lens({ ids }) {
    const { numLayers, dModel, description } = this.facts;
    const work = (numLayers + 1) * dModel * description.vocabSize;
    const rows = Math.max(1, Math.min(ids.length, Math.floor(mostLens / work)));
    const first = ids.length - rows;
    const names = this.#model.layers.map((_, l) => `encoder.layers.${l}.output`);
    names.unshift('embedded');
    const { intermediates } = this.#model.forward(ids, {
      ...{ needLogits: false, intermediates: names },
    });
    const layers = names.map((name) =>
      lensRows(
        this.#model.unembed(lastRows(intermediates[name], rows)).data,
        rows,
        (logits) => likeliest(logits, { temperature: 1, topK: 0, drawn: listed }),
        (id, row) => this.#tokens.label(id, ids.slice(0, first + row + 1)),
      ),
    );
    return { first, layers };
  }

  /**
   * The contributions to the logit of a token that may come next.
   * @param {import('../model.js').ContributionsGiven} given
   * @returns {import('../model.js').ContributionsAnswer}
   */
  contributions(given) {
    const { ids } = given;
    return contributed(this.#changeable(ids), given, (id) => this.#model.contributions(ids, id));
  }

  /**
   * The tokens that a head's query matches, and the tokens that its value promotes.
   * @param {import('../model.js').CircuitsGiven} given
   */
  circuits(given) {
    return ownCircuits(this.#attn, this.#model, given, (id) =>
      this.#tokens.label(id, [given.token]),
    );
  }

  /**
   * Measures how the prediction of the next token changes when each part of the model is silenced
   * alone, or each earlier token is hidden alone.
   * @param {import('../model.js').RankGiven} given
   */
  rank(given) {
    return ranked(this.#changeable(given.ids), given);
  }

  /**
   * Returns the tokens of another sentence and, if both sentences have the same number of tokens, the
   * differences between them.
   * @param {import('../model.js').CompareGiven} given
   */
  compare({ text, ...given }) {
    return comparison(this.#changeable(given.ids), this.encode({ text }), given);
  }

  /**
   * Patches each row of the reader's sentence into the other sentence.
   * @param {import('../model.js').PatchGiven} given
   */
  patch(given) {
    return patched(this.#changeable(given.ids), given);
  }

  /** @param {readonly number[]} ids @returns {import('../changes.js').Changeable} */
  #changeable(ids) {
    return {
      heads: this.facts.description.layers.map(({ numHeads }) => numHeads),
      path: 'encoder.',
      run: (ids, options) => {
        const { logits, intermediates = {} } = this.#model.forward([...ids], {
          ...{ numLogits: 1, ...options },
        });
        return { logits: logits.data, intermediates };
      },
      likeliest: (logits, drawn) => likeliest(logits, { temperature: 1, topK: 0, drawn }),
      label: (id) => this.#tokens.label(id, ids),
    };
  }

  /** Generates text. @param {Parameters<NextTokens['write']>[0]} given */
  write(given) {
    return this.#next.write(given);
  }

  /** How the model represents positions, for the figures that draw positions. */
  places() {
    return this.facts.positions === 'learned'
      ? learnedPlaces(this.#attn, this.#model.parameter('positions.weight'))
      : turnings(this.#attn, this.#model);
  }

  /**
   * The interface for the wall, the figure with a small picture of every head.
   * @returns {import('../wall/wall.js').Reader}
   */
  reader() {
    const { numLayers, dModel } = this.facts;
    return {
      numLayers,
      most: Math.max(1, Math.floor(mostKept / (dModel * numLayers))),
      isSpecial: (id) => this.#tokens.isSpecial(id),
      weights: (ids, exclusion, layer) => this.#layer(ids, exclusion, layer).weights,
    };
  }
}
