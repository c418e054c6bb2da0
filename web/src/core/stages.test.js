import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from 'attn';

import { attentionWeights, maxAbsDifference, project } from '../../../tests/browser/reference.js';
import { stagesOf } from './stages.js';

const attn = await load({ threads: 1 });
const [n, dModel, numHeads] = [4, 16, 2];
const depth = dModel / numHeads;
const x = {
  data: Float32Array.from({ length: n * dModel }, (_, i) => Math.sin(i)),
  shape: [n, dModel],
};

/** @param {{ data: Float32Array, columns: number }} matrix */
const rowsOf = ({ data, columns }) =>
  Array.from({ length: data.length / columns }, (_, row) => [
    ...data.subarray(row * columns, (row + 1) * columns),
  ]);
/** The output of a head. @param {number[][]} weights @param {number[][]} values */
const mixed = (weights, values) =>
  weights.map((row) =>
    values[0].map((_, c) => row.reduce((sum, weight, j) => sum + weight * values[j][c], 0)),
  );

for (const causal of [false, true]) {
  test(`every stage matches the reference${causal ? ', causal' : ''}`, () => {
    const layer = new attn.MultiHeadAttention({ dModel, numHeads, init: 'xavier', seed: 3 });
    const all = rowsOf({ data: layer.parameter('in_proj_weight').data, columns: dModel });
    const rows = rowsOf({ data: x.data, columns: dModel });
    const projected = [0, 1, 2].map(
      (which) => project(rows, all.slice(which * dModel, (which + 1) * dModel)).values,
    );
    const heads = [0, 1].map((head) =>
      projected.map((rows) => rows.map((row) => row.slice(head * depth, (head + 1) * depth))),
    );
    const weights = heads.map(
      ([q, k]) => attentionWeights({ values: q }, { values: k }, causal).weights,
    );
    const outputs = heads.map(([, , v], head) => mixed(weights[head], v));
    const [q, k, v] = heads[1];
    const scores = q.map((a) => k.map((b) => a.reduce((sum, value, i) => sum + value * b[i], 0)));
    const scaled = scores.map((row) => row.map((score) => score / Math.sqrt(depth)));
    const attended = outputs[0].map((row, i) => [...row, ...outputs[1][i]]);
    const out = rowsOf({ data: layer.parameter('out_proj.weight').data, columns: dModel });
    const expected = {
      ...{ query: q, key: k, value: v, scores, scaled, weights: weights[1], attended },
      output: project(attended, out).values,
    };
    const { masked, ...stages } = stagesOf(attn, x, layer, { causal }, 1);
    layer.dispose();
    for (const [name, values] of Object.entries(expected)) {
      const matrix = stages[/** @type {keyof typeof expected} */ (name)];
      assert.ok(maxAbsDifference(rowsOf(matrix), values) < 1e-5, name);
    }
    rowsOf(masked).forEach((row, i) =>
      row.forEach((score, j) => {
        if (causal && j > i) assert.equal(score, -Infinity);
        else assert.ok(Math.abs(score - scaled[i][j]) < 1e-5);
      }),
    );
  });
}
