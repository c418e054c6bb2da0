import { untrack } from 'svelte';
import { formatSettings, parseSettings } from './url.js';
import { currentFragment, settings } from './settings.svelte.js';

/** Most steps that can be undone. */
const mostSteps = 500;

/** Changes of the same settings with pauses shorter than this, in ms, are one step. */
const pause = 800;

/** @param {string} a @param {string} b two fragments; the names of the settings that differ */
function changed(a, b) {
  const [from, to] = [new URLSearchParams(a), new URLSearchParams(b)];
  const names = new Set([...from.keys(), ...to.keys()]);
  return [...names].filter((name) => name !== 'v' && from.get(name) !== to.get(name)).join();
}

/** Undo and redo, by the URL fragments of earlier settings. */
class History {
  /** @type {string[]} */
  #steps = $state.raw([]);
  #at = $state(0);
  #last = { names: '', time: -Infinity };

  get canUndo() {
    return this.#at > 0;
  }

  get canRedo() {
    return this.#at < this.#steps.length - 1;
  }

  /** Follows the settings. To be called while a component is being set up. */
  follow() {
    $effect(() => {
      const fragment = currentFragment();
      untrack(() => this.#record(fragment));
    });
  }

  undo() {
    this.#go(this.#at - 1);
  }

  redo() {
    this.#go(this.#at + 1);
  }

  /** As if the page had begun with these. @param {Partial<import('./properties.js').Settings>} changes */
  amend(changes) {
    this.#steps = this.#steps.map((step) => formatSettings({ ...parseSettings(step), ...changes }));
  }

  /** @param {string} fragment */
  #record(fragment) {
    const current = this.#steps[this.#at];
    if (fragment === current) return;
    if (current === undefined) {
      this.#steps = [fragment];
      return;
    }
    const [names, time] = [changed(current, fragment), performance.now()];
    const continued = names === this.#last.names && time - this.#last.time < pause && this.#at > 0;
    const kept = this.#steps.slice(0, continued ? this.#at : this.#at + 1);
    // A change that is put back at once is not a step.
    const steps = kept.at(-1) === fragment ? kept : [...kept, fragment];
    this.#steps = steps.slice(-mostSteps);
    this.#at = this.#steps.length - 1;
    this.#last = { names, time };
  }

  /** @param {number} step */
  #go(step) {
    if (step < 0 || step >= this.#steps.length) return;
    this.#at = step;
    this.#last.time = -Infinity;
    Object.assign(settings, parseSettings(this.#steps[step]));
  }
}

export const history = new History();
