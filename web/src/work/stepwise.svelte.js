import { untrack } from 'svelte';
import { inSlices } from './inSlices.js';

/**
 * A result that takes a long time to compute. The steps of a generator run in slices, so that the
 * page stays responsive. The previous result stays until the new result is complete.
 * @template T
 */
export class Stepwise {
  /** @type {T | null} */
  value = $state.raw(null);
  /** @type {AbortController | undefined} controller of the current computation */
  #running;
  /** Number of visible figures that show the result. */
  #followers = 0;

  /**
   * Starts a new computation with `make` and aborts the current one. Call `follow` in an attachment
   * of each element that shows the result. The computation then restarts when state that `make`
   * reads changes, and nothing is computed while no such element is visible.
   * @param {() => Generator<unknown, T>} make
   */
  follow(make) {
    const steps = make();
    this.#followers++;
    untrack(() => void this.#run(steps));
    return () => {
      if (--this.#followers === 0) this.#running?.abort();
    };
  }

  /** @param {Generator<unknown, T>} steps */
  async #run(steps) {
    this.#running?.abort();
    const { signal } = (this.#running = new AbortController());
    const result = await inSlices(steps, signal);
    if (!result || signal.aborted) return;
    this.value = result.value;
  }
}
