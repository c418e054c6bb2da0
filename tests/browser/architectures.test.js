import assert from 'node:assert/strict';
import test from 'node:test';

import { becomes, matches, openTestSite } from './site.js';

/** @import { Page } from 'playwright-core' */

const site = await openTestSite();

/**
 * Opens the page at a figure of the chapter, because figures far from the window are not drawn.
 * @param {'paths' | 'costs' | 'timings'} figure
 * @param {string} [settings]
 */
async function open(figure, settings = '') {
  const page = await site.visit(`#at=architectures.${figure}${settings}`);
  await page.locator(`#${figure} .picture`).waitFor();
  return page;
}

/** @param {Page} page @param {'path' | 'longest'} what */
const connections = (page, what) =>
  page
    .locator(`#paths [data-${what}]`)
    .evaluateAll((elements, what) => elements.map((each) => Number(each.dataset[what])), what);

test('paths have as many connections as each layer needs', async () => {
  for (const [from, to, k] of [
    [1, 9, 3],
    [0, 10, 2],
    [7, 2, 9],
    [4, 5, 4],
  ]) {
    const page = await open('paths', `&pathFrom=${from}&pathTo=${to}&kernel=${k}`);
    const distance = Math.abs(from - to);
    const cnn = Math.max(1, Math.ceil(distance / (k - 1)));
    await becomes(() => connections(page, 'path'), [cnn, distance + 1, 1]);
    // The sentence has 11 tokens.
    await becomes(() => connections(page, 'longest'), [Math.ceil(10 / (k - 1)), 11, 1]);
  }
});

test('picking a third token drops the first of the two picked before', async () => {
  const page = await open('paths', '&pathFrom=0&pathTo=10');
  const button = (/** @type {string} */ name) =>
    page.getByRole('group', { name: 'Pick two tokens' }).getByRole('button', { name, exact: true });
  await button('mat').click();
  await becomes(() => connections(page, 'path'), [3, 6, 1]);
  await button('because').click();
  await becomes(() => connections(page, 'path'), [1, 2, 1]);
  await becomes(() => button('mat').getAttribute('aria-pressed'), 'true');
  await becomes(() => button('tired').getAttribute('aria-pressed'), 'false');
});

test('the table agrees with the equations', async () => {
  for (const [n, d, k] of [
    [11, 64, 3],
    [1024, 128, 5],
    [65536, 256, 9],
  ]) {
    const page = await open('costs', `&costLength=${n}&dModel=${d}&kernel=${k}`);
    const row = (/** @type {string} */ layer) =>
      page
        .locator(`#costs tr[data-layer=${layer}]`)
        .evaluate((element) =>
          ['operations', 'sequential', 'longest'].map((name) =>
            Number(
              /** @type {HTMLElement} */ (element.querySelector(`[data-${name}]`)).dataset[name],
            ),
          ),
        );
    await becomes(() => row('convolution'), [n * k * d * d, 1, Math.ceil((n - 1) / (k - 1))]);
    await becomes(() => row('recurrence'), [2 * n * d * d, n, n]);
    await becomes(() => row('attention'), [2 * n * n * d, 1, 1]);
    await becomes(() => row('projections'), [2 * n * n * d + 4 * n * d * d, 1, 1]);
    // The worked line below the table contains the same numbers.
    const [pairs, rnn] = [2 * n * n * d, 2 * n * d * d];
    const written = (/** @type {number} */ number) => number.toLocaleString('en');
    await page
      .locator('#costs')
      .getByText(
        `= ${written(2 * rnn)} + ${written(pairs)} = ${written(2 * rnn + pairs)} multiply-adds, and the RNN takes 2 · ${written(n)} · ${d}² = ${written(rnn)}.`,
      )
      .waitFor();
  }
});

test('short, empty and long sentences are drawn', async () => {
  for (const [text, count] of /** @type {[string, number][]} */ ([
    ['', 0],
    ['one', 0],
    ['one two', 2],
    ['word '.repeat(300).trim(), 16],
  ])) {
    const page = await open('paths', `&text=${encodeURIComponent(text)}`);
    const tokens = page.getByRole('group', { name: 'Pick two tokens' }).getByRole('button');
    await becomes(() => tokens.count(), count || Number(text !== ''));
    await becomes(() => page.locator('#paths svg[role=img]').count(), count ? 3 : 0);
  }
});

test('times are measured on request and fitted, and the run can be stopped', async () => {
  const page = await open('timings', '&dModel=16');
  const figure = page.locator('#timings');
  await figure.getByText('Nothing measured yet: press Run above').waitFor();
  await becomes(() => figure.locator('circle[data-y]').count(), 0);
  await figure.getByRole('button', { name: 'Run' }).click();
  await figure.locator('circle[data-series=recurrence]').nth(3).waitFor();
  // Even during the run, the labels are to the right of the curves, not on top of them.
  await figure.locator('text.slope', { hasText: '∝' }).first().waitFor();
  const [labels, curves] = await Promise.all(
    ['text.slope', '.curve, .law, circle[data-y]'].map((parts) =>
      figure.locator(`svg :is(${parts})`).evaluateAll((all) =>
        all.map((each) => {
          const { left, right } = each.getBoundingClientRect();
          return { left, right };
        }),
      ),
    ),
  );
  const end = Math.max(...curves.map(({ right }) => right));
  assert.ok(labels.length > 0 && labels.every(({ left }) => left > end), JSON.stringify(labels));
  await figure.getByRole('button', { name: 'Stop' }).click();
  await figure.getByText('Stopped. Earlier results are kept.').waitFor();
  await becomes(() => figure.getByRole('alert').allTextContents(), []);

  const points = await figure.locator('circle[data-series=convolution]').evaluateAll((circles) =>
    circles.map((circle) => ({
      x: Number(/** @type {SVGElement} */ (circle).dataset.x),
      y: Number(/** @type {SVGElement} */ (circle).dataset.y),
    })),
  );
  assert.equal(points.length, 9);
  assert.ok(points.every(({ y }) => y > 0));
  const last = points.slice(-4).map(({ x, y }) => [Math.log(x), Math.log(y)]);
  const mean = (/** @type {0 | 1} */ i) => last.reduce((sum, point) => sum + point[i], 0) / 4;
  const slope =
    last.reduce((sum, [x, y]) => sum + (x - mean(0)) * (y - mean(1)), 0) /
    last.reduce((sum, [x]) => sum + (x - mean(0)) ** 2, 0);
  await matches(() => figure.innerText(), new RegExp(`∝ n${slope.toFixed(2)}`));
});
