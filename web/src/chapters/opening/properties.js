import { cell, integer } from '../../state/property.js';

/** Steps of the walk that follows one word. */
export const walkSteps = 8;

/** What the opening picture adds to the page's settings. */
export const properties = {
  /** The locked cell: column of the encoding, and token. */
  sentenceCell: cell(4096),
  /** The step of the walk, from 1; 0 while nobody walks. The token that is followed; −1: a telling one. */
  walk: integer(0, { min: 0, max: walkSteps }),
  walkWord: integer(-1, { min: -1, max: 4095 }),
};
