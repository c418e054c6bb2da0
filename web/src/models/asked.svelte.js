import { untrack } from 'svelte';
import { sentenceOf } from '../work/errors.js';

/** @typedef {import('./model.js').Model} Model */

/**
 * A model's answer to a figure's question. The answer is requested once the figure is visible, and
 * again whenever the question changes. Until the new answer arrives, the previous answer stays,
 * together with its question.
 * @template Given, Answer
 */
export class Asked {
  /** @type {{ model: Model, given: Given, answer: Answer } | null} */
  shown = $state.raw(null);
  problem = $state('');
  /** True until the model has answered. */
  busy = $state(false);
  #model;
  #question;
  #key;
  /** @type {AbortController | undefined} */
  #running;

  /**
   * @param {() => Model} model
   * @param {import('./model.js').Question} question
   * @param {() => Given | null} given the subject of the question; null if there is no question
   */
  constructor(model, question, given) {
    this.#model = model;
    this.#question = question;
    this.#key = $derived.by(() => JSON.stringify(given()));
  }

  /** An attachment for the element that shows the answer. */
  follow = () => {
    const [model, given] = [this.#model(), JSON.parse(this.#key)];
    untrack(() => void this.#ask(model, given));
    return () => {
      this.#running?.abort();
      this.busy = false;
    };
  };

  /** @param {Model} model @param {Given | null} given */
  async #ask(model, given) {
    this.#running?.abort();
    const { signal } = (this.#running = new AbortController());
    this.problem = '';
    this.busy = given !== null;
    if (!given || this.shown?.model !== model) this.shown = null;
    if (!given) return;
    try {
      const answered = await model.answer(this.#question, given, { signal });
      if (signal.aborted || !answered) return;
      this.shown = { model, given, answer: answered.value };
    } catch (error) {
      if (!signal.aborted) this.problem = sentenceOf(error);
    } finally {
      if (!signal.aborted) this.busy = false;
    }
  }
}
