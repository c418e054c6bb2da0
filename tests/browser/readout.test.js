import test from 'node:test';

import { becomes, openTestSite, settled } from './site.js';

/** @import { Page } from 'playwright-core' */

const site = await openTestSite();

/** One heatmap for each kind of figure. */
const maps = [
  { at: 'opening.sentence', name: /columns/ },
  { at: 'pooling.pooling-figure', name: /^Attention weights/ },
  { at: 'self-attention.pipeline', name: /^Input/ },
  { at: 'self-attention.weights', name: /^Attention weights/ },
  { at: 'self-attention.stages', name: /^Scores/ },
  { at: 'self-attention.edit', name: /./ },
  { at: 'order.shuffle', name: /./ },
  { at: 'encoding.encoding-heatmap', name: /./ },
  { at: 'encoding.encoding-similarity', name: /./ },
  { at: 'encoding.encoding-schemes', name: /./ },
  { at: 'rotation.rotation-shift', name: /^Turned/ },
  { at: 'precision.precision-error', name: /./ },
  { at: 'transformer.encoder-block', name: /^sum/ },
  { at: 'transformer.compare&weights=learned', name: /^Share of the difference/ },
  { at: 'transformer.lens&weights=learned', name: /^The most probable/ },
];

/** @typedef {{ left: number, top: number, right: number, bottom: number }} Box */

/**
 * Positions of a figure's card, its cell and the window.
 * @param {Page} page
 * @param {string} figure
 */
async function places(page, figure) {
  await page.locator(`#${figure} .readout.card`).waitFor();
  return page.evaluate((figure) => {
    const boxOf = (/** @type {Element} */ element) => {
      const { left, top, right, bottom } = element.getBoundingClientRect();
      return { left, top, right, bottom };
    };
    const find = (/** @type {string} */ selector) =>
      /** @type {Element} */ (document.querySelector(`#${figure} ${selector}`));
    const map = [...document.querySelectorAll(`#${figure} [role=application]`)].find((each) =>
      each.matches(':hover, :focus'),
    );
    const bar = /** @type {Element} */ (document.querySelector('.bar'));
    return {
      card: boxOf(find('.readout.card')),
      cell: boxOf(map?.querySelector('[data-looked]') ?? find('[data-looked]')),
      window: {
        ...{ left: 0, top: boxOf(bar).bottom },
        ...{ right: document.documentElement.clientWidth, bottom: innerHeight },
      },
    };
  }, figure);
}

/** @param {Box} inner @param {Box} outer */
const isWithin = (inner, outer) =>
  inner.left >= outer.left &&
  inner.top >= outer.top &&
  inner.right <= outer.right &&
  inner.bottom <= outer.bottom;

/** @param {Box} a @param {Box} b */
const apart = (a, b) => ({
  across: Math.max(a.left - b.right, b.left - a.right),
  down: Math.max(a.top - b.bottom, b.top - a.bottom),
});

for (const { at, name } of maps) {
  const figure = at.split(/[.&]/)[1];

  test(`${figure}: the readout is near its cell and does not cover its row`, async () => {
    const page = await site.visit(`#shuffle=1&at=${at}`);
    const map = page.locator(`#${figure}`).getByRole('application', { name }).first();
    await map.scrollIntoViewIfNeeded();
    await settled(page);
    for (const [x, y] of [
      [0.1, 0.1],
      [0.5, 0.5],
      [0.95, 0.9],
    ]) {
      const { width, height } = /** @type {{ width: number, height: number }} */ (
        await map.boundingBox()
      );
      await map.hover({ position: { x: x * width, y: y * height }, force: true });
      await becomes(async () => {
        const { card, cell, window } = await places(page, figure);
        const { across, down } = apart(card, cell);
        const isNear =
          figure === 'sentence'
            ? down >= 0 // below the picture
            : across >= 0 && down >= 0 && across <= 20 && down <= 20;
        return isNear && isWithin(card, window) ? 'near' : { card, cell, window };
      }, 'near');
    }
    await page.mouse.move(1, 1);
    await page.locator(`#${figure} .readout.card`).waitFor({ state: 'detached' });
  });

  test(`${figure}: on a phone a tap shows the readout of a cell and leaves its row visible`, async () => {
    const page = await site.visit(`#shuffle=1&at=${at}`, {
      ...{ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
    });
    const map = page.locator(`#${figure}`).getByRole('application', { name }).first();
    await map.evaluate((element) => element.scrollIntoView({ block: 'center' }));
    await settled(page);
    const { width, height } = /** @type {{ width: number, height: number }} */ (
      await map.boundingBox()
    );
    await map.tap({ position: { x: 0.5 * width, y: 0.5 * height }, force: true });
    await becomes(async () => {
      const { card, cell, window } = await places(page, figure);
      const isRowVisible = isWithin(card, window) && apart(card, cell).down >= 0;
      return isRowVisible ? 'visible' : { card, cell, window };
    }, 'visible');
    // A tap would first scroll the page. If the bar then covered the cell, the card would
    // disappear.
    await page.locator(`#${figure}`).getByRole('button', { name: 'unlock' }).dispatchEvent('click');
    await page.locator(`#${figure} .readout.card`).waitFor({ state: 'detached' });
  });
}

test('a card leaves the caption of its map visible, and on a phone the whole map', async () => {
  for (const isMobile of [false, true]) {
    const page = await site.visit('#v=2&schemesWeights=1&at=encoding.encoding-schemes', {
      ...(isMobile && { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile }),
    });
    const map = page.locator('[data-scheme="rotary"]').getByRole('application').last();
    await map.evaluate((element) => element.scrollIntoView({ block: 'center' }));
    await settled(page);
    for (const at of [0.1, 0.6, 0.97]) {
      const box = /** @type {{ x: number, y: number, width: number, height: number }} */ (
        await map.boundingBox()
      );
      const [width, height] = [box.width, box.height];
      const how = { position: { x: at * width, y: at * height }, force: true };
      await (isMobile ? map.tap(how) : map.hover(how));
      await becomes(async () => {
        const { card } = await places(page, 'encoding-schemes');
        const said = await map.evaluate((element) => {
          const { left, top, right, bottom } = /** @type {Element} */ (
            element.nextElementSibling
          ).getBoundingClientRect();
          return { left, top, right, bottom };
        });
        const { across, down } = apart(card, said);
        const isVisible = (across >= 0 || down >= 0) && (!isMobile || card.bottom <= box.y);
        return isVisible ? 'visible' : { card, said, box };
      }, 'visible');
    }
  }
});

test('a card follows the keys and leaves the window with its cell', async () => {
  const page = await site.visit('#at=self-attention.weights&length=8');
  const map = page.locator('#weights').getByRole('application', { name: /^Attention weights/ });
  await map.focus();
  const first = await places(page, 'weights');
  await map.press('ArrowDown');
  await map.press('ArrowDown');
  await becomes(async () => (await places(page, 'weights')).card.top > first.card.top + 20, true);
  await map.press('Enter');
  const card = page.locator('#weights .readout.card');
  await page.mouse.move(700, 500);
  await page.mouse.wheel(0, 2500);
  // The card is now hidden, or it was removed with its figure because the figure is far outside the
  // window.
  await card.waitFor({ state: 'hidden' });
  await page.mouse.wheel(0, -2500);
  await card.waitFor({ state: 'visible' });
  await map.press('Escape');
  await card.waitFor({ state: 'detached' });
});

test('a swipe that scrolls the page leaves no card behind', async () => {
  const page = await site.visit('#at=self-attention.weights', {
    ...{ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
  });
  const map = page.locator('#weights').getByRole('application', { name: /^Attention weights/ });
  await map.dispatchEvent('pointerdown', { pointerType: 'touch', clientX: 200, clientY: 400 });
  await page.locator('#weights .readout.card').waitFor();
  await map.dispatchEvent('pointercancel', { pointerType: 'touch' });
  await page.locator('#weights .readout.card').waitFor({ state: 'detached' });
});
