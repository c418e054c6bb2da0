// Tests the figures that show what each layer adds to a prediction.

import assert from 'node:assert/strict';
import test from 'node:test';

import { accessibilityProblems } from './accessibility.js';
import { gpt2, open } from './ownModel.js';
import { becomes, matches, openTestSite, overflow, recordBusy, settled, unfold } from './site.js';

/** @import { Page } from 'playwright-core' */

const site = await openTestSite();

const text = 'text=the+lady+sat+by+the+fire+because+the';
const link = `#v=2&at=transformer.lens&${text}`;

/** @param {Page} page */
const wordsIn = (page) =>
  page
    .locator('#lens [data-word]')
    .evaluateAll((all) => all.map((each) => each.getAttribute('data-word')));
/** @param {Page} page */
const partsIn = (page) =>
  page
    .locator('#contributions [data-value]')
    .evaluateAll((all) =>
      all.map((each) => Number(/** @type {HTMLElement} */ (each).dataset.value)),
    );
/** @param {Page} page */
const totalIn = (page) =>
  page.locator('#contributions [data-total]').getAttribute('data-total').then(Number);

test('the word after the last layer is the predicted word, and a locked cell is in the link', async () => {
  const page = await site.visit(link);
  // Eight tokens, each with the embedding and three layers.
  await becomes(async () => (await wordsIn(page)).length, 32);
  const map = page.locator('#lens').getByRole('application');
  await map.focus();
  for (const key of ['ArrowDown', 'PageDown', 'End', 'Enter']) await page.keyboard.press(key);
  await becomes(async () => new URL(page.url()).hash.includes('lensCell=7.3'), true);
  const last = (await wordsIn(page))[31];
  await matches(
    () => page.locator('#lens .readout').innerText(),
    new RegExp(`after layer 3, the most probable next token is “${last}” with probability`),
  );
  // The figure in which readers cut arcs names the same token.
  const other = await site.visit(`#v=2&at=transformer.cut&${text}`);
  await becomes(
    () =>
      other
        .locator('#cut')
        .getByRole('list', { name: /may come/ })
        .locator('bdi')
        .first()
        .innerText(),
    last,
  );
});

test('the contributions add up to the score of the chosen token', async () => {
  const page = await site.visit(link.replace('.lens', '.contributions'));
  // The embedding, three layers with four heads and a feed-forward network each, and the biases.
  await becomes(async () => (await partsIn(page)).length, 17);
  const check = async () => {
    const [parts, total] = [await partsIn(page), await totalIn(page)];
    const sum = parts.reduce((a, b) => a + b, 0);
    const size = parts.reduce((a, b) => a + Math.abs(b), 0);
    assert.ok(Math.abs(sum - total) < 1e-5 * size, `${sum} is not ${total}`);
    return total;
  };
  const first = await check();
  await page.locator('#contributions').getByRole('radio').nth(1).check({ force: true });
  await becomes(async () => (await totalIn(page)) < first, true);
  await becomes(async () => new URL(page.url()).hash.includes('cutToken='), true);
  await check();
  await page
    .locator('#contributions')
    .getByRole('button', { name: /^layer 3, head 2/ })
    .click();
  await becomes(async () => /layer=3&/.test(new URL(page.url()).hash), true);
});

test('both figures fit a phone and are accessible', async () => {
  const page = await site.visit(link, { viewport: { width: 390, height: 844 } });
  await becomes(async () => (await wordsIn(page)).length, 32);
  await becomes(async () => (await partsIn(page)).length, 17);
  await settled(page);
  await becomes(() => overflow(page), 0);
  assert.deepEqual(await accessibilityProblems(page, ['#lens', '#contributions']), []);
});

test('a model that the reader opened shows its layers and its contributions', async () => {
  const page = await site.visit(`#v=2&text=the+lady+sat&at=transformer.encoder-block`);
  await open(page, gpt2());
  const busy = await recordBusy(page);
  await page.locator('#transformer').evaluate((chapter) => chapter.scrollIntoView());
  await unfold(page.locator('#lens'));
  await page.locator('#lens').evaluate((element) => element.scrollIntoView());
  await becomes(async () => (await wordsIn(page)).length > 0, true);
  await page.locator('#contributions').evaluate((element) => element.scrollIntoView());
  await becomes(async () => (await partsIn(page)).length > 0, true);
  const asked = await busy();
  assert.ok(asked.includes('lens') && asked.includes('contributions'), asked.join());
  const [parts, total] = [await partsIn(page), await totalIn(page)];
  const size = parts.reduce((a, b) => a + Math.abs(b), 0);
  assert.ok(Math.abs(parts.reduce((a, b) => a + b, 0) - total) < 1e-5 * size);
});
