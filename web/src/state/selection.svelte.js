/** @typedef {{ row: number, column: number }} Cell */

/**
 * Which cell of a matrix is being looked at. Hovering or moving with the keys selects; a click
 * locks the selection until the next click or Escape. Figures that show the same matrix share one.
 */
export class Selection {
  /** @type {Cell | null} */
  cell = $state.raw(null);
  locked = $state(false);

  /** @param {Cell | null} cell */
  hover(cell) {
    if (!this.locked) this.#set(cell);
  }

  /** @param {Cell} cell */
  toggleLock(cell) {
    const same = this.cell?.row === cell.row && this.cell?.column === cell.column;
    this.locked = !(this.locked && same);
    this.#set(cell);
  }

  /** Selects a cell by key; a lock moves along. @param {Cell} cell */
  move(cell) {
    this.#set(cell);
  }

  release() {
    this.locked = false;
    this.#set(null);
  }

  /** @param {Cell | null} cell */
  #set(cell) {
    if (this.cell?.row !== cell?.row || this.cell?.column !== cell?.column) this.cell = cell;
  }
}

/**
 * The selected cell, or null when the matrix has shrunk and no longer has it.
 * @param {Selection} selection
 * @param {number} rows
 * @param {number} columns
 */
export function cellWithin(selection, rows, columns) {
  const { cell } = selection;
  return cell && cell.row < rows && cell.column < columns ? cell : null;
}
