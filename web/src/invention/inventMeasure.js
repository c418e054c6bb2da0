import { product } from '../core/product.js';

/** @typedef {import('attn').Attn} Attn */
/** @typedef {import('attn').Tensor} Tensor */
/** @typedef {import('./invention.js').Invention} Invention */

/**
 * The number of positions that are measured, the number of times as many for which the values must
 * stay bounded, and the largest shift.
 */
export const measured = { added: 256, bias: 40, times: 10, shifts: 16, width: 64 };

/** The number of closest pairs whose distances are computed from differences. */
const closePairs = 32;

/**
 * Similarities by distance.
 * @typedef {object} Profile
 * @property {Float32Array} mean the mean for each distance 0, 1, …
 * @property {Float32Array} low the smallest
 * @property {Float32Array} high the largest
 * @property {number} spread how much values at one distance differ from each other: their root
 *   mean square difference from the mean at their distance, divided by the standard deviation of
 *   all values
 *
 * The verdicts about a scheme. Those about an encoding are missing for a scheme that is only a
 * bias.
 * @typedef {object} Measures
 * @property {Profile} profile of the dot products of rows, or of the bias of the first head
 * @property {{ distance: number, pair: [number, number], length: number }} [closest] the two
 *   closest rows, their distance, and the root mean square of the rows' lengths
 * @property {Float32Array} [residuals] for each shift δ = 1, 2, …, how much of the shifted rows the
 *   best matrix M_δ misses, as a share
 * @property {{ within: number, beyond: number }} largest the largest absolute value among the
 *   measured positions, and among ten times as many
 */

/** @param {Float32Array} values */
const largestOf = (values) => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);

/**
 * Groups a square matrix by distance.
 * @param {Float32Array} data (n, n)
 * @param {number} n
 * @returns {Profile}
 */
export function profileOf(data, n) {
  const [mean, low, high] = [0, Infinity, -Infinity].map((x) => new Float32Array(n).fill(x));
  const [sums, squares] = [new Float64Array(n), new Float64Array(n)];
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      const value = data[i * n + j];
      sums[i - j] += value;
      low[i - j] = Math.min(low[i - j], value);
      high[i - j] = Math.max(high[i - j], value);
    }
  }
  const count = (n * (n + 1)) / 2;
  const overall = sums.reduce((total, sum) => total + sum, 0) / count;
  let all = 0;
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      const value = data[i * n + j];
      squares[i - j] += (value - sums[i - j] / (n - (i - j))) ** 2;
      all += (value - overall) ** 2;
    }
  }
  sums.forEach((sum, distance) => (mean[distance] = sum / (n - distance)));
  const within = squares.reduce((total, square) => total + square, 0);
  return { mean, low, high, spread: all > 0 ? Math.sqrt(within / all) : 0 };
}

/** Some rows of a matrix. @param {Tensor} x @param {number} first @param {number} end */
function rowsOf({ data, shape: [, d] }, first, end) {
  return { data: data.subarray(first * d, end * d), shape: [end - first, d] };
}

/** @param {Tensor} x (n, d) @returns {Tensor} (d, n) */
function transposed({ data, shape: [n, d] }) {
  const turned = new Float32Array(n * d);
  for (let i = 0; i < n; i++) for (let k = 0; k < d; k++) turned[k * n + i] = data[i * d + k];
  return { data: turned, shape: [d, n] };
}

/**
 * The dot product of each row with itself.
 * @param {Attn} attn
 * @param {Tensor} x (n, d)
 */
function squaresOf(attn, x) {
  const [n] = x.shape;
  const { data } = product(attn, x, x);
  return Float32Array.from({ length: n }, (_, i) => data[i * (n + 1)]);
}

/**
 * The two closest rows.
 * @param {Attn} attn
 * @param {Tensor} x (n, d)
 * @param {Float32Array} products x·xᵀ
 * @returns {NonNullable<Measures['closest']>}
 */
function closestOf(attn, x, products) {
  const [n] = x.shape;
  /** @type {{ square: number, pair: [number, number] }[]} */
  const pairs = [];
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < i; j++) {
      const square = products[i * (n + 1)] + products[j * (n + 1)] - 2 * products[i * n + j];
      pairs.push({ square, pair: [j, i] });
    }
  }
  pairs.sort((a, b) => a.square - b.square);
  const close = pairs.slice(0, closePairs).map(({ pair }) => pair);
  // Dot products of large rows leave little precision for small distances, so the distances of the
  // closest pairs are computed from the differences of their rows.
  const selecting = new Float32Array(close.length * n);
  close.forEach(([a, b], row) => {
    selecting[row * n + a] = 1;
    selecting[row * n + b] = -1;
  });
  const differences = product(attn, { data: selecting, shape: [close.length, n] }, transposed(x));
  const squares = squaresOf(attn, differences);
  const best = squares.indexOf(Math.min(...squares));
  const diagonal = Array.from({ length: n }, (_, i) => products[i * (n + 1)]);
  return {
    distance: Math.sqrt(squares[best]),
    pair: close[best],
    length: Math.sqrt(diagonal.reduce((sum, value) => sum + value, 0) / n),
  };
}

/** Smallest share of a column that must be new. Smaller shares are rounding errors. */
const leastNew = 1e-5;

/**
 * The share of the rows x[δ], x[δ + 1], … that no matrix can compute from x[0], x[1], …: the
 * residual of the best M_δ. The columns of the earlier rows are made orthonormal by Gram and
 * Schmidt's method, beginning with the largest, and each is projected out of all other columns.
 * @param {Attn} attn
 * @param {Tensor} x (n, d)
 * @param {number} shift δ
 */
export function residualOf(attn, x, shift) {
  const [rows, d] = x.shape;
  const n = rows - shift;
  const columns = transposed(rowsOf(x, 0, n));
  const targets = transposed(rowsOf(x, shift, rows));
  const data = new Float32Array(2 * d * n);
  data.set(columns.data);
  data.set(targets.data, d * n);
  const squareOf = (/** @type {number} */ row) => {
    let sum = 0;
    for (let i = row * n; i < (row + 1) * n; i++) sum += data[i] ** 2;
    return sum;
  };
  const sumOfTargets = () => targetRows.reduce((sum, row) => sum + squareOf(row), 0);
  const left = Array.from({ length: d }, (_, row) => row);
  const targetRows = left.map((row) => d + row);
  const all = sumOfTargets();
  let largest = 0;
  while (left.length > 0) {
    const squares = left.map(squareOf);
    const most = Math.max(...squares);
    largest ||= most;
    if (!(most > leastNew ** 2 * largest)) break;
    const [row] = left.splice(squares.indexOf(most), 1);
    const length = Math.sqrt(most);
    const direction = data.slice(row * n, (row + 1) * n).map((value) => value / length);
    const shares = product(attn, { data, shape: [2 * d, n] }, { data: direction, shape: [1, n] });
    const parts = product(attn, shares, { data: direction, shape: [n, 1] });
    for (let i = 0; i < data.length; i++) data[i] -= parts.data[i];
  }
  return all > 0 ? Math.sqrt(sumOfTargets() / all) : 0;
}

/**
 * Measures a scheme.
 * @param {Attn} attn
 * @param {Invention} invention
 * @returns {Measures}
 */
export function measure(attn, invention) {
  const { times, shifts, width } = measured;
  if (!invention.hasAdded) {
    const n = measured.bias;
    const data = /** @type {Tensor} */ (invention.bias(n, 1, width)).data;
    const beyond = /** @type {Tensor} */ (invention.bias(n * times, 1, width)).data;
    return {
      profile: profileOf(/** @type {Float32Array} */ (data), n),
      largest: { within: largestOf(data), beyond: largestOf(beyond) },
    };
  }
  const n = measured.added;
  const x = /** @type {Tensor} */ (invention.added(n, width));
  const { data: products } = product(attn, x, x);
  const beyond = /** @type {Tensor} */ (invention.added(n * times, width));
  return {
    profile: profileOf(products, n),
    closest: closestOf(attn, x, products),
    residuals: Float32Array.from({ length: shifts }, (_, i) => residualOf(attn, x, i + 1)),
    largest: { within: largestOf(x.data), beyond: largestOf(beyond.data) },
  };
}

/**
 * The verdicts: true or false, or null if the question does not apply to a bias alone.
 * @param {Measures} measures
 */
export const verdictsOf = ({ profile, closest, residuals, largest }) => ({
  distinct: closest ? closest.distance > 1e-4 * closest.length : null,
  stationary: profile.spread < 0.01,
  linear: residuals ? Math.max(...residuals) < 1e-3 : null,
  bounded: largest.beyond <= 1.1 * largest.within,
});
