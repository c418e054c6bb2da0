import { untrack } from 'svelte';
import { sentenceOf } from '../../work/errors.js';

/** @typedef {import('../../models/model.js').Model} Model */
/** @typedef {import('../../models/model.js').RankAnswer} RankAnswer */

/**
 * Changes a model in one place after another, for example silences its parts one by one. For the
 * page's model, this happens whenever the question changes. For a model that the reader opened, it
 * may take minutes, so it starts only on request and can be stopped.
 * @template [Answer=RankAnswer]
 */
export class Ranking {
  /** The answer so far. @type {Answer | null} */
  answer = $state.raw(null);
  /** The answer so far, or null if it belongs to an earlier question. */
  current = $derived.by(() => (this.#answered === this.#key ? this.answer : null));
  isRunning = $state(false);
  problem = $state('');
  #model;
  #key;
  #question;
  /** The question to which `answer` belongs. */
  #answered = $state.raw('');
  /** @type {AbortController | undefined} */
  #running;

  /**
   * @param {() => Model} model
   * @param {() => object | null} given
   * @param {import('../../models/model.js').Question} [question]
   */
  constructor(model, given, question = 'rank') {
    this.#model = model;
    this.#question = question;
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
    this.problem = '';
  };

  /** @param {Model} model @param {string} key */
  async #run(model, key) {
    this.stop();
    const { signal } = (this.#running = new AbortController());
    this.isRunning = true;
    const onProgress = (/** @type {Answer} */ answer) => {
      if (signal.aborted) return;
      this.answer = answer;
      this.#answered = key;
    };
    try {
      const given = JSON.parse(key);
      const answered = await model.answer(this.#question, given, { signal, onProgress });
      if (answered) onProgress(answered.value);
    } catch (error) {
      if (!signal.aborted) this.problem = sentenceOf(error);
    } finally {
      if (!signal.aborted) this.isRunning = false;
    }
  }
}
