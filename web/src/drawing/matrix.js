import { colourIndex } from './colour.js';

/** @typedef {import('./colour.js').ColourScale} ColourScale */

/**
 * @typedef {object} Matrix
 * @property {Float32Array} data row-major
 * @property {number} rows
 * @property {number} columns
 */

/**
 * A two-dimensional tensor as a matrix; with `index`, that matrix of a three-dimensional one.
 * @param {import('attn').Tensor} tensor
 * @param {number} [index]
 * @returns {Matrix}
 */
export function matrixOf({ data, shape }, index = 0) {
  const [rows, columns] = shape.slice(-2);
  const length = rows * columns;
  return { data: data.subarray(index * length, (index + 1) * length), rows, columns };
}

/** @param {Matrix} matrix @param {import('../state/selection.svelte.js').Cell} cell */
export function valueAt({ data, columns }, { row, column }) {
  return data[row * columns + column];
}

/** The largest |value|, or 0 for an empty matrix. @param {Float32Array} data */
export function largestMagnitude(data) {
  let largest = 0;
  for (const value of data) largest = Math.max(largest, Math.abs(value));
  return largest;
}

/** @type {WeakMap<import('./colour.js').ColourMap, Uint32Array>} */
const packed = new WeakMap();

/** Each entry of a map as the four bytes of a pixel. @param {import('./colour.js').ColourMap} map */
function packedColours(map) {
  let colours = packed.get(map);
  if (!colours) {
    const bytes = new Uint8Array((4 * map.bytes.length) / 3).fill(255);
    for (let i = 0; i < map.bytes.length / 3; i++) {
      bytes.set(map.bytes.subarray(3 * i, 3 * i + 3), 4 * i);
    }
    packed.set(map, (colours = new Uint32Array(bytes.buffer)));
  }
  return colours;
}

/** From this size in device pixels, cells are kept apart by a gap. */
const gapFrom = 9;

/**
 * Draws one coloured cell per value, filling the canvas. Large cells are drawn one by one, with a
 * gap; small ones as an image, which stays fast for any number of them.
 * @param {CanvasRenderingContext2D} context
 * @param {Matrix} matrix
 * @param {ColourScale} scale
 * @param {boolean} gaps
 */
export function drawMatrix(context, { data, rows, columns }, scale, gaps) {
  const { width, height } = context.canvas;
  context.clearRect(0, 0, width, height);
  if (rows === 0 || columns === 0) return;
  const [cellWidth, cellHeight] = [width / columns, height / rows];

  if (gaps && Math.min(cellWidth, cellHeight) >= gapFrom) {
    const gap = Math.max(1, Math.round(Math.min(cellWidth, cellHeight) / 20));
    for (let row = 0; row < rows; row++) {
      const top = Math.round(row * cellHeight);
      const bottom = Math.round((row + 1) * cellHeight) - (row < rows - 1 ? gap : 0);
      for (let column = 0; column < columns; column++) {
        const left = Math.round(column * cellWidth);
        const right = Math.round((column + 1) * cellWidth) - (column < columns - 1 ? gap : 0);
        context.fillStyle = scale.map.css[colourIndex(scale, data[row * columns + column])];
        context.fillRect(left, top, right - left, bottom - top);
      }
    }
    return;
  }

  const image = new ImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer);
  const colours = packedColours(scale.map);
  for (let i = 0; i < data.length; i++) pixels[i] = colours[colourIndex(scale, data[i])];
  const cells = new OffscreenCanvas(columns, rows);
  /** @type {OffscreenCanvasRenderingContext2D} */ (cells.getContext('2d')).putImageData(
    image,
    0,
    0,
  );
  // Nearest neighbour when enlarging; where cells are smaller than a pixel, an average says more.
  context.imageSmoothingEnabled = cellWidth < 1 || cellHeight < 1;
  context.drawImage(cells, 0, 0, width, height);
}
