import { settings } from './settings.svelte.js';

/** @typedef {import('./selection.svelte.js').Cell} Cell */
/** @typedef {import('./selection.svelte.js').CellSelection} CellSelection */
/** @typedef {Cell & { id: string }} LinkedCell a cell of one of several linked matrices */
/** @typedef {'blockCell' | 'stageCell' | 'bytesCell'} LinkedCellSetting */

/**
 * The selected cell of several linked matrices. The matrices share one selection: moving to another
 * matrix clears the selection in the previous matrix, and a lock applies to all of them.
 */
export class LinkedSelection {
  /** @type {LinkedCell | null} */
  #hovered = $state.raw(null);
  /** @type {LinkedCell | null} */
  #ownLock = $state.raw(null);
  #setting;
  /** @type {Record<string, CellSelection>} */
  #members = {};

  /**
   * @param {LinkedCellSetting} [setting] the setting that stores the lock, so that links, undo
   *   and redo include it
   */
  constructor(setting) {
    this.#setting = setting;
  }

  /** @returns {LinkedCell | null} */
  get at() {
    return this.#lock ?? this.#hovered;
  }

  get locked() {
    return this.#lock !== null;
  }

  /** Returns whether anything was selected. */
  release() {
    const was = this.at !== null;
    this.#hovered = null;
    if (this.#lock) this.#lock = null;
    return was;
  }

  /** The selection of one matrix. @param {string} id @returns {CellSelection} */
  of(id) {
    return (this.#members[id] ??= this.#member(id));
  }

  get #lock() {
    return this.#setting ? settings[this.#setting] : this.#ownLock;
  }

  set #lock(cell) {
    if (this.#setting) settings[this.#setting] = cell;
    else this.#ownLock = cell;
  }

  /** @param {string} id @returns {CellSelection} */
  #member(id) {
    const cell = () => (this.at?.id === id ? this.at : null);
    const locked = () => this.#lock?.id === id;
    const hover = (/** @type {Cell | null} */ to) => {
      // The pointer may enter another matrix before it leaves the current matrix.
      if (to || this.#hovered?.id === id) this.#hovered = to && { id, ...to };
    };
    return {
      get cell() {
        return cell();
      },
      get locked() {
        return locked();
      },
      hover,
      toggleLock: (to) => {
        const same = locked() && this.#lock?.row === to.row && this.#lock.column === to.column;
        hover(to);
        this.#lock = same ? null : { id, ...to };
      },
      move: (to) => {
        hover(to);
        if (this.#lock) this.#lock = { id, ...to };
      },
      release: () => this.release(),
    };
  }
}
