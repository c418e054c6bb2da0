import { untrack } from 'svelte';
import { sentenceOf } from '../../work/errors.js';

/**
 * An answer of the reader's model, requested once the figure is visible and again whenever the
 * question changes. Until then the previous answer stays, together with its question.
 * @template Given, Answer
 */
export class Asked {
  /** @type {{ given: Given, answer: Answer } | null} */
  shown = $state.raw(null);
  /** Time from question to answer. @type {number | undefined} */
  milliseconds = $state.raw();
  problem = $state('');
  #own;
  #method;
  #key;
  /** @type {AbortController | undefined} */
  #running;

  /**
   * @param {() => import('./own.svelte.js').Own} own
   * @param {import('./own.svelte.js').Method} method
   * @param {() => Given | null} given the question; null if there is none
   */
  constructor(own, method, given) {
    this.#own = own;
    this.#method = method;
    this.#key = $derived.by(() => JSON.stringify(given()));
  }

  /** An attachment for the element that shows the answer. */
  follow = () => {
    const given = JSON.parse(this.#key);
    untrack(() => void this.#ask(given));
    return () => this.#running?.abort();
  };

  /** @param {Given | null} given */
  async #ask(given) {
    this.#running?.abort();
    const { signal } = (this.#running = new AbortController());
    this.problem = '';
    if (!given) {
      this.shown = null;
      return;
    }
    const start = performance.now();
    try {
      const answer = await this.#own().ask(this.#method, given, { signal });
      if (signal.aborted) return;
      this.milliseconds = performance.now() - start;
      this.shown = { given, answer };
    } catch (error) {
      if (!signal.aborted) this.problem = sentenceOf(error);
    }
  }
}
