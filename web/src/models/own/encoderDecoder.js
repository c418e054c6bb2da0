// The reader's encoder–decoder model in its own worker.

import { Block } from '../../core/block.js';
import { decoding } from '../../core/decode.js';
import { exclusionOf } from '../../core/exclusion.js';
import { joinHeads } from '../../core/heads.js';
import { matrixOf } from '../../drawing/matrix.js';
import { checkRows } from './checkRows.js';
import { NextTokens } from './ownNext.js';
import { learnedPlaces } from './ownPlaces.js';
import { ownScaleOf, projectionsOf } from './ownStages.js';

/** @typedef {import('attn').ModelsAttn} ModelsAttn */
/** @typedef {import('attn').EncoderDecoderModel} EncoderDecoderModel */
/** @typedef {import('attn').Tensor} Tensor */
/** @typedef {import('attn').ExclusionOptions} ExclusionOptions */
/** @typedef {import('../../core/sentence.js').Given} Given */
/** @typedef {import('../../core/sentence.js').Pair} Pair */
/** @typedef {import('../../core/sentence.js').PartName} PartName */
/** @typedef {import('../wall/wall.js').Reader} Reader */

/** Longest source and longest target, in tokens; see `OwnModel`. */
const mostTokens = 512;

/**
 * The names of each part: its stack, its attention, the stream of rows before the attention, and
 * the norm whose output the attention reads if norms come first.
 */
const parts = {
  encoder: { stack: 'encoder', attention: 'self_attn', stream: 'resid_pre', norm: 'norm1' },
  decoder: { stack: 'decoder', attention: 'self_attn', stream: 'resid_pre', norm: 'norm1' },
  cross: { stack: 'decoder', attention: 'multihead_attn', stream: 'norm1.output', norm: 'norm2' },
};

export class EncoderDecoder {
  #attn;
  #model;
  #tokens;
  facts;
  /** The output of the encoder for the last source. @type {{ key: string, memory: Tensor } | null} */
  #encoded = null;
  /** Predictions for targets of the last source. @type {{ key: string, next: NextTokens } | null} */
  #next = null;

  /**
   * @param {ModelsAttn} attn
   * @param {EncoderDecoderModel} model
   * @param {import('../tokenizer/modelTokens.js').ModelTokens} tokens
   * @param {import('./ownOpen.js').Facts} facts
   */
  constructor(attn, model, tokens, facts) {
    this.#attn = attn;
    this.#model = model;
    this.#tokens = tokens;
    this.facts = facts;
  }

  /** Runs the model once. Fails if the model cannot be computed at all. */
  async checkNumbers() {
    this.#model.decode([this.#model.description.startId], this.#memory([0]), { needLogits: false });
  }

  /**
   * Splits both texts. The target begins with the model's start token.
   * @param {{ text: string, target: string }} given
   */
  encode({ text, target }) {
    const { maxPositions, startId } = this.#model.description;
    const most = Math.min(mostTokens, maxPositions || Infinity);
    const split = {
      source: this.#tokens.of(text, most),
      target: this.#tokens.of(target, most, startId),
    };
    for (const each of Object.values(split)) checkRows(each, this.facts.description);
    return split;
  }

  /** The output of the encoder: (n, E). @param {readonly number[]} ids */
  #memory(ids) {
    const key = ids.join();
    if (this.#encoded?.key !== key) {
      this.#encoded = { key, memory: this.#model.encode([...ids]).memory };
    }
    return this.#encoded.memory;
  }

  /**
   * Returns intermediates of a part.
   * @param {{ part: PartName, source: readonly number[], target: readonly number[] }} given
   * @param {ExclusionOptions} exclusion masks of the part's attention
   * @param {string[]} intermediates
   * @returns {Record<string, Tensor>}
   */
  #run({ part, source, target }, exclusion, intermediates) {
    if (part === 'encoder') {
      return this.#model.encode([...source], { attention: exclusion, intermediates }).intermediates;
    }
    return this.#model.decode([...target], this.#memory(source), {
      ...(part === 'decoder' ? { selfAttention: exclusion } : { crossAttention: exclusion }),
      ...{ needLogits: false, intermediates },
    }).intermediates;
  }

  /**
   * @param {Given} given
   * @param {ExclusionOptions} exclusion
   */
  sentence(given, exclusion) {
    const { part, source, target } = /** @type {Pair} */ (given.pair);
    const { stack, attention, stream, norm } = parts[part];
    const { normFirst } = this.facts.description.layers[0];
    const layer = `${stack}.layers.${given.layer}.`;
    const run = (/** @type {string[]} */ names) =>
      Object.values(this.#run({ part, source: source.ids, target: target.ids }, exclusion, names));
    const { length } = given.ids;
    const positions = () => this.#positions(stack, length);
    return {
      get embedding() {
        return run([`${stack}_embedded`])[0];
      },
      get input() {
        return run([layer + (normFirst ? `${norm}.output` : stream)])[0];
      },
      get positions() {
        return positions();
      },
      attend: () => {
        const names = ['output', 'weights'].map((name) => `${layer}${attention}.${name}`);
        const [output, weights] = run(names);
        return { output, weights };
      },
      stages: () => this.stages(given, exclusion),
      dispose: () => {},
    };
  }

  /**
   * The stages of a head in the part that figures show.
   * @param {Given} given
   * @param {ExclusionOptions} exclusion
   * @returns {import('../../core/stages.js').Stages & { how: import('../model.js').How }}
   */
  stages({ pair, layer, head }, exclusion) {
    const { part, source, target } = /** @type {Pair} */ (pair);
    const { stack, attention } = parts[part];
    const { description, positions } = /** @type {any} */ (this.facts.parts)[part];
    /** @type {import('attn').LanguageModelLayer} */
    const described = description.layers[layer];
    const prefix = `${stack}.layers.${layer}.${attention}.`;
    const names = ['q', 'k', 'v', 'scaled_scores', 'biased_scores', 'weights'];
    const shown = this.#run(
      { part, source: source.ids, target: target.ids },
      exclusion,
      [...names, 'head_output', 'output'].map((name) => prefix + name),
    );
    const [query, key, value, scaled, masked, weights] = names.map((name) =>
      matrixOf(shown[prefix + name], head),
    );
    const [q, k] = [query, key].map(({ data, rows, columns }) => ({
      data,
      shape: [1, rows, columns],
    }));
    const { scaledScores } = this.#attn.scaledDotProductAttention(q, k, k, {
      ...{ numHeads: 1, scale: 1, needScaledScores: true },
    });
    return {
      ...{ query, key, value, scores: matrixOf(scaledScores), scaled, masked, weights },
      ...(part === 'cross' ? { memory: matrixOf(this.#memory(source.ids)) } : {}),
      attended: matrixOf(joinHeads(shown[`${prefix}head_output`])),
      output: matrixOf(shown[`${prefix}output`]),
      how: {
        ...{ depth: described.headDim, kvHead: head, softcap: 0, normalises: false },
        ...ownScaleOf(described),
        hasBias: positions === 'bias' && part !== 'cross',
        projections: projectionsOf(this.#model, described, prefix, head),
      },
    };
  }

  /** Every matrix of a layer of the encoder. @param {Given} given */
  block({ ids, layer, head, ...settings }) {
    return this.#block(ids, layer).forward(null, exclusionOf(settings, ids.length), head);
  }

  /** The parameters of a layer of the encoder. @param {{ layer: number }} given */
  parameters({ layer }) {
    return { parameters: this.#block([], layer).parameters() };
  }

  /** @param {readonly number[]} ids @param {number} layer */
  #block(ids, layer) {
    const prefix = `encoder.layers.${layer}.`;
    const { description, positions } = /** @type {any} */ (this.facts.parts).encoder;
    const parameter = (/** @type {string} */ name) => this.#model.parameter(prefix + name);
    const parameterNames = () =>
      this.#model
        .parameterNames()
        .filter((name) => name.startsWith(prefix))
        .map((name) => name.slice(prefix.length));
    const forward = (/** @type {unknown} */ _, /** @type {any} */ { attention, intermediates }) => {
      const names = intermediates.map((/** @type {string} */ name) => prefix + name);
      const { intermediates: shown } = this.#model.encode([...ids], {
        ...{ attention, intermediates: names },
      });
      return {
        intermediates: Object.fromEntries(
          intermediates.map((/** @type {string} */ name) => [name, shown[prefix + name]]),
        ),
      };
    };
    return new Block(
      /** @type {any} */ ({ forward, parameter, parameterNames }),
      description.layers[layer],
      { hasBias: positions === 'bias' },
    );
  }

  /**
   * Runs a layer of the decoder token by token with a cache.
   * @param {{ pair: Pair, ids: number[], layer: number }} given
   */
  decode({ pair, ids, layer }) {
    const prefix = `decoder.layers.${layer}.`;
    const memory = this.#memory(pair.source.ids);
    /**
     * @param {number[]} ids
     * @param {Tensor | import('attn').DecodingState} memory
     * @param {string[]} names
     */
    const run = (ids, memory, names) => {
      const { intermediates } = this.#model.decode(ids, memory, {
        ...{ needLogits: false, intermediates: names.map((name) => prefix + name) },
      });
      return names.map((name) => intermediates[prefix + name]);
    };
    const state = this.#model.start(memory);
    const [x, keys, values, whole] = run(ids, memory, [
      ...['resid_pre', 'self_attn.k', 'self_attn.v', 'output'],
    ]);
    const steps = ids.map((id) => {
      const [q, weights, output] = run([id], state, [
        ...['self_attn.q', 'self_attn.weights', 'output'],
      ]);
      return { q: q.data, weights, output: output.data };
    });
    state.dispose();
    return decoding(steps, { x, keys: joinHeads(keys), values: joinHeads(values), whole });
  }

  /**
   * The positions that are added to embeddings, (n, E). Sines and cosines alternate, as everywhere
   * on the page.
   * @param {string} stack
   * @param {number} length
   * @returns {Tensor | null}
   */
  #positions(stack, length) {
    const { dModel } = this.facts;
    const { maxPositions, sinusoidal } = this.#model.description;
    if (sinusoidal) return this.#attn.sinusoidalEncoding({ length, dModel });
    if (!maxPositions) return null;
    const { data } = this.#model.parameter(`${stack}_positions.weight`);
    return { data: data.slice(0, length * dModel), shape: [length, dModel] };
  }

  /** The model's table of positions. @param {{ part: PartName }} given */
  places({ part }) {
    const table = this.#model.parameter(`${parts[part].stack}_positions.weight`);
    return learnedPlaces(this.#attn, table);
  }

  /**
   * Predicts the tokens of a target.
   * @param {Pair} pair
   */
  #predict({ source: { ids } }) {
    const key = ids.join();
    if (this.#next?.key !== key) {
      const memory = this.#memory(ids);
      const decoder = {
        description: this.#model.description,
        makeCaches: () => this.#model.start(memory),
        /** @param {number[]} ids @param {any} options */
        forward: (ids, { caches, ...options }) =>
          this.#model.decode(ids, caches ?? memory, options),
      };
      this.#next = { key, next: new NextTokens(this.#attn, decoder, this.#tokens) };
    }
    return this.#next.next;
  }

  /**
   * Predictions for the token after position `at` of the target, with a head's attention weights
   * at that position.
   * @param {{ pair: Pair, ids: number[], at: number, layer: number, head: number, temperature:
   *   number, topK: number, drawn: number }} given
   * @returns {import('../model.js').Next}
   */
  next({ layer, head, ...given }) {
    const { pair, ids, at } = given;
    const name = `decoder.layers.${layer}.self_attn.weights`;
    const words = { part: /** @type {const} */ ('decoder'), source: pair.source.ids, target: ids };
    const { data } = this.#run(words, {}, [name])[name];
    const row = (head * ids.length + at) * ids.length;
    return { ...this.#predict(pair).of(given), weights: data.slice(row, row + ids.length) };
  }

  /** Continues a target. @param {{ pair: Pair } & Parameters<NextTokens['write']>[0]} given */
  write(given) {
    return this.#predict(given.pair).write(given);
  }

  /**
   * The interfaces for the wall: one for the heads of each part.
   * @param {Given} given
   * @returns {Reader[]}
   */
  reader(given) {
    const pair = /** @type {Pair} */ (given.pair);
    return /** @type {PartName[]} */ (Object.keys(parts)).map((part) => {
      const { stack, attention } = parts[part];
      const words = part === 'encoder' ? pair.source : pair.target;
      const { description, numLayers } = /** @type {any} */ (this.facts.parts)[part];
      return {
        ...{ part, numLayers, most: mostTokens, causal: description.causal },
        ...{ ids: words.ids, keys: part === 'cross' ? pair.source.ids : undefined },
        isSpecial: (id) => this.#tokens.isSpecial(id),
        weights: (ids, exclusion, layer) => {
          const name = `${stack}.layers.${layer}.${attention}.weights`;
          const source = part === 'encoder' ? ids : pair.source.ids;
          // The masks in the settings belong to the part that figures show.
          const masks = part === pair.part ? exclusion : {};
          return this.#run({ part, source, target: ids }, masks, [name])[name];
        },
      };
    });
  }
}
