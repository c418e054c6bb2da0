// Computes attention and encodings in double precision, following their definitions. Shares no code
// with the core. If `round` is Math.fround, every operation is rounded to float32. The difference
// between the two results shows which rounding errors to expect.

/** @import { Tensor } from 'attn' */

/**
 * A table of relative positions. Row c is for distance c − k, and the outer rows also for all
 * larger distances.
 * @typedef {object} RelativeTable
 * @property {ArrayLike<number>} data
 * @property {readonly number[]} shape  (2k+1, D) or (H, 2k+1, D)
 */

/**
 * @typedef {object} AttentionCase
 * @property {Tensor} query  (B, Hq, Nq, D)
 * @property {Tensor} key  (B, Hkv, Nk, D)
 * @property {Tensor} value  (B, Hkv, Nk, Dv)
 * @property {number} [scale]
 * @property {(b: number, h: number, i: number, j: number) => boolean} [attends]
 * @property {number} [softcap]
 * @property {(b: number, h: number, i: number, j: number) => number} [bias]
 * @property {number} [offset]  query i is at the position of key i + offset
 * @property {RelativeTable} [relativeKeys]
 * @property {RelativeTable} [relativeValues]
 * @property {readonly number[]} [sinks]
 * @property {(x: number) => number} [round]
 */

const exact = (/** @type {number} */ x) => x;

/**
 * Looks up a distance in a table of relative positions, and returns element d of its row.
 * @param {RelativeTable} table
 * @param {number} h
 * @param {number} distance
 * @param {number} d
 */
export function relative({ data, shape }, h, distance, d) {
  const [rows, width] = shape.slice(-2);
  const k = (rows - 1) / 2;
  const row = Math.min(Math.max(distance, -k), k) + k;
  return data[((shape.length === 3 ? h * rows : 0) + row) * width + d];
}

/** @param {AttentionCase} options */
export function attention({
  query,
  key,
  value,
  scale,
  attends = () => true,
  softcap = 0,
  bias = () => 0,
  offset = 0,
  relativeKeys,
  relativeValues,
  sinks,
  round = exact,
}) {
  const [batch, queryHeads, numQueries, headDim] = query.shape;
  const [, keyHeads, numKeys] = key.shape;
  const valueDim = value.shape[3];
  const factor = scale ?? 1 / Math.sqrt(headDim);
  const rows = batch * queryHeads * numQueries;
  const output = new Float64Array(rows * valueDim);
  const weights = new Float64Array(rows * numKeys);
  const scaledScores = new Float64Array(rows * numKeys);
  const cappedScores = new Float64Array(rows * numKeys);
  const biasedScores = new Float64Array(rows * numKeys).fill(-Infinity);
  const logSumExp = new Float64Array(rows).fill(-Infinity);
  for (let b = 0; b < batch; ++b) {
    for (let h = 0; h < queryHeads; ++h) {
      const keyHead = b * keyHeads + Math.floor(h / (queryHeads / keyHeads));
      for (let i = 0; i < numQueries; ++i) {
        const row = (b * queryHeads + h) * numQueries + i;
        const keys = [];
        const scores = [];
        for (let j = 0; j < numKeys; ++j) {
          let score = 0;
          for (let d = 0; d < headDim; ++d) {
            const q = query.data[row * headDim + d];
            const k = key.data[(keyHead * numKeys + j) * headDim + d];
            score = round(score + round(q * k));
            if (relativeKeys) score += q * relative(relativeKeys, h, j - i - offset, d);
          }
          const at = row * numKeys + j;
          scaledScores[at] = round(factor * score);
          cappedScores[at] =
            softcap > 0 ? softcap * Math.tanh(scaledScores[at] / softcap) : scaledScores[at];
          if (!attends(b, h, i, j)) continue;
          biasedScores[at] = cappedScores[at] + bias(b, h, i, j);
          if (biasedScores[at] === -Infinity) continue;
          keys.push(j);
          scores.push(biasedScores[at]);
        }
        if (sinks) scores.push(sinks[h]);
        const largest = Math.max(...scores);
        const powers = scores.map((score) => round(Math.exp(round(score - largest))));
        const sum = powers.reduce((total, power) => round(total + power), 0);
        if (scores.length > 0) logSumExp[row] = largest + Math.log(sum);
        keys.forEach((j, n) => {
          const weight = round(powers[n] / sum);
          weights[row * numKeys + j] = weight;
          for (let d = 0; d < valueDim; ++d) {
            const at = row * valueDim + d;
            const v = value.data[(keyHead * numKeys + j) * valueDim + d];
            const a = relativeValues ? relative(relativeValues, h, j - i - offset, d) : 0;
            output[at] = round(output[at] + round(weight * (v + a)));
          }
        });
      }
    }
  }
  const columnSums = new Float64Array(batch * queryHeads * numKeys);
  weights.forEach((weight, at) => {
    columnSums[Math.floor(at / (numQueries * numKeys)) * numKeys + (at % numKeys)] += weight;
  });
  return { output, weights, scaledScores, cappedScores, biasedScores, logSumExp, columnSums };
}

/**
 * P[i, 2j] = sin(p / base^(2j/d)), P[i, 2j+1] = cos(p / base^(2j/d)).
 * @param {number[]} positions
 * @param {number} dModel
 * @param {number} [base]
 */
export function sinusoids(positions, dModel, base = 10000) {
  return positions.flatMap((position) =>
    Array.from({ length: dModel }, (_, column) => {
      const angle = position / base ** ((column - (column % 2)) / dModel);
      return column % 2 === 0 ? Math.sin(angle) : Math.cos(angle);
    }),
  );
}

/**
 * x · Wᵀ + b for x with `rows` rows.
 * @param {ArrayLike<number>} x
 * @param {number} rows
 * @param {ArrayLike<number>} weight  (out, in)
 * @param {ArrayLike<number>} [bias]  (out)
 * @param {(x: number) => number} [round]
 */
export function linear(x, rows, weight, bias, round = exact) {
  const inputs = x.length / rows;
  const outputs = weight.length / inputs;
  const result = new Float64Array(rows * outputs);
  for (let i = 0; i < rows; ++i) {
    for (let o = 0; o < outputs; ++o) {
      let sum = bias ? bias[o] : 0;
      for (let k = 0; k < inputs; ++k) {
        sum = round(sum + round(x[i * inputs + k] * weight[o * inputs + k]));
      }
      result[i * outputs + o] = sum;
    }
  }
  return result;
}

/**
 * Softmax over rows of length `width`.
 * @param {ArrayLike<number>} x
 * @param {number} width
 * @param {(row: number, column: number) => boolean} [attends]
 */
export function softmax(x, width, attends = () => true) {
  const result = new Float64Array(x.length);
  for (let row = 0; row < x.length / width; ++row) {
    const columns = Array.from({ length: width }, (_, j) => j).filter((j) => attends(row, j));
    const largest = Math.max(...columns.map((j) => x[row * width + j]));
    const powers = columns.map((j) => Math.exp(x[row * width + j] - largest));
    const sum = powers.reduce((total, power) => total + power, 0);
    columns.forEach((j, n) => (result[row * width + j] = powers[n] / sum));
  }
  return result;
}

/**
 * @typedef {object} PoolingCase
 * @property {Tensor} query  (B, Nq, D)
 * @property {Tensor} key  (B, Nk, D)
 * @property {Tensor} value  (B, Nk, Dv)
 * @property {(distance: number, dot: number) => number} [score]
 * @property {(b: number, i: number, j: number) => number} [scoreAt]  replaces the dot product
 * @property {string} [scoring]  boxcar, epanechnikov and average divide scores by their sum
 * @property {boolean} [hard]
 * @property {(b: number, i: number, j: number) => boolean} [attends]
 */

/** @param {PoolingCase} options */
export function pooling({
  query,
  key,
  value,
  score = () => 0,
  scoreAt,
  scoring = '',
  hard = false,
  attends = () => true,
}) {
  const [batch, numQueries, width] = query.shape;
  const numKeys = key.shape[1];
  const valueDim = value.shape[2];
  const divides = ['boxcar', 'epanechnikov', 'average'].includes(scoring);
  const scores = new Float64Array(batch * numQueries * numKeys).fill(divides ? 0 : -Infinity);
  const weights = new Float64Array(scores.length);
  const output = new Float64Array(batch * numQueries * valueDim);
  for (let b = 0; b < batch; ++b) {
    for (let i = 0; i < numQueries; ++i) {
      const row = b * numQueries + i;
      for (let j = 0; j < numKeys; ++j) {
        if (!attends(b, i, j)) continue;
        let square = 0;
        let dot = 0;
        for (let d = 0; d < width && !scoreAt; ++d) {
          const q = query.data[row * width + d];
          const k = key.data[(b * numKeys + j) * width + d];
          square += (q - k) ** 2;
          dot += q * k;
        }
        scores[row * numKeys + j] = scoreAt ? scoreAt(b, i, j) : score(Math.sqrt(square), dot);
      }
      const own = scores.subarray(row * numKeys, (row + 1) * numKeys);
      const sum = own.reduce((total, a) => total + a, 0);
      let w = divides ? own.map((a) => (sum === 0 ? 0 : a / sum)) : softmax(own, numKeys);
      if (hard && (!divides || sum > 0)) {
        const first = own.indexOf(Math.max(...own));
        w = own.map((_, j) => (j === first ? 1 : 0));
      }
      weights.set(w, row * numKeys);
      w.forEach((weight, j) => {
        for (let d = 0; d < valueDim && weight !== 0; ++d) {
          output[row * valueDim + d] += weight * value.data[(b * numKeys + j) * valueDim + d];
        }
      });
    }
  }
  return { output, scores, weights };
}

/** erf by its Taylor series, or by its continued fraction for large x. @param {number} x */
function erf(x) {
  if (Math.abs(x) > 3) {
    let fraction = 0;
    for (let k = 60; k > 0; --k) fraction = k / 2 / (Math.abs(x) + fraction);
    const tail = Math.exp(-x * x) / (Math.sqrt(Math.PI) * (Math.abs(x) + fraction));
    return Math.sign(x) * (1 - tail);
  }
  let term = x;
  let sum = x;
  for (let k = 1; k < 100; ++k) {
    term *= (-x * x) / k;
    sum += term / (2 * k + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * sum;
}

/** @type {Record<import('attn').Activation, (x: number) => number>} */
export const activations = {
  relu: (x) => Math.max(x, 0),
  gelu: (x) => (x * (1 + erf(x / Math.SQRT2))) / 2,
  geluTanh: (x) => (x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)))) / 2,
  silu: (x) => x / (1 + Math.exp(-x)),
  tanh: Math.tanh,
  sigmoid: (x) => 1 / (1 + Math.exp(-x)),
};

/**
 * Philox4x32-10 (Salmon et al. 2011).
 * @param {number[]} counter  four words
 * @param {number[]} key  two words
 */
export function philox(counter, key) {
  let [c0, c1, c2, c3] = counter.map(BigInt);
  let [k0, k1] = key.map(BigInt);
  const word = 0xffffffffn;
  for (let round = 0; round < 10; ++round) {
    const p0 = 0xd2511f53n * c0;
    const p1 = 0xcd9e8d57n * c2;
    [c0, c1, c2, c3] = [(p1 >> 32n) ^ c1 ^ k0, p1 & word, (p0 >> 32n) ^ c3 ^ k1, p0 & word];
    k0 = (k0 + 0x9e3779b9n) & word;
    k1 = (k1 + 0xbb67ae85n) & word;
  }
  return [c0, c1, c2, c3].map(Number);
}
