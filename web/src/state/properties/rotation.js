import { limits as encoding } from './encoding.js';
import { cell, integer, number } from './property.js';

export const limits = {
  delta: { min: -100, max: 100 },
};

/** The settings of the chapter on shifts as rotations. */
export const properties = {
  /** Number of positions by which the encoding is shifted. */
  delta: number(5, limits.delta, (value) => Math.round(value * 2) / 2),
  /** The position whose rotation is drawn. */
  position: integer(10, { min: 0, max: encoding.length.max - 1 }),
  rotationCell: cell(encoding.length.max - 1),
};
