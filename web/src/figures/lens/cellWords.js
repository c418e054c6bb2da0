import { colourIndex, labOf } from '../../drawing/colour.js';

/** Width of a character of the words in cells, in CSS pixels. */
const characterWidth = 6.6;

/**
 * Number of characters that fit into a cell.
 * @param {number} width width of the cell, in CSS pixels
 */
export const charactersIn = (width) => Math.max(2, Math.floor((width - 8) / characterWidth));

/**
 * True if light text on the colour of a value is easier to read than dark text.
 * @param {import('../../drawing/colour.js').ColourScale} scale
 * @param {number} value
 */
export function needsLight(scale, value) {
  const [red, green, blue] = scale.map.bytes.subarray(3 * colourIndex(scale, value));
  const hex = [red, green, blue].map((part) => part.toString(16).padStart(2, '0')).join('');
  return labOf(`#${hex}`).l < 50;
}
