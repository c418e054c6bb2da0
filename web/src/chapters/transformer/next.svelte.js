import { untrack } from 'svelte';
import { settings } from '../../state/settings.svelte.js';
import { sentenceOf } from '../../work/errors.js';

/** @typedef {import('../../models/model.js').Model & import('../../models/model.js').Predicts} Predicting */

const loadPrograms = () => import('../../figures/nextWord/code.js');

/** Largest number of candidates to draw. */
const drawn = 10;

const nothing = {
  tokens: /** @type {string[]} */ ([]),
  first: 0,
  probabilities: /** @type {number[]} */ ([]),
  weights: new Float32Array(),
  candidates: /** @type {import('../../models/model.js').Candidate[]} */ ([]),
  at: -1,
};

/** The predictions of a model, and text that it writes. */
export class Next {
  /** Index of the selected token. Null selects the last token. @type {number | null} */
  place = $state(null);
  problem = $state('');
  /** Whether predictions are being computed. */
  busy = $state(false);
  #pipeline;
  #model;
  #shown = $state.raw(nothing);
  #ended = $state(false);
  /** @type {AbortController | undefined} */
  #running;
  #context = $derived.by(() =>
    this.#model.context(this.#pipeline.given, this.#pipeline.work.total),
  );
  #ids = $derived.by(() => this.#pipeline.given.ids.slice(this.#context.first));
  #tokens = $derived.by(() => this.#pipeline.tokens.slice(this.#context.first));
  /** Everything the result depends on, as a string. */
  #key = $derived.by(() => {
    const { layer, head, encoding, own, pair } = this.#pipeline.given;
    const [ids, tokens] = [this.#ids, this.#tokens];
    const at = Math.min(this.place ?? Infinity, ids.length - 1);
    const given = { ids, tokens, layer, head, encoding, own, pair, at, drawn };
    return JSON.stringify({ ...given, ...this.#options });
  });

  tokens = $derived(this.#shown.tokens);
  first = $derived(this.#shown.first);
  probabilities = $derived(this.#shown.probabilities);
  weights = $derived(this.#shown.weights);
  candidates = $derived(this.#shown.candidates);
  at = $derived(this.#shown.at);
  canWrite = $derived.by(() => this.#ids.length > 0 && this.#context.left > 0);
  note = $derived.by(
    () => this.#context.note || (this.#ended ? (this.#model.texts?.ended ?? '') : ''),
  );

  /**
   * @param {import('../../work/pipeline.svelte.js').Pipeline} pipeline
   * @param {Predicting} model
   */
  constructor(pipeline, model) {
    this.#pipeline = pipeline;
    this.#model = model;
  }

  get #options() {
    return { temperature: settings.temperature, topK: settings.topK };
  }

  /** The programs for the predictions. */
  get code() {
    const [ids, tokens, at] = [this.#ids, this.#tokens, this.at];
    return this.#pipeline.code(loadPrograms, 'nextWordCode', { ids, tokens, at, ...this.#options });
  }

  /** An attachment that keeps the predictions up to date while its element is shown. */
  follow = () => {
    const key = this.#key;
    untrack(() => void this.#compute(JSON.parse(key)));
    return () => {
      this.#running?.abort();
      this.busy = false;
    };
  };

  /** @param {any} given */
  async #compute({ tokens, ...given }) {
    this.#running?.abort();
    const { signal } = (this.#running = new AbortController());
    this.problem = '';
    this.busy = tokens.length > 0;
    if (!tokens.length) {
      this.#shown = nothing;
      return;
    }
    try {
      const next = await this.#model.answer('next', given, { signal });
      if (signal.aborted || !next) return;
      this.#shown = { tokens, ...next.value };
    } catch (error) {
      if (!signal.aborted) this.problem = sentenceOf(error);
    } finally {
      if (!signal.aborted) this.busy = false;
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
   * @param {AbortSignal} leaving stops the writing when it is aborted
   */
  async write(count, onText, leaving) {
    const controller = new AbortController();
    const signal = AbortSignal.any([controller.signal, leaving]);
    this.#ended = false;
    const { ids, pair } = this.#pipeline.given;
    const { length: place } = ids;
    const given = { pair, ids: this.#ids, place, count: Math.min(count, this.#context.left) };
    try {
      await this.#model.write(
        { ...given, ...this.#options, seed: settings.draw },
        {
          signal,
          onProgress: ({ text, ended }) => {
            if (signal.aborted) return;
            if (ended) this.#ended = true;
            else if (!onText(text)) controller.abort();
          },
        },
      );
    } catch (error) {
      if (!signal.aborted) this.problem = sentenceOf(error);
    }
  }
}
