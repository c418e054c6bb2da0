import { matrixOf } from '../../drawing/matrix.js';
import { joinHeads } from '../../model/heads.js';

/** @typedef {import('attn').Attn} Attn */
/** @typedef {import('attn').Tensor} Tensor */
/** @typedef {import('../../drawing/matrix.js').Matrix} Matrix */

/** @typedef {InstanceType<Attn['MultiHeadAttention']>} Layer */
/** @typedef {'x' | 'q' | 'k' | 'v' | 'scores' | 'scaled' | 'masked' | 'weights' | 'head' | 'output'} StageId */

/**
 * Everything between the input of a multi-head attention layer and its output, for one head.
 * @typedef {object} Stages
 * @property {Matrix} query X·W_qᵀ, the head's columns of it: (n, D), as `key` and `value`
 * @property {Matrix} key
 * @property {Matrix} value
 * @property {Matrix} scores q·k: (n, n), as the next three
 * @property {Matrix} scaled divided by √D
 * @property {Matrix} masked −∞ where excluded
 * @property {Matrix} weights after softmax
 * @property {Matrix} attended weights · value, of all heads side by side: (n, E)
 * @property {Matrix} output attended · W_oᵀ: (n, E)
 */

/**
 * @param {Attn} attn
 * @param {Tensor} x (n, E)
 * @param {Layer} layer
 * @param {import('attn').ExclusionOptions} exclusion
 * @param {number} head
 * @returns {Stages}
 */
export function stagesOf(attn, x, layer, exclusion, head) {
  const { output, intermediates = {} } = layer.forward(x, x, x, {
    ...exclusion,
    intermediates: ['q', 'k', 'v', 'head_output'],
  });
  const [query, key, value] = ['q', 'k', 'v'].map((name) => matrixOf(intermediates[name], head));
  // Of this head alone: those of all heads of a long sentence are too much to keep.
  const [q, k, v] = [query, key, value].map(({ data, rows, columns }) => ({
    data,
    shape: [1, rows, columns],
  }));
  const { scaledScores, biasedScores, weights } = attn.scaledDotProductAttention(q, k, v, {
    ...exclusion,
    numHeads: 1,
    needScaledScores: true,
    needBiasedScores: true,
    needWeights: true,
  });
  const { scaledScores: scores } = attn.scaledDotProductAttention(q, k, v, {
    numHeads: 1,
    scale: 1,
    needScaledScores: true,
  });
  return {
    ...{ query, key, value, weights: matrixOf(weights) },
    ...{ scores: matrixOf(scores), scaled: matrixOf(scaledScores), masked: matrixOf(biasedScores) },
    attended: matrixOf(joinHeads(intermediates.head_output)),
    output: matrixOf(output),
  };
}

/**
 * W_q, W_k or W_v of the projection that holds them one below the other.
 * @param {Tensor} inProjection (3·E, E)
 * @param {number} which
 * @param {number} dModel
 * @returns {Tensor} (E, E)
 */
export function partOf(inProjection, which, dModel) {
  const size = dModel * dModel;
  return {
    data: inProjection.data.subarray(which * size, (which + 1) * size),
    shape: [dModel, dModel],
  };
}

/**
 * Some columns of a matrix.
 * @param {Matrix} matrix
 * @param {number} begin
 * @param {number} end
 * @returns {Matrix}
 */
export function columnsOf({ data, rows, columns }, begin, end) {
  const width = end - begin;
  const slice = new Float32Array(rows * width);
  for (let row = 0; row < rows; row++) {
    slice.set(data.subarray(row * columns + begin, row * columns + end), row * width);
  }
  return { data: slice, rows, columns: width };
}
