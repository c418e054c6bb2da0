import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from 'attn';

import { columnsOf, stagesOf } from '../../web/src/core/stages.js';
import { Spelled } from '../../web/src/models/spelled.js';
import { parseSettings } from '../../web/src/state/url.js';
import {
  becomes,
  heatmap,
  matches,
  numberOf,
  openTestSite,
  readValues,
  shownValue,
} from './site.js';

const site = await openTestSite();

const n = 4;
const dModel = 16;
const text = 'at=self-attention.stages&text=man+bites+dog+man&dModel=16&heads=2&head=1';
const depth = dModel / 2;

test('the figure shows the stages of the layer in the settings', async () => {
  const page = await site.visit(`#${text}&weights=xavier&seed=3&causal=1`);
  const read = (/** @type {RegExp} */ name, /** @type {number} */ columns) =>
    readValues(heatmap(page, name), n, columns);
  const data = Float32Array.from((await read(/^Input, /, dModel)).flat());
  const attn = await load({ threads: 1 });
  const layer = new attn.MultiHeadAttention({ dModel, numHeads: 2, init: 'xavier', seed: 3 });
  const stages = stagesOf(attn, { data, shape: [n, dModel] }, layer, { causal: true }, 1);
  layer.dispose();
  for (const [name, matrix] of /** @type {const} */ ([
    [/^Queries/, stages.query],
    [/^Keys/, stages.key],
    [/^Values/, stages.value],
    [/^Scores/, stages.scores],
    [/^Scaled scores/, stages.scaled],
    [/^Masked scores/, stages.masked],
    [/^Weights after softmax/, stages.weights],
    [/^Output of the head/, columnsOf(stages.attended, depth, dModel)],
    [/^Output of the layer/, stages.output],
  ])) {
    const shown = (await read(name, matrix.columns)).flat();
    // Node may not support the browser's instruction set, which rounds differently.
    shown.forEach((value, i) => {
      const number = matrix.data[i];
      assert.ok(value === number || Math.abs(value - number) < 1e-5, `${name}: ${value}`);
    });
  }
});

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
  await becomes(() => page.locator('#stages rect.source').count(), 2, 'a query and a key');
});

for (const width of [1280, 390]) {
  test(`in a window of ${width} pixels, no term is cut off, and columns are numbered as drawn`, async () => {
    const head = 'weights=learned&causal=1&layer=2&head=3&at=self-attention.stages';
    const page = await site.open('', { viewport: { width, height: 900 } });
    for (const [cell, map, says] of /** @type {const} */ ([
      ['q.8.14', /^Queries, /, /^Queries: .*, column 14: /],
      ['weights.8.2', /^Weights after softmax/, /^Weights after softmax: /],
      ['head.8.14', /^Output of the head/, /^Output of the head: .*, column 14: /],
      ['output.8.78', /^Output of the layer/, /^Output of the layer: .*, column 78: /],
    ])) {
      await page.goto(`${site.url}#v=2&${head}&stageCell=${cell}`);
      const readout = page.locator('#stages .readout');
      await matches(async () => {
        // In a narrow window, the readout is beside the cell, and only while the cell is in view.
        await heatmap(page, map).scrollIntoViewIfNeeded();
        return readout.innerText();
      }, says);
      await becomes(
        () => readout.locator('.scroll').evaluate((e) => e.scrollWidth - e.clientWidth),
        0,
        cell,
      );
    }
  });
}

test('a lock stays while the pointer passes over other matrices', async () => {
  const page = await site.visit(`#${text}`);
  await heatmap(page, /^Scores/).click({ position: { x: 5, y: 5 } });
  const value = () => page.locator('#stages [data-value]').getAttribute('data-value');
  const locked = await value();
  await heatmap(page, /^Values/).hover();
  await becomes(() => value(), locked);
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
    await becomes(
      async () => {
        const { x = -1, width = 0 } = (await shown.boundingBox()) ?? {};
        return x >= 0 && x + width <= 390;
      },
      true,
      part,
    );
  }
});

const editText = text.replace('stages', 'edit').replace('&head=1', '');

test('a changed weight has the effect that the layer computes', async () => {
  const link = `${editText}&head=1&editMatrix=q&editCell=9.3&editBy=1.5`;
  const page = await site.visit(`#${link}`);
  await becomes(() => shownValue(heatmap(page, /^Numbers of the .* projection/)), 1.5);
  // spelled.test.js compares these numbers with the equations, for each projection.
  const spelled = new Spelled(await load({ threads: 1 }));
  const settings = parseSettings(`v=1&${link}`);
  const given = { ...settings, ...spelled.split(settings.text), rotary: false };
  const sentence = spelled.sentence(given, {});
  const { weights, output } = sentence.edit();
  sentence.dispose();
  for (const [name, data, columns] of /** @type {const} */ ([
    [/^Change of the attention weights of head 2/, weights.data, n],
    [/^Change of the output/, output.data, dModel],
  ])) {
    const map = heatmap(page, name);
    const shown = (await readValues(map, n, columns)).flat();
    await map.dispatchEvent('pointerleave', { pointerType: 'mouse' });
    // Node may not support the browser's instruction set, which rounds differently.
    shown.forEach((change, i) => assert.ok(Math.abs(change - data[i]) < 1e-5, `${name}, ${i}`));
    assert.ok(Math.max(...data.map(Math.abs)) > 1e-4, 'something changes');
  }
});

test('a click selects the weight, the slider changes it, and the link keeps both', async () => {
  const page = await site.visit(`#${editText}`);
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
