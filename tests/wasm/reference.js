// Attention and encodings in double precision, straight from their definitions. Shares no code with
// the core. With Math.fround for `round`, every operation is rounded to float32 instead: how far that
// lies from the exact result tells what rounding errors are to be expected.

/** @import { Tensor } from 'attn' */

/**
 * @typedef {object} AttentionCase
 * @property {Tensor} query  (B, Hq, Nq, D)
 * @property {Tensor} key  (B, Hkv, Nk, D)
 * @property {Tensor} value  (B, Hkv, Nk, Dv)
 * @property {number} [scale]
 * @property {(b: number, h: number, i: number, j: number) => boolean} [attends]
 * @property {(x: number) => number} [round]
 */

const exact = (/** @type {number} */ x) => x;

/** @param {AttentionCase} options */
export function attention({ query, key, value, scale, attends = () => true, round = exact }) {
  const [batch, queryHeads, numQueries, headDim] = query.shape;
  const [, keyHeads, numKeys] = key.shape;
  const valueDim = value.shape[3];
  const factor = scale ?? 1 / Math.sqrt(headDim);
  const output = new Float64Array(batch * queryHeads * numQueries * valueDim);
  const weights = new Float64Array(batch * queryHeads * numQueries * numKeys);
  for (let b = 0; b < batch; ++b) {
    for (let h = 0; h < queryHeads; ++h) {
      const keyHead = b * keyHeads + Math.floor(h / (queryHeads / keyHeads));
      for (let i = 0; i < numQueries; ++i) {
        const row = (b * queryHeads + h) * numQueries + i;
        const keys = Array.from({ length: numKeys }, (_, j) => j).filter((j) =>
          attends(b, h, i, j),
        );
        const scores = keys.map((j) => {
          let score = 0;
          for (let d = 0; d < headDim; ++d) {
            const k = key.data[(keyHead * numKeys + j) * headDim + d];
            score = round(score + round(query.data[row * headDim + d] * k));
          }
          return round(factor * score);
        });
        const largest = Math.max(...scores);
        const powers = scores.map((score) => round(Math.exp(round(score - largest))));
        const sum = powers.reduce((total, power) => round(total + power), 0);
        keys.forEach((j, n) => {
          const weight = round(powers[n] / sum);
          weights[row * numKeys + j] = weight;
          for (let d = 0; d < valueDim; ++d) {
            const at = row * valueDim + d;
            const v = value.data[(keyHead * numKeys + j) * valueDim + d];
            output[at] = round(output[at] + round(weight * v));
          }
        });
      }
    }
  }
  return { output, weights };
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
 * x · Wᵀ + b, for x of `rows` rows.
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
