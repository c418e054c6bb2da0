import { matrixOf } from '../drawing/matrix.js';
import { joinHeads } from './heads.js';

/** @typedef {import('attn').Attn} Attn */
/** @typedef {import('attn').Tensor} Tensor */
/** @typedef {import('../drawing/matrix.js').Matrix} Matrix */

/** @typedef {InstanceType<Attn['MultiHeadAttention']>} Layer */
/** @typedef {'x' | 'memory' | 'q' | 'k' | 'v' | 'scores' | 'scaled' | 'capped' | 'masked' | 'weights' | 'head' | 'output'} StageId */

/**
 * All steps between the input of a multi-head attention layer and its output, for one head.
 * @typedef {object} Stages
 * @property {Matrix} query the head's columns of X·W_qᵀ: (n, D)
 * @property {Matrix} key (m, D), like `value`; m = n in self-attention
 * @property {Matrix} value
 * @property {Matrix} [memory] the encoder's output, from which cross attention computes keys and
 *   values: (m, E)
 * @property {Matrix} scores q·k: (n, m), like the next four properties
 * @property {Matrix} scaled divided by √D
 * @property {Matrix} [capped] after softcapping, if the layer caps scores
 * @property {Matrix} masked with the learned bias, if there is one, and −∞ where excluded
 * @property {Matrix} weights after softmax
 * @property {Matrix} attended weights · value, all heads side by side: (n, H·D)
 * @property {Matrix} output attended · W_oᵀ: (n, E)
 *
 * @typedef {{ weight: Tensor, bias?: Float32Array }} Affine a projection: weight (outputs,
 *   inputs) and bias (outputs)
 *
 * The projections to queries, keys and values of one head, (D, E) each, and from all heads to the
 *   output, (E, H·D).
 * @typedef {{ q: Affine, k: Affine, v: Affine, o?: Affine }} Projections
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
  // Compute the scores of this head only. For a long sentence, the scores of all heads would take
  // too much memory.
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
 * The projections of a head.
 * @param {Record<string, Tensor>} parameters the layer's parameters, with PyTorch's names as keys
 * @param {number} head
 * @param {number} depth D
 * @returns {Projections}
 */
export function projectionsOf(parameters, head, depth) {
  const { in_proj_weight: weight, in_proj_bias: bias } = parameters;
  const dModel = weight.shape[1];
  const [q, k, v] = [0, 1, 2].map((which) => {
    const first = which * dModel + head * depth;
    return {
      weight: {
        data: weight.data.subarray(first * dModel, (first + depth) * dModel),
        shape: [depth, dModel],
      },
      bias: bias?.data.subarray(first, first + depth),
    };
  });
  const o = { weight: parameters['out_proj.weight'], bias: parameters['out_proj.bias']?.data };
  return { q, k, v, o };
}

/**
 * Columns begin … end − 1 of a matrix.
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

/**
 * For a cell in each stage, the parts of other stages that the cell depends on. A part is a whole
 * row, a whole column, or one cell.
 * @param {import('../drawing/selection.svelte.js').Cell} cell
 * @param {boolean} isCapped whether scores are softcapped
 * @param {boolean} [isCross] whether keys and values are computed from the encoder's output
 * @returns {Record<StageId, Partial<Record<StageId, { row?: number, column?: number }>>>}
 */
export const sourcesOf = ({ row, column }, isCapped, isCross = false) => ({
  x: {},
  memory: {},
  q: { x: { row } },
  k: { [isCross ? 'memory' : 'x']: { row } },
  v: { [isCross ? 'memory' : 'x']: { row } },
  scores: { q: { row }, k: { row: column } },
  scaled: { scores: { row, column } },
  capped: { scaled: { row, column } },
  masked: { [isCapped ? 'capped' : 'scaled']: { row, column } },
  weights: { masked: { row } },
  head: { weights: { row }, v: { column } },
  output: { head: { row } },
});
