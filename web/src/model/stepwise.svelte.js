import { untrack } from 'svelte';

/** Longest that one slice of work may hold up the page, in ms. */
const slice = 8;

/**
 * A result that takes long to compute: a generator whose steps are taken in slices, with the page
 * alive between them. Until a new result is there, the last one stays.
 *
 * @template T
 */
export class Stepwise {
  /** @type {T | null} */
  value = $state.raw(null);
  /** That the steps of this result took. @type {number | undefined} */
  milliseconds = $state.raw();
  /** @type {Generator<unknown, T> | null} */
  #running = null;
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
      if (--this.#followers === 0) this.#running = null;
    };
  }

  /** @param {Generator<unknown, T>} steps */
  async #run(steps) {
    this.#running = steps;
    let milliseconds = 0;
    while (this.#running === steps) {
      const start = performance.now();
      let now;
      do {
        const { done, value } = steps.next();
        now = performance.now();
        if (done) {
          this.milliseconds = milliseconds + now - start;
          this.value = value;
          this.#running = null;
          return;
        }
      } while (now - start < slice);
      milliseconds += now - start;
      await new Promise((resolve) => setTimeout(resolve));
    }
  }
}
