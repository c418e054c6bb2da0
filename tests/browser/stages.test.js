import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from 'attn';

import { attentionWeights, maxAbsDifference, project } from './reference.js';
import { heatmap, numberOf, openTestSite, readValues } from './site.js';

const site = await openTestSite();

const n = 4;
const dModel = 16;
const text = 'at=self-attention.stages&text=man+bites+dog+man&dModel=16&heads=2&head=1';
const depth = dModel / 2;

/** @param {number[][]} rows */
const ofHead = (rows) => rows.map((row) => row.slice(depth));

for (const causal of [false, true]) {
  test(`every stage matches the reference${causal ? ', causal' : ''}`, async () => {
    const page = await site.visit(`#${text}&weights=xavier&seed=3&causal=${Number(causal)}`);
    const read = (/** @type {RegExp} */ name, /** @type {number} */ columns) =>
      readValues(heatmap(page, name), n, columns);
    const x = await read(/^Input, /, dModel);

    const attn = await load({ threads: 1 });
    const layer = new attn.MultiHeadAttention({ dModel, numHeads: 2, init: 'xavier', seed: 3 });
    const { data } = layer.parameter('in_proj_weight');
    const out = layer.parameter('out_proj.weight').data;
    layer.dispose();
    const rowsOf = (/** @type {Float32Array} */ values, /** @type {number} */ which) =>
      Array.from({ length: dModel }, (_, row) => [
        ...values.subarray((which * dModel + row) * dModel, (which * dModel + row + 1) * dModel),
      ]);
    const [query, key, value] = [0, 1, 2].map((which) => project(x, rowsOf(data, which)));
    for (const [name, { values }] of /** @type {const} */ ([
      [/^Queries/, query],
      [/^Keys/, key],
      [/^Values/, value],
    ])) {
      assert.ok(maxAbsDifference(await read(name, depth), ofHead(values)) < 1e-5, String(name));
    }

    const [q, k, v] = [query, key, value].map(({ values }) => ofHead(values));
    const scores = q.map((a) => k.map((b) => a.reduce((sum, value, i) => sum + value * b[i], 0)));
    assert.ok(maxAbsDifference(await read(/^Scores/, n), scores) < 1e-5);
    const scaled = scores.map((row) => row.map((score) => score / Math.sqrt(depth)));
    assert.ok(maxAbsDifference(await read(/^Scaled scores/, n), scaled) < 1e-5);
    const masked = await read(/^Masked scores/, n);
    masked.forEach((row, i) =>
      row.forEach((score, j) => {
        if (causal && j > i) assert.equal(score, -Infinity);
        else assert.ok(Math.abs(score - scaled[i][j]) < 1e-5);
      }),
    );
    const { weights } = attentionWeights({ values: q }, { values: k }, causal);
    assert.ok(maxAbsDifference(await read(/^Weights after softmax/, n), weights) < 1e-5);
    const head = weights.map((row) =>
      v[0].map((_, c) => row.reduce((sum, weight, j) => sum + weight * v[j][c], 0)),
    );
    assert.ok(maxAbsDifference(await read(/^Output of the head/, depth), head) < 1e-5);

    // The layer's output is the sum over its two heads. The test computes the first head from the
    // left halves of the queries, keys and values.
    const first = [query, key, value].map(({ values }) => values.map((row) => row.slice(0, depth)));
    const other = attentionWeights({ values: first[0] }, { values: first[1] }, causal).weights.map(
      (row) => first[2][0].map((_, c) => row.reduce((sum, w, j) => sum + w * first[2][j][c], 0)),
    );
    const both = head.map((row, i) => [...other[i], ...row]);
    const { values: output } = project(both, rowsOf(out, 0));
    assert.ok(maxAbsDifference(await read(/^Output of the layer/, dModel), output) < 1e-5);
  });
}

test('the terms of a number add up to it and highlight their sources', async () => {
  const page = await site.visit(`#${text}&weights=xavier&stageCell=scores.2.1`);
  const table = page.locator('#stages .readout table');
  await table.waitFor();
  const products = (await table.locator('tr.result td').allTextContents()).map(numberOf);
  assert.equal(products.length, depth);
  const terms = page.locator('#stages .readout [data-terms-total]');
  const total = numberOf((await terms.getAttribute('title')) ?? '');
  const sum = products.reduce((a, b) => a + b, 0);
  // The page rounds each product to three digits.
  const tolerance = products.reduce((a, b) => a + 0.006 * Math.abs(b), 1e-6);
  assert.ok(Math.abs(sum - total) < tolerance, `${sum} against ${total}`);
  assert.equal(await page.locator('#stages rect.source').count(), 2, 'a query and a key');
});

test('a lock stays while the pointer passes over other matrices', async () => {
  const page = await site.visit(`#${text}`);
  await heatmap(page, /^Scores/).click({ position: { x: 5, y: 5 } });
  const value = () => page.locator('#stages [data-value]').innerText();
  const locked = await value();
  await heatmap(page, /^Values/).hover();
  assert.equal(await value(), locked);
  await page.locator('#stages').getByRole('button', { name: 'unlock' }).click();
  await heatmap(page, /^Values/).hover();
  assert.notEqual(await value(), locked);
});

test('on a phone the terms and their sum are beside the cell', async () => {
  const page = await site.visit(`#${text}&weights=xavier&stageCell=scores.2.1`, {
    viewport: { width: 390, height: 844 },
  });
  const scores = heatmap(page, /^Scores/);
  await scores.scrollIntoViewIfNeeded();
  // Readers can scroll to terms that do not fit.
  for (const part of ['[data-terms-total]', '[role=group]']) {
    const shown = page.locator(`#stages .readout ${part}`);
    await shown.waitFor();
    const { x, width } = /** @type {{ x: number, width: number }} */ (await shown.boundingBox());
    assert.ok(x >= 0 && x + width <= 390, `${part}: ${x} to ${x + width}`);
  }
});
