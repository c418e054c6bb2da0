import { matrixOf } from '../../drawing/matrix.js';
import { difference } from '../../model/difference.js';

/** @typedef {import('attn').Attn} Attn */
/** @typedef {import('attn').Tensor} Tensor */
/** @typedef {'q' | 'k' | 'v' | 'o'} Projection */

/**
 * Another number in one projection; base: of the layer's rotary positions.
 * @typedef {{ which: Projection, row: number, column: number, value: number, base?: number }} Edit
 */

/** @type {Record<Projection, string>} */
export const projectionNames = { q: 'query', k: 'key', v: 'value', o: 'output' };

/**
 * One of the four projections of a multi-head attention layer, a copy.
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
 * What another number in one projection changes of a layer's output.
 * @param {Attn} attn
 * @param {InstanceType<Attn['MultiHeadAttention']>} layer left as it is
 * @param {Edit} edit
 * @param {Tensor} x (n, E)
 * @param {import('attn').ExclusionOptions} exclusion
 * @param {number} head
 * @param {{ output: Tensor, weights: Tensor }} [before] what the layer gives, if that is known
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
 * A copy of the layer of which one weight is another number. To be disposed of.
 * @param {Attn} attn
 * @param {InstanceType<Attn['MultiHeadAttention']>} layer left as it is
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
 * What a layer gives for x.
 * @param {InstanceType<Attn['MultiHeadAttention']>} layer
 * @param {Tensor} x (n, E)
 * @param {import('attn').ExclusionOptions} exclusion
 * @returns {{ output: Tensor, weights: Tensor }} (n, E) and (heads, n, n)
 */
export function attend(layer, x, exclusion) {
  return layer.forward(x, x, x, { ...exclusion, needWeights: true });
}

/**
 * The weight that the settings say, as it is and as it is to be: the first one of the head, unless
 * another is chosen.
 * @param {import('attn').Tensor} projection (E, E)
 * @param {Pick<import('../../model/sentence.js').Given, 'dModel' | 'heads' | 'head' | 'editCell' | 'editBy'>} given
 */
export function editOf({ data }, { dModel, heads, head, editCell, editBy }) {
  const chosen = editCell && Math.max(editCell.row, editCell.column) < dModel;
  const { row, column } = chosen ? editCell : { row: (head * dModel) / heads, column: 0 };
  const original = data[row * dModel + column];
  return { row, column, original, value: Math.fround(original + editBy) };
}

/** @typedef {{ weights: import('../../drawing/matrix.js').Matrix, output: Tensor }} Changes of the head, of all */

/**
 * What another layer changes.
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
