import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from 'attn';

import { orderOf } from '../../web/src/core/shuffle.js';
import { Spelled } from '../../web/src/models/spelled.js';
import { parseSettings } from '../../web/src/state/url.js';
import { becomes, heatmap, openTestSite, readValues, settled } from './site.js';

/** @import { Page } from 'playwright-core' */

const site = await openTestSite();

// All words differ, so that they reveal the shuffled order.
const words = ['one', 'two', 'three', 'four', 'five', 'six', 'seven'];
const text = `at=order.shuffle&shuffle=1&text=${words.join('+')}`;

/** @param {Page} page @returns {Promise<number[]>} the differences without and with positions */
const shownDifferences = (page) =>
  page
    .locator('#shuffle output[data-value]')
    .evaluateAll((all) => all.map((each) => Number(each.getAttribute('data-value'))));
/** @param {Page} page */
const shownDifference = async (page) => (await shownDifferences(page))[1];

/** @param {Page} page */
async function shownOrder(page) {
  const label = await page
    .getByRole('img', { name: /^The tokens in the shuffled order/ })
    .getAttribute('aria-label');
  return (label?.split(': ')[1] ?? '').split(' ').map((word) => words.indexOf(word));
}

test('the difference is only rounding without positions and large with them', async () => {
  const page = await site.visit(`#${text}`);
  const [without, placed] = await shownDifferences(page);
  assert.ok(without < 1e-5 && placed > 0.1, `${without}, ${placed}`);
  const verdicts = await page.locator('.verdict').allInnerTexts();
  assert.match(verdicts[0], /^Order does not matter/);
  assert.match(verdicts[1], /a moved word gets a different encoding/);
});

test('the map and the number show the effect that the layer computes', async () => {
  const page = await site.visit(`#${text}&orderCausal=1`);
  // spelled.test.js compares these numbers with the equations.
  const spelled = new Spelled(await load({ threads: 1 }));
  const settings = parseSettings(`v=1&${text}&orderCausal=1`);
  const given = { ...settings, ...spelled.split(settings.text), rotary: false };
  const sentence = spelled.sentence(given, {});
  const ordered = sentence.ordered();
  sentence.dispose();
  assert.deepEqual(await shownOrder(page), orderOf(words.length, given));
  const map = heatmap(page, /^Differences with sinusoidal positions/);
  const values = (await readValues(map, words.length, 64)).flat();
  // Node may not support the browser's instruction set, which rounds differently.
  const near = (/** @type {number} */ a, /** @type {number} */ b) =>
    assert.ok(Math.abs(a - b) < 1e-5, `${a}, ${b}`);
  values.forEach((value, i) => near(value, ordered.with.difference.data[i]));
  const [without, placed] = await shownDifferences(page);
  near(without, ordered.without.largest);
  near(placed, ordered.with.largest);
});

test('the left map is empty at first, although the language model hides later words', async () => {
  const page = await site.visit(`#weights=learned&causal=1&layer=1&head=0&${text}`);
  await page.locator('.verdict', { hasText: 'turns queries and keys by its own angles' }).waitFor();
  const [without, placed] = await shownDifferences(page);
  assert.ok(without < 1e-4 && placed > 0.5, `${without}, ${placed}`);
  await heatmap(page, /^Differences with rotary positions/).waitFor();
  // Both heatmaps use the colour scale of the right heatmap, so the differences in the left heatmap
  // are too small to see.
  const map = heatmap(page, /^Differences without positions/);
  await map.hover();
  const values = await readValues(map, words.length, 128);
  assert.ok(Math.max(...values.flat().map(Math.abs)) < 1e-4 * placed);
  await page.getByRole('switch', { name: 'with a causal mask' }).check({ force: true });
  await page.locator('.verdict', { hasText: 'Order matters even without positions' }).waitFor();
  assert.ok((await shownDifferences(page))[0] > 0.5);
});

test('before a shuffle, the figure says what to do instead of showing two zeros', async () => {
  const page = await site.visit('#v=2&weights=identity&at=order.shuffle');
  const ask = page.locator('#shuffle .still', { hasText: 'Press “Shuffle”' });
  const numbers = page.locator('#shuffle output[data-value]');
  await ask.waitFor();
  await becomes(() => numbers.first().isVisible(), false);
  await page.getByRole('button', { name: 'Shuffle', exact: true }).click();
  await ask.waitFor({ state: 'detached' });
  await becomes(() => numbers.first().isVisible(), true);
});

test('the button gives a new order each time', async () => {
  const page = await site.visit(`#${text}`);
  const seen = new Set([(await shownOrder(page)).join()]);
  for (let i = 0; i < 4; i++) {
    await page.getByRole('button', { name: 'Shuffle', exact: true }).click();
    seen.add((await shownOrder(page)).join());
  }
  assert.equal(seen.size, 5);
});

test('a single token has no order', async () => {
  const page = await site.visit('#at=order.shuffle&text=alone');
  await becomes(() => shownDifference(page), 0);
  await becomes(
    () => page.getByRole('button', { name: 'Shuffle', exact: true }).isDisabled(),
    true,
  );
});

test('a word is moved by dragging and by the arrow keys', async () => {
  const page = await site.visit(`#${text}&order=0,1,2,3,4,5,6`);
  await becomes(() => shownDifference(page), 0);
  const word = (/** @type {string} */ name) =>
    page.getByRole('button', { name: new RegExp(`^${name}\\d,`) });
  await word('one').scrollIntoViewIfNeeded();
  await settled(page);
  const boxOf = async (/** @type {string} */ name) =>
    /** @type {{ x: number, y: number, width: number, height: number }} */ (
      await word(name).boundingBox()
    );
  const [from, to] = [await boxOf('one'), await boxOf('three')];
  await page.mouse.move(from.x + 10, from.y + 10);
  await page.mouse.down();
  await page.mouse.move(to.x + 0.75 * to.width, to.y + 10, { steps: 6 });
  await page.mouse.up();
  await becomes(() => shownOrder(page), [1, 2, 0, 3, 4, 5, 6]);
  assert.ok((await shownDifference(page)) > 0.1);
  await word('seven').press('Home');
  await word('seven').press('ArrowRight');
  await becomes(() => shownOrder(page), [1, 6, 2, 0, 3, 4, 5]);
  await page.getByRole('button', { name: 'original order' }).click();
  await becomes(() => shownDifference(page), 0);
});

test('right-to-left words are drawn and move from right to left', async () => {
  const page = await site.visit('#at=order.shuffle&text=אחת+שתיים+שלוש&order=0,1,2');
  const shown = () => page.locator('#shuffle [data-token]').allInnerTexts();
  const word = page.getByRole('button', { name: /^אחת0,/ });
  const leftOf = async (/** @type {string} */ name) =>
    (await page.getByRole('button', { name: new RegExp(`^${name}\\d,`) }).boundingBox())?.x ?? NaN;
  assert.ok((await leftOf('אחת')) > (await leftOf('שתיים')));
  await word.press('ArrowLeft');
  assert.match((await shown())[1], /^אחת/);
});
