import { integer, integers } from '../../state/property.js';

/** Most curves drawn side by side. */
export const maxColumns = 8;

export const limits = {
  length: { min: 1, max: 200 },
  width: { min: 1, max: 128 },
};

/** What this chapter adds to the page's settings. */
export const properties = {
  /** Positions and columns of the encoding. */
  length: integer(60, limits.length),
  width: integer(32, limits.width),
  /** Columns drawn as curves. */
  columns: integers([6, 7, 8, 9], { min: 0, max: limits.width.max - 1 }, maxColumns),
};
