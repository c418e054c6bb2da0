// The effect of changing one number in a projection of a reader's model. Used in the model's worker.

import { changes } from '../../core/edit.js';
import { headRows } from '../../core/layer.js';
import { attentionOf } from './ownStages.js';

/** @typedef {import('attn').Tensor} Tensor */
/** @typedef {import('attn').LanguageModel} LanguageModel */

/**
 * The effect of changing one number in a projection, within the part that belongs to one head. The
 * model is restored afterwards.
 * @param {LanguageModel} model
 * @param {Pick<import('../../core/sentence.js').Given, 'layer' | 'head' | 'editMatrix' | 'editCell' |
 *   'editBy'>} given
 * @param {() => { weights: Tensor, output: Tensor }} run runs the layer
 */
export function editedBy(model, { layer: at, head, editMatrix: which, editCell, editBy }, run) {
  const layer = model.description.layers[at];
  const { dModel, headDim, numHeads } = layer;
  const { name, first } =
    which === 'o'
      ? { name: 'out_proj.weight', first: head * headDim }
      : headRows(layer, which, head);
  const path = attentionOf(at) + name;
  const whole = model.parameter(path);
  // In the output projection, a head has columns instead of rows.
  const width = which === 'o' ? numHeads * headDim : dModel;
  const shape = which === 'o' ? [dModel, headDim] : [headDim, dModel];
  const index = (/** @type {number} */ row, /** @type {number} */ column) =>
    which === 'o' ? row * width + first + column : (first + row) * width + column;
  const projection = {
    data: Float32Array.from(
      { length: shape[0] * shape[1] },
      (_, i) => whole.data[index(Math.floor(i / shape[1]), i % shape[1])],
    ),
    shape,
  };
  const { row, column } =
    editCell && editCell.row < shape[0] && editCell.column < shape[1]
      ? editCell
      : { row: 0, column: 0 };
  const original = whole.data[index(row, column)];
  const value = Math.fround(original + editBy);
  const before = run();
  const other = whole.data.slice();
  other[index(row, column)] = value;
  model.setParameter(path, { data: other, shape: whole.shape });
  try {
    return {
      ...changes(run(), before, head),
      ...{ projection, ofHead: true, edit: { row, column, original, value } },
    };
  } finally {
    model.setParameter(path, whole);
  }
}
