import { Selection as FreeSelection } from '../drawing/selection.svelte.js';
import { settings } from './settings.svelte.js';

export { cellWithin } from '../drawing/selection.svelte.js';

/** @typedef {import('../drawing/selection.svelte.js').Cell} Cell */
/** @typedef {import('../drawing/selection.svelte.js').CellSelection} CellSelection */
/** @typedef {import('./properties/index.js').Settings} Settings */

/**
 * The settings that hold the locked cell of a figure.
 * @typedef {{ [Name in keyof Settings]: Cell extends Settings[Name] ? Name : never }[keyof Settings]} CellSetting
 */

/** A selection whose locked cell can be a setting. */
export class Selection extends FreeSelection {
  #setting;

  /**
   * @param {CellSetting} [setting] the setting that stores the lock, so that links, undo and redo
   *   include it
   */
  constructor(setting) {
    super();
    this.#setting = setting;
  }

  /** @returns {Cell | null} */
  get lock() {
    return this.#setting
      ? /** @type {Cell | null} */ (/** @type {unknown} */ (settings[this.#setting]))
      : super.lock;
  }

  set lock(cell) {
    if (this.#setting) /** @type {any} */ (settings)[this.#setting] = cell;
    else super.lock = cell;
  }
}
