import { untrack } from 'svelte';
import { currentFragment, settings } from './settings.svelte.js';
import { parseSettings } from './url.js';

/** Largest number of undo steps. */
const mostSteps = 500;

/**
 * Consecutive changes of the same settings form one step if the pauses between them are shorter
 * than this, in ms.
 */
const pause = 800;

/** Names the settings that differ between two fragments. @param {string} a @param {string} b */
function changed(a, b) {
  const [from, to] = [new URLSearchParams(a), new URLSearchParams(b)];
  const names = new Set([...from.keys(), ...to.keys()]);
  return [...names].filter((name) => name !== 'v' && from.get(name) !== to.get(name)).join();
}

/** Undo and redo. Each step is the URL fragment of earlier settings. */
class SettingsHistory {
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

  /** Tracks the settings. Call it while a component is being set up. */
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
    // A change that is reverted at once is not a step.
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

export const settingsHistory = new SettingsHistory();
