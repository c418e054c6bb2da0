import { untrack } from 'svelte';
import { inSlices } from './scheduler.js';

/**
 * A result that takes long to compute: a generator whose steps run in slices, so that the page stays
 * responsive. Until a new result is there, the last one stays.
 *
 * @template T
 */
export class Stepwise {
  /** @type {T | null} */
  value = $state.raw(null);
  /** That the steps of this result took. @type {number | undefined} */
  milliseconds = $state.raw();
  /** @type {AbortController | undefined} of what is being computed */
  #running;
  /** How many figures in sight show the result. */
  #followers = 0;

  /**
   * Begins anew with `steps`, dropping what was being computed. Called in an attachment of what shows
   * the result, it follows what `make` reads, and nothing is computed while all that show it are out
   * of sight.
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
    this.milliseconds = result.milliseconds;
    this.value = result.value;
  }
}
