import { product } from '../../model/product.js';

/** @typedef {import('attn').Attn} Attn */
/** @typedef {import('attn').Tensor} Tensor */
/** @typedef {import('../../drawing/matrix.js').Matrix} Matrix */

/** @typedef {'x' | 'q' | 'k' | 'v' | 'scores' | 'scaled' | 'masked' | 'weights' | 'head' | 'output'} StageId */

/**
 * Everything between the input of a multi-head attention layer and its output.
 * @typedef {object} Stages
 * @property {Tensor} query X·W_qᵀ, of all heads side by side: (n, E), as `key` and `value`
 * @property {Tensor} key
 * @property {Tensor} value
 * @property {Tensor} scores q·k: (heads, n, n), as the next three
 * @property {Tensor} scaled divided by √D
 * @property {Tensor} masked −∞ where excluded
 * @property {Tensor} weights after softmax
 * @property {Tensor} attended weights · value, of all heads side by side: (n, E)
 * @property {Tensor} output attended · W_oᵀ: (n, E)
 */

/**
 * @param {Attn} attn
 * @param {Tensor} x (n, E)
 * @param {{ inProjection: Tensor, outProjection: Tensor, numHeads: number }} layer (3·E, E), (E, E)
 * @param {import('attn').ExclusionOptions} exclusion
 * @returns {Stages}
 */
export function stagesOf(attn, x, { inProjection, outProjection, numHeads }, exclusion) {
  const [n, dModel] = x.shape;
  const [query, key, value] = [0, 1, 2].map((which) =>
    product(attn, x, partOf(inProjection, which, dModel)),
  );
  const [q, k, v] = [query, key, value].map(({ data }) => ({ data, shape: [1, n, dModel] }));
  const { output, scaledScores, biasedScores, weights } = attn.scaledDotProductAttention(q, k, v, {
    ...exclusion,
    numHeads,
    needScaledScores: true,
    needBiasedScores: true,
    needWeights: true,
  });
  const { scaledScores: scores } = attn.scaledDotProductAttention(q, k, v, {
    numHeads,
    scale: 1,
    needScaledScores: true,
  });
  const perHead = (/** @type {Tensor | undefined} */ tensor) => ({
    data: /** @type {Tensor} */ (tensor).data,
    shape: [numHeads, n, n],
  });
  const attended = { data: output.data, shape: [n, dModel] };
  return {
    ...{ query, key, value },
    scores: perHead(scores),
    scaled: perHead(scaledScores),
    masked: perHead(biasedScores),
    weights: perHead(weights),
    attended,
    output: product(attn, attended, outProjection),
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
 * @param {Tensor} tensor (rows, columns)
 * @param {number} begin
 * @param {number} end
 * @returns {Matrix}
 */
export function columnsOf({ data, shape }, begin, end) {
  const [rows, columns] = shape;
  const width = end - begin;
  const slice = new Float32Array(rows * width);
  for (let row = 0; row < rows; row++) {
    slice.set(data.subarray(row * columns + begin, row * columns + end), row * width);
  }
  return { data: slice, rows, columns: width };
}
