import assert from 'node:assert/strict';
import test from 'node:test';

import { accessibilityProblems } from './accessibility.js';
import { maxAbsDifference, sinusoidalEncoding } from './reference.js';
import { becomes, contentOf, heatmap, openTestSite, overflow, readValues, unfold } from './site.js';

/** @import { Page } from 'playwright-core' */

const site = await openTestSite();

const figure = '[id="encoding-schemes"]';
const yours = `${figure} [data-scheme="yours"]`;

/** Opens the card. A link with a reader's formula opens the card, too. @param {Page} page */
const openPart = (page) => unfold(page.locator('summary').getByText('Invent one yourself'));

/** @param {Record<string, string>} [settings] */
async function open(settings = {}) {
  const page = await site.visit(
    `#v=2&${new URLSearchParams({ text: 'a rose is a rose', ...settings })}&at=encoding.encoding-schemes`,
  );
  if (!settings.formula) await openPart(page);
  await page.locator(yours).waitFor();
  return page;
}

/**
 * Returns the page's verdicts on the reader's encoding, in the order of the questions. @param
 * {Page} page
 */
const verdicts = (page) =>
  page
    .locator(`${yours} [data-verdict]`)
    .evaluateAll((all) => all.map((each) => /** @type {HTMLElement} */ (each).dataset.is));

test('an invention is shown next to the sinusoid, with four verdicts', async () => {
  const page = await open();
  await page.getByRole('button', { name: 'the sinusoid itself' }).click();
  await becomes(() => verdicts(page), ['true', 'true', 'true', 'true']);
  const map = heatmap(page, /^yours: P\(i, k\)/);
  await map.focus();
  const values = await readValues(map, 64, 64);
  const difference = maxAbsDifference(values, sinusoidalEncoding(64, 64, 10000));
  assert.ok(difference <= 5e-7, `${difference}`);
  await page.getByRole('button', { name: 'binary digits' }).click();
  await becomes(() => verdicts(page), ['true', 'false', 'false', 'true']);
  await page.getByRole('button', { name: 'ALiBi' }).last().click();
  await becomes(() => verdicts(page), ['true', 'false']);
  await heatmap(page, /^yours: the bias/).waitFor();
  assert.deepEqual(site.problems, []);
});

test('the formula and its parameters are in the link', async () => {
  const page = await open();
  const field = page.locator(`${yours} textarea`).first();
  await field.fill('sin(i * speed + k)');
  await page
    .locator(`${yours} [data-problem="added"]`)
    .getByText(/“speed” has no value/)
    .waitFor();
  await page.getByRole('button', { name: 'add a parameter' }).click();
  const name = page.locator(`${yours} .range`).nth(1).getByLabel('name');
  await name.fill('speed');
  await name.press('Enter');
  await becomes(() => page.locator(`${yours} [data-verdict]`).count(), 4);
  await page.getByRole('slider', { name: 'speed' }).press('ArrowRight');
  await page.waitForURL(({ hash }) => hash.includes('speed%3A1.01%3A0%3A10'));
  const other = await site.visit(new URL(page.url()).hash);
  await becomes(
    () => other.locator(`${yours} textarea`).first().inputValue(),
    'sin(i * speed + k)',
  );
  await becomes(() => other.getByRole('slider', { name: 'speed' }).inputValue(), '1.01');
});

test('a link with a broken formula shows the formula and the error, and computes nothing', async () => {
  const page = await open({ formula: 'sin(i) + i.constructor', schemeB: 'yours' });
  const problem = page.locator(`${yours} [data-problem="added"]`);
  await problem.getByText(/Character 10/).waitFor();
  await becomes(() => problem.locator('mark').innerText(), 'i');
  await becomes(
    () => page.locator(`${yours} textarea`).first().inputValue(),
    'sin(i) + i.constructor',
  );
  await becomes(() => page.locator(`${yours} [data-map]`).count(), 0);
  await becomes(() => page.locator(`${yours} [data-verdict]`).count(), 0);
  await becomes(() => page.getByRole('button', { name: 'Race it' }).isDisabled(), true);
  await page.getByText('A race needs a formula that can be computed.').waitFor();
  await page.evaluate(
    () => (location.hash = '#v=2&formula=2$&schemeB=yours&at=training.training-run'),
  );
  await page.getByText('Your formula cannot be computed').waitFor();
  await page.evaluate(
    () => (location.hash = '#v=2&formula=1%2F(i-2)&at=encoding.encoding-schemes'),
  );
  await problem.getByText(/P\(2, 0\) is infinite/).waitFor();
  assert.deepEqual(site.problems, []);
});

test('an invented encoding wins a race against no encoding, and its result can be saved as a card', async () => {
  const page = await open({ trainLayers: '1' });
  await page.getByLabel('Race it, in lane B, against').selectOption('none');
  await page.getByRole('button', { name: 'Race it' }).click();
  await page.waitForURL(({ hash }) => hash.includes('schemeB=yours'));
  const race = page.locator('#training-race');
  const result = async (/** @type {string} */ lane, /** @type {string} */ name) => {
    // Figures are drawn only near the window, and the page may still be scrolling to the training
    // run.
    await race.scrollIntoViewIfNeeded();
    const cell = race.locator(`[data-lane="${lane}"][data-result="${name}"]`);
    return (await cell.count()) > 0 ? cell.innerText() : '';
  };
  const share = async (/** @type {string} */ lane) => parseInt(await result(lane, 'right answers'));
  await becomes(async () => (await share('B')) > 60 && (await share('A')) < 40, true);
  await page.locator('#training-run').getByRole('button', { name: 'Pause' }).click();
  await becomes(
    async () => /^[0-9a-f]{8}$/.test(await result('B', 'checksum of the weights')),
    true,
  );
  await becomes(async () => /%$/.test(await result('B', 'right with 20 letters')), true);
  await race.getByRole('button', { name: /^Export/ }).click();
  const saved = page.waitForEvent('download');
  await race.getByRole('button', { name: /PNG/ }).first().click();
  assert.ok((await contentOf(await saved)).length > 10_000);
  await race.getByRole('link', { name: 'Change the formula' }).click();
  const top = () =>
    page.locator(yours).evaluate((card) => Math.round(card.getBoundingClientRect().top));
  await becomes(async () => (await page.locator(yours).count()) > 0 && (await top()) < 300, true);
  assert.ok((await top()) >= 0);
  assert.deepEqual(site.problems, []);
});

test('a formula without columns is said to be invisible to the models in the race', async () => {
  const page = await open();
  const field = page.locator(`${yours} textarea`).first();
  const remark = page.locator(`${yours} [data-remark]`);
  await field.fill('i / 10');
  await remark.getByText(/layer norm/).waitFor();
  await field.fill('i / (1 + k)');
  await becomes(() => remark.count(), 0);
});

test('the card stays open while its figure is out of sight', async () => {
  const page = await open();
  await page.evaluate(() => scrollTo({ top: 0, behavior: 'instant' }));
  await becomes(() => page.locator(yours).count(), 0);
  await page.locator(figure).evaluate((element) => element.scrollIntoView({ block: 'end' }));
  await page.locator(`${yours} textarea`).first().waitFor();
});

test('the card offers a program that contains the formula', async () => {
  const page = await open();
  await page.getByRole('button', { name: 'binary digits' }).click();
  await page
    .locator(figure)
    .getByRole('button', { name: /^Code for/ })
    .click();
  await page
    .locator(figure)
    .getByText(/pow\(2/)
    .first()
    .waitFor();
});

test('the card fits on a phone and is accessible', async () => {
  const page = await site.visit('#at=encoding.encoding-schemes', {
    viewport: { width: 390, height: 844 },
    hasTouch: true,
    isMobile: true,
  });
  await openPart(page);
  await page.locator(`${yours} [data-verdict]`).nth(3).waitFor();
  await becomes(() => overflow(page), 0);
  assert.deepEqual(await accessibilityProblems(page, [figure]), []);
});
