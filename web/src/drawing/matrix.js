import { colourPixels } from './colour.js';

/** @typedef {import('./colour.js').ColourScale} ColourScale */

/**
 * @typedef {object} Matrix
 * @property {Float32Array} data row-major
 * @property {number} rows
 * @property {number} columns
 * @property {number} [largest] |value|, where that is known already
 * @property {Matrix} [coarse] drawn instead, if it has more cells than can be seen
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

/** The largest |value|, 0 for an empty matrix, NaN if there is any. @param {Float32Array} data */
export function largestMagnitude(data) {
  let largest = 0;
  for (let i = 0; i < data.length; i++) {
    const magnitude = Math.abs(data[i]);
    if (!(magnitude <= largest)) {
      if (Number.isNaN(magnitude)) return NaN;
      largest = magnitude;
    }
  }
  return largest;
}

/**
 * A |value| that at least such a share of all values do not exceed, within 1/1000 of the largest.
 * @param {readonly Float32Array[]} all
 * @param {number} share
 * @param {number} largest of them
 */
export function magnitudeOf(all, share, largest) {
  const steps = 1000;
  const counts = new Uint32Array(steps + 1);
  let total = 0;
  for (const data of all) {
    total += data.length;
    for (let i = 0; i < data.length; i++)
      counts[Math.ceil((Math.abs(data[i]) / largest) * steps)] += 1;
  }
  let step = 0;
  for (let count = counts[0]; count < share * total && step < steps; count += counts[step])
    step += 1;
  return (step / steps) * largest;
}

/** Most rows and columns that are drawn one by one: of more, each is less than a pixel. */
const mostDrawn = 512;

/**
 * A smaller matrix, to draw instead of one that has more rows or columns than that; undefined for
 * others. Each of its cells is the strongest of a group, so that a single strong one is not lost among
 * weak ones; infinities and NaN count as 0.
 * @param {Matrix} matrix
 * @param {number} [most]
 * @returns {Matrix | undefined}
 */
export function coarse({ data, rows, columns }, most = mostDrawn) {
  if (rows <= most && columns <= most) return undefined;
  const [down, across] = [Math.min(rows, most), Math.min(columns, most)];
  const largest = new Float32Array(down * across);
  for (let row = 0; row < rows; row++) {
    const first = Math.floor((row * down) / rows) * across;
    for (let column = 0; column < columns; column++) {
      const at = first + Math.floor((column * across) / columns);
      const value = data[row * columns + column];
      if (Math.abs(value) > Math.abs(largest[at]) && Number.isFinite(value)) largest[at] = value;
    }
  }
  return { data: largest, rows: down, columns: across };
}

/** What to say about a picture in which cells are lost. */
export const strongest =
  'There are more weights than pixels: each dot is the strongest of its group.';

/** The same where it is so. @param {Matrix} matrix */
export const strongestOf = ({ coarse }) => (coarse ? strongest : '');

/** Of the image that is being drawn: a new one for each drawing would soon be megabytes of waste. */
let pixels = new Uint32Array();

/**
 * How many pixels wide and high a value is drawn. The browser shrinks cells smaller than a pixel to their
 * averages, but it would also blend rows that are much higher than a pixel: those need several pixels.
 * @param {number} width of a cell, in CSS pixels
 * @param {number} height
 * @param {number} ratio device pixels in a CSS pixel
 */
export function pixelsOfCell(width, height, ratio) {
  const isSmall = Math.min(width, height) * ratio < 1;
  const pixelsIn = (/** @type {number} */ size) =>
    isSmall && size * ratio >= 1 ? Math.ceil(2 * size) : 1;
  return { isSmall, wide: pixelsIn(width), high: pixelsIn(height) };
}

/** Repeats each pixel. @param {Uint32Array} from @param {number} columns @param {number} wide @param {number} high */
function enlarged(from, columns, wide, high) {
  const width = columns * wide;
  const pixels = new Uint32Array(from.length * wide * high);
  for (let i = 0; i < from.length; i++) {
    const [row, column] = [Math.floor(i / columns), i % columns];
    const start = row * high * width + column * wide;
    for (let y = 0; y < high; y++)
      pixels.fill(from[i], start + y * width, start + y * width + wide);
  }
  return pixels;
}

/**
 * Draws each value as one pixel of a canvas that is made as large as the matrix. Enlarging it is the
 * browser's: that takes no time of the page's thread, however large it is shown.
 * @param {HTMLCanvasElement} canvas
 * @param {Matrix} matrix
 * @param {ColourScale} scale
 * @param {{ wide: number, high: number }} [pixel] how large each value is drawn
 */
export function drawMatrix(canvas, matrix, scale, { wide, high } = { wide: 1, high: 1 }) {
  const { data, rows, columns } = matrix.coarse ?? matrix;
  const [width, height] = [columns * wide, rows * high];
  // Setting a size, even to the same, makes the canvas anew.
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  if (rows === 0 || columns === 0) return;
  const length = rows * columns;
  if (pixels.length < length) pixels = new Uint32Array(length);
  colourPixels(scale, data, pixels);
  const drawn =
    wide * high > 1 ? enlarged(pixels.subarray(0, length), columns, wide, high) : pixels;
  const bytes = new Uint8ClampedArray(drawn.buffer, 0, 4 * width * height);
  // The pixels are made here: a canvas in the processor's memory takes them without a detour.
  const context = /** @type {CanvasRenderingContext2D} */ (
    canvas.getContext('2d', { willReadFrequently: true })
  );
  context.putImageData(new ImageData(bytes, width, height), 0, 0);
}
