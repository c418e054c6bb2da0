import { indexer } from './colour.js';

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
  for (let i = 0; i < data.length; i++) {
    const magnitude = Math.abs(data[i]);
    if (magnitude > largest || Number.isNaN(magnitude)) largest = magnitude;
  }
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

/** @type {OffscreenCanvasRenderingContext2D | null} */
let scratch = null;

/**
 * A canvas of at least this size, where images are put before they are enlarged: making one each
 * time takes longer than drawing.
 * @param {number} width
 * @param {number} height
 */
function scratchOf(width, height) {
  scratch ??= new OffscreenCanvas(width, height).getContext('2d');
  const context = /** @type {OffscreenCanvasRenderingContext2D} */ (scratch);
  if (context.canvas.width < width) context.canvas.width = width;
  if (context.canvas.height < height) context.canvas.height = height;
  return context;
}

/** From this size in device pixels, cells are kept apart by a gap. */
const gapFrom = 9;

/**
 * Draws one coloured cell per value, filling the canvas: as an image, which stays fast for any number
 * of them, in which gaps between large cells are cleared.
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
  const index = indexer(scale);

  const image = new ImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer);
  const colours = packedColours(scale.map);
  for (let i = 0; i < data.length; i++) pixels[i] = colours[index(data[i])];
  const cells = scratchOf(columns, rows);
  cells.putImageData(image, 0, 0);
  // Nearest neighbour when enlarging; where cells are smaller than a pixel, an average says more.
  context.imageSmoothingEnabled = cellWidth < 1 || cellHeight < 1;
  context.drawImage(cells.canvas, 0, 0, columns, rows, 0, 0, width, height);

  if (gaps && Math.min(cellWidth, cellHeight) >= gapFrom) {
    const gap = Math.max(1, Math.round(Math.min(cellWidth, cellHeight) / 20));
    for (let row = 1; row < rows; row++) {
      context.clearRect(0, Math.round(row * cellHeight) - gap, width, gap);
    }
    for (let column = 1; column < columns; column++) {
      context.clearRect(Math.round(column * cellWidth) - gap, 0, gap, height);
    }
  }
}
