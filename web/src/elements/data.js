// Turns the properties of each element into what its drawing needs. Throws an error if they do not
// match.

import { noMasks } from '../core/exclusion.js';
import { coarse } from '../drawing/matrix.js';
import {
  mismatch,
  readChoice,
  readInteger,
  readNames,
  readNumbers,
  readTensor,
  wrong,
} from './read.js';

/** @typedef {import('../drawing/matrix.js').Matrix} Matrix */
/** @typedef {Record<string, any>} Properties */

/** Largest number of rows or columns. The drawings of longer tensors would take seconds. */
const most = 4096;

/**
 * Adds a smaller matrix to draw if there are more cells than pixels. Also draws infinities and NaN
 * as 0, because they have no colour.
 * @param {Float32Array} data
 * @param {number} rows
 * @param {number} columns
 * @returns {Matrix}
 */
function matrixFor(data, rows, columns) {
  const matrix = { data, rows, columns };
  const small = coarse(matrix);
  if (small) return { ...matrix, coarse: small };
  if (data.every(Number.isFinite)) return matrix;
  // A drawing shows `coarse` in place of the matrix.
  return { ...matrix, coarse: { ...matrix, data: data.map((x) => (Number.isFinite(x) ? x : 0)) } };
}

/**
 * The first columns of a matrix whose rows and columns are not too many to draw.
 * @param {string} name
 * @param {number[]} shape
 */
function checkSize(name, shape) {
  const size = Math.max(...shape.slice(-2));
  if (size > most) throw mismatch(name, `got ${size} rows or columns, needs at most ${most}`);
}

/** Positions 0, 1, … as names. @param {number} length */
const counting = (length) => Array.from({ length }, (_, i) => String(i));

/**
 * Shape of weights that are a typed array without a given shape. The numbers of tokens determine
 * the shape. Without tokens, the weights are one square matrix.
 * @param {Properties} given
 */
function shapeOfWeights({ weights, shape, tokens, keyTokens }) {
  if (shape) return readNumbers('shape', shape);
  const { length } = weights;
  const rows = tokens?.length || Math.round(Math.sqrt(length));
  const columns = keyTokens?.length || rows;
  return length > 0 && length % (rows * columns) === 0
    ? [length / (rows * columns), rows, columns]
    : null;
}

const kWeightRanks = {
  2: '(queries, keys)',
  3: '(heads, queries, keys)',
  4: '(1, heads, queries, keys)',
};

/** @param {Properties} given */
function readWeights(given) {
  const { data, shape } = readTensor('weights', given.weights, kWeightRanks, shapeOfWeights(given));
  checkSize('weights', shape);
  if (shape.length === 4 && shape[0] !== 1) {
    throw mismatch(
      'weights',
      `got a batch of ${shape[0]}, needs one; pass the weights of one sequence`,
    );
  }
  const [heads, rows, columns] = shape.length === 2 ? [1, ...shape] : shape.slice(-3);
  const negative = data.findIndex((weight) => weight < 0);
  if (negative >= 0) {
    const at = `head ${Math.floor(negative / (rows * columns))}, query ${Math.floor(negative / columns) % rows}, key ${negative % columns}`;
    throw wrong(
      'weights',
      `got ${data[negative]} at ${at}, needs no negative numbers; draw scores with <attn-heatmap>`,
    );
  }
  const other = data.findIndex((weight) => !Number.isFinite(weight));
  if (other >= 0)
    throw wrong('weights', `got ${data[other]} at index ${other}, needs finite numbers`);
  const head = readInteger('head', given.head, 0, heads - 1);
  return { weights: { data, shape: [heads, rows, columns] }, rows, columns, head };
}

/** @param {Properties} given */
export function weightsOf(given) {
  const { weights, rows, columns, head } = readWeights(given);
  const tokens = readNames('tokens', given.tokens, rows, 'queries');
  const keyTokens = readNames('keyTokens', given.keyTokens, columns, 'keys');
  if (tokens && !keyTokens && rows !== columns) {
    throw mismatch(
      'keyTokens',
      `got none, needs ${columns} strings, because there are ${rows} queries and ${columns} keys`,
    );
  }
  const size = rows * columns;
  return {
    weights,
    head,
    queries: tokens ?? counting(rows),
    keys: keyTokens ?? tokens ?? counting(columns),
    matrix: matrixFor(weights.data.subarray(head * size, (head + 1) * size), rows, columns),
    masks: masksOf(given, rows, columns),
  };
}

/**
 * @param {Properties} given
 * @param {number} rows
 * @param {number} columns
 */
function masksOf({ causal, window, validLen }, rows, columns) {
  const masks = {
    ...noMasks,
    causal: Boolean(causal),
    window: window === null ? 0 : readInteger('window', window, 0, most),
    validLen: validLen === null ? 0 : readInteger('validLen', validLen, 0, columns),
  };
  if (rows !== columns && (masks.causal || masks.window || masks.validLen)) {
    const name = masks.causal ? 'causal' : masks.window ? 'window' : 'validLen';
    throw mismatch(name, `needs as many queries as keys, but there are ${rows} and ${columns}`);
  }
  return masks;
}

/** @param {Properties} given */
export const headsOf = (given) => readWeights(given);

const kMatrixRanks = { 2: '(rows, columns)' };

/** @param {Properties} given */
export function heatmapOf(given) {
  const { data, shape } = readTensor('values', given.values, kMatrixRanks, shapeOfMatrix(given));
  checkSize('values', shape);
  const [rows, columns] = shape;
  const scale = readChoice('scale', given.scale, ['auto', 'sequential', 'diverging']);
  const max = given.max === null ? null : Number(given.max);
  if (max !== null && !(max > 0 && max < Infinity)) {
    throw wrong('max', `got ${given.max}, needs a number above 0`);
  }
  const drawn = data.filter(Number.isFinite);
  return {
    matrix: matrixFor(data, rows, columns),
    rowLabels: readNames('rowLabels', given.rowLabels, rows, 'rows'),
    columnLabels: readNames('columnLabels', given.columnLabels, columns, 'columns'),
    isDiverging: scale === 'auto' ? drawn.some((value) => value < 0) : scale === 'diverging',
    max: max ?? drawn.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0),
    note: drawn.length < data.length ? 'Infinities and NaN are drawn as 0.' : '',
    beyond: max !== null && drawn.some((value) => Math.abs(value) > max),
  };
}

/** @param {Properties} given */
function shapeOfMatrix({ values, shape, rowLabels, columnLabels }) {
  if (shape) return readNumbers('shape', shape);
  const { length } = values;
  if (rowLabels?.length) return [rowLabels.length, length / rowLabels.length];
  return columnLabels?.length ? [length / columnLabels.length, columnLabels.length] : null;
}

/**
 * @param {string} name
 * @param {Properties} given
 */
function readRows(name, given) {
  const shape = given.shape ? readNumbers('shape', given.shape) : null;
  const tensor = readTensor(name, given[name], { 2: '(positions, columns)' }, shape);
  checkSize(name, tensor.shape);
  const [rows, columns] = tensor.shape;
  const positions =
    readNumbers('positions', given.positions) ?? Array.from({ length: rows }, (_, i) => i);
  if (positions.length !== rows) {
    throw mismatch(
      'positions',
      `got ${positions.length} numbers, needs ${rows}, the number of rows`,
    );
  }
  const curves = readNumbers('columns', given.columns);
  curves?.forEach((column, i) => readInteger(`columns[${i}]`, column, 0, columns - 1));
  const drawn = tensor.data.filter(Number.isFinite);
  return {
    matrix: matrixFor(tensor.data, rows, columns),
    positions,
    columns: curves && [...new Set(curves)],
    low: drawn.reduce((low, value) => Math.min(low, value), 0),
    high: drawn.reduce((high, value) => Math.max(high, value), 0),
  };
}

/** @param {Properties} given */
export function encodingOf(given) {
  const read = readRows('encoding', given);
  const base = given.base === null ? null : Number(given.base);
  if (base !== null && !(base > 1 && base < Infinity)) {
    throw wrong('base', `got ${given.base}, needs a number above 1, such as 10000`);
  }
  const { positions } = read;
  if (base !== null && !positions.every((each) => Number.isSafeInteger(each) && each >= 0)) {
    throw wrong(
      'positions',
      'needs whole numbers of at least 0 if base is set, because they are also drawn in binary',
    );
  }
  return {
    ...read,
    base,
    columns: read.columns ?? [],
    largest: base === null ? Math.max(-read.low, read.high) : 1,
    curves: readChoice('curves', given.curves, ['lanes', 'axes']),
  };
}

/** @param {Properties} given */
export function curvesOf(given) {
  const { low, high, ...read } = readRows('values', given);
  if (read.columns?.length === 0) {
    throw wrong(
      'columns',
      'got an empty list, needs at least one column; null draws the first four',
    );
  }
  const labels = readNames('labels', given.labels, read.matrix.columns, 'columns');
  return {
    ...read,
    labels,
    // By default, a few curves that can still be told apart.
    columns: read.columns ?? Array.from({ length: Math.min(4, read.matrix.columns) }, (_, i) => i),
    domain: /** @type {[number, number]} */ (low === high ? [low, low + 1] : [low, high]),
  };
}
