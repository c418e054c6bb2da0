// Every figure's SVG and PNG, as an image on a page without the site's fonts, against what the screen
// shows of it.

import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import test, { after, before } from 'node:test';

import { compare } from './picturesAlike.js';
import { openSite, settled } from '../browser/site.js';

/** @import { Locator, Page } from 'playwright-core' */

/** @type {import('../browser/site.js').Site} */
let site;
/** A page of no site. @type {Page} */
let elsewhere;
const viewport = { width: 1440, height: 3200 };
const deviceScaleFactor = 2;
before(async () => {
  site = await openSite();
  const context = await site.browser.newContext({ viewport, deviceScaleFactor });
  elsewhere = await context.newPage();
  await elsewhere.setContent('<body style="margin: 0"><img>');
});
after(() => site.close());

/** What a picture leaves out. */
const kLeftOut =
  '.picture :is(button.link, .button, fieldset, [data-hint], [data-control]), .tools';

/** Around the picture in a file, with its title above, in CSS pixels. */
const margin = { left: 16, top: 16 + 28 };

/** @param {Page} page @param {Locator} figure @param {RegExp} menu @param {'SVG' | 'PNG'} kind */
async function exported(page, figure, menu, kind) {
  const file = figure.getByRole('button', { name: kind, exact: true });
  // What is drawn above it for the first time may move the figure away from under a click.
  for (let time = 0; time < 3 && !(await file.isVisible()); time++) {
    await figure.getByRole('button', { name: menu }).click();
    await file.waitFor({ timeout: 10_000 }).catch(() => {});
  }
  const [download] = await Promise.all([page.waitForEvent('download'), file.click()]);
  return readFile(await download.path());
}

/**
 * @param {Buffer} bytes of an image
 * @param {string} type
 * @param {{ width: number, height: number }} size in CSS pixels
 */
async function seen(bytes, type, { width, height }) {
  await elsewhere.evaluate(
    async ({ source, shown }) => {
      const image = /** @type {HTMLImageElement} */ (document.querySelector('img'));
      image.src = source;
      await image.decode();
      image.style.width = shown ? `${shown}px` : '';
      image.style.display = 'block';
    },
    {
      source: `data:${type};base64,${bytes.toString('base64')}`,
      // Narrow ones have more pixels.
      shown: type === 'image/png' ? width + 2 * margin.left : 0,
    },
  );
  return elsewhere.screenshot({ clip: { x: margin.left, y: margin.top, width, height } });
}

/**
 * Brings a figure into the window, and waits until it stays there: what is drawn above it for the first time
 * moves it on.
 * @param {Page} page
 * @param {Locator} figure
 */
async function bring(page, figure) {
  /** @type {number | undefined} */
  let before;
  for (let time = 0; time < 12; time++) {
    await figure.evaluate((element) =>
      element.scrollIntoView({ block: 'center', behavior: 'instant' }),
    );
    await settled(page);
    const { top, isThere } = await figure.evaluate((element) => {
      const { top, bottom } = element.getBoundingClientRect();
      return { top, isThere: top >= 0 && bottom <= innerHeight };
    });
    if (isThere && top === before) return;
    before = top;
  }
}

/**
 * Waits until nothing of a figure changes any more: what a worker computes is drawn in steps.
 * @param {Page} page
 * @param {Locator} figure
 */
async function still(page, figure) {
  await figure.and(page.locator(':not([aria-busy])')).waitFor();
  const { x, y, width, height } = (await figure.boundingBox()) ?? assert.fail('no figure');
  const look = () => page.screenshot({ clip: { x, y, width, height }, scale: 'css' });
  for (let [before, now] = [await look(), await look()]; !now.equals(before);) {
    [before, now] = [now, await look()];
  }
}

/** What is exported of a figure: its menu, and what of it is in the picture. */
const whole = { of: '', menu: /^Export/, shown: '.picture' };
/** A part that is exported by itself. @type {Record<string, typeof whole>} */
const parts = {
  'encoding-schemes': { of: '[data-scheme="yarn"]', menu: /^Picture of/, shown: '.card' },
};

/** @param {Page} page @param {string} id @param {typeof whole} [part] of the figure */
async function check(page, id, { of, menu, shown } = whole) {
  const figure = page.locator(`#${id} ${of}`);
  await bring(page, figure);
  await page.mouse.move(0, 0);
  await still(page, figure);
  const svg = await exported(page, figure, menu, 'SVG');
  const png = await exported(page, figure, menu, 'PNG');
  // Scrolled, something else would lie under the pointer.
  await page.mouse.move(0, 0);
  await bring(page, figure);
  await still(page, figure);
  const show = (/** @type {string} */ visibility) =>
    figure.locator(kLeftOut).evaluateAll((all, visibility) => {
      for (const each of all) /** @type {HTMLElement} */ (each).style.visibility = visibility;
    }, visibility);
  await show('hidden');
  // Nor does it have notes that a word could point to.
  await figure.locator('.picture .term').evaluateAll((terms) => {
    for (const term of terms) /** @type {HTMLElement} */ (term).style.textDecoration = 'none';
  });
  const clip = await figure.evaluate((element, shown) => {
    const picture = /** @type {Element} */ (element.querySelector(shown));
    const { left, top, width, height } = picture.getBoundingClientRect();
    return {
      ...{ x: Math.floor(left), y: Math.floor(top) },
      ...{ width: Math.ceil(width), height: Math.ceil(height) },
    };
  }, shown);
  assert.ok(clip.y >= 0 && clip.y + clip.height <= viewport.height, JSON.stringify(clip));
  const screen = await page.screenshot({ clip });
  await show('');
  for (const [type, bytes] of /** @type {const} */ ([
    ['image/svg+xml', svg],
    ['image/png', png],
  ])) {
    const picture = await seen(bytes, type, clip);
    const { blocks, different } = await compare(elsewhere, screen, picture);
    if (process.env.PICTURES) {
      await writeFile(`${process.env.PICTURES}/${id}-screen.png`, screen);
      await writeFile(`${process.env.PICTURES}/${id}-${type.slice(6, 9)}.png`, picture);
    }
    assert.deepEqual(different, [], `${id} as ${type}: ${different.length} of ${blocks} blocks`);
  }
  assert.doesNotMatch(svg.toString().replaceAll(/base64,[^)"]*/g, ''), /NaN|undefined/);
  // Other programs may have other fonts.
  assert.doesNotMatch(svg.toString(), /@font-face|<text/);
}

const chapters = [
  ...['opening', 'pooling', 'self-attention', 'order', 'encoding', 'rotation'],
  ...['precision', 'architectures', 'transformer', 'training', 'speed'],
];

for (const chapter of chapters) {
  test(`${chapter}: exported figures look as on the screen`, async (t) => {
    const page = await site.open(`#at=${chapter}`, { viewport, deviceScaleFactor });
    await page.getByRole('region', { name: 'Sentence and settings' }).evaluate((bar) => {
      // Not over the figures.
      bar.style.position = 'static';
      // Thin lines and frames are faint: they, too, shall be missed.
      document.documentElement.style.setProperty('--rule', '#00b050');
    });
    const ids = await page
      .locator(`#${chapter} figure`)
      .evaluateAll((figures) => figures.map(({ id }) => id));
    assert.ok(ids.length);
    for (const id of ids) {
      await t.test(id, async () => {
        await check(page, id);
        if (parts[id]) await check(page, id, parts[id]);
      });
    }
    await page.context().close();
  });
}
