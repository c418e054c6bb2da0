import { cell, integer, number } from '../../state/property.js';
import { limits as encoding } from '../encoding/properties.js';

export const limits = {
  delta: { min: -100, max: 100 },
};

/** What this chapter adds to the page's settings. */
export const properties = {
  /** By how many positions the encoding is moved. */
  delta: number(5, limits.delta, (value) => Math.round(value * 2) / 2),
  /** The position whose rotation is drawn. */
  position: integer(10, { min: 0, max: encoding.length.max - 1 }),
  rotationCell: cell(encoding.length.max - 1),
};
