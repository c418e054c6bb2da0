// Formats tensors as text, like PyTorch and like operator<< in C++.

import { inspected, kInspect } from './print.js';

/**
 * Tensors with more than `kMostPrinted` elements are shortened to `kPrintedEnds` entries at each
 * end of a dimension.
 */
const kMostPrinted = 1000;
const kPrintedEnds = 3;

/**
 * Formats each row on its own line, in columns of equal width.
 * @param {ArrayLike<number>} data  row-major
 * @param {readonly number[]} shape
 * @returns {string}
 */
export function printTensor(data, shape) {
  if (shape.includes(0)) return `[] of shape (${shape.join(', ')})`;
  const isAbridged = data.length > kMostPrinted;
  /** @param {number} size @returns {number[]} the indices to show; −1 marks the omitted ones */
  const shownOf = (size) => {
    const all = [...Array(isAbridged ? Math.min(size, 2 * kPrintedEnds) : size).keys()];
    if (all.length === size) return all;
    return all.flatMap((i) =>
      i < kPrintedEnds ? i : [...(i > kPrintedEnds ? [] : [-1]), size - 2 * kPrintedEnds + i],
    );
  };
  /** @type {number[]} */
  const shown = [];
  /** @param {number} dimension @param {number} at @param {(index: number) => void} visit */
  const visitShown = (dimension, at, visit) => {
    if (dimension === shape.length) return visit(at);
    for (const i of shownOf(shape[dimension])) {
      if (i >= 0) visitShown(dimension + 1, at * shape[dimension] + i, visit);
    }
  };
  visitShown(0, 0, (index) => shown.push(data[index]));
  const toText = formatOf(shown);
  const width = Math.max(...shown.map((value) => toText(value).length));

  /** @param {number} dimension @param {number} at @returns {string} */
  const print = (dimension, at) => {
    if (dimension === shape.length) return toText(data[at]).padStart(width);
    const parts = shownOf(shape[dimension]).map((i) =>
      i < 0 ? '...' : print(dimension + 1, at * shape[dimension] + i),
    );
    const inner = shape.length - 1 - dimension;
    const separator = inner === 0 ? ', ' : `,${'\n'.repeat(inner)}${' '.repeat(dimension + 1)}`;
    return `[${parts.join(separator)}]`;
  };
  return print(0, 0);
}

/**
 * Chooses the format for numbers by their magnitudes, with PyTorch's limits.
 * @param {number[]} values
 * @returns {(value: number) => string}
 */
function formatOf(values) {
  const magnitudes = values.map(Math.abs).filter((value) => value > 0 && value < Infinity);
  const largest = Math.max(0, ...magnitudes);
  const smallest = Math.min(Infinity, ...magnitudes);
  const isWide = largest > 1e8 || largest / smallest > 1000 || smallest < 1e-4;
  const areWhole = magnitudes.every(Number.isInteger);
  const withExponent = (/** @type {number} */ value) =>
    value.toExponential(4).replace(/e([+-])(\d)$/, 'e$10$2');
  return (value) => {
    if (Number.isNaN(value)) return 'nan';
    if (!Number.isFinite(value)) return value < 0 ? '-inf' : 'inf';
    if (areWhole) return largest > 1e8 ? withExponent(value) : `${value.toFixed(0)}.`;
    return isWide ? withExponent(value) : value.toFixed(4);
  };
}

/**
 * Makes the tensors of a class print row by row, after their class and shape. Tensors without values, such as disposed
 * handles, print the result of toJSON().
 * @param {{ toJSON(): { type: string }, toString(): string, readonly shape: readonly number[] }} prototype
 */
export function printsByRows(prototype) {
  /** @this {typeof prototype} @param {number} depth @param {object} options @param {any} inspect */
  const value = function (depth, options, inspect) {
    const { type } = this.toJSON();
    const rows = this.toString();
    if (rows === type) return inspected.call(this, depth, options, inspect);
    return `${type} (${this.shape.join(', ')})\n${rows}`;
  };
  Object.defineProperty(prototype, kInspect, { value });
}
