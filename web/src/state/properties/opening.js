import { cell, integer } from './property.js';

/** Number of steps in the walk that follows one word. */
const walkSteps = 8;

/** The settings of the opening picture. */
export const properties = {
  /** The locked cell: its token, and its column of the encoding. */
  sentenceCell: cell(4096),
  /**
   * The step of the walk, counted from 1, or 0 outside the walk; and the token that the walk
   * follows, or −1 for a suggested token.
   */
  walk: integer(0, { min: 0, max: walkSteps }),
  walkWord: integer(-1, { min: -1, max: 4095 }),
};
