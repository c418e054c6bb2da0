import { cell } from '../../state/property.js';

/** What the opening picture adds to the page's settings. */
export const properties = {
  /** The locked cell: column of the encoding, and token. */
  sentenceCell: cell(4096),
};
