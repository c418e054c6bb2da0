// Tests the text and the still picture in `index.html`. Readers see them until the live page
// replaces them, or permanently if it cannot run.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import { pathToFileURL } from 'node:url';

import { accessibilityProblems } from './accessibility.js';
import { becomes, dist, openTestSite, overflow, settled } from './site.js';

/** @import { Page } from 'playwright-core' */

const site = await openTestSite();

/**
 * Opens an empty page. It is not shared, because every test restricts its page in a different way.
 * @param {import('playwright-core').BrowserContextOptions} [options]
 */
async function blank(options) {
  return (await site.newContext(options)).newPage();
}

/** Asserts that the text and the still picture are visible without scrolling. @param {Page} page */
async function assertStill(page) {
  await page.getByRole('heading', { name: /^Where a word stands/ }).waitFor();
  await page.getByText(/^Self-attention lets every word look/).waitFor();
  await page.getByText('A still picture of words').waitFor();
  const picture = page.getByRole('img', { name: /The thickest arch runs from “lady” to “sat”/ });
  await becomes(async () => {
    const { y = 0, height = 0 } = (await picture.boundingBox()) ?? {};
    return height > 200 && y + height <= Number(page.viewportSize()?.height);
  }, true);
  assert.ok((await picture.locator('path').count()) > 50);
}

const phone = { viewport: { width: 390, height: 844 } };

for (const options of [phone, { viewport: { width: 1280, height: 720 } }]) {
  test(`without scripts the page shows its words and a still picture at ${options.viewport.width} pixels`, async () => {
    const page = await blank({ ...options, javaScriptEnabled: false });
    await page.goto(site.url);
    await assertStill(page);
    await page.getByText('Turn on JavaScript and reload the page').waitFor();
    await becomes(() => page.getByText('Loading the live page').isHidden(), true);
    await page.context().close();
  });
}

test('opened as a file, the page leads to the page in a single file', async () => {
  const page = await blank();
  await page.goto(pathToFileURL(join(dist, 'index.html')).href);
  await page.getByText('The live page cannot start from this file').waitFor();
  const link = page.getByRole('link', { name: 'attn.html' });
  assert.equal(
    await link.evaluate((link) => /** @type {HTMLAnchorElement} */ (link).href),
    pathToFileURL(join(dist, 'attn.html')).href,
  );
  await assertStill(page);
  await becomes(() => page.getByText('Loading the live page').isHidden(), true);
  await page.context().close();
});

test('if a script cannot be fetched, the page says so', async () => {
  const page = await blank();
  await page.route('**/assets/core-*.js', (route) => route.abort());
  await page.goto(site.url);
  await page.getByText('A part of the live page could not be loaded').waitFor();
  await assertStill(page);
  await page.context().close();
});

test('without WebAssembly the page says so', async () => {
  const page = await blank();
  await page.addInitScript(() => delete (/** @type {any} */ (globalThis).WebAssembly));
  await page.goto(site.url);
  await page.getByText('needs WebAssembly, which your browser lacks').waitFor();
  await assertStill(page);
  await page.context().close();
});

test('the bar stays in place when the fonts arrive', async (context) => {
  /** @param {boolean} hasFonts */
  const places = async (hasFonts) => {
    const page = await blank({ javaScriptEnabled: true });
    await page.route('**/assets/index-*.js', (route) => route.abort());
    if (!hasFonts) await page.route('**/*.woff2', (route) => route.abort());
    await page.goto(site.url);
    await page.locator('.first-bar').waitFor();
    if (hasFonts) {
      await page.waitForFunction(
        (fonts) => document.fonts.size > 0 && fonts.every((font) => document.fonts.check(font)),
        ['400 1em "Source Serif 4"', '600 1em "Source Serif 4"'],
      );
    }
    const tops = [];
    for (const width of [360, 390, 768, 1280, 1440]) {
      await page.setViewportSize({ width, height: 800 });
      tops.push((await page.locator('.first-bar').boundingBox())?.y);
    }
    const isInstalled = await page.evaluate(() => {
      const canvas = /** @type {any} */ (document.createElement('canvas').getContext('2d'));
      const widthIn = (/** @type {string} */ fonts) => {
        canvas.font = `40px ${fonts}`;
        return canvas.measureText('Where a word stands').width;
      };
      return widthIn('"DejaVu Serif", monospace') !== widthIn('monospace');
    });
    await page.context().close();
    return { tops, isInstalled };
  };
  const before = await places(false);
  // first.css also scales other installed fonts, but the test needs one that this machine has.
  if (!before.isInstalled) return context.skip('needs DejaVu Serif');
  assert.deepEqual(before.tops, (await places(true)).tops);
});

/** A promise, and the function that resolves it. */
function deferred() {
  let resolve = () => {};
  const promise = new Promise((done) => (resolve = () => done(undefined)));
  return { promise, resolve };
}

/**
 * Opens the page and delays its scripts.
 * @param {import('playwright-core').BrowserContextOptions} options
 * @returns {Promise<{ page: Page, start: () => void }>} `start` lets the scripts arrive
 */
async function held(options) {
  const page = await blank(options);
  const { promise, resolve } = deferred();
  await page.route('**/assets/index-*.js', async (route) => {
    await promise;
    await route.continue();
  });
  await page.goto(site.url, { waitUntil: 'commit' });
  await page.locator('#still').waitFor();
  // Waiting for the status "loaded" is not enough: `document.fonts` also has this status before the
  // first layout, when no font is loaded yet.
  await page.waitForFunction(
    (fonts) => document.fonts.size > 0 && fonts.every((font) => document.fonts.check(font)),
    ['400 1em "Source Serif 4"', '600 1em "Source Serif 4"', '400 1em "Source Sans 3 Variable"'],
  );
  return { page, start: resolve };
}

for (const viewport of [
  { width: 390, height: 844 },
  { width: 1280, height: 720 },
  { width: 1440, height: 900 },
]) {
  test(`at ${viewport.width} pixels nothing moves when the live page replaces the still one`, async () => {
    const { page, start } = await held({ viewport });
    /** @param {Record<string, string>} parts */
    const places = (parts) =>
      page.evaluate(
        (parts) =>
          Object.entries(parts).map(([name, selector]) => {
            const element = /** @type {Element} */ (document.querySelector(selector));
            const { left, top, bottom } = element.getBoundingClientRect();
            return { name, left, top, bottom };
          }),
        parts,
      );
    const common = { headline: 'h1', lead: '.first-lead' };
    const before = await places({
      ...common,
      sentence: '.first-bar p',
      arcs: '.first-picture > :first-child',
      stripes: '.first-picture > :nth-child(2)',
    });
    await becomes(() => overflow(page), 0);
    assert.deepEqual(await accessibilityProblems(page), []);
    start();
    const live = page.locator('#sentence [data-words] canvas');
    await becomes(() => live.count(), 2);
    await settled(page);
    const now = await places({
      ...common,
      sentence: '.bar textarea',
      arcs: '#sentence [data-words] > :first-child',
      stripes: '#sentence [role=application]',
    });
    for (const [i, { name, ...place }] of before.entries()) {
      for (const side of /** @type {const} */ (['left', 'top', 'bottom'])) {
        assert.ok(Math.abs(now[i][side] - place[side]) <= 1, `${name}: ${side}`);
      }
    }
    await becomes(() => page.locator('#still, .first-bar').count(), 0);
    await page.context().close();
  });
}

for (const [name, ends] of /** @type {[string, (page: Page, model: () => void) => unknown][]} */ ([
  ['until the language model arrives', (_, model) => model()],
  ['until the reader types', (page) => page.getByRole('textbox').first().fill('the cat sat')],
  [
    'for a moment if the model takes long',
    (page) => page.evaluate('heldTimers.forEach((f) => f())'),
  ],
])) {
  test(`the still picture stays ${name}`, async () => {
    const { page, start } = await held({});
    // Holds the timer that ends the moment, so that a slow machine does not end it too early.
    await page.evaluate(() => {
      const original = window.setTimeout;
      /** @type {TimerHandler[]} */
      const heldTimers = [];
      const holding = (/** @type {TimerHandler} */ handler, /** @type {number} */ ms = 0) =>
        ms > 1000 ? heldTimers.push(handler) : original(handler, ms);
      Object.assign(window, { heldTimers, setTimeout: holding });
    });
    const { promise, resolve } = deferred();
    await page.route('**/*.safetensors', async (route) => {
      await promise;
      await route.continue();
    });
    const asked = page.waitForRequest('**/*.safetensors');
    start();
    await asked;
    await becomes(() => page.locator('#still').count(), 1);
    await becomes(() => page.locator('#sentence').count(), 0);
    await ends(page, resolve);
    await page.locator('#sentence [data-words] canvas').first().waitFor();
    await becomes(() => page.locator('#still').count(), 0);
    resolve();
    await page.getByText(/^A small language model reads/).waitFor();
    await page.context().close();
  });
}
