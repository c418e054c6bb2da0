import assert from 'node:assert/strict';
import test from 'node:test';

import { maxAbsDifference, roundingError, sinusoidalEncoding } from './reference.js';
import {
  arrival,
  becomes,
  heatmap,
  matches,
  numberOf,
  openTestSite,
  readValues,
  settled,
  weightsMap,
} from './site.js';

/** @import { Page } from 'playwright-core' */

const site = await openTestSite();

const figure = '#sentence';
const columns = 16;
/** @param {Page} page */
const strip = (page) => heatmap(page.locator(figure), /^Positional encoding/);
/** @param {Page} page */
const readout = (page) => page.locator(`${figure} .readout`).innerText();

/** @typedef {{ x: number, y: number, width: number, height: number }} Box */

/** @param {Page} page @param {string} what */
const boxOf = async (page, what) => /** @type {Box} */ (await page.locator(what).boundingBox());

/** Waits until an element is inside the window. @param {Page} page @param {string} what */
async function assertInWindow(page, what) {
  const { width, height } = /** @type {{ width: number, height: number }} */ (page.viewportSize());
  await becomes(async () => {
    const box = await boxOf(page, what);
    const isInside =
      box.x >= 0 && box.y >= 0 && box.x + box.width <= width && box.y + box.height <= height;
    return isInside && box.height > 0 ? `${what} is inside` : box;
  }, `${what} is inside`);
}

/** Returns the arcs as an image, once they are drawn. @param {Page} page */
const arcs = (page) =>
  page
    .locator(`${words} canvas`)
    .first()
    .evaluate((canvas) => /** @type {HTMLCanvasElement} */ (canvas).toDataURL());

/** Types a word, and waits until the arcs change. @param {Page} page */
async function typingMovesArcs(page) {
  const before = await arcs(page);
  await page.getByRole('textbox').first().press('End');
  await page.keyboard.type(' and');
  await becomes(async () => (await arcs(page)) !== before, true);
}

const words = `${figure} [data-words]`;
const bar = 'div.bar';
const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

for (const options of [
  phone,
  { viewport: { width: 1280, height: 720 } },
  { viewport: { width: 1440, height: 900 } },
]) {
  const { width, height } = options.viewport;
  test(`at ${width} by ${height} pixels the first view has the whole picture, and typing changes it`, async () => {
    const page = await site.open('', options);
    await assertInWindow(page, bar);
    await assertInWindow(page, words);
    await assertInWindow(page, '#start-walk');
    await typingMovesArcs(page);
    await assertInWindow(page, words);
    await becomes(() => page.evaluate(() => scrollY), 0);
    await page.context().close();
  });
}

test('the bar leaves the window to the picture, even with a sentence of two lines', async () => {
  const page = await site.visit('', { viewport: { width: 1280, height: 720 } });
  for (const length of [1, 30]) {
    await page.getByRole('textbox').first().fill('word '.repeat(length));
    await page.getByRole('textbox').first().blur();
    await becomes(async () => (await boxOf(page, bar)).height <= 64, true, `${length} words`);
  }
});

test('a soft keyboard leaves the sentence and the picture in view', async () => {
  const page = await site.visit('', phone);
  await page.getByRole('textbox').first().tap();
  await page.locator('textarea:focus').waitFor();
  await page.setViewportSize({ width: 390, height: 844 - 336 });
  await becomes(async () => {
    const { y, height } = await boxOf(page, words);
    return y + height <= 844 - 336;
  }, true);
  await assertInWindow(page, bar);
  await assertInWindow(page, words);
  await typingMovesArcs(page);
  await assertInWindow(page, bar);
  await assertInWindow(page, words);
});

test('each word is drawn above its encoding', async () => {
  const page = await site.visit('#at=opening.sentence&text=man+bites+dog');
  const expected = sinusoidalEncoding(3, 64, 10000);
  const shown = await readValues(strip(page), columns, 3);
  const difference = maxAbsDifference(
    shown,
    Array.from({ length: columns }, (_, column) => expected.map((row) => row[column])),
  );
  assert.ok(difference <= 2 * roundingError, `off by ${difference}`);
});

test('arcs and readout show the same weights as the second chapter', async () => {
  const page = await site.visit('#at=self-attention.weights&weights=xavier&head=1');
  const weights = await readValues(weightsMap(page), 11, 11);
  await page.evaluate(() => scrollTo(0, 0));
  await page.locator(`${figure} canvas`).first().waitFor();
  await settled(page);
  await page.locator(`${figure} .names text`, { hasText: 'because' }).hover();
  await matches(() => readout(page), /^because6 looks at /);
  const shown = (await page.locator(`${figure} [data-weight]`).allInnerTexts()).map(numberOf);
  const sorted = [...weights[6]].sort((a, b) => b - a).slice(0, 3);
  shown.forEach((weight, i) => assert.ok(Math.abs(weight / sorted[i] - 1) < 5e-3));
});

test('a word can be pointed at, locked and released, and the keys reach every cell', async () => {
  const page = await site.visit('#at=opening.sentence');
  const word = page.locator(`${figure} .names text`, { hasText: 'mat' });
  await word.hover();
  await matches(() => readout(page), /^mat5 looks at /);
  await word.click();
  await page.mouse.move(10, 10);
  await matches(() => readout(page), /^mat5 looks at /);
  await page.waitForURL(({ hash }) => /[#&]sentenceCell=0\.5(&|$)/.test(hash));
  await strip(page).focus();
  await strip(page).press('ArrowRight');
  await strip(page).press('ArrowDown');
  await matches(
    () => readout(page),
    /^because6 looks at .*Column 1 of its positional encoding: 0\.96/s,
  );
  await strip(page).press('Escape');
  await page.waitForURL(({ hash }) => !hash.includes('sentenceCell'));
});

test('the card of a word covers no word, arc or stripe', async () => {
  const page = await site.visit('#at=opening.sentence');
  const card = page.locator(`${figure} .readout.card`);
  const drawn = page.locator(`${figure} .sentence`);
  const { width, height } = /** @type {{ width: number, height: number }} */ (
    await strip(page).boundingBox()
  );
  const name = page.locator(`${figure} .names text`).nth(2);
  const lowest = { position: { x: width / 2, y: height - 2 } };
  for (const hover of [() => name.hover(), () => strip(page).hover(lowest)]) {
    await hover();
    await card.waitFor();
    await becomes(async () => {
      const [over, under] = await Promise.all([card.boundingBox(), drawn.boundingBox()]);
      if (!over || !under) return 'missing';
      const isApart = over.y >= under.y + under.height || over.y + over.height <= under.y;
      return isApart ? 'apart' : 'covers';
    }, 'apart');
  }
});

test('right-to-left text is drawn from right to left, and its cells keep their tokens', async () => {
  const page = await site.visit('#at=opening.sentence&text=שלום+עולם+טוב');
  const names = page.locator(`${figure} .names text`);
  const places = await names.evaluateAll((texts) =>
    texts.map((text) => text.getBoundingClientRect().left),
  );
  assert.ok(places[0] > places[1] && places[1] > places[2], String(places));
  const expected = sinusoidalEncoding(3, 64, 10000).reverse();
  const shown = await readValues(strip(page), columns, 3);
  const difference = maxAbsDifference(
    shown,
    Array.from({ length: columns }, (_, column) => expected.map((row) => row[column])),
  );
  assert.ok(difference <= 2 * roundingError, `off by ${difference}`);
  await names.first().click();
  await matches(() => readout(page), /^שלום0 looks at /);
  await page.waitForURL(({ hash }) => /[#&]sentenceCell=\d+\.0(&|$)/.test(hash));
  await strip(page).press('ArrowLeft');
  await matches(() => readout(page), /^עולם1 looks at /);
});

test('without positions nothing is added', async () => {
  const page = await site.visit('#at=opening.sentence&encoding=none');
  await page.locator(`${figure} .names text`).first().hover();
  await matches(() => readout(page), /No position is added: 0$/);
});

test('a long sentence shows its first tokens, and an empty one shows none', async () => {
  const text = Array.from({ length: 300 }, (_, i) => `word${i}`).join('+');
  const page = await site.visit(`#at=opening.sentence&text=${text}`);
  await becomes(() => page.locator(`${figure} .names text`).count(), 38);
  await matches(() => readout(page), /^The first 38 of 300 tokens are drawn\./);
  await page.getByRole('textbox').first().fill('');
  await page.getByText('No words yet').waitFor();
  await page.getByRole('textbox').first().fill('dog');
  await arrival(page, 'opening.sentence');
  await becomes(() => page.locator(`${figure} .names text`).count(), 1);
});
