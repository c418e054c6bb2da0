/** @typedef {{ row: number, column: number }} Cell */

/**
 * The part of a selection that a heatmap needs.
 * @typedef {Pick<Selection, 'cell' | 'locked' | 'hover' | 'toggleLock' | 'move' | 'release'>}
 *   CellSelection
 */

/**
 * The locked cell of a selection. `lockIn()` of the page's state stores it in a setting instead.
 * @template {Cell} C
 */
export class Lock {
  /** @type {C | null} */
  cell = $state.raw(null);
}

/**
 * The selected cell of a matrix. Hovering or moving with the keys selects a cell. A click locks a
 * cell, until Escape or a second click on the cell releases it. Figures that show the same matrix
 * share one selection.
 */
export class Selection {
  /** @type {Cell | null} */
  #hovered = $state.raw(null);
  #lock;

  /** @param {Lock<Cell>} [lock] */
  constructor(lock = new Lock()) {
    this.#lock = lock;
  }

  get cell() {
    return this.#lock.cell ?? this.#hovered;
  }

  get locked() {
    return this.#lock.cell !== null;
  }

  /** @param {Cell | null} cell */
  hover(cell) {
    if (!same(this.#hovered, cell)) this.#hovered = cell;
  }

  /** @param {Cell} cell */
  toggleLock(cell) {
    this.#hovered = cell;
    this.#lock.cell = same(this.#lock.cell, cell) ? null : cell;
  }

  /**
   * Selects a cell with the keyboard. If the selection is locked, the lock moves with it.
   * @param {Cell} cell
   */
  move(cell) {
    this.hover(cell);
    if (this.locked) this.#lock.cell = cell;
  }

  /** Returns whether anything was selected. */
  release() {
    const was = this.cell !== null;
    this.#hovered = null;
    if (this.locked) this.#lock.cell = null;
    return was;
  }
}

/** @param {Cell | null} a @param {Cell | null} b */
const same = (a, b) => a?.row === b?.row && a?.column === b?.column;

/**
 * Selects the cell under the pointer. After a touch, the cell stays selected. A click locks it.
 * @param {Pick<CellSelection, 'hover' | 'toggleLock'>} selection
 * @param {Cell | null} cell null if there is none, or if the pointer leaves
 * @param {MouseEvent} event
 */
export function pointAt(selection, cell, event) {
  if (event.type !== 'click') {
    const { pointerType } = /** @type {PointerEvent} */ (event);
    if (cell || pointerType === 'mouse') selection.hover(cell);
  } else if (cell) selection.toggleLock(cell);
}

/**
 * Event listeners that select the cell under the pointer.
 * @param {Pick<CellSelection, 'hover' | 'toggleLock'>} selection
 * @param {(event: MouseEvent) => Cell | null} cellAt
 */
export function pointing(selection, cellAt) {
  const listen = (/** @type {MouseEvent} */ event) =>
    pointAt(selection, event.type === 'pointerleave' ? null : cellAt(event), event);
  return { onpointermove: listen, onpointerdown: listen, onpointerleave: listen, onclick: listen };
}

/**
 * The selected cell, or null if the matrix has shrunk and no longer contains it.
 * @param {CellSelection} selection
 * @param {number} rows
 * @param {number} columns
 */
export function cellWithin(selection, rows, columns) {
  const { cell } = selection;
  return cell && cell.row < rows && cell.column < columns ? cell : null;
}
