import { untrack } from 'svelte';
import { settings } from '../../state/settings.svelte.js';
import { sentenceOf } from '../../work/errors.js';
import { drawn } from './pagesNext.svelte.js';

/** @typedef {import('../../models/own/ownNext.js').Next} Next */

/** @type {Next & { tokens: string[] }} */
const nothing = {
  tokens: [],
  probabilities: [],
  weights: new Float32Array(),
  candidates: [],
  at: -1,
};

/** Predictions of the reader's model, computed in its worker. */
export class OwnNext {
  /** The selected token, if it is not the last. @type {number | null} */
  place = $state(null);
  milliseconds = $state.raw(/** @type {number | undefined} */ (undefined));
  problem = $state('');
  #model;
  #shown = $state.raw(nothing);
  #ended = $state(false);
  /** @type {AbortController | undefined} */
  #running;
  /** Everything the result depends on, as a string. */
  #key = $derived.by(() => {
    const { ids, tokens, layer, head, own } = this.#model.given;
    const at = Math.min(this.place ?? Infinity, ids.length - 1);
    return JSON.stringify({ ids, tokens, layer, head, own, at, drawn, ...this.#options });
  });

  tokens = $derived(this.#shown.tokens);
  probabilities = $derived(this.#shown.probabilities);
  weights = $derived(this.#shown.weights);
  candidates = $derived(this.#shown.candidates);
  at = $derived(this.#shown.at);
  /** Number of tokens that fit into the model's positions after the sentence. */
  #left = $derived.by(() => {
    const most = this.#model.own?.facts.description.maxPositions || Infinity;
    return most - this.#model.given.ids.length;
  });
  #isCut = $derived.by(() => this.#model.work.total > this.#model.given.ids.length);
  canWrite = $derived.by(() => this.#model.given.ids.length > 0 && this.#left > 0 && !this.#isCut);
  note = $derived.by(() => {
    const { texts } = this.#model.own ?? {};
    if (!texts) return '';
    if (this.#isCut || this.#left <= 0) return texts.full(this.#model.given.ids.length);
    return this.#ended ? texts.ended : '';
  });

  /** @param {import('../../work/pipeline.svelte.js').Pipeline} model */
  constructor(model) {
    this.#model = model;
  }

  get #options() {
    return { temperature: settings.temperature, topK: settings.topK };
  }

  /** The programs for the predictions. */
  get code() {
    return {
      load: () => import('../../models/own/ownCode.js'),
      of: (/** @type {typeof import('../../models/own/ownCode.js')} */ { ownNextCode }) =>
        ownNextCode(this.#model.given, {
          ...{ at: this.at, ...this.#options },
          vocabSize: this.#model.own?.facts.description.vocabSize ?? 0,
        }),
    };
  }

  /** An attachment for the element that shows it. */
  follow = () => {
    const key = this.#key;
    untrack(() => void this.#compute(JSON.parse(key)));
    return () => this.#running?.abort();
  };

  /** @param {any} given */
  async #compute({ tokens, ...given }) {
    this.#running?.abort();
    const { signal } = (this.#running = new AbortController());
    this.problem = '';
    if (!tokens.length) {
      this.#shown = nothing;
      return;
    }
    const start = performance.now();
    try {
      const next = await this.#model.own?.ask('next', given, { signal });
      if (signal.aborted || !next) return;
      this.milliseconds = performance.now() - start;
      this.#shown = { tokens, ...next };
    } catch (error) {
      if (!signal.aborted) this.problem = sentenceOf(error);
    }
  }

  /** The text that a token appends. @param {number} id */
  textOf(id) {
    return this.candidates.find((each) => each.id === id)?.text ?? '';
  }

  /**
   * Samples tokens one after another.
   * @param {number} count
   * @param {(text: string) => boolean} onText receives the text that each token appends; returns
   *   whether to continue
   */
  async write(count, onText) {
    const controller = new AbortController();
    this.#ended = false;
    const given = { ids: this.#model.given.ids, count: Math.min(count, this.#left) };
    try {
      await this.#model.own?.ask(
        'write',
        { ...given, ...this.#options, seed: settings.draw },
        {
          signal: controller.signal,
          onProgress: (/** @type {{ text: string, ended: boolean }} */ { text, ended }) => {
            if (controller.signal.aborted) return;
            if (ended) this.#ended = true;
            else if (!onText(text)) controller.abort();
          },
        },
      );
    } catch (error) {
      if (!controller.signal.aborted) this.problem = sentenceOf(error);
    }
  }
}
