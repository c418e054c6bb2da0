import { untrack } from 'svelte';
import { sentenceOf } from '../../work/errors.js';

/** @typedef {import('../../models/model.js').Model} Model */
/** @typedef {import('../../models/model.js').RankAnswer} RankAnswer */

/**
 * Silences the parts of a model one by one. For the page's model, this happens whenever the
 * question changes. For a model that the reader opened, it may take minutes, so it starts only on
 * request and can be stopped.
 */
export class Ranking {
  /** The answer so far. @type {RankAnswer | null} */
  answer = $state.raw(null);
  isRunning = $state(false);
  problem = $state('');
  #model;
  #key;
  /** @type {AbortController | undefined} */
  #running;

  /** @param {() => Model} model @param {() => object | null} given */
  constructor(model, given) {
    this.#model = model;
    this.#key = $derived.by(() => JSON.stringify(given()));
  }

  /** An attachment for the element that shows the answer. */
  follow = () => {
    const [model, key] = [this.#model(), this.#key];
    untrack(() => {
      this.stop();
      if (model.id !== 0 || key === 'null') this.answer = null;
      else void this.#run(model, key);
    });
    return () => this.stop();
  };

  start = () => void this.#run(this.#model(), this.#key);

  stop = () => {
    this.#running?.abort();
    this.isRunning = false;
  };

  /** @param {Model} model @param {string} key */
  async #run(model, key) {
    this.stop();
    const { signal } = (this.#running = new AbortController());
    this.problem = '';
    this.isRunning = true;
    const onProgress = (/** @type {RankAnswer} */ answer) => {
      if (!signal.aborted) this.answer = answer;
    };
    try {
      const answered = await model.answer('rank', JSON.parse(key), { signal, onProgress });
      if (answered) onProgress(answered.value);
    } catch (error) {
      if (!signal.aborted) this.problem = sentenceOf(error);
    } finally {
      if (!signal.aborted) this.isRunning = false;
    }
  }
}
