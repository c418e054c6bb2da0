import { matrixOf } from '../drawing/matrix.js';
import { difference } from './difference.js';

/** @typedef {import('attn').Attn} Attn */
/** @typedef {import('attn').Tensor} Tensor */
/** @typedef {'q' | 'k' | 'v' | 'o'} Projection */

/**
 * A new value for one number in a projection; base: base of the layer's rotary positions.
 * @typedef {{ which: Projection, row: number, column: number, value: number, base?: number }} Edit
 */

/**
 * A copy of one of the four projections of a multi-head attention layer.
 * @param {{ parameter: (name: string) => Tensor }} layer
 * @param {Projection} which
 * @returns {Tensor} (E, E)
 */
export function projectionOf(layer, which) {
  if (which === 'o') return layer.parameter('out_proj.weight');
  const { data, shape } = layer.parameter('in_proj_weight');
  const dModel = shape[1];
  const size = dModel * dModel;
  const at = 'qkv'.indexOf(which) * size;
  return { data: data.slice(at, at + size), shape: [dModel, dModel] };
}

/**
 * Computes how a new value in one projection changes a head's weights and the layer's output.
 * @param {Attn} attn
 * @param {InstanceType<Attn['MultiHeadAttention']>} layer unchanged
 * @param {Edit} edit
 * @param {Tensor} x (n, E)
 * @param {import('attn').ExclusionOptions} exclusion
 * @param {number} head
 * @param {{ output: Tensor, weights: Tensor }} [before] the layer's output, if known
 */
export function effectOf(attn, layer, edit, x, exclusion, head, before) {
  const edited = editedLayer(attn, layer, edit);
  try {
    const after = attend(edited, x, exclusion);
    return changes(after, before ?? attend(layer, x, exclusion), head);
  } finally {
    edited.dispose();
  }
}

/**
 * Copies the layer and changes one weight. The caller must dispose of the copy.
 * @param {Attn} attn
 * @param {InstanceType<Attn['MultiHeadAttention']>} layer unchanged
 * @param {Edit} edit
 */
export function editedLayer(attn, layer, { which, row, column, value, base }) {
  const { dModel, numHeads } = layer;
  const inProjection = layer.parameter('in_proj_weight');
  const outProjection = layer.parameter('out_proj.weight');
  const edited = which === 'o' ? outProjection : inProjection;
  const firstRow = which === 'o' ? 0 : 'qkv'.indexOf(which) * dModel;
  edited.data[(firstRow + row) * dModel + column] = value;
  const biases = layer.parameterNames().filter((name) => name.endsWith('bias'));
  const copy = new attn.MultiHeadAttention({
    ...{ dModel, numHeads, init: 'identity', bias: biases.length > 0 },
    positions: base ? { rotary: { base } } : {},
  });
  for (const name of biases) copy.setParameter(name, layer.parameter(name));
  copy.setParameter('in_proj_weight', inProjection);
  copy.setParameter('out_proj.weight', outProjection);
  return copy;
}

/**
 * Runs a layer on x.
 * @param {InstanceType<Attn['MultiHeadAttention']>} layer
 * @param {Tensor} x (n, E)
 * @param {import('attn').ExclusionOptions} exclusion
 * @returns {{ output: Tensor, weights: Tensor }} (n, E) and (heads, n, n)
 */
export function attend(layer, x, exclusion) {
  return layer.forward(x, x, x, { ...exclusion, needWeights: true });
}

/**
 * The weight that the settings select, with its old and new values. By default it is the first
 * weight of the head.
 * @param {import('attn').Tensor} projection (E, E)
 * @param {Pick<import('./sentence.js').Given, 'dModel' | 'heads' | 'head' | 'editCell'
 *   | 'editBy'>} given
 */
export function editOf({ data }, { dModel, heads, head, editCell, editBy }) {
  const chosen = editCell && Math.max(editCell.row, editCell.column) < dModel;
  const { row, column } = chosen ? editCell : { row: (head * dModel) / heads, column: 0 };
  const original = data[row * dModel + column];
  return { row, column, original, value: Math.fround(original + editBy) };
}

/**
 * @typedef {{ weights: import('../drawing/matrix.js').Matrix, output: Tensor }} Changes weights:
 *   the changes of one head's weights; output: the changes of the layer's output
 */

/**
 * Computes how the results of a changed layer differ from the earlier results.
 * @param {{ output: Tensor, weights: Tensor }} after (n, E) and (heads, n, n)
 * @param {{ output: Tensor, weights: Tensor }} before
 * @param {number} head
 * @returns {Changes}
 */
export function changes(after, before, head) {
  return {
    weights: difference(matrixOf(after.weights, head), matrixOf(before.weights, head)),
    output: difference(after.output, before.output),
  };
}
