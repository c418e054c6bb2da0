import { product } from '../core/product.js';

/** @typedef {import('attn').Attn} Attn */
/** @typedef {import('attn').Tensor} Tensor */
/** @typedef {import('./invention.js').Invention} Invention */

/**
 * Sizes for the measurements. An encoding is measured at `added` positions and a bias at `bias`
 * positions. To check that values stay bounded, `times` as many positions are computed. `shifts` is
 * the largest shift δ, and `width` is the number of columns.
 */
export const measured = { added: 256, bias: 40, times: 10, shifts: 16, width: 64 };

/** The number of closest pairs whose distances are computed from differences. */
const closePairs = 32;

/**
 * Similarities by distance.
 * @typedef {object} Profile
 * @property {Float32Array | Float64Array} mean the mean for each distance 0, 1, …
 * @property {Float32Array | Float64Array} low the smallest
 * @property {Float32Array | Float64Array} high the largest
 * @property {number} spread how much values at one distance differ from each other: their root
 *   mean square difference from the mean at their distance, divided by the standard deviation of
 *   all values
 *
 * The measurements of a scheme. A scheme that is only a bias lacks `closest`, `residuals` and
 * `varying`, which measure an encoding.
 * @typedef {object} Measures
 * @property {Profile} profile profile of the dot products of rows, or of the bias of the first head
 * @property {{ distance: number, pair: [number, number], length: number }} [closest] the two
 *   closest rows, their distance, and the root mean square of the rows' lengths
 * @property {Float32Array} [residuals] for each shift δ = 1, 2, …, the share of the shifted rows
 *   that even the best matrix M_δ cannot predict
 * @property {number} [varying] the share of the rows that is left after subtracting each row's mean
 * @property {{ within: number, beyond: number }} largest the largest absolute value among the
 *   measured positions (`within`), and among ten times as many positions (`beyond`)
 */

/** @param {Float32Array} values */
const largestOf = (values) => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);

// The core computes all sums, differences and products below. This module only rearranges and
// compares them, and takes the final square roots and quotients.

/**
 * The sum of the squares of all elements.
 * @param {Attn} attn
 * @param {Float32Array} data
 */
function squareOf(attn, data) {
  const row = { data, shape: [1, data.length] };
  return product(attn, row, row).data[0];
}

/**
 * The mean of the first elements of each row: the output of attention that cannot tell the elements
 * apart.
 * @param {Attn} attn
 * @param {Float32Array} data
 * @param {Int32Array} lengths number of elements of each row, at most `columns`
 * @param {number} columns
 * @returns {Float32Array}
 */
function meansOf(attn, data, lengths, columns) {
  const rows = lengths.length;
  const [queries, keys] = [rows, data.length].map((size) => new Float32Array(size));
  return attn.scaledDotProductAttention(
    { data: queries, shape: [rows, 1, 1, 1] },
    { data: keys, shape: [rows, 1, columns, 1] },
    { data, shape: [rows, 1, columns, 1] },
    { validLens: { data: lengths, shape: [rows] } },
  ).output.data;
}

/**
 * a − b, element by element.
 * @param {Attn} attn
 * @param {Float32Array} a
 * @param {Float32Array} b
 * @returns {Float32Array}
 */
function differenceOf(attn, a, b) {
  const positions = new attn.LearnedPositionalEncoding({ maxLength: a.length, dModel: 1 });
  try {
    const shape = [a.length, 1];
    positions.setParameter('weight', { data: b.map((value) => -value), shape });
    return positions.forward({ data: a, shape }).data;
  } finally {
    positions.dispose();
  }
}

/**
 * Groups the elements of a square matrix by the distance from column to row. The spread
 * distinguishes positive from negative distances. The profile covers only columns up to the row.
 * @param {Attn} attn
 * @param {Float32Array} data (n, n)
 * @param {number} n
 * @returns {Profile}
 */
function profileOf(attn, data, n) {
  const diagonals = 2 * n - 1;
  const lengths = Int32Array.from({ length: diagonals }, (_, at) => n - Math.abs(at - (n - 1)));
  const padded = new Float32Array(diagonals * n);
  const values = new Float32Array(n * n);
  for (let at = 0, next = 0; at < diagonals; at++) {
    for (let step = 0; step < lengths[at]; step++) {
      const [row, column] = [Math.max(0, at - n + 1) + step, Math.max(0, n - 1 - at) + step];
      padded[at * n + step] = values[next++] = data[row * n + column];
    }
  }
  const means = meansOf(attn, padded, lengths, n);
  const repeated = new Float32Array(n * n);
  const [low, high] = [new Float32Array(n), new Float32Array(n)];
  for (let at = 0, next = 0; at < diagonals; next += lengths[at++]) {
    repeated.fill(means[at], next, next + lengths[at]);
    if (at < n - 1) continue;
    const some = values.subarray(next, next + lengths[at]);
    low[at - n + 1] = some.reduce((least, value) => Math.min(least, value));
    high[at - n + 1] = some.reduce((most, value) => Math.max(most, value));
  }
  const within = squareOf(attn, differenceOf(attn, values, repeated));
  const overall = meansOf(attn, values, Int32Array.of(values.length), values.length);
  const all = squareOf(
    attn,
    differenceOf(
      attn,
      values,
      values.map(() => overall[0]),
    ),
  );
  const spread = all > 0 ? Math.sqrt(within / all) : 0;
  return { mean: means.slice(n - 1), low, high, spread };
}

/**
 * The share of the rows that is left after subtracting each row's mean.
 * @param {Attn} attn
 * @param {Tensor} x (n, d)
 */
function varyingOf(attn, { data, shape: [n, d] }) {
  const values = /** @type {Float32Array} */ (data);
  const means = meansOf(attn, values, new Int32Array(n).fill(d), d);
  const repeated = values.map((_, at) => means[Math.floor(at / d)]);
  const all = squareOf(attn, values);
  return all > 0 ? Math.sqrt(squareOf(attn, differenceOf(attn, values, repeated)) / all) : 0;
}

/** Rows first … end − 1 of a matrix. @param {Tensor} x @param {number} first @param {number} end */
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
  // A small distance between large rows would be imprecise if it were computed from their dot
  // products. Therefore, compute the distances of the closest pairs from the differences of their
  // rows.
  const squares = close.map(([a, b]) =>
    squareOf(attn, differenceOf(attn, rowsOf(x, a, a + 1).data, rowsOf(x, b, b + 1).data)),
  );
  const best = squares.indexOf(Math.min(...squares));
  return {
    distance: Math.sqrt(squares[best]),
    pair: close[best],
    length: Math.sqrt(squareOf(attn, /** @type {Float32Array} */ (x.data)) / n),
  };
}

/**
 * If less than this share of a column is independent of earlier columns, the rest is rounding
 * error.
 */
const leastNew = 1e-5;

/**
 * The share of the rows x[δ], x[δ + 1], … that no matrix can compute from x[0], x[1], …: the
 * residual of the best M_δ. The columns of the earlier rows are made orthonormal by Gram and
 * Schmidt's method, beginning with the largest, and each is projected out of all other columns.
 * @param {Attn} attn
 * @param {Tensor} x (n, d)
 * @param {number} shift δ
 */
function residualOf(attn, x, shift) {
  const [rows, d] = x.shape;
  const n = rows - shift;
  /** @type {{ data: Float32Array, shape: number[] }} */
  const all = { data: new Float32Array(2 * d * n), shape: [2 * d, n] };
  all.data.set(transposed(rowsOf(x, 0, n)).data);
  all.data.set(transposed(rowsOf(x, shift, rows)).data, d * n);
  const targets = squareOf(attn, all.data.subarray(d * n));
  // RMSNorm gives a row a root mean square of 1, and the weight then gives it a length of 1.
  const norm = new attn.RMSNorm({ width: n, eps: 0 });
  norm.setParameter('weight', { data: new Float32Array(n).fill(1 / Math.sqrt(n)), shape: [n] });
  const sum = new attn.LearnedPositionalEncoding({ maxLength: 2 * d, dModel: n });
  try {
    const left = Array.from({ length: d }, (_, row) => row);
    let largest = 0;
    while (left.length > 0) {
      const sizes = left.map((row) =>
        all.data.subarray(row * n, (row + 1) * n).reduce((total, value) => total + value ** 2, 0),
      );
      const most = Math.max(...sizes);
      largest ||= most;
      if (!(most > leastNew ** 2 * largest)) break;
      const [row] = left.splice(sizes.indexOf(most), 1);
      const { data } = norm.forward({
        data: all.data.slice(row * n, (row + 1) * n),
        shape: [1, n],
      });
      const shares = product(attn, all, { data, shape: [1, n] });
      const opposite = { data: data.map((value) => -value), shape: [n, 1] };
      sum.setParameter('weight', product(attn, shares, opposite));
      all.data = sum.forward(all).data;
    }
  } finally {
    norm.dispose();
    sum.dispose();
  }
  return targets > 0 ? Math.sqrt(squareOf(attn, all.data.subarray(d * n)) / targets) : 0;
}

/**
 * Measures a scheme.
 * @param {Attn} attn
 * @param {Invention} invention
 * @returns {Measures}
 */
export function measure(attn, invention) {
  const { times, shifts, width } = measured;
  const n = invention.hasAdded ? measured.added : measured.bias;
  const of = (/** @type {number} */ length) =>
    /** @type {Tensor} */ (
      invention.hasAdded ? invention.added(length, width) : invention.bias(length, 1, width)
    );
  const { data, shape } = of(n);
  const largest = { within: largestOf(data), beyond: largestOf(of(n * times).data) };
  // Squares of huge or tiny numbers are not in the range of float. A power of two changes no digit.
  const unit = 2 ** Math.floor(Math.log2(largest.within || 1));
  const scaled = Float32Array.from(data, (value) => value / unit);
  if (!invention.hasAdded) return { profile: timesUnit(profileOf(attn, scaled, n), unit), largest };
  const x = { data: scaled, shape };
  const { data: products } = product(attn, x, x);
  const { distance, pair, length } = closestOf(attn, x, products);
  return {
    profile: timesUnit(profileOf(attn, products, n), unit ** 2),
    closest: { distance: distance * unit, pair, length: length * unit },
    residuals: Float32Array.from({ length: shifts }, (_, i) => residualOf(attn, x, i + 1)),
    varying: varyingOf(attn, x),
    largest,
  };
}

/** @param {Profile} profile @param {number} unit @returns {Profile} */
function timesUnit({ mean, low, high, spread }, unit) {
  const [m, l, h] = [mean, low, high].map((data) => Float64Array.from(data, (x) => x * unit));
  return { mean: m, low: l, high: h, spread };
}

/**
 * True if all columns of a row have the same number, which layer norm removes.
 * @param {Measures} measures
 */
export const isRemovedByLayerNorm = ({ varying }) => varying !== undefined && varying < 1e-4;

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
