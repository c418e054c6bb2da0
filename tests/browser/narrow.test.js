import assert from 'node:assert/strict';
import test from 'node:test';

import { arrival, becomes, matches, openTestSite, settled } from './site.js';

/** @import { Page } from 'playwright-core' */

const site = await openTestSite();

const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

test('Escape and scrolling close the settings', async () => {
  const page = await site.visit('#at=self-attention', { viewport: { width: 390, height: 844 } });
  const toggle = page.getByRole('button', { name: 'Settings' });
  const slider = page.getByRole('slider', { name: 'width', exact: true });
  await toggle.click();
  await slider.focus();
  await page.keyboard.press('Escape');
  await becomes(() => toggle.getAttribute('aria-expanded'), 'false');
  await becomes(() => toggle.evaluate((element) => element === document.activeElement), true);
  await toggle.click();
  await page.mouse.move(200, 700);
  await page.mouse.wheel(0, 200);
  await page.locator('[aria-label=Settings][aria-expanded=false]').waitFor();
});

test('on a phone a tap elsewhere closes the settings', async () => {
  const page = await site.visit('#at=self-attention.weights', phone);
  await page.getByRole('button', { name: 'Settings' }).tap();
  await page.getByRole('radio', { name: '2', exact: true }).first().check({ force: true });
  await page.locator('[aria-label=Settings][aria-expanded=true]').waitFor();
  await page.touchscreen.tap(5, 800);
  await page.locator('[aria-label=Settings][aria-expanded=false]').waitFor();
});

test('on a phone no sources are between a text and its figure', async () => {
  for (const chapter of ['pooling', 'self-attention']) {
    const page = await site.visit(`#at=${chapter}`, phone);
    const here = page.locator(`[id="${chapter}"]`);
    const sources = here.getByRole('list', { name: 'Sources' });
    await becomes(() => sources.count(), 1, chapter);
    await becomes(
      () =>
        here.evaluate((element) => {
          const order = '.takeaway, ul[aria-label="Sources"]';
          const last = [...element.querySelectorAll(order)].filter((each) =>
            each.checkVisibility(),
          );
          return last.map((each) => each.tagName);
        }),
      ['DIV', 'UL'],
      chapter,
    );
    // A wide window has a margin for them.
    await page.setViewportSize({ width: 1024, height: 768 });
    await becomes(() => here.locator('.margin').getByRole('list').first().isVisible(), true);
    await becomes(() => here.locator('.sources').isVisible(), false);
  }
});

test('on a phone the costs have their formulas, within the window', async () => {
  const page = await site.visit('#at=architectures.costs', phone);
  const formulas = page.locator('#costs .formula');
  await becomes(() => formulas.count(), 15);
  await becomes(
    () =>
      formulas.evaluateAll((all) =>
        all
          .map((each) => {
            const { left, right, height } = each.getBoundingClientRect();
            return { left, right, height };
          })
          .filter(({ left, right, height }) => height <= 0 || left < 0 || right > 390),
      ),
    [],
  );
});

test('on a phone the costs remain a table', async () => {
  const page = await site.visit('#at=architectures.costs', phone);
  const table = page.locator('#costs').getByRole('table');
  await becomes(() => table.getByRole('columnheader').count(), 4);
  await becomes(() => table.getByRole('rowheader', { name: 'RNN' }).count(), 1);
  await becomes(() => table.getByRole('row').count(), 6);
  await becomes(() => table.getByRole('cell').count(), 15);
  // The layout affects the accessibility tree, so check the tree, too.
  const session = await page.context().newCDPSession(page);
  const { nodes } = await session.send('Accessibility.getFullAXTree');
  const roles = nodes.filter(({ ignored }) => !ignored).map(({ role }) => role?.value);
  assert.ok(roles.filter((role) => role === 'cell').length >= 15);
  assert.ok(roles.filter((role) => role === 'rowheader').length >= 5);
});

test('grey settings explain themselves, also on a phone', async () => {
  const page = await site.visit('#at=rotation.rotation-shift', phone);
  await page.getByRole('button', { name: 'Settings' }).tap();
  await page.getByText('Grey: no effect on the figures in view').waitFor();
  await page.getByRole('button', { name: /^Masks: / }).tap();
  await page.locator('.maskPanel').getByText('Has no effect on the figures in view.').waitFor();
  await page.goto(`${site.url}#at=self-attention.weights`);
  await page.getByText('Grey: no effect on the figures in view').waitFor({ state: 'hidden' });
});

for (const width of [390, 900, 1440]) {
  test(`at ${width} pixels the chapters and the code come into view`, async () => {
    const page = await site.visit('#at=self-attention.weights', {
      viewport: { width, height: 800 },
    });
    await page.getByRole('button', { name: /^Chapters/ }).click();
    const menu = page.getByRole('navigation', { name: 'Chapters' }).getByRole('link');
    await menu.first().waitFor();
    await becomes(
      () =>
        menu.evaluateAll((links) =>
          links.every((link) => {
            const { left, right } = link.getBoundingClientRect();
            return left >= 0 && right > left && right <= innerWidth;
          }),
        ),
      true,
    );
    await page.keyboard.press('Escape');
    const button = page.getByRole('button', { name: 'Code for What each token looks at' });
    await button.click();
    const tab = page.locator('#weights [role=tab][aria-selected=true]');
    await becomes(() => tab.evaluate((element) => element === document.activeElement), true);
    await becomes(async () => {
      const y = (await tab.boundingBox())?.y ?? NaN;
      return y > 0 && y < 760;
    }, true);
    await matches(
      () => page.locator('#weights pre').innerText(),
      /^# What each token looks at: http\S+\nimport numpy as np\nimport torch\n/,
    );
    await page.keyboard.press('Escape');
    await becomes(() => button.evaluate((element) => element === document.activeElement), true);
    await becomes(() => page.locator('#weights pre').count(), 0);
  });
}

test('the chapter number does not narrow the sentence', async () => {
  const page = await site.visit('', { viewport: { width: 390, height: 844 } });
  const width = () => page.getByRole('textbox').evaluate((field) => field.clientWidth);
  const before = await width();
  await page.evaluate(() => scrollTo(0, 3000));
  await page.getByRole('button', { name: /^Chapters: chapter \d+ is in view/ }).waitFor();
  await becomes(() => width(), before);
});

test('on a phone undo and redo are hidden until the settings are open', async () => {
  const page = await site.visit('', phone);
  const undo = page.getByRole('button', { name: 'Undo' });
  await becomes(() => undo.isHidden(), true);
  await page.getByRole('button', { name: 'Settings' }).click();
  await undo.waitFor();
});

test('on paper there are neither controls nor space for figures that were not drawn', async () => {
  const page = await site.visit('#at=pooling');
  await page.emulateMedia({ media: 'print' });
  const controls = ['#start-walk', '#pooling .slider input', '#pooling .button', '.examples'];
  for (const part of ['.bar', '#pooling figure .tools', ...controls]) {
    await becomes(() => page.locator(part).first().isHidden(), true, part);
  }
  await becomes(() => page.locator('#pooling-figure .picture').isVisible(), true);
  await becomes(() => page.locator('#pooling .slider output').first().isVisible(), true);
  const heading = page.locator('#pooling-title');
  assert.equal(await heading.evaluate((h2) => getComputedStyle(h2).breakAfter), 'avoid');
  // If a chapter has not been loaded, the printed page explains how to print the chapter. In a
  // window 300 pixels high, the last chapter is too far away to be loaded.
  const low = await site.open('', { viewport: { width: 1280, height: 300 } });
  await low.emulateMedia({ media: 'print' });
  const { content, height } = await low.locator('#speed .waiting').evaluate((element) => ({
    content: getComputedStyle(element, '::before').content,
    height: element.clientHeight,
  }));
  assert.match(content, /^"Not drawn: Ctrl\+P/);
  assert.ok(height < 100, `${height}`);
});

/** Records which figures are drawn when the page is printed. The function runs in the page. */
function recordPrinted() {
  const drawn = [...document.querySelectorAll('figure')].map(
    (figure) => figure.querySelector('.picture')?.getBoundingClientRect().height ?? 0,
  );
  const waiting = document.querySelectorAll(
    '[data-chapter] > .waiting, figure > .away, canvas[width="0"]',
  ).length;
  Object.assign(window, { printed: { drawn, waiting } });
}

/** @param {Page} page */
async function allIsPrinted(page) {
  const result = await page.waitForFunction(() => /** @type {any} */ (window).printed);
  const { drawn, waiting } = await result.jsonValue();
  assert.equal(waiting, 0);
  assert.ok(drawn.length > 25, `${drawn.length} figures`);
  assert.ok(
    drawn.every((/** @type {number} */ height) => height > 50),
    drawn.join(),
  );
}

test('without scroll anchoring, drawing figures above does not move the visible text', async () => {
  const page = await site.open('', {
    viewport: { width: 1280, height: 720 },
    anchors: false,
  });
  await page.evaluate(() => (location.hash = '#at=architectures'));
  await arrival(page, 'architectures');
  const drawn = new Set();
  let moved = 0;
  // Scrolls past two chapters and their figures.
  for (let i = 0; i < 40; i++) {
    const probe = await page.evaluateHandle(() => {
      const isInSight = (/** @type {Element} */ each) =>
        each.getBoundingClientRect().top > innerHeight / 3;
      const all = [
        ...document.querySelectorAll(
          'main :is(h2, p:not(figure *, .bar *), figure:not(.new)):not(details:not([open]) *)',
        ),
      ];
      return /** @type {Element} */ (all.find(isInSight));
    });
    const top = () => probe.evaluate((element) => element.getBoundingClientRect().top);
    const start = await top();
    await page.evaluate(() => scrollBy({ top: -300, behavior: 'instant' }));
    await settled(page);
    const figures = page.locator('figure:has(> .body)');
    for (const id of await figures.evaluateAll((all) => all.map(({ id }) => id))) drawn.add(id);
    moved = Math.max(moved, Math.abs((await top()) - start - 300));
  }
  assert.ok(drawn.size >= 5, [...drawn].join());
  assert.ok(moved <= 2, `${moved} px`);
});

test('the browser prints figures that were never scrolled to', async () => {
  const page = await site.open('');
  const isLoaded = (/** @type {string} */ chapter) =>
    performance.getEntriesByType('resource').some(({ name }) => name.includes(`${chapter}-`));
  for (const chapter of ['Pooling', 'Training', 'Appendix']) {
    await page.waitForFunction(isLoaded, chapter);
  }
  await page.evaluate(`addEventListener('beforeprint', ${recordPrinted})`);
  const pages = (await page.pdf()).toString('latin1').match(/\/Type \/Page\b/g) ?? [];
  await allIsPrinted(page);
  assert.ok(pages.length > 20, `${pages.length} pages`);
  await page.waitForFunction(() => document.querySelectorAll('figure > .away').length > 20);
});

test('printing from the page draws all figures', async () => {
  const page = await site.visit('');
  await page.evaluate('print = () => { window.asked = true; }');
  await page.keyboard.press('Control+p');
  await page.waitForFunction(() => /** @type {any} */ (window).asked);
  // Some print dialogs capture the page only after `print()` has returned.
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
  await settled(page);
  await page.evaluate(recordPrinted);
  await allIsPrinted(page);
  await page.evaluate(() => dispatchEvent(new Event('afterprint')));
  // After printing, the page removes the figures again.
  await page.waitForFunction(() => document.querySelectorAll('figure > .away').length > 20);
});
