import { randomLcg } from 'd3-random';
import { Block } from '../../core/block.js';
import { knockOutOf } from '../../core/cuts.js';
import { exclusionOf } from '../../core/exclusion.js';
import { describedLayer } from '../../core/layer.js';
import { ablateOf } from '../../core/silence.js';
import { written } from '../../drawing/numbers.js';
import { Kept } from '../../work/kept.js';
import { changeAnswer, contributed, ranked } from '../changes.js';
import { circuits } from '../circuits.js';
import { lensRows } from '../lensRows.js';
import { Layered, mostHere, sized } from '../model.js';
import { comparison, patched } from '../patching.js';
import { candidates, chosen } from './languageModel.js';
import * as texts from '../../texts/models.js';

/**
 * The random number, at least 0 and below 1, for the token at a position. The token is the first
 * candidate at which the cumulative probability exceeds this number.
 * @param {number} seed @param {number} place
 */
const drawAt = (seed, place) =>
  randomLcg(((seed + 1) * 0.6180339887498949 + place * 0.7548776662466927) % 1)();

/** Number of sentences whose values between the layers are kept. */
const kept = 2;

/** @param {Float32Array} row @param {number} id */
function probabilityOf(row, id) {
  const largest = row.reduce((a, b) => Math.max(a, b), -Infinity);
  return (
    Math.exp(row[id] - largest) / row.reduce((sum, value) => sum + Math.exp(value - largest), 0)
  );
}

/** @typedef {import('./languageModel.js').LanguageModel} LanguageModel */
/** @typedef {import('../model.js').Given} Given */
/** @typedef {import('../model.js').Model} Model */
/** @typedef {import('../model.js').Predicts} Predicts */

/**
 * The page's language model.
 * @implements {Model}
 * @implements {Predicts}
 */
export class Pages extends Layered {
  model;
  tokens;
  /** @type {{ key: string, logits: Float32Array, width: number, probabilities: number[], weights: Float32Array } | null} */
  #kept = null;
  /**
   * Predictions without cuts or silenced parts.
   * @type {{ key: string } & import('../changes.js').Run | null}
   */
  #unchanged = null;
  /**
   * The most recent sentences, and the values between the layers that have been computed for them
   * so far.
   * @type {{ key: string, embedding: import('attn').Tensor, reading: ReturnType<LanguageModel['read']> }[]}
   */
  #readings = [];
  blocks = new Kept((/** @type {Given} */ given) => {
    const layer = this.model.block(given.layer, given.encoding !== 'none');
    return new Block(layer, this.described(given));
  });

  /**
   * @param {import('attn').Attn} attn
   * @param {import('./languageModel.js').LanguageModel} model
   * @param {import('./languageTokens.js').LanguageTokens} [tokens] not needed by tasks, which
   * receive ids
   */
  constructor(attn, model, tokens) {
    super(attn);
    this.model = model;
    this.tokens = /** @type {import('./languageTokens.js').LanguageTokens} */ (tokens);
  }

  get config() {
    return this.model.config;
  }

  get sizes() {
    const { dModel, base } = this.config;
    return texts.sizes(dModel, written(base));
  }

  /** @param {string} text */
  split(text) {
    return this.tokens.of(text);
  }

  /** @param {import('../model.js').Chosen} chosen */
  adapt(chosen) {
    return sized(chosen, this.config);
  }

  /** @param {Given} given */
  described(given) {
    const { dimFeedforward, activation } = this.config;
    return { ...super.described(given), dimFeedforward, activation };
  }

  /** @type {Model['code']} */
  code(load, name, given) {
    const { config } = this;
    return {
      load: () => Promise.all([load(), import('./languagePrograms.js')]),
      of: ([programs, calls]) => programs[name](given, { config, ...calls }),
    };
  }

  /** @param {Given} given @param {boolean} here */
  isLong({ tokens: { length }, dModel, layer }, here) {
    const work = length * dModel * (12 * dModel + 2 * length) * (layer + 0.5);
    // The limit is higher than for one layer, because the layers are computed once for all figures.
    return !here && work > 3 * mostHere;
  }

  /**
   * @param {Given} given
   * @param {import('attn').ExclusionOptions} exclusion
   * @param {number} [most]
   */
  read({ layer, encoding, ...given }, exclusion, most) {
    const ids = given.ids.slice(0, most);
    const { causal, window, validLen, blocked } = given;
    const key = JSON.stringify([ids, encoding, causal, window, validLen, blocked]);
    let known = this.#readings.find((each) => each.key === key);
    if (!known) {
      const embedding = this.model.embed(ids);
      const positions = encoding !== 'none';
      known = { key, embedding, reading: this.model.read(embedding, { exclusion, positions }) };
    }
    this.#readings = [known, ...this.#readings.filter((each) => each !== known)].slice(0, kept);
    const { embedding, reading } = known;
    return { embedding, reading, input: reading.layerInput(layer) };
  }

  /** @param {Given} given */
  stream(given) {
    const { reading } = this.read(given, exclusionOf(given, given.ids.length));
    return reading.stream(given.layer);
  }

  /** @param {Given} given */
  positions({ tokens: { length } }) {
    return this.model.positions(length);
  }

  /** Returns a layer that is valid for as long as the model exists. @param {Given} given */
  layer({ layer, encoding }) {
    return this.model.attention(layer, encoding !== 'none');
  }

  release() {}

  /**
   * Keeps only the last tokens of a long text, because the model was trained on short texts.
   * @type {Predicts['context']}
   */
  context({ ids: { length } }) {
    const { maxLength } = this.config;
    const first = Math.max(0, length - maxLength);
    return {
      first,
      left: Infinity,
      note: first ? texts.looksBack(maxLength) : '',
    };
  }

  /** Removes spaces at the end, which the model's tokens ignore. @param {string} text */
  continued(text) {
    return text.replace(/[^\S\n]+$/, '');
  }

  /**
   * Predictions for the token after position `at`.
   * @param {{ ids: number[], at: number, layer: number, head: number, encoding: string, drawn: number,
   *   temperature: number, topK: number }} given
   * @returns {Generator<null, import('../model.js').Next>}
   */
  *next({ ids, at, layer, head, encoding, drawn, ...options }) {
    const key = JSON.stringify([ids, layer, head, encoding]);
    // Keep the logits, because sampling options change more often than the sentence.
    if (this.#kept?.key !== key) {
      const positions = encoding !== 'none';
      this.#kept = { key, ...(yield* this.#predicted(ids, layer, head, positions)) };
    }
    const { logits, width, probabilities, weights } = this.#kept;
    const n = ids.length;
    const row = logits.subarray(at * width, (at + 1) * width);
    return {
      ...{ first: 0, probabilities, at, weights: weights.subarray(at * n, (at + 1) * n) },
      candidates: candidates(row, options)
        .slice(0, drawn)
        .map((each) => ({
          ...each,
          label: this.tokens.label(each.id, ids.slice(0, at + 1)),
          text: this.tokens.added(ids, [each.id]),
        })),
    };
  }

  /**
   * Predicts the next token without and with cuts and silenced parts, and measures how the
   * predictions after all tokens move.
   * @param {import('../model.js').ChangeGiven} given
   * @returns {Generator<null, import('../model.js').ChangeAnswer>}
   */
  *change({ layer, cuts, silenced, replacement, ...given }) {
    const { ids, encoding } = given;
    const { numLayers } = this.config;
    const run = (/** @type {import('attn').InterventionOptions} */ changes) =>
      this.model.changed(ids, changes, { layer, positions: encoding !== 'none', every: true });
    const key = JSON.stringify([ids, layer, encoding]);
    if (this.#unchanged?.key !== key) this.#unchanged = { key, ...run({}) };
    yield null;
    const changes = {
      ...{ knockOut: knockOutOf(cuts, numLayers), ablate: ablateOf(silenced, replacement) },
    };
    const after = cuts.length || silenced.length ? run(changes) : this.#unchanged;
    yield null;
    return changeAnswer(this.#unchanged, after, given, this.#changeable(given));
  }

  /**
   * Measures how the prediction of the next token changes when each part of the model is silenced
   * alone, or each earlier token is hidden alone.
   * @param {import('../model.js').RankGiven & { encoding: string }} given
   */
  rank(given) {
    return ranked(this.#changeable(given), given);
  }

  /**
   * The most probable next tokens after the embedding and after each layer.
   * @param {import('../model.js').LensGiven} given
   * @returns {Generator<null, import('../model.js').LensAnswer>}
   */
  *lens({ ids, encoding }) {
    const { model } = this;
    const reading = model.read(model.embed(ids), { positions: encoding !== 'none' });
    const layers = [];
    for (let layer = 0; layer <= model.config.numLayers; layer++) {
      const { data } = model.unembed(reading.stream(layer));
      layers.push(
        lensRows(
          data,
          ids.length,
          (logits) => candidates(logits, { temperature: 1, topK: 0 }),
          (id, row) => this.tokens.label(id, ids.slice(0, row + 1)),
        ),
      );
      yield null;
    }
    return { first: 0, layers };
  }

  /**
   * The contributions to the logit of a token that may come next.
   * @param {import('../model.js').ContributionsGiven} given
   * @returns {import('../model.js').ContributionsAnswer}
   */
  contributions(given) {
    const options = { positions: given.encoding !== 'none' };
    return contributed(this.#changeable(given), given, (id) =>
      this.model.contributions(given.ids, id, options),
    );
  }

  /**
   * The tokens that a head's query matches, and the tokens that its value promotes.
   * @param {import('../model.js').CircuitsGiven} given
   */
  circuits({ layer: at, encoding, ...given }) {
    const { model } = this;
    const { vocabularySize, dModel, numHeads: heads } = this.config;
    const positions = encoding !== 'none';
    const layer = model.block(at, positions);
    return circuits(
      this.attn,
      {
        ...{ layer, vocabularySize },
        described: describedLayer({ dModel, heads, normFirst: true }),
        parameter: (name) => layer.parameter(name),
        rows: (begin, end, position) => {
          const ids = Int32Array.from({ length: end - begin }, (_, i) => begin + i);
          return model.embedAt(ids, positions ? position : null);
        },
        unembed: (x) => model.unembed(x),
        turned: positions && model.rotary ? dModel / heads : 0,
        label: (id) => this.tokens.label(id, [given.token]),
      },
      given,
    );
  }

  /**
   * Returns the tokens of another sentence and, if both sentences have the same number of tokens, the
   * differences between them.
   * @param {import('../model.js').CompareGiven} given
   * @returns {import('../model.js').CompareAnswer}
   */
  compare({ text, ...given }) {
    return comparison(this.#changeable(given), this.tokens.of(text), given);
  }

  /**
   * Patches each row of the reader's sentence into the other sentence.
   * @param {import('../model.js').PatchGiven} given
   */
  patch(given) {
    return patched(this.#changeable(given), given);
  }

  /**
   * @param {{ ids: readonly number[], encoding: string }} given
   * @returns {import('../changes.js').Changeable}
   */
  #changeable({ ids, encoding }) {
    const { numLayers, numHeads } = this.config;
    const options = { layer: null, positions: encoding !== 'none' };
    return {
      heads: Array(numLayers).fill(numHeads),
      run: (ids, { intermediates: names, ...changes }) =>
        this.model.changed(ids, changes, { ...options, names }),
      likeliest: (logits, drawn) => candidates(logits, { temperature: 1, topK: 0 }).slice(0, drawn),
      label: (id) => this.tokens.label(id, ids),
    };
  }

  /**
   * The model's losses, in nats per token: on the tokens in order, in another order, and without
   * positions.
   * @param {{ ids: number[], order: number[] }} given
   */
  *losses({ ids, order }) {
    const losses = [];
    for (const { read, positions } of [
      { read: ids, positions: true },
      { read: order.map((place) => ids[place]), positions: true },
      { read: ids, positions: false },
    ]) {
      const found = this.model.logProbabilities(read, { positions });
      losses.push(-found.reduce((sum, each) => sum + each, 0) / found.length);
      yield null;
    }
    return { losses, length: ids.length };
  }

  /** @param {number[]} ids @param {number} layer @param {number} head @param {boolean} positions */
  *#predicted(ids, layer, head, positions) {
    const { model } = this;
    const { vocabularySize: width, numLayers } = model.config;
    const n = ids.length;
    const reading = model.read(model.embed(ids), { positions });
    for (let l = 1; l <= numLayers; l++) {
      reading.stream(l);
      yield null;
    }
    const x = reading.layerInput(layer);
    const all = model
      .attention(layer, positions)
      .forward(x, x, x, { causal: true, needWeights: true }).weights.data;
    const weights = all.slice(head * n * n, (head + 1) * n * n);
    const logits = new Float32Array(n * width);
    // Computes a few rows at a time, because the vocabulary has thousands of tokens.
    for (let row = 0; row < n; row += 8) {
      logits.set(reading.logits(row, Math.min(n, row + 8)).data, row * width);
      yield null;
    }
    const probabilities = ids.map((id, i) =>
      i ? probabilityOf(logits.subarray((i - 1) * width, i * width), id) : NaN,
    );
    return { logits, width, probabilities, weights };
  }

  /** @type {Predicts['write']} */
  async write({ ids, place, count, seed, ...options }, { signal, onProgress }) {
    const writer = this.model.writer();
    const known = [...ids];
    try {
      for (let i = 0, next = ids; i < count; i++) {
        const all = candidates(writer.next(next), options);
        const { id } = chosen(all, drawAt(seed, place + i));
        onProgress?.({ text: this.tokens.added(known, [id]) });
        if (signal.aborted) break;
        known.push(id);
        next = [id];
        await new Promise((resolve) => setTimeout(resolve, 60));
      }
    } finally {
      writer.dispose();
    }
  }

  /** @param {Given} given @returns {import('../wall/wall.js').Reader} */
  reader({ encoding }) {
    const { model } = this;
    const positions = encoding !== 'none';
    /** @type {Map<string, ReturnType<typeof model.read>>} */
    const readings = new Map();
    return {
      ...{ numLayers: model.config.numLayers, most: Infinity, isSpecial: () => false },
      weights: (ids, exclusion, layer) => {
        const key = ids.join();
        const reading = readings.get(key) ?? model.read(model.embed(ids), { exclusion, positions });
        readings.set(key, reading);
        const x = reading.layerInput(layer);
        const attention = model.attention(layer, positions);
        return attention.forward(x, x, x, { ...exclusion, needWeights: true }).weights;
      },
    };
  }
}
