import { Selection } from '../../state/selection.svelte.js';
import { settings } from '../../state/settings.svelte.js';

/** @typedef {import('./stages.js').StageId} StageId */
/** @typedef {import('../../state/selection.svelte.js').Cell} Cell */

/** One cell of several matrices that is looked at: which of them, and where in it. */
export class StageSelection {
  #cells = new Selection('stageCell');
  /** @type {StageId | null} */
  #hovered = $state(null);

  get stage() {
    return this.#cells.locked ? settings.stage : this.#hovered;
  }

  get cell() {
    return this.stage ? this.#cells.cell : null;
  }

  get locked() {
    return this.#cells.locked;
  }

  release() {
    this.#hovered = null;
    this.#cells.release();
  }

  /**
   * The selection as one matrix sees it.
   * @param {StageId} id
   */
  of(id) {
    const here = () => this.stage === id;
    const cells = this.#cells;
    return {
      get cell() {
        return here() ? cells.cell : null;
      },
      get locked() {
        return here() && cells.locked;
      },
      hover: (/** @type {Cell | null} */ cell) => {
        if (cells.locked) return;
        if (cell) this.#hovered = id;
        else if (this.#hovered === id) this.#hovered = null;
        cells.hover(cell);
      },
      toggleLock: (/** @type {Cell} */ cell) => {
        if (cells.locked && !here()) cells.release();
        this.#hovered = id;
        settings.stage = id;
        cells.toggleLock(cell);
      },
      move: (/** @type {Cell} */ cell) => {
        this.#hovered = id;
        if (cells.locked) settings.stage = id;
        cells.move(cell);
      },
      release: () => this.release(),
    };
  }
}
