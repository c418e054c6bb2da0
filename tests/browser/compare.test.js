// Tests the figure that compares two sentences.

import assert from 'node:assert/strict';
import test from 'node:test';

import { accessibilityProblems } from './accessibility.js';
import { gpt2, open } from './ownModel.js';
import { becomes, contentOf, matches, openTestSite, overflow, settled, unfold } from './site.js';

/** @import { Page } from 'playwright-core' */

const site = await openTestSite();

const link = '#v=2&at=transformer.compare';

/** @param {Page} page */
const figureOf = (page) => page.locator('#compare');
/** @param {Page} page */
const doneIn = (page) =>
  figureOf(page).locator('[data-done]').getAttribute('data-done').then(Number);
/** @param {Page} page */
const readout = (page) => figureOf(page).locator('.readout [data-value]');

test('patching the last row after the last layer restores the whole difference', async () => {
  const page = await site.visit(link);
  // Eleven tokens, each with the embedding and three layers.
  await becomes(() => doneIn(page), 44);
  const map = figureOf(page).getByRole('application');
  await map.focus();
  for (const key of ['ArrowDown', 'PageDown', 'End', 'Enter']) await page.keyboard.press(key);
  await matches(() => readout(page).innerText(), /^100\s%$/);
  await becomes(async () => new URL(page.url()).hash.includes('compareCell=10.3'), true);
  // Before the first layer, only the changed word differs.
  for (const key of ['Escape', 'PageUp', 'Home', 'Enter']) await page.keyboard.press(key);
  await matches(() => readout(page).innerText(), /^0\s%$/);

  const field = figureOf(page).getByRole('textbox', { name: 'compare with' });
  await field.fill('the man sat by the fire because the lady was tired');
  await figureOf(page).getByRole('radio', { name: 'one head' }).check({ force: true });
  await becomes(() => doneIn(page), 33);
  await becomes(async () => new URL(page.url()).hash.includes('compareStage=head'), true);
  await becomes(async () => new URL(page.url()).hash.includes('compareText=the+man'), true);
  // No layer comes after layer 3, so patches of its earlier rows restore nothing.
  await map.focus();
  for (const key of ['Escape', 'PageUp', 'End', 'Enter']) await page.keyboard.press(key);
  await matches(() => readout(page).innerText(), /^0\s%$/);
  const again = await site.visit(new URL(page.url()).hash, {
    viewport: { width: 390, height: 844 },
  });
  await becomes(() => doneIn(again), 33);
  const other = figureOf(again).getByRole('textbox', { name: 'compare with' });
  await becomes(() => other.inputValue(), 'the man sat by the fire because the lady was tired');
  await settled(again);
  await becomes(() => overflow(again), 0);
  assert.deepEqual(await accessibilityProblems(again, ['#compare']), []);
});

test('an exported picture quotes both sentences', async () => {
  const page = await site.visit(`${link}&text=the+lady+sat+by&compareText=the+king+sat+by`);
  await becomes(() => doneIn(page), 16);
  await settled(page);
  await page.getByRole('button', { name: 'Export Compare two sentences' }).click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page
      .locator('#compare li', { hasText: 'picture' })
      .getByRole('button', { name: 'SVG', exact: true })
      .click(),
  ]);
  const text = (await contentOf(download)).toString();
  assert.match(text, /“the lady sat by” · /);
  assert.match(text, / · compare with “the king sat by” · /);
});

test('sentences with different numbers of tokens are not compared', async () => {
  const page = await site.visit(`${link}&text=the+lady+sat+by&compareText=the+lady+sat`);
  await figureOf(page).getByText('Your sentence has 4 tokens, and the other one has 3').waitFor();
  assert.equal(await figureOf(page).getByRole('application').count(), 0);
  await figureOf(page).getByRole('button', { name: 'Start from your sentence' }).click();
  await figureOf(page).getByText('Both sentences are the same so far.').waitFor();
  await figureOf(page).getByRole('textbox').fill('the king sat by');
  await becomes(() => doneIn(page), 16);
});

test('the rows of a model that the reader opened are patched on request', async () => {
  const page = await site.visit('#v=2&text=the+lady+sat&at=transformer.encoder-block');
  await open(page, gpt2());
  await page.locator('#transformer').evaluate((chapter) => chapter.scrollIntoView());
  await unfold(figureOf(page));
  await figureOf(page).evaluate((element) => element.scrollIntoView());
  await figureOf(page).getByRole('textbox', { name: 'compare with' }).fill('the lady sit');
  const start = figureOf(page).getByRole('button', { name: /^Patch each of \d+ rows/ });
  await start.waitFor();
  const rows = Number(/\d+/.exec(await start.innerText()));
  await start.click();
  await becomes(() => doneIn(page), rows);
});
