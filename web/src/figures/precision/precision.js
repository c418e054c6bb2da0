import { largestMagnitude } from '../../drawing/matrix.js';

/** @typedef {import('attn').Attn} Attn */
/** @typedef {import('attn').Tensor} Tensor */
/** @typedef {import('../../drawing/matrix.js').Matrix} Matrix */

/**
 * The position where the sliding window starts initially. float32 can represent the positions in
 * this window exactly, but not their angles.
 */
export const driftStart = 2 ** 22;

/** Positions whose errors are reported: common text lengths. */
export const usualLengths = [2 ** 12, 2 ** 16];

/** Number of measured positions from one power of two to the next. */
const perOctave = 4;

/** 0, then whole positions from 1 to 2^24 that are about evenly spaced on a logarithmic scale. */
export const positions = [
  0,
  ...new Set(
    Array.from({ length: 24 * perOctave + 1 }, (_, k) => Math.round(2 ** (k / perOctave))),
  ),
];

/**
 * The exact encoding in double precision. For positions up to 2^24, its angles are accurate to
 * 1e-9, which is far below the errors that are measured against it.
 * @param {number} position
 * @param {number} column
 * @param {number} width
 * @param {number} base
 */
export function exactValue(position, column, width, base) {
  const angle = position / base ** ((column - (column % 2)) / width);
  return column % 2 ? Math.cos(angle) : Math.sin(angle);
}

/** Number of consecutive positions whose attention is compared. */
export const windowLength = 16;

/**
 * For the window that starts at each of `positions`, computes both encodings, the errors in the
 * first row, and the attention of the window over its own encodings. Exact weights would be the
 * same for all windows, because they depend only on distances. Yields after each window.
 * @param {Attn} attn
 * @param {{ width: number, base: number }} settings
 */
export function* measure(attn, { width, base }) {
  const count = positions.length;
  const tensor = (/** @type {number} */ rows, /** @type {number} */ columns) => ({
    data: new Float32Array(count * rows * columns),
    shape: [count, rows, columns],
  });
  const codes = {
    usual: {
      values: tensor(1, width),
      error: tensor(1, width),
      weights: tensor(windowLength, windowLength),
    },
    core: {
      values: tensor(1, width),
      error: tensor(1, width),
      weights: tensor(windowLength, windowLength),
    },
  };
  const options = { length: windowLength, dModel: width, base };
  for (const [i, start] of positions.entries()) {
    const usual = attn.sinusoidalEncodingInFloat32({ ...options, start });
    const core = attn.sinusoidalEncoding({ ...options, start });
    for (const [code, encoding] of /** @type {const} */ ([
      [codes.usual, usual.encoding],
      [codes.core, core],
    ])) {
      code.values.data.set(encoding.data.subarray(0, width), i * width);
      const { weights } = attn.scaledDotProductAttention(encoding, encoding, encoding, {
        needWeights: true,
      });
      code.weights.data.set(weights.data, i * windowLength ** 2);
    }
    for (let column = 0; column < width; column++) {
      const at = i * width + column;
      codes.usual.error.data[at] = Math.abs(usual.error.data[column]);
      codes.core.error.data[at] = Math.abs(
        core.data[column] - exactValue(start, column, width, base),
      );
    }
    yield;
  }
  const result = (/** @type {typeof codes.usual} */ { values, error, weights }) => ({
    values: { data: values.data, rows: count, columns: width },
    error: { data: error.data, rows: count, columns: width },
    weights,
    drift: driftOf(weights),
  });
  return { width, base, usual: result(codes.usual), core: result(codes.core) };
}

/**
 * The result of `measure`. For each code: values and errors (positions, columns), weights
 * (positions, n, n), and drift, the largest |difference| from the weights at position 0.
 * @typedef {ReturnType<typeof measure> extends Generator<any, infer T> ? T : never} Measurement
 */

/**
 * The largest error of one method of computing the encoding, the position of this error, and the
 * largest error at each of the usual lengths.
 * @param {Measurement['usual']} [code]
 */
export function largestOf(code) {
  const { data, columns } = code?.error ?? { data: new Float32Array(), columns: 0 };
  const at = (/** @type {number} */ row) =>
    largestMagnitude(data.slice(row * columns, (row + 1) * columns));
  const value = largestMagnitude(data);
  return {
    value,
    position: positions[columns ? Math.floor(data.indexOf(value) / columns) : 0],
    usual: usualLengths.map((position) => at(positions.indexOf(position))),
  };
}

/**
 * The largest |difference| of each matrix from the first matrix.
 * @param {import('attn').Tensor} matrices (count, rows, columns)
 * @returns {number[]}
 */
export function driftOf({ data, shape }) {
  const size = shape[1] * shape[2];
  return Array.from({ length: shape[0] }, (_, i) => {
    let largest = 0;
    for (let k = 0; k < size; k++) {
      largest = Math.max(largest, Math.abs(data[i * size + k] - data[k]));
    }
    return largest;
  });
}
