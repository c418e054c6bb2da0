import { Selection } from './selection.svelte.js';
import { settings } from './settings.svelte.js';

/** @typedef {import('./selection.svelte.js').Cell} Cell */
/** @typedef {Cell & { id: string }} LinkedCell a cell of one of several matrices */

/**
 * Which cell of several linked matrices is being looked at: one for all of them, so that moving to
 * another matrix lets go of the first, and a lock holds them all.
 */
export class LinkedSelection {
  /** @type {LinkedCell | null} */
  #hovered = $state.raw(null);
  /** @type {LinkedCell | null} */
  #ownLock = $state.raw(null);
  #setting;
  /** @type {Record<string, Selection>} */
  #members = {};

  /** @param {'blockCell'} [setting] that keeps the lock, so that links, undo and redo have it too */
  constructor(setting) {
    this.#setting = setting;
  }

  /** @returns {LinkedCell | null} */
  get at() {
    return this.lock ?? this.#hovered;
  }

  get lock() {
    return this.#setting ? settings[this.#setting] : this.#ownLock;
  }

  set lock(cell) {
    if (this.#setting) settings[this.#setting] = cell;
    else this.#ownLock = cell;
  }

  /** @param {LinkedCell | null} cell */
  hover(cell) {
    this.#hovered = cell;
  }

  release() {
    this.#hovered = null;
    if (this.lock) this.lock = null;
  }

  /**
   * Lets go when Escape is pressed anywhere within an element.
   * @param {Element} element
   */
  escape = (element) => {
    const listen = (/** @type {Event} */ event) => {
      if (/** @type {KeyboardEvent} */ (event).key === 'Escape') this.release();
    };
    element.addEventListener('keydown', listen);
    return () => element.removeEventListener('keydown', listen);
  };

  /** The selection of one matrix. @param {string} id @returns {Selection} */
  of(id) {
    return (this.#members[id] ??= new Member(this, id));
  }
}

class Member extends Selection {
  #linked;
  #id;

  /** @param {LinkedSelection} linked @param {string} id */
  constructor(linked, id) {
    super();
    this.#linked = linked;
    this.#id = id;
  }

  /** @override */
  get cell() {
    return this.#linked.at?.id === this.#id ? this.#linked.at : null;
  }

  /** @override */
  get locked() {
    return this.#linked.lock !== null;
  }

  /** @override @param {Cell | null} cell */
  hover(cell) {
    // Leaving one matrix must not let go of another that was entered meanwhile.
    if (!cell && this.#linked.at?.id !== this.#id) return;
    this.#linked.hover(cell && { id: this.#id, ...cell });
  }

  /** @override @param {Cell} cell */
  toggleLock(cell) {
    const { lock } = this.#linked;
    const same = lock?.id === this.#id && lock.row === cell.row && lock.column === cell.column;
    this.hover(cell);
    this.#linked.lock = same ? null : { id: this.#id, ...cell };
  }

  /** @override @param {Cell} cell */
  move(cell) {
    this.hover(cell);
    if (this.locked) this.#linked.lock = { id: this.#id, ...cell };
  }

  /** @override A lock in another matrix stays. */
  release() {
    if (!this.#linked.lock || this.#linked.lock.id === this.#id) this.#linked.release();
  }
}
