import { colourPixels } from './colour.js';
import * as texts from '../texts/figures/heatmap.js';

/** @typedef {import('./colour.js').ColourScale} ColourScale */

/**
 * @typedef {object} Matrix
 * @property {Float32Array} data row-major
 * @property {number} rows
 * @property {number} columns
 * @property {number} [largest] the largest |value|, if known
 * @property {Matrix} [coarse] a smaller matrix to draw if this one has more cells than the screen
 *   can show
 */

/**
 * Views a two-dimensional tensor as a matrix. With `index`, selects one matrix of a
 * three-dimensional tensor.
 * @param {import('attn').Tensor} tensor
 * @param {number} [index]
 * @returns {Matrix}
 */
export function matrixOf({ data, shape }, index = 0) {
  const [rows, columns] = shape.slice(-2);
  const length = rows * columns;
  return { data: data.subarray(index * length, (index + 1) * length), rows, columns };
}

/** @param {Matrix} matrix @param {import('./selection.svelte.js').Cell} cell */
export function valueAt({ data, columns }, { row, column }) {
  return data[row * columns + column];
}

/** The largest finite |value|, or 0 if there is none. @param {Float32Array} data */
export function largestMagnitude(data) {
  let largest = 0;
  for (let i = 0; i < data.length; i++) {
    const magnitude = Math.abs(data[i]);
    if (magnitude > largest && magnitude < Infinity) largest = magnitude;
  }
  return largest;
}

/**
 * The smallest magnitude M such that at least this share of the values satisfies |value| ≤ M. M is
 * rounded up to a multiple of 1/1000 of the largest magnitude.
 * @param {readonly Float32Array[]} all
 * @param {number} share
 * @param {number} largest the largest |value|
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

/**
 * Largest number of rows or columns that are drawn individually. In larger matrices, each row or
 * column would take less than a pixel.
 */
export const mostDrawn = 512;

/**
 * If a matrix has more than `most` rows or columns, returns a smaller matrix to draw instead.
 * Otherwise returns undefined. Each cell of the smaller matrix contains the value with the largest
 * magnitude in a group of cells, so that a single strong weight is not lost among weak weights.
 * Infinities and NaN count as 0.
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

/** Returns a note if the picture of the matrix cannot show every cell. @param {Matrix} matrix */
export const strongestOf = ({ coarse }) => (coarse ? texts.strongest : '');

/**
 * The pixels of the current image. Allocating a new array for each drawing would soon waste
 * megabytes.
 */
let pixels = new Uint32Array();

/**
 * Returns how many pixels wide and high to draw each value. Where cells are smaller than a pixel,
 * the browser averages them. But it would also blend rows that are much taller than a pixel, so
 * such rows need several pixels per value.
 * @param {number} width width of a cell, in CSS pixels
 * @param {number} height
 * @param {number} ratio device pixels in a CSS pixel
 */
export function pixelsOfCell(width, height, ratio) {
  const isSmall = Math.min(width, height) * ratio < 1;
  const pixelsIn = (/** @type {number} */ size) =>
    isSmall && size * ratio >= 1 ? Math.ceil(2 * size) : 1;
  return { isSmall, wide: pixelsIn(width), high: pixelsIn(height) };
}

/**
 * Repeats each pixel, so that it becomes `wide` pixels wide and `high` pixels high.
 * @param {Uint32Array} from
 * @param {number} columns
 * @param {number} wide
 * @param {number} high
 */
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
 * Draws a matrix on a canvas, by default with one pixel per value. The browser scales the canvas,
 * which takes no time on the page's thread, whatever the size.
 * @param {HTMLCanvasElement} canvas
 * @param {Matrix} matrix
 * @param {ColourScale} scale
 * @param {{ wide: number, high: number }} [pixel] size of each value
 */
export function drawMatrix(canvas, matrix, scale, { wide, high } = { wide: 1, high: 1 }) {
  const { data, rows, columns } = matrix.coarse ?? matrix;
  const [width, height] = [columns * wide, rows * high];
  // Setting a size clears the canvas, even if the size is the same.
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  if (rows === 0 || columns === 0) return;
  const length = rows * columns;
  if (pixels.length < length) pixels = new Uint32Array(length);
  colourPixels(scale, data, pixels);
  const drawn =
    wide * high > 1 ? enlarged(pixels.subarray(0, length), columns, wide, high) : pixels;
  const bytes = new Uint8ClampedArray(drawn.buffer, 0, 4 * width * height);
  // The pixels are computed on the CPU. A canvas in main memory takes them without a copy to the
  // GPU.
  const context = /** @type {CanvasRenderingContext2D} */ (
    canvas.getContext('2d', { willReadFrequently: true })
  );
  context.putImageData(new ImageData(bytes, width, height), 0, 0);
}
