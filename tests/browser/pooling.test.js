import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import test from 'node:test';

import { load } from 'attn';

import { colourMaps, colourOf } from '../../web/src/drawing/colour.js';
import {
  additiveAttention,
  attentionPooling,
  maxAbsDifference,
  roundingError,
  sinusoidalEncodingAt,
} from './reference.js';
import { becomes, heatmap, numberOf, openTestSite, readValues, settled } from './site.js';

/** @import { Page } from 'playwright-core' */

const site = await openTestSite();

const count = 7;
const queries = Array.from({ length: 50 }, (_, i) => i / 10);
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

/** Reads the weights in the map, and a query with its pooled value. @param {Page} page */
async function readFigure(page) {
  const weights = await readValues(map(page), queries.length, count);
  await map(page).focus();
  await map(page).press('Home');
  for (let i = 0; i < 23; i++) await map(page).press('ArrowDown');
  const readout = page.locator(`[id="${await map(page).getAttribute('aria-describedby')}"]`);
  const query = Number(/q = (\S+)/.exec(await readout.innerText())?.[1]);
  return { weights, query, pooled: numberOf(await readout.locator('[data-pooled]').innerText()) };
}

const rows = (/** @type {number[]} */ values) => values.map((value) => [Math.fround(value)]);

/**
 * Distances are exact to within a few roundings. If the scores are off by some amount, the weights
 * are off by at most twice that amount.
 * @param {number} largestScore
 */
const toleranceFor = (largestScore) => 2 * 12 * roundingError * largestScore + 32 * roundingError;

for (const [scoring, width] of /** @type {const} */ ([
  ['gaussian', 1],
  ['gaussian', 0.3],
  ['boxcar', 1],
  ['epanechnikov', 0.9],
  ['average', 1],
  ['hard', 1],
])) {
  test(`weights and pooled value match the reference: ${scoring}, width ${width}`, async () => {
    const page = await open(`&scoring=${scoring}&kernelWidth=${width}`);
    const given = await readPoints(page);
    const ys = given.map(({ y }) => y);
    const expected = attentionPooling(
      rows(queries),
      rows(given.map(({ x }) => x)),
      ys,
      scoring,
      Math.fround(width),
    );
    const { weights, query, pooled } = await readFigure(page);
    const tolerance = toleranceFor(scoring === 'gaussian' ? 25 / (2 * width ** 2) : 1 / width);
    const difference = maxAbsDifference(weights, expected.weights);
    assert.ok(difference <= tolerance, `${difference} > ${tolerance}`);
    const at = Math.round(10 * query);
    assert.ok(Math.abs(pooled - expected.output[at]) <= 60 * tolerance);
  });
}

for (const input of ['encoding', 'number']) {
  test(`the scaled dot product matches the reference: ${input}`, async () => {
    const page = await open(`&scoring=scaledDot&kernelWidth=0.5&dotInput=${input}`);
    const given = await readPoints(page);
    const xs = given.map(({ x }) => x);
    const inputs = (/** @type {number[]} */ values) =>
      input === 'encoding'
        ? sinusoidalEncodingAt(
            values.map((x) => x / 0.5),
            64,
            10000,
          )
        : rows(values);
    const { weights } = attentionPooling(
      inputs(queries),
      inputs(xs),
      given.map(({ y }) => y),
      'scaledDot',
    );
    const shown = await readValues(map(page), queries.length, count);
    // If the inputs are encodings, a score is a sum of 64 products of values that are exact to
    // within 1.2e-7, divided by the square root of 64. If the inputs are single numbers, scores are
    // up to 25.
    const tolerance =
      2 *
        (input === 'encoding'
          ? (32 * 1.2e-7 + 34 * 32 * roundingError) / 8
          : 25 * 4 * roundingError) +
      32 * roundingError;
    const difference = maxAbsDifference(shown, weights);
    assert.ok(difference <= tolerance, `${difference} > ${tolerance}`);
  });
}

for (const kind of ['byHand', 'random']) {
  test(`additive attention matches the reference: ${kind}`, async () => {
    const page = await open(
      `&scoring=additive&kernelWidth=0.5&additiveWeights=${kind}&additiveSeed=7`,
    );
    const given = await readPoints(page);
    const withOne = (/** @type {number[]} */ values) => values.map((x) => [Math.fround(x), 1]);
    let parameters = {
      queryWeights: [
        [2, 1],
        [2, -1],
      ],
      keyWeights: [
        [-2, 0],
        [-2, 0],
      ],
      valueWeights: [4, -4],
    };
    if (kind === 'random') {
      const attn = await load({ threads: 1 });
      const layer = new attn.AdditiveAttention({ queryDim: 2, keyDim: 2, numHiddens: 8, seed: 7 });
      const matrix = (/** @type {string} */ name) => {
        const { data, shape } = layer.parameter(name);
        return Array.from({ length: shape[0] }, (_, i) => [
          ...data.subarray(i * shape[1], (i + 1) * shape[1]),
        ]);
      };
      parameters = {
        queryWeights: matrix('W_q.weight'),
        keyWeights: matrix('W_k.weight'),
        valueWeights: matrix('w_v.weight')[0],
      };
      layer.dispose();
    }
    const { weights } = additiveAttention(
      withOne(queries),
      withOne(given.map(({ x }) => x)),
      given.map(({ y }) => y),
      parameters,
    );
    const shown = await readValues(map(page), queries.length, count);
    // Scores are at most 8. They are computed from angles of at most 20, which are exact to within
    // a few roundings.
    const tolerance = 2 * 8 * 3 * 20 * roundingError + 32 * roundingError;
    const difference = maxAbsDifference(shown, weights);
    assert.ok(difference <= tolerance, `${difference} > ${tolerance}`);
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
  assert.match(await figure.locator('.key').innerText(), /a point: drag it/);
  await figure.getByRole('button', { name: /^Export/ }).click();
  const download = page.waitForEvent('download');
  await figure.getByRole('button', { name: 'SVG', exact: true }).click();
  const svg = await readFile(await (await download).path(), 'utf8');
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
