// The leading principal components of a table of positions.

import { SVD } from 'svd-js';

import { product } from '../../core/product.js';

/** @typedef {import('attn').Tensor} Tensor */

/** Number of additional directions. With them, the requested directions converge sooner. */
const more = 4;
const mostTurns = 80;

/** @param {Tensor} matrix (n, d) @returns {Tensor} (d, n) */
export function transposed({ data, shape: [n, d] }) {
  const to = new Float32Array(data.length);
  for (let i = 0; i < n; i++) for (let j = 0; j < d; j++) to[j * n + i] = data[i * d + j];
  return { data: to, shape: [d, n] };
}

/** Subtracts the mean row. @param {Tensor} matrix (n, d) @returns {Tensor} */
export function centred({ data, shape: [n, d] }) {
  const mean = new Float64Array(d);
  data.forEach((value, at) => (mean[at % d] += value / n));
  return { data: data.map((value, at) => value - mean[at % d]), shape: [n, d] };
}

/** The columns of `rows`, in the form SVD expects. @param {Tensor} rows (k, n) */
const columnsOf = ({ data, shape: [k, n] }) =>
  Array.from({ length: n }, (_, i) => Array.from({ length: k }, (_, c) => data[c * n + i]));

/**
 * @param {number[][]} columns (n, k)
 * @param {number[]} order order of the columns
 * @returns {Tensor} (k, n)
 */
const rowsOf = (columns, order) => ({
  data: Float32Array.from(order.flatMap((c) => columns.map((row) => row[c]))),
  shape: [order.length, columns.length],
});

/**
 * The leading principal components of the rows, computed by subspace iteration. The core computes
 * the products, and a library computes the SVD of the few columns after each product.
 * @param {import('attn').Attn} attn
 * @param {Tensor} table (n, d)
 * @param {number} count
 * @returns {Generator<null, { scores: Tensor, shares: number[] }>} scores: scores of each
 *   component at each row, (count, n); shares: shares of the rows' total variance, the largest
 *   first
 */
export function* components(attn, table, count) {
  const x = centred(table);
  const across = transposed(x);
  const [n, d] = x.shape;
  const k = Math.min(count + more, n, d);
  const total = x.data.reduce((sum, value) => sum + value * value, 0);
  const everywhere = Array.from({ length: k }, (_, c) => Math.floor((c * n) / k));
  /** @type {Tensor} (k, d) */
  let directions = {
    data: Float32Array.from(everywhere.flatMap((i) => [...x.data.subarray(i * d, (i + 1) * d)])),
    shape: [k, d],
  };
  /** @type {number[]} */
  let values = [];
  for (let turn = 0; turn < mostTurns && total > 0; turn++) {
    const { u } = SVD(columnsOf(product(attn, directions, x)));
    const named = Array.from({ length: k }, (_, c) => c);
    const next = SVD(columnsOf(product(attn, rowsOf(u, named), across)));
    const order = named.sort((a, b) => next.q[b] - next.q[a]);
    directions = rowsOf(next.u, order);
    const before = values;
    values = order.map((c) => next.q[c]);
    if (values.every((value, c) => c >= count || Math.abs(value - before[c]) <= 1e-5 * value)) {
      break;
    }
    yield null;
  }
  const leading = {
    data: directions.data.subarray(0, Math.min(count, k) * d),
    shape: [Math.min(count, k), d],
  };
  return {
    scores: product(attn, leading, x),
    shares: values.slice(0, count).map((value) => (value * value) / (total || 1)),
  };
}
