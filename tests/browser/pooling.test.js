import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from 'attn';

import { colourMaps, colourOf } from '../../web/src/drawing/colour.js';
import { pool, queries } from '../../web/src/figures/pooling/pooling.js';
import { parseSettings } from '../../web/src/state/url.js';
import { attentionPooling } from './reference.js';
import {
  becomes,
  contentOf,
  heatmap,
  matches,
  numberOf,
  openTestSite,
  readValues,
  settled,
} from './site.js';

/** @import { Page } from 'playwright-core' */

const site = await openTestSite();

const count = 7;
const map = (/** @type {Page} */ page) =>
  heatmap(page, /^Attention weights of 50 queries by \d+ keys/);
const points = (/** @type {Page} */ page) =>
  page.getByRole('application', { name: /^Point \d+ of/ });

/**
 * Waits until the points are drawn. They may be drawn later than the map next to them.
 * @param {Page} page
 * @param {number} [number]
 */
async function drawn(page, number = count) {
  await map(page).waitFor();
  await becomes(() => points(page).count(), number);
}

/** @param {string} [settings] */
async function open(settings = '') {
  const page = await site.visit(`#at=pooling&pointCount=${count}${settings}`);
  await drawn(page);
  return page;
}

/** The x and y of the points, from their accessible names. @param {Page} page */
async function readPoints(page) {
  const names = await points(page).evaluateAll((elements) =>
    elements.map((element) => element.getAttribute('aria-label') ?? ''),
  );
  return names.map((name) => {
    const [, x, y] = /at x (\S+), y (\S+)\. /.exec(name) ?? [];
    return { x: numberOf(x), y: numberOf(y) };
  });
}

const rows = (/** @type {number[]} */ values) => values.map((value) => [Math.fround(value)]);

// pooling.test.js compares the weights of all scoring functions with the equations.
for (const options of [
  'scoring=gaussian&kernelWidth=0.3',
  'scoring=scaledDot&dotInput=number',
  'scoring=additive&additiveWeights=random&additiveSeed=7',
]) {
  test(`the figure shows the weights of its settings: ${options}`, async () => {
    const page = await open(`&${options}`);
    const { scoring, ...others } = parseSettings(`v=1&${options}`);
    const attn = await load({ threads: 1 });
    const given = await readPoints(page);
    const { weights, output } = pool(attn, scoring, given, others);
    const shown = (await readValues(map(page), queries.length, count)).flat();
    // Node may not support the browser's instruction set, which rounds differently.
    shown.forEach((weight, i) => assert.ok(Math.abs(weight - weights.data[i]) < 1e-5));
    // The last cell that was read is still selected.
    const pooled = numberOf((await page.locator('[data-pooled]').getAttribute('title')) ?? '');
    assert.ok(Math.abs(pooled - /** @type {number} */ (output.data.at(-1))) < 1e-4);
  });
}

test('the strip shows the error of each curve', async () => {
  const page = await open('&kernelWidth=1');
  const given = await readPoints(page);
  const { output } = attentionPooling(
    rows(queries),
    rows(given.map(({ x }) => x)),
    given.map(({ y }) => y),
    'gaussian',
  );
  const squares = queries.map((x, i) => (output[i] - (2 * Math.sin(x) + x)) ** 2);
  const error = Math.sqrt(squares.reduce((sum, value) => sum + value) / squares.length);
  const shown = await page.locator('[data-error]').first().getAttribute('data-error');
  assert.ok(Math.abs(Number(shown) - error) < 1e-5);
});

test('a dragged point moves the curve, and a link restores both', async () => {
  const page = await open('&kernelWidth=0.3');
  const before = await readPoints(page);
  const curve = page.locator('#pooling-figure path[data-curve]');
  const path = await curve.getAttribute('d');
  const point = points(page).nth(3);
  await map(page).scrollIntoViewIfNeeded();
  await settled(page);
  const box = /** @type {NonNullable<Awaited<ReturnType<typeof point.boundingBox>>>} */ (
    await point.boundingBox()
  );
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2 - 80, { steps: 5 });
  await page.mouse.up();
  const moved = await readPoints(page);
  assert.ok(moved[3].y > before[3].y + 1);
  assert.deepEqual(moved.toSpliced(3, 1), before.toSpliced(3, 1));
  assert.notEqual(await curve.getAttribute('d'), path);
  const text = moved.map(({ x, y }) => `${Math.round(100 * x)}.${Math.round(100 * y)}`).join('_');
  await page.waitForURL((url) => url.hash.includes(text));
  const copy = await site.visit(new URL(page.url()).hash);
  await copy.evaluate(() => document.getElementById('pooling')?.scrollIntoView());
  await drawn(copy);
  assert.deepEqual(await readPoints(copy), moved);
});

test('arrow keys move a point, and Page Down selects the next one', async () => {
  const page = await open();
  const before = await readPoints(page);
  await points(page).first().focus();
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Shift+ArrowUp');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('PageDown');
  await page.keyboard.press('ArrowDown');
  const after = await readPoints(page);
  const rounded = (/** @type {number} */ value) => Math.round(100 * value);
  assert.equal(rounded(after[0].y - before[0].y), 60);
  assert.equal(rounded(after[0].x - before[0].x), 5);
  assert.equal(rounded(after[1].y - before[1].y), -10);
});

test('an exported picture has no hints that only work on the page', async () => {
  const page = await site.visit('#at=pooling');
  const figure = page.locator('#pooling-figure');
  await matches(() => figure.locator('.key').innerText(), /a point: drag it/);
  await figure.getByRole('button', { name: /^Export/ }).click();
  const download = page.waitForEvent('download');
  await figure.getByRole('button', { name: 'SVG', exact: true }).click();
  const svg = (await contentOf(await download)).toString();
  assert.match(svg, /aria-label="a point"/);
  assert.doesNotMatch(svg, /drag it/);
});

test('hostile points in a link are harmless', async () => {
  const page = await site.visit(
    '#at=pooling&points=9e9.1_x_-5.99999999_%3Cb%3E&kernelWidth=0&scoring=x',
  );
  await drawn(page, 40);
});

test('the cards of all scoring functions share one colour scale', async () => {
  /** @type {import('../../web/src/drawing/colour.js').ColourScale} */
  const scale = { map: colourMaps(false).weights, domain: [1e-3, 1], log: true };
  for (const number of [5, 50]) {
    const page = await site.visit(`#at=pooling&pointCount=${number}`);
    await drawn(page, number);
    const pixelOf = (/** @type {string} */ scoring) =>
      page.locator(`label:has(input[value="${scoring}"]) canvas`).evaluate((canvas) => {
        const context = /** @type {HTMLCanvasElement} */ (canvas).getContext('2d');
        return `rgb(${context?.getImageData(0, 0, 1, 1).data.slice(0, 3).join(', ')})`;
      });
    assert.equal(await pixelOf('average'), colourOf(scale, 1 / number));
    // The first query is to the left of all points.
    assert.equal(await pixelOf('hard'), colourOf(scale, 1));
  }
});
