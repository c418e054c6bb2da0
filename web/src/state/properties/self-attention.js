import { cell, choice, flag, linkedCell, number } from './property.js';

/** The measures of heads. @type {readonly import('../../models/wall/patterns.js').Pattern[]} */
export const patterns = ['previousToken', 'firstToken', 'sameToken', 'induction', 'place'];

/** Range of the change that the reader can make to a weight. */
export const editLimits = { min: -3, max: 3, step: 0.05 };

/** The settings of the chapter on self-attention. */
export const properties = {
  /** True if the encoding has a separate colour scale from the embeddings. */
  ownScale: flag(false),
  /** Locked cells: token and column of the input; query and key of the weights. */
  inputCell: cell(4096),
  weightCell: cell(4096),
  /** Order of the heads on the wall, the figure with a small picture of every head. */
  wallOrder: choice(
    /** @type {'layer' | 'effect' | import('../../models/wall/patterns.js').Pattern} */ ('layer'),
    ['layer', ...patterns, 'effect'],
  ),
  /** The locked cell of one of the layer's stages. */
  stageCell: linkedCell(4096),
  /** The edited weight of the layer: projection, row and column, and the change. */
  editMatrix: choice(/** @type {'q' | 'k' | 'v' | 'o'} */ ('q'), ['q', 'k', 'v', 'o']),
  editCell: cell(255),
  editBy: number(1, editLimits),
  /** Divisor of the scores. Readers can compare the effects of several divisors. */
  scaleBy: choice(/** @type {'root' | 'none' | 'width'} */ ('root'), ['root', 'none', 'width']),
};
