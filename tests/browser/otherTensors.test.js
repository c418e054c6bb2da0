// Tests that figures can show tensors from any source. The tensors here are not computed by the
// page's layers, and the figures are mounted on a separate page that lacks the core, the sentence
// and the pipeline.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';

import { svelte } from '@sveltejs/vite-plugin-svelte';
import { build } from 'vite';

import { equations } from '../../web/equations.js';
import { outlines } from '../../web/outlines.js';
import * as tensors from './mount/tensors.js';
import { becomes, heatmap, matches, openSite, readValues, settled } from './site.js';

const { alignment, block, decoding, losses, positions, products, rowsOf, stages, weights } =
  tensors;

/** @type {import('./site.js').Site} */
let site;
/** @type {import('playwright-core').Page} */
let page;
let folder = '';

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'attn-figures-'));
  await build({
    configFile: false,
    logLevel: 'error',
    root: fileURLToPath(new URL('mount', import.meta.url)),
    base: './',
    plugins: [svelte({ configFile: false }), equations(), outlines()],
    build: { outDir: folder, emptyOutDir: true, target: 'es2023', assetsInlineLimit: 0 },
  });
  site = await openSite();
  site.deploy(folder);
  page = await site.open();
});
after(async () => {
  await site?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Returns a figure after scrolling to it and waiting for its picture. @param {string} id */
async function figureOf(id) {
  const figure = page.locator(`#${id}`);
  // Figures above this one may be drawn at the same time and push it out of view.
  for (let time = 0; time < 2; time++) {
    await figure.scrollIntoViewIfNeeded();
    await settled(page);
  }
  await figure.getByRole('application').first().waitFor();
  return figure;
}

test('attention: each head as given, with its statistics', async () => {
  const figure = await figureOf('weights');
  const map = heatmap(figure, /^Attention weights of head/);
  for (const head of [0, 1]) {
    const choice = figure.getByRole('radio', { name: `head ${head + 1}` });
    await choice.check({ force: true });
    assert.deepEqual(await readValues(map, 3, 3), rowsOf(weights, head));
  }
  const entropies = figure.locator('[data-entropy]');
  // The mean entropies of the two heads are (1.5 + 0 + 1.06) / 3 and (0 + 0 + 1) / 3 bits.
  await becomes(() => entropies.allInnerTexts(), ['0.85', '0.33']);
  await map.hover({ position: { x: 3, y: 3 } });
  await matches(() => figure.locator('[id$="-readout"]').innerText(), /zu0 attends to zu0/);
});

test('stages: every matrix, and the terms of a sum with its bias', async () => {
  const figure = await figureOf('stages');
  for (const [name, { data, rows, columns }] of /** @type {const} */ ([
    [/^Queries/, stages.query],
    [/^Keys/, stages.key],
    [/^Values/, stages.value],
    [/^Scores/, stages.scores],
    [/^Scaled scores/, stages.scaled],
    [/^Weights/, stages.weights],
    [/^Output of the layer/, stages.output],
  ])) {
    const shown = await readValues(heatmap(figure, name), rows, columns);
    assert.deepEqual(shown, rowsOf({ data, shape: [rows, columns] }), String(name));
  }
  await heatmap(figure, /^Queries/).focus();
  // The bias of W_q's row 2, which belongs to head 2.
  await matches(() => figure.locator('.readout .total').innerText(), /\+ bias: 0\.75\s*= 10$/);
  await becomes(() => figure.locator('path[fill^="url("]').count(), 2, 'masked cells are hatched');
});

test('similarity: products of any encoding', async () => {
  const figure = await figureOf('encoding-similarity');
  const map = heatmap(figure, /^Dot products/);
  assert.deepEqual(await readValues(map, 5, 5), rowsOf(products));
  // The last cell was selected. The cell two rows up has a different value.
  await map.press('ArrowUp');
  await map.press('ArrowUp');
  const readout = figure.locator('[id$="-readout"]');
  await matches(() => readout.innerText(), /^positions 20 and 40, 20 apart: 0\.75$/);
});

test('encoder block: every matrix, whatever the width of its hidden layer', async () => {
  const figure = await figureOf('encoder-block');
  for (const [name, id] of /** @type {const} */ ([
    [/^input/, 'x'],
    [/^queries/, 'q'],
    [/^head 1/, 'weights0'],
    [/^hidden, ReLU/, 'hidden'],
    [/^H \+ F, output/, 'sum2'],
  ])) {
    const tensor = block.run.stages[id];
    const [rows, columns] = tensor.shape;
    const shown = await readValues(heatmap(figure, name), rows, columns);
    assert.deepEqual(shown, rowsOf(tensor), id);
  }
  await heatmap(figure, /^head 1/).focus();
  const readout = await figure.locator('[id$="-readout"]').innerText();
  assert.match(readout, /zu0 attends to zu0 with weight 0\.5\s*= softmax over 3 keys, score −2 = /);
  await matches(() => figure.innerText(), /From a file\./);
});

test('decoder cache: the rows that are known at a step, and the size of shared keys', async () => {
  const figure = await figureOf('decoder-cache');
  assert.deepEqual(await readValues(heatmap(figure, /^Query of the new token/), 1, 4), [
    rowsOf(decoding.q)[1],
  ]);
  const weights = heatmap(figure, /^Attention weights of the new token, 3 tokens by 2 heads/);
  assert.deepEqual((await readValues(weights, 3, 2)).slice(0, 2), [
    [0.25, 0.5],
    [0.75, 0.5],
  ]);
  for (const [name, tensor] of /** @type {const} */ ([
    [/^Cache of keys, 3 tokens by 2/, decoding.keys],
    [/^Cache of values, 3 tokens by 2/, decoding.values],
    [/^Output, 3 tokens by 4/, decoding.output],
  ])) {
    const shown = await readValues(heatmap(figure, name), 3, tensor.shape[1]);
    assert.deepEqual(shown.slice(0, 2), rowsOf(tensor).slice(0, 2), String(name));
  }
  await becomes(() => figure.locator('[data-difference]').getAttribute('data-difference'), '0.125');
  // One key and one value, each a row with two columns.
  await matches(() => figure.innerText(), /the cache holds\s*8\s*numbers \(32 bytes\)/);
  await matches(() => figure.innerText(), /From a file\./);
});

test('losses of any model, compared with guessing', async () => {
  const figure = page.locator('#order-loss');
  await figure.scrollIntoViewIfNeeded();
  await settled(page);
  const shown = figure.locator('[data-loss]');
  assert.deepEqual(
    await shown.evaluateAll((all) => all.map((each) => Number(each.getAttribute('data-loss')))),
    losses.map(({ loss }) => loss),
  );
  const bars = await figure
    .locator('.bar span')
    .evaluateAll((all) => all.map((each) => /** @type {HTMLElement} */ (each).style.width));
  assert.deepEqual(bars, ['50%', '100%']);
  // ln 8 is about 2.08.
  await matches(() => figure.innerText(), /like guessing among 4[^]*worse than blind guessing/);
});

/** The values in a list of bars. @param {import('playwright-core').Locator} figure */
const barsIn = (figure) =>
  figure
    .locator('.ranked [data-value]')
    .evaluateAll((all) =>
      all.map((each) => [
        Number(/** @type {HTMLElement} */ (each).dataset.value),
        each.previousElementSibling?.querySelector('span')?.style.width,
      ]),
    );

for (const { isBroken, ...shows } of [
  {
    isBroken: false,
    changed: / had probability 25\s%, and has 50\s% with .* changes by \+0\.69\./,
    ranking: [
      [-0.5, '50%'],
      [0.25, '25%'],
      [0.125, '12.5%'],
    ],
    words: ['gehen', 'Fuß', 'gehen', 'Fuß', 'gehen', 'Fuß'],
    last: /: after layer 1, the most .* “Fuß” with probability 50\s%\. Then come “gehen” \(25\s%\)\.$/,
    // The sum of the six smallest parts is larger than every part.
    circuits: /^In head 2 of layer 1, the query of “zu” matches “Fuß” best/,
    score:
      /^The score of “gehen” is 82\.63\. The largest part is layer 30, feed-forward, with \+4\.63\.$/,
  },
  {
    isBroken: true,
    changed: /The model’s output with (the cuts|silenced parts) is not a number/,
    ranking: [
      [-0.5, '50%'],
      [0.125, '12.5%'],
      [NaN, '0%'],
    ],
    words: ['Fuß', 'Fuß', 'Fuß', 'Fuß', 'Fuß', 'NaN'],
    last: /: after layer 1, the model’s output is not a number\.$/,
    circuits: /^Some of these values are not numbers/,
    score: /^The model’s output is not a number/,
  },
]) {
  test(`interventions: any model's answers, ${isBroken ? 'not numbers' : 'numbers'}`, async () => {
    await page.getByRole('checkbox', { name: 'not numbers' }).setChecked(isBroken);
    const cut = await figureOf('cut');
    const { weights } = tensors.answers[isBroken ? 'broken' : 'numbers'].change;
    const map = heatmap(cut, /^Attention weights of head 1/);
    // The readouts of cut cells and of later keys give no weight.
    assert.deepEqual((await readValues(map, 3, 3))[2].slice(1), rowsOf(weights)[2].slice(1));
    for (const id of ['cut', 'silence']) {
      const figure = page.locator(`#${id}`);
      await figure.scrollIntoViewIfNeeded();
      await matches(() => figure.locator('[data-change]').innerText(), shows.changed);
    }
    await becomes(() => barsIn(page.locator('#silence')), shows.ranking);
    const lens = await figureOf('lens');
    const words = lens.locator('[data-word]');
    await becomes(() => words.allTextContents(), shows.words);
    const cells = heatmap(lens, /^The most probable/);
    for (const key of ['ArrowDown', 'PageDown', 'End']) await cells.press(key);
    await matches(() => lens.locator('[id$="-readout"]').innerText(), shows.last);
    const circuits = page.locator('#circuits');
    await circuits.scrollIntoViewIfNeeded();
    await matches(() => circuits.locator('[data-summary]').textContent(), shows.circuits);
    const contributions = page.locator('#contributions');
    await contributions.scrollIntoViewIfNeeded();
    await matches(() => contributions.locator('[data-summary]').textContent(), shows.score);
  });
}

test('compare: cells without a result are hatched', async () => {
  const figure = await figureOf('compare');
  await matches(
    () => figure.innerText(),
    /4 of 6 rows so far\. Hatched cells have no result yet\./,
  );
  // The patches of the second column are missing from its second and third rows.
  const hatched = () => figure.locator('[data-hatched]').getAttribute('d');
  await matches(hatched, /^M(\d+) 24h\1v24h-\1zM\1 48h\1v24h-\1z$/);
});

test('next word: a sentence says why there are no predictions', async () => {
  const figure = page.locator('#next-word');
  const check = async (/** @type {string} */ name, isChecked = true) => {
    await page.getByRole('checkbox', { name }).setChecked(isChecked);
    await figure.scrollIntoViewIfNeeded();
  };
  await check('not numbers', false);
  await becomes(() => figure.getByRole('list', { name: 'What may come next' }).count(), 1);
  await check('not numbers');
  await matches(() => figure.getByRole('status').first().innerText(), /is not a number/);
  await check('an early token');
  await matches(
    () => figure.getByRole('status').first().innerText(),
    /only after the last 2 tokens/,
  );
});

test('opening: the added rows, and the words that each word attends to', async () => {
  const figure = await figureOf('sentence');
  const shown = await readValues(heatmap(figure, /^Positional encoding/), 4, 3);
  const added = rowsOf(positions);
  assert.deepEqual(
    shown,
    added[0].map((_, column) => added.map((row) => row[column])),
  );
  const readout = figure.locator('[id$="-readout"]');
  // The readout is for the last word and head 2.
  await matches(() => readout.innerText(), /^gehen2 looks at zu0 0\.5, gehen2 0\.5\. Column 3/);
});

test('alignment: the weights of any model', async () => {
  const figure = await figureOf('alignment');
  const shown = await readValues(heatmap(figure, /^Alignment/), 3, 2);
  assert.deepEqual(shown, rowsOf(alignment.weights));
  const readout = figure.locator('[id$="-readout"]');
  await matches(() => readout.innerText(), /^gehen2 attends to foot1 with weight 0\.5$/);
  await matches(() => figure.innerText(), /Of a trained model\./);
});
