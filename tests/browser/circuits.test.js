// Tests the figure of what a head looks for and what it adds.

import assert from 'node:assert/strict';
import test from 'node:test';

import { accessibilityProblems } from './accessibility.js';
import { gpt2, open } from './ownModel.js';
import { becomes, matches, openTestSite, overflow, settled, unfold } from './site.js';

/** @import { Page } from 'playwright-core' */

const site = await openTestSite();

const link = '#v=2&at=transformer.circuits&text=the+lady+sat+by+the+fire';

/** @param {Page} page */
const figureOf = (page) => page.locator('#circuits');
/** @param {Page} page @param {string | RegExp} name */
const valuesIn = (page, name) =>
  figureOf(page)
    .getByRole('list', { name })
    .locator('[data-value]')
    .evaluateAll((all) =>
      all.map((each) => Number(/** @type {HTMLElement} */ (each).dataset.value)),
    );

test('each list has ten tokens, sorted by their scores, and settings are in the link', async () => {
  const page = await site.visit(link);
  await becomes(async () => (await valuesIn(page, /the best matches/)).length, 10);
  const read = async () => {
    const [best, worst, promoted, least] = await Promise.all(
      [/the best matches/, /the worst matches/, /most promoted/, /least promoted/].map((name) =>
        valuesIn(page, name),
      ),
    );
    for (const [most, fewest] of [
      [best, worst],
      [promoted, least],
    ]) {
      assert.deepEqual(
        most,
        most.toSorted((a, b) => b - a),
      );
      assert.deepEqual(
        fewest,
        fewest.toSorted((a, b) => a - b),
      );
      assert.ok(most[9] > fewest[9]);
    }
    return JSON.stringify([best, promoted]);
  };
  const first = await read();
  await matches(
    () => figureOf(page).innerText(),
    /Head \d of layer \d reads “fire” at position 6\. .* at position 5, one token earlier/,
  );
  // Values do not depend on the position of the keys, but scores do.
  await figureOf(page)
    .getByRole('combobox', { name: /^keys at/ })
    .selectOption('0');
  await becomes(async () => (await read()) !== first, true);
  await becomes(async () => new URL(page.url()).hash.includes('circuitKey=0'), true);
  assert.equal(JSON.parse(await read())[1].join(), JSON.parse(first)[1].join());
  await figureOf(page)
    .getByRole('combobox', { name: /^token/ })
    .selectOption('1');
  await matches(
    () => figureOf(page).innerText(),
    /“lady” at position 2\. .* at position 1, one token earlier/,
  );
  await becomes(async () => new URL(page.url()).hash.includes('circuitQuery=1'), true);
  const again = await site.visit(new URL(page.url()).hash, {
    viewport: { width: 390, height: 844 },
  });
  await matches(() => figureOf(again).innerText(), /“lady” at position 2/);
  await settled(again);
  await becomes(() => overflow(again), 0);
  assert.deepEqual(await accessibilityProblems(again), []);
});

test('a model that the reader opened shows what its heads look for', async () => {
  const page = await site.visit('#v=2&text=the+lady+sat&at=transformer.encoder-block');
  await open(page, gpt2());
  await page.locator('#transformer').evaluate((chapter) => chapter.scrollIntoView());
  await unfold(page.locator('#lens'));
  await page.locator('#contributions').evaluate((element) => element.scrollIntoView());
  await figureOf(page).evaluate((element) => element.scrollIntoView());
  await becomes(async () => (await valuesIn(page, /the best matches/)).length, 10);
  await becomes(async () => (await valuesIn(page, /most promoted/)).length, 10);
});
