import { limits } from './encoding.js';
import { cell, choice, linkedCell } from './property.js';

/** The settings of the chapter on precision. */
export const properties = {
  /** The locked cell of the error figure. Its row is an index into the figure's positions. */
  precisionCell: cell(limits.width.max - 1),
  /** The data that the figure on bytes stores in smaller types. */
  bytesOf: choice(/** @type {'positions' | 'sentence'} */ ('positions'), ['positions', 'sentence']),
  /** The locked cell of the figure on bytes. The cell is in the data or in a result. */
  bytesCell: linkedCell(limits.length.max - 1),
};
