import { limits } from './encoding.js';
import { cell, choice, linkedCell } from './property.js';

/** The settings of the chapter on precision. */
export const properties = {
  /** The locked cell of the error: index of the position and column. */
  precisionCell: cell(limits.width.max - 1),
  /** The data to store in fewer bytes, and the locked cell of the data or of a result. */
  bytesOf: choice(/** @type {'positions' | 'sentence'} */ ('positions'), ['positions', 'sentence']),
  bytesCell: linkedCell(limits.length.max - 1),
};
