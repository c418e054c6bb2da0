import { cell } from '../../state/property.js';
import { limits } from '../encoding/properties.js';

/** What this chapter adds to the page's settings. */
export const properties = {
  /** The locked cell of the error: which of the positions, and the column. */
  precisionCell: cell(limits.width.max - 1),
};
