import { untrack } from 'svelte';
import { reasonOf } from '../../work/errors.js';
import { wallTask } from '../../work/tasks/wall.js';

/** @typedef {import('./wall.js').Layer} Layer */
/** @typedef {import('./wall.js').Sentence} Sentence */

/**
 * @typedef {{ sentences: Sentence[], layers: (Layer | undefined)[] }} Found
 *   sentences: one for each part of the model; layers: the layers of all parts
 */

/**
 * Every head of every layer of the model that is shown. The results of a sentence stay until the
 * results of the next sentence are complete. The first results appear layer by layer.
 */
export class Wall {
  /** @type {Found | null} */
  found = $state.raw(null);
  busy = $state(false);
  problem = $state('');
  /** Id of the model to which the results belong. */
  #model = -1;
  /** @type {AbortController | undefined} */
  #running;

  #work;
  /** Everything the result depends on, as a string. */
  #key = $derived.by(() => JSON.stringify(this.#work.given(wallTask)));
  /** The `#key` of the last complete result. */
  #done = '';

  /** @param {import('../../work/work.svelte.js').Work} work */
  constructor(work) {
    this.#work = work;
  }

  /** The page's current settings. */
  get live() {
    return this.#work.live;
  }

  /**
   * An attachment for the element that shows the wall. Nothing is computed while the element is out
   * of sight.
   */
  follow = () => {
    const key = this.#key;
    if (key !== this.#done) untrack(() => void this.#compute(key));
    return () => this.#running?.abort();
  };

  /** @param {string} key */
  async #compute(key) {
    const given = JSON.parse(key);
    const { signal } = (this.#running = new AbortController());
    if (given.own !== this.#model) this.found = null;
    this.#model = given.own;
    const comes = this.found === null;
    this.busy = true;
    this.problem = '';
    /** @type {Found | null} */
    let next = null;
    try {
      await this.#work.run(wallTask, given, {
        signal,
        onProgress: (/** @type {import('./wall.js').Progress} */ progress) => {
          if (!progress || signal.aborted) return;
          if ('sentences' in progress) {
            const { sentences } = progress;
            const layers = sentences.flatMap(({ numLayers }) =>
              Array.from({ length: numLayers }, () => undefined),
            );
            next = { sentences, layers };
          } else if (next) {
            next = { ...next, layers: next.layers.with(progress.layer, progress.found) };
          }
          if (comes) this.found = next;
        },
      });
      if (signal.aborted) return;
      [this.found, this.#done] = [next, key];
    } catch (error) {
      if (signal.aborted) return;
      this.problem = reasonOf(error);
    }
    this.busy = false;
  }
}
