import { cell } from '../../state/property.js';

/** What this chapter adds to the page's settings. */
export const properties = {
  /** Locked cells: token and column of the input, query and key of the weights. */
  inputCell: cell(4096),
  weightCell: cell(4096),
};
