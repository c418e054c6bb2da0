// Tests the figure in which readers cut arcs and see how the prediction changes.

import assert from 'node:assert/strict';
import test from 'node:test';

import { accessibilityProblems } from './accessibility.js';
import { gpt2, open } from './ownModel.js';
import { becomes, matches, openTestSite, overflow, recordBusy, settled, unfold } from './site.js';

/** @import { Locator, Page } from 'playwright-core' */

const site = await openTestSite();

const link = '#v=2&at=transformer.cut&text=the+lady+sat+by+the+fire+because+the';

/** @param {Page} page */
const figureOf = (page) => page.locator('#cut');
/** @param {Page} page */
const changeIn = (page) =>
  figureOf(page).locator('[data-change]').getAttribute('data-change').then(Number);
/** @param {Page} page */
const cutsIn = (page) => figureOf(page).getByRole('button', { name: /^Undo the cut/ });
/** @param {Page} page @param {string} name name of a list of predictions */
const sharesIn = (page, name) =>
  figureOf(page)
    .getByRole('list', { name })
    .locator('[data-probability]')
    .evaluateAll((all) =>
      all.map((each) => Number(/** @type {HTMLElement} */ (each).dataset.probability)),
    );

test('a cut changes the prediction by the stated amount, is in the link and can be undone', async () => {
  const page = await site.visit(link);
  const figure = figureOf(page);
  const before = 'What may come next, without cuts';
  await becomes(async () => (await sharesIn(page, before)).length, 10);
  assert.equal(await changeIn(page), 0);

  // The keyboard cuts the last query from the first key in this head, and from the second everywhere.
  const scope = figure.getByRole('group', { name: 'cut in' });
  await scope.getByRole('radio', { name: 'this head' }).check({ force: true });
  const map = figure.getByRole('application');
  await map.focus();
  for (const key of ['ArrowDown', 'PageDown', 'Home', 'Enter']) await page.keyboard.press(key);
  await becomes(() => cutsIn(page).count(), 1);
  await becomes(async () => (await changeIn(page)) !== 0, true);
  const first = await changeIn(page);
  await scope.getByRole('radio', { name: 'everywhere' }).check({ force: true });
  await map.focus();
  for (const key of ['ArrowDown', 'PageDown', 'Home', 'ArrowRight', 'Enter']) {
    await page.keyboard.press(key);
  }
  await becomes(() => cutsIn(page).count(), 2);
  await becomes(async () => (await changeIn(page)) !== first, true);
  await becomes(async () => new URL(page.url()).hash.includes('cuts=2.1.7.0%2C0.0.7.1'), true);

  // The change is the difference between the logarithms of the two probabilities.
  const [was, is] = await Promise.all(
    [before, 'What may come next, with the cuts'].map((name) =>
      figure
        .getByRole('list', { name })
        .locator('[aria-pressed=true] [data-probability]')
        .getAttribute('data-probability'),
    ),
  );
  assert.ok(was && is);
  assert.ok(Math.abs(Math.log(Number(is) / Number(was)) - (await changeIn(page))) < 1e-4);

  const change = await changeIn(page);
  const again = await site.visit(new URL(page.url()).hash);
  await becomes(() => changeIn(again), change);
  await cutsIn(page).first().click();
  await becomes(() => cutsIn(page).count(), 1);
  await cutsIn(page).first().click();
  await becomes(() => changeIn(page), 0);
});

/** How much the prediction after each token changes, as a divergence. @param {Locator} figure */
const divergencesIn = (figure) =>
  figure
    .locator('[data-divergence]')
    .evaluateAll((all) =>
      all.map((each) => Number(/** @type {HTMLElement} */ (each).dataset.divergence)),
    );

test('a click on an arc cuts it, and no prediction before its query changes', async () => {
  const page = await site.visit(`${link}&layer=2`);
  const arcs = figureOf(page).locator('svg[data-arcs]');
  await arcs.waitFor();
  await settled(page);
  /** Clicks in the middle of the arc from the last token to the first. */
  const click = async () => {
    const box = await arcs.boundingBox();
    assert.ok(box);
    await arcs.click({ position: { x: box.width / 2, y: box.height / 2 } });
  };
  await becomes(() => arcs.locator('[data-cut]').count(), 0);
  await click();
  await becomes(() => arcs.locator('[data-cut]').count(), 1);
  const name = await cutsIn(page).innerText();
  const [, query] = /(\d+)\s*→/.exec(name) ?? assert.fail(name);
  await becomes(async () => (await divergencesIn(figureOf(page))).length, 8);
  const divergences = await divergencesIn(figureOf(page));
  divergences.forEach((divergence, i) => assert.equal(divergence > 0, i >= Number(query), name));
  // A second click on the dashed arc undoes the cut.
  await click();
  await becomes(() => cutsIn(page).count(), 0);
  await becomes(async () => (await divergencesIn(figureOf(page))).length, 0);
});

test('a cell whose key comes after its query cannot be cut, and a second click undoes a cut', async () => {
  const page = await site.visit(link);
  const map = figureOf(page).getByRole('application');
  await map.focus();
  for (const key of ['Home', 'End', 'Enter']) await page.keyboard.press(key);
  for (const key of ['Home', 'Enter']) await page.keyboard.press(key);
  await becomes(() => cutsIn(page).count(), 1);
  await page.keyboard.press('Enter');
  await becomes(() => cutsIn(page).count(), 0);
});

test('Page Up and Page Down move to the first and the last row of a small matrix', async () => {
  const page = await site.visit(`${link}+lady+was+tired+and+cold`);
  const map = figureOf(page).getByRole('application');
  await map.focus();
  for (const key of ['Home', 'PageDown', 'Enter']) await page.keyboard.press(key);
  await matches(async () => (await cutsIn(page).allInnerTexts()).join(), /cold\s*12\s*→/);
  for (const key of ['PageUp', 'Enter']) await page.keyboard.press(key);
  await matches(async () => (await cutsIn(page).allInnerTexts()).join(), /the\s*0\s*→/);
});

test('the figure fits a phone and is accessible', async () => {
  const page = await site.visit(`${link}&cuts=2.1.7.0,0.0.7.6`, {
    viewport: { width: 390, height: 844 },
  });
  await becomes(() => cutsIn(page).count(), 2);
  await settled(page);
  await becomes(() => overflow(page), 0);
  assert.deepEqual(await accessibilityProblems(page, ['#cut']), []);
});

test('arcs of a model that the reader opened can be cut', async () => {
  // The cut and the token in this link are meant for the page's model. They must disappear when the
  // reader opens another model.
  const page = await site.visit(
    '#v=2&text=the+lady+sat+by+the+fire&layer=3&cuts=0.0.5.1&cutToken=7&at=transformer.encoder-block',
  );
  await open(page, gpt2());
  await page.locator('#transformer').evaluate((chapter) => chapter.scrollIntoView());
  await unfold(figureOf(page));
  await figureOf(page).evaluate((element) => element.scrollIntoView());
  await becomes(() => changeIn(page), 0);
  await becomes(async () => /cuts|cutToken/.test(new URL(page.url()).hash), false);
  // This model has no third layer, so the figure draws the second layer, and arcs are cut there.
  const layer = figureOf(page).getByRole('group', { name: /^layer/ });
  await becomes(() => layer.getByRole('radio', { name: '2' }).isChecked(), true);
  await figureOf(page).getByRole('radio', { name: 'this head' }).check({ force: true });
  const map = figureOf(page).getByRole('application');
  await map.focus();
  for (const key of ['ArrowDown', 'PageDown', 'Home', 'Enter']) await page.keyboard.press(key);
  await becomes(() => cutsIn(page).count(), 1);
  await matches(() => cutsIn(page).innerText(), /layer 2, head/);
  await becomes(async () => (await changeIn(page)) !== 0, true);
});

test('hiding each earlier word shows which words the prediction depends on', async () => {
  const page = await site.visit(link);
  const figure = figureOf(page);
  const list = figure.getByRole('list', { name: 'Changes in the log-probability, by hidden word' });
  const changes = () =>
    list
      .locator('[data-value]')
      .evaluateAll((all) =>
        all.map((each) => Number(/** @type {HTMLElement} */ (each).dataset.value)),
      );
  // The sentence has eight tokens, and the last one cannot be hidden.
  await becomes(async () => (await changes()).length, 7);
  const all = await changes();
  assert.deepEqual(
    all,
    all.toSorted((a, b) => Math.abs(b) - Math.abs(a)),
  );
  // Choosing a word makes its cuts, which change the log-probability by the number in the list.
  await list.getByRole('button', { name: /^fire, position 5/ }).click();
  await becomes(() => cutsIn(page).count(), 2);
  await becomes(async () => (await changeIn(page)) !== 0, true);
  const change = await changeIn(page);
  assert.ok(all.some((each) => Math.abs(each - change) < 1e-4));
  // The list still shows the model without the reader's cuts.
  assert.deepEqual(await changes(), all);
});

test('the first picture and the figure about the next word lead to the figure with cuts', async () => {
  const page = await site.visit(link.replace('at=transformer.cut&', ''));
  await page.getByRole('button', { name: 'Which word comes next, and why?' }).click();
  await becomes(() => changeIn(page), 0);
  await matches(async () => new URL(page.url()).hash, /at=transformer\.cut/);
  const other = await site.visit(link.replace('.cut', '.next-word'));
  await other
    .locator('#next-word')
    .getByRole('button', { name: /^Why this word/ })
    .click();
  await becomes(() => changeIn(other), 0);
});

test('silencing each head shows which heads the prediction depends on', async () => {
  const page = await site.visit(`${link.replace('.cut', '.silence')}`);
  const changes = () =>
    page
      .locator('#silence [data-value]')
      .evaluateAll((all) =>
        all.map((each) => Number(/** @type {HTMLElement} */ (each).dataset.value)),
      );
  // The model has three layers, each with four heads and a feed-forward network.
  await becomes(async () => (await changes()).length, 15);
  const byMean = await changes();
  assert.deepEqual(
    byMean,
    byMean.toSorted((a, b) => Math.abs(b) - Math.abs(a)),
  );
  await page.locator('#silence').getByRole('radio', { name: 'zeros' }).check({ force: true });
  await becomes(async () => (await changes())[0] !== byMean[0], true);
  // A click on a head in the list selects this head in all figures.
  const head = page.locator('#silence').getByRole('button', { name: /^layer 3, head 2/ });
  await head.click();
  await becomes(
    async () => /layer=3&/.test(new URL(page.url()).hash) && page.url().includes('head=2'),
    true,
  );
  await becomes(() => overflow(page), 0);

  const long = 'the+lady+sat+by+the+fire+'.repeat(7);
  const another = await site.visit(`#v=2&at=transformer.silence&text=${long}`);
  await another
    .locator('#silence')
    .getByText(/^The model reads the last 32 of \d/)
    .waitFor();
});

test('switches silence parts of the model, work with the keyboard, and are kept in the link', async () => {
  const page = await site.visit(link.replace('.cut', '.silence'));
  const figure = page.locator('#silence');
  await becomes(() => figure.locator('[data-value]').count(), 15);
  const change = () => figure.locator('[data-change]').getAttribute('data-change').then(Number);
  await becomes(change, 0);
  // Silencing only this head changes the log-probability by the number in the list.
  const listed = Number(
    await figure
      .getByRole('button', { name: /^layer 1, head 2/ })
      .locator('[data-value]')
      .getAttribute('data-value'),
  );
  const switchOf = (/** @type {string} */ part) => figure.locator(`[data-part="${part}"]`);
  await switchOf('0.1').click();
  await becomes(async () => Math.abs((await change()) - listed) < 1e-4, true);
  await switchOf('0.1').press('ArrowDown');
  await becomes(
    () => page.evaluate(() => /** @type {any} */ (document.activeElement).dataset.part),
    '1.1',
  );
  for (const key of ['End', 'Enter']) await page.keyboard.press(key);
  await becomes(() => switchOf('2.layer').getAttribute('aria-pressed'), 'true');
  await becomes(async () => new URL(page.url()).hash.includes('silenced=1.2%2C3.layer'), true);
  await becomes(async () => Math.abs((await change()) - listed) > 1e-4, true);

  const both = await change();
  const again = await site.visit(new URL(page.url()).hash, {
    viewport: { width: 390, height: 844 },
  });
  const other = again.locator('#silence');
  await becomes(
    () => other.locator('[data-change]').getAttribute('data-change').then(Number),
    both,
  );
  await settled(again);
  await becomes(() => overflow(again), 0);
  assert.deepEqual(await accessibilityProblems(again, ['#silence']), []);
  await other.getByRole('button', { name: 'Switch all parts on again' }).click();
  await becomes(() => other.locator('[data-change]').getAttribute('data-change').then(Number), 0);
});

test('the block’s switches silence parts of its layer, and a line says what this changes', async () => {
  const page = await site.visit(`${link.replace('.cut', '.encoder-block')}&layer=2`);
  const block = page.locator('#encoder-block');
  await block.getByRole('switch', { name: 'silence the feed-forward network' }).check();
  const effect = page.getByText(
    /^Silenced parts give their mean: layer 2, feed-forward\. “.+” now has/,
  );
  await effect.waitFor();
  await block.getByRole('switch', { name: 'silence the whole layer' }).check();
  await page.getByText(/: layer 2, feed-forward; all of layer 2\./).waitFor();
  await becomes(async () => new URL(page.url()).hash.includes('silenced=2.mlp%2C2.layer'), true);
});

test('the parts of a model that the reader opened are silenced one by one, until the reader stops', async () => {
  const page = await site.visit('#v=2&text=the+lady+sat+by+the+fire&at=transformer.encoder-block');
  await open(page, gpt2());
  const busy = await recordBusy(page);
  await page.locator('#transformer').evaluate((chapter) => chapter.scrollIntoView());
  const figure = page.locator('#silence');
  await unfold(figure);
  await figure.evaluate((element) => element.scrollIntoView());
  const start = figure.getByRole('button', { name: /^Silence each of \d+ parts/ });
  await start.waitFor();
  await becomes(async () => (await busy()).includes('silence'), true);
  const parts = Number(/\d+/.exec(await start.innerText()));
  assert.equal(await figure.locator('.ranked [data-value]').count(), 0);

  // The page stops before it handles the worker's message about the second part.
  await figure.evaluate((element) => {
    const observer = new MutationObserver(() => {
      if (!element.querySelector('[data-done]')) return;
      observer.disconnect();
      const buttons = [...element.querySelectorAll('button')];
      buttons.find(({ textContent }) => textContent === 'Stop')?.click();
    });
    observer.observe(element, { childList: true, subtree: true });
  });
  await start.click();
  await figure.getByText(`1 of ${parts} so far.`).waitFor();
  // The result so far remains, and the model still responds.
  await figure.locator('[data-part="1.layer"]').click();
  await figure.getByText(/with silenced parts\. Its log-probability changes/).waitFor();
  await becomes(() => figure.locator('.ranked [data-value]').count(), 1);

  await start.click();
  await becomes(() => figure.locator('.ranked [data-value]').count(), parts);
  await figure.getByText(/^Silencing \d+ parts one by one took /).waitFor();
});
