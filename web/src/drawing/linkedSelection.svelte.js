import { Lock } from './selection.svelte.js';

/** @typedef {import('./selection.svelte.js').Cell} Cell */
/** @typedef {import('./selection.svelte.js').CellSelection} CellSelection */
/** @typedef {Cell & { id: string }} LinkedCell a cell of one of several linked matrices */

/**
 * The selected cell of several linked matrices. The matrices share one selection: moving to another
 * matrix clears the selection in the previous matrix, and a lock applies to all of them.
 */
export class LinkedSelection {
  /** @type {LinkedCell | null} */
  #hovered = $state.raw(null);
  #lock;
  /** @type {Record<string, CellSelection>} */
  #members = {};

  /** @param {Lock<LinkedCell>} [lock] */
  constructor(lock = new Lock()) {
    this.#lock = lock;
  }

  /** @returns {LinkedCell | null} */
  get at() {
    return this.#lock.cell ?? this.#hovered;
  }

  get locked() {
    return this.#lock.cell !== null;
  }

  /** Returns whether anything was selected. */
  release() {
    const was = this.at !== null;
    this.#hovered = null;
    if (this.#lock.cell) this.#lock.cell = null;
    return was;
  }

  /** The selection of one matrix. @param {string} id @returns {CellSelection} */
  of(id) {
    return (this.#members[id] ??= this.#member(id));
  }

  /** @param {string} id @returns {CellSelection} */
  #member(id) {
    const cell = () => (this.at?.id === id ? this.at : null);
    const locked = () => this.#lock.cell?.id === id;
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
        const same =
          locked() && this.#lock.cell?.row === to.row && this.#lock.cell.column === to.column;
        hover(to);
        this.#lock.cell = same ? null : { id, ...to };
      },
      move: (to) => {
        hover(to);
        if (this.#lock.cell) this.#lock.cell = { id, ...to };
      },
      release: () => this.release(),
    };
  }
}
