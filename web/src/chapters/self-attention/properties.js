import { cell, choice, flag, linkedCell, number } from '../../state/property.js';

/** What heads are measured by. @type {readonly import('../../model/wall/patterns.js').Pattern[]} */
export const patterns = ['previousToken', 'firstToken', 'sameToken', 'induction', 'place'];

/** By how much a weight can be changed. */
export const editLimits = { min: -3, max: 3, step: 0.05 };

/** What this chapter adds to the page's settings. */
export const properties = {
  /** Whether the encoding is drawn on a scale of its own, beside the embeddings. */
  ownScale: flag(false),
  /** Locked cells: token and column of the input, query and key of the weights. */
  inputCell: cell(4096),
  weightCell: cell(4096),
  /** By what the wall of all heads is sorted. */
  wallOrder: choice(
    /** @type {'layer' | import('../../model/wall/patterns.js').Pattern} */ ('layer'),
    ['layer', ...patterns],
  ),
  /** The locked cell of one of the layer's stages. */
  stageCell: linkedCell(4096),
  /** The weight of the layer that is changed: projection, row and column, and by how much. */
  editMatrix: choice(/** @type {'q' | 'k' | 'v' | 'o'} */ ('q'), ['q', 'k', 'v', 'o']),
  editCell: cell(255),
  editBy: number(1, editLimits),
  /** What scores are divided by, to see what comes of it. */
  scaleBy: choice(/** @type {'root' | 'none' | 'width'} */ ('root'), ['root', 'none', 'width']),
};
