import assert from 'node:assert/strict';
import test from 'node:test';

import { attentionWeights, maxAbsDifference, mix, project } from './reference.js';
import { becomes, heatmap, matches, openTestSite, readValues, shownValue } from './site.js';

const site = await openTestSite();

const [n, dModel, heads] = [4, 16, 2];
const depth = dModel / heads;
const text = `text=man+bites+dog+man&dModel=${dModel}&heads=${heads}&at=self-attention.edit`;

const identity = () =>
  Array.from({ length: dModel }, (_, i) => Array.from({ length: dModel }, (_, j) => +(i === j)));

/** A layer whose projections are identities, except for the matrices in `edited`. */
function layer(
  /** @type {number[][]} */ x,
  /** @type {Partial<Record<'q' | 'k' | 'v' | 'o', number[][]>>} */ edited = {},
) {
  const rows = (/** @type {'q' | 'k' | 'v'} */ which) => project(x, edited[which] ?? identity());
  const [query, key, value] = [rows('q'), rows('k'), rows('v')].map(({ values }) => values);
  const ofHead = (/** @type {number[][]} */ all, /** @type {number} */ head) => ({
    values: all.map((row) => row.slice(head * depth, (head + 1) * depth)),
  });
  const weights = Array.from(
    { length: heads },
    (_, head) => attentionWeights(ofHead(query, head), ofHead(key, head), false).weights,
  );
  const mixed = weights.map((each, head) => mix(each, ofHead(value, head).values).values);
  const joined = x.map((_, i) => mixed.flatMap((rows) => rows[i]));
  return { weights, output: project(joined, edited.o ?? identity()).values };
}

const minus = (/** @type {number[][]} */ a, /** @type {number[][]} */ b) =>
  a.map((row, i) => row.map((value, j) => value - b[i][j]));

for (const which of /** @type {const} */ (['q', 'k', 'v', 'o'])) {
  test(`a changed weight of W_${which} has the same effect as in the reference`, async () => {
    const input = await site.visit(`#${text.replace('edit', 'pipeline')}`);
    const x = await readValues(heatmap(input, /^Input of the layer/), n, dModel);

    const page = await site.visit(`#${text}&head=1&editMatrix=${which}&editCell=9.3&editBy=1.5`);
    const edited = identity();
    edited[9][3] += 1.5;
    await becomes(() => shownValue(heatmap(page, /^Numbers of the .* projection/)), 1.5);
    const [before, after] = [layer(x), layer(x, { [which]: edited })];
    const changes = heatmap(page, /^Change of the attention weights of head 2/);
    const weights = await readValues(changes, n, n);
    await changes.dispatchEvent('pointerleave', { pointerType: 'mouse' });
    assert.ok(maxAbsDifference(weights, minus(after.weights[1], before.weights[1])) < 1e-5);
    const output = await readValues(heatmap(page, /^Change of the output/), n, dModel);
    assert.ok(maxAbsDifference(output, minus(after.output, before.output)) < 1e-5);
    assert.ok(maxAbsDifference(output, minus(output, output)) > 0.01, 'something changes');
  });
}

test('a click selects the weight, the slider changes it, and the link keeps both', async () => {
  const page = await site.visit(`#${text}`);
  const matrix = heatmap(page, /^Numbers of the query projection/);
  const box = /** @type {{ width: number, height: number }} */ (await matrix.boundingBox());
  const position = { x: (5.5 / dModel) * box.width, y: (2.5 / dModel) * box.height };
  await matrix.click({ position });
  const slider = page.getByRole('slider', { name: 'row 2, column 5' });
  await slider.press('ArrowRight');
  await page.waitForURL(/editCell=2\.5.*editBy=1\.05/);
  const copy = await site.visit(new URL(page.url()).hash + '&at=self-attention.edit');
  await copy.getByRole('slider', { name: 'row 2, column 5' }).waitFor();
  await matches(() => copy.locator('#edit output').innerText(), /0 → 1\.05/);
});
