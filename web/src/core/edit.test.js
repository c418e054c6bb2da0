import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from 'attn';

import { difference } from './difference.js';
import { attend, editedLayer, projectionOf } from './edit.js';

const attn = await load({ threads: 1 });
const [dModel, numHeads] = [16, 2];
const layer = new attn.MultiHeadAttention({ dModel, numHeads, init: 'xavier', seed: 4 });
const x = attn.positionalEncoding(attn.ngramEmbedding(['man', 'bites', 'dog'], { dModel }));
const before = layer.forward(x, x, x, { needWeights: true });
const { weights } = before;

/** @param {Parameters<typeof editedLayer>[2]} edit */
function attendEdited(edit) {
  const edited = editedLayer(attn, layer, edit);
  const result = attend(edited, x, {});
  edited.dispose();
  return result;
}

test("projections match PyTorch's layout in the layer", () => {
  const { data } = layer.parameter('in_proj_weight');
  for (const [i, which] of /** @type {const} */ (['q', 'k', 'v']).entries()) {
    const projection = projectionOf(layer, which);
    assert.deepEqual(projection.shape, [dModel, dModel]);
    assert.deepEqual(projection.data, data.slice(i * dModel ** 2, (i + 1) * dModel ** 2));
  }
  assert.deepEqual(projectionOf(layer, 'o'), layer.parameter('out_proj.weight'));
});

test('an edit to the same value changes nothing, and the layer stays unchanged', () => {
  const was = layer.parameter('in_proj_weight').data.slice();
  for (const which of /** @type {const} */ (['q', 'k', 'v', 'o'])) {
    const value = projectionOf(layer, which).data[3 * dModel + 5];
    const same = attendEdited({ which, row: 3, column: 5, value });
    assert.deepEqual(same.output.data, before.output.data, which);
    attendEdited({ which, row: 3, column: 5, value: 9 });
  }
  assert.deepEqual(layer.parameter('in_proj_weight').data, was);
});

test("a query weight changes only its own head's weights, and a value weight changes none", () => {
  const edited = (/** @type {'q' | 'v'} */ which) =>
    attendEdited({ which, row: 3, column: 5, value: 2 });
  const { data } = difference(edited('q').weights, weights);
  assert.ok(data.subarray(0, 9).some((change) => Math.abs(change) > 1e-4));
  assert.ok(data.subarray(9).every((change) => change === 0));
  const value = edited('v');
  assert.deepEqual(value.weights.data, weights.data);
  assert.ok(difference(value.output, before.output).data.some((change) => change !== 0));
});

test('an output weight changes one column of the output, in proportion to a column of the heads', () => {
  const { output } = attendEdited({ which: 'o', row: 3, column: 5, value: 2 });
  difference(output, before.output).data.forEach((change, i) => {
    if (i % dModel !== 3) assert.equal(change, 0);
  });
});
