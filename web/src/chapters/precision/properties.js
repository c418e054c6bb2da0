import { cell, choice, linkedCell } from '../../state/property.js';
import { limits } from '../encoding/properties.js';

/** What this chapter adds to the page's settings. */
export const properties = {
  /** The locked cell of the error: which of the positions, and the column. */
  precisionCell: cell(limits.width.max - 1),
  /** What is stored in fewer bytes, and the locked cell of it or of what it gives. */
  bytesOf: choice(/** @type {'positions' | 'sentence'} */ ('positions'), ['positions', 'sentence']),
  bytesCell: linkedCell(limits.length.max - 1),
};
