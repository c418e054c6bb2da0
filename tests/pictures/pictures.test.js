// Exports every figure as SVG and PNG, shows the files as images on a page without the site's
// fonts, and compares them with the figure on the screen.

import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import test, { after, before } from 'node:test';

import { compare } from './picturesAlike.js';
import { openSite, settled, unfold } from '../browser/site.js';

/** @import { Locator, Page } from 'playwright-core' */

/** @type {import('../browser/site.js').Site} */
let site;
/** A page outside the site. @type {Page} */
let elsewhere;
const viewport = { width: 1440, height: 5400 };
const deviceScaleFactor = 2;
before(async () => {
  site = await openSite();
  const context = await site.browser.newContext({ viewport, deviceScaleFactor });
  elsewhere = await context.newPage();
  await elsewhere.setContent('<body style="margin: 0"><img>');
});
after(() => site.close());

/** Elements of a picture that are not exported. @param {string} picture */
const leftOut = (picture) =>
  `${picture} :is(button.link, .button, fieldset, input, select, textarea, [data-hint], [data-control]), .tools`;

/** The margins around an exported picture, in CSS pixels. The top margin includes the title. */
const margin = { left: 16, top: 16 + 28 };

/** @param {Page} page @param {Locator} figure @param {RegExp} menu @param {'SVG' | 'PNG'} kind */
async function exported(page, figure, menu, kind) {
  // The menu lists the whole picture before its parts.
  const file = figure.getByRole('button', { name: kind, exact: true }).first();
  // When the page first draws the figures above this one, this figure may move and a click may miss
  // it.
  for (let time = 0; time < 3 && !(await file.isVisible()); time++) {
    await figure.getByRole('button', { name: menu }).click();
    await file.waitFor({ timeout: 10_000 }).catch(() => {});
  }
  const [download] = await Promise.all([page.waitForEvent('download'), file.click()]);
  return readFile(await download.path());
}

/**
 * @param {Buffer} bytes contents of an image
 * @param {string} type
 * @param {{ width: number, height: number }} size size in CSS pixels
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
      // A PNG of a narrow figure has more pixels per CSS pixel, so its displayed width is set.
      shown: type === 'image/png' ? width + 2 * margin.left : 0,
    },
  );
  return elsewhere.screenshot({ clip: { x: margin.left, y: margin.top, width, height } });
}

/**
 * Scrolls to a figure and waits until it stays in place, because figures above move it when they
 * are drawn for the first time.
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
 * Waits until a figure stops changing. The page draws a worker's results in several steps.
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

/**
 * The exported part of a figure: the button that opens its menu, and the element that is exported.
 */
const whole = { of: '', menu: /^Export/, shown: '.picture' };
const card = { menu: /^Picture of/, shown: '.card' };
/** Parts that are exported separately. @type {Record<string, (typeof whole)[]>} */
const parts = {
  'encoding-schemes': ['yarn', 'yours'].map((name) => ({ ...card, of: `[data-scheme="${name}"]` })),
};

/**
 * @param {Page} page
 * @param {string} id
 * @param {typeof whole} [part] exported part of the figure
 * @param {readonly ('SVG' | 'PNG')[]} [formats]
 */
async function check(page, id, { of, menu, shown } = whole, formats = ['SVG', 'PNG']) {
  const figure = page.locator(`#${id} ${of}`);
  await bring(page, figure);
  await page.mouse.move(0, 0);
  await still(page, figure);
  const files = [];
  for (const format of formats) files.push(await exported(page, figure, menu, format));
  // After scrolling, the pointer would be over another element.
  await page.mouse.move(0, 0);
  await bring(page, figure);
  await still(page, figure);
  const show = (/** @type {string} */ visibility) =>
    figure.locator(leftOut(shown)).evaluateAll((all, visibility) => {
      for (const each of all) /** @type {HTMLElement} */ (each).style.visibility = visibility;
    }, visibility);
  await show('hidden');
  // Terms and links in exported pictures open nothing and therefore have no underline.
  await figure.locator('.picture :is(.term, a)').evaluateAll((elements) => {
    for (const each of elements) /** @type {HTMLElement} */ (each).style.textDecoration = 'none';
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
  for (const [i, bytes] of files.entries()) {
    /** @type {'image/svg+xml' | 'image/png'} */
    const type = formats[i] === 'SVG' ? 'image/svg+xml' : 'image/png';
    const picture = await seen(bytes, type, clip);
    const { blocks, different } = await compare(elsewhere, screen, picture);
    if (process.env.PICTURES) {
      await writeFile(`${process.env.PICTURES}/${id}-screen.png`, screen);
      await writeFile(`${process.env.PICTURES}/${id}-${type.slice(6, 9)}.png`, picture);
    }
    assert.deepEqual(different, [], `${id} as ${type}: ${different.length} of ${blocks} blocks`);
  }
  const svg = files[0];
  assert.doesNotMatch(svg.toString().replaceAll(/base64,[^)"]*/g, ''), /NaN|undefined/);
  // Programs that open the file may not have the site's fonts.
  assert.doesNotMatch(svg.toString(), /@font-face|<text/);
}

const chapters = [
  ...['opening', 'pooling', 'self-attention', 'order', 'encoding', 'rotation'],
  ...['precision', 'architectures', 'transformer', 'training', 'speed'],
];

/** @param {string} address */
async function open(address) {
  const page = await site.open(address, { viewport, deviceScaleFactor });
  await page.getByRole('region', { name: 'Sentence and settings' }).evaluate((bar) => {
    // Keeps the bar from covering figures.
    bar.style.position = 'static';
    // Draws faint lines and faint frames in a strong colour, so that the comparison notices a
    // missing line or frame.
    document.documentElement.style.setProperty('--rule', '#00b050');
  });
  return page;
}

for (const chapter of chapters) {
  test(`${chapter}: exported figures look the same as on the screen`, async (t) => {
    const page = await open(`#at=${chapter}`);
    const ids = await page
      .locator(`#${chapter} figure`)
      .evaluateAll((figures) => figures.map(({ id }) => id));
    assert.ok(ids.length);
    for (const id of ids) {
      await t.test(id, async () => {
        const figure = page.locator(`[id="${id}"]`);
        const folds = await figure.locator('details').count();
        if (!folds) await unfold(figure);
        await check(page, id);
        if (folds) {
          await unfold(figure);
          // A figure with all its folded parts open can be too large for a PNG in full resolution.
          await check(page, id, whole, ['SVG']);
        }
        for (const part of parts[id] ?? []) await check(page, id, part);
      });
    }
    await page.context().close();
  });
}
