// Opens the page as a single file from the disk, in Firefox and Chromium. The page may request
// nothing besides that file.

import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { becomes, dist, openSite } from '../browser/site.js';
import { kMaxFileBytes } from '../limits.js';
import {
  assertSameInvention,
  assertSameTraining,
  kBrowsers,
  launchBrowsers,
  openEmpty,
  type,
} from './driver/browsers.js';

/** @import { Page } from './driver/browsers.js' */
/** @import { BrowserName } from './driver/browsers.js' */

/** @type {Awaited<ReturnType<typeof launchBrowsers>>} */
let browsers;
/** A folder that contains nothing except copies of the page's single file. @type {string} */
let folder;
/** @type {string} */
let html;
before(async () => {
  browsers = await launchBrowsers();
  folder = await mkdtemp(join(tmpdir(), 'attn-file-'));
  html = await readFile(join(dist, 'attn.html'), 'utf8');
  await writeFile(join(folder, 'attn.html'), html);
});
after(async () => {
  await Promise.all(Object.values(browsers ?? {}).map((browser) => browser.close()));
  if (folder) await rm(folder, { recursive: true });
});

/**
 * @param {BrowserName} name
 * @param {string} [fragment] with '#'
 * @param {string} [file]
 */
async function open(name, fragment = '', file = 'attn.html') {
  const { href } = pathToFileURL(join(folder, file));
  const { page, close } = await openEmpty(
    browsers[name],
    // Fonts and workers are inside the file, but browsers report them as requests.
    (url) => url.replace(/#.*/, '') === href || /^(?:data|blob):/.test(url),
  );
  await page.setOfflineMode(true);
  await page.goto(href + fragment);
  await page.waitForSelector('#opening[data-loaded]');
  return { page, close };
}

/** @param {Page} page */
async function arcs(page) {
  const canvas = await page.waitForSelector('#sentence [data-words] canvas');
  return canvas?.evaluate((canvas) => /** @type {HTMLCanvasElement} */ (canvas).toDataURL());
}

/** @param {(name: BrowserName) => Promise<void>} check */
const inBoth = async (check) => void (await Promise.all(kBrowsers.map(check)));

test('the file is at most 5 MB in size', async () => {
  const { size } = await stat(join(folder, 'attn.html'));
  assert.ok(size <= kMaxFileBytes.page, `${size} bytes`);
});

test('opened from the disk, the page reads a sentence with its language model', () =>
  inBoth(async (name) => {
    const { page, close } = await open(name);
    await page.waitForSelector('input[value=learned]:checked');
    const before = await arcs(page);
    await type(page, 'the lady saw the letter');
    await becomes(async () => (await arcs(page)) !== before, true);
    await becomes(
      () => page.evaluate(() => decodeURIComponent(location.hash)),
      '#v=2&text=the+lady+saw+the+letter',
    );
    await close();
  }));

test('training in the file gives the same checksums in Firefox and Chromium', () =>
  assertSameTraining(open, 20));

test('the file measures and trains with a formula of the reader', async () => {
  await assertSameInvention(open);
  await assertSameTraining(open, 10, {
    ...{ schemeB: 'yours', formula: 'sin(i / 50^(k / d)) + exp(-i)', formulaBias: 'tanh(i - j)' },
  });
});

test('the file explains why it opens no models by name', () =>
  inBoth(async (name) => {
    const { page, close } = await open(name);
    await page.evaluate(() => {
      const buttons = [...document.querySelectorAll('button')];
      buttons.find((button) => button.textContent?.includes('open your own model'))?.click();
    });
    await becomes(
      () =>
        page.evaluate(() =>
          /single file, which makes no requests.* use the page on a web server/.test(
            document.querySelector('dialog[open]')?.textContent ?? '',
          ),
        ),
      true,
    );
    await close();
  }));

// Chromium reports the requests of a page, but not the requests of its workers.
test('the policy of the file forbids requests of its workers', async () => {
  const { page, close } = await open('Chromium', '#world=count&trainStep=1&at=training');
  await page.waitForSelector('[data-checksum=B]');
  const workers = page.workers();
  assert.ok(workers.length > 0);
  const directives = workers.map((worker) =>
    worker.evaluate(
      () =>
        new Promise((resolve) => {
          addEventListener('securitypolicyviolation', (event) => resolve(event.violatedDirective));
          fetch('https://example.com/').catch(() => {});
        }),
    ),
  );
  const expected = workers.map(() => 'connect-src');
  assert.deepEqual(await Promise.all(directives), expected);
  await close();
});

test('the file opens a model of the reader', () =>
  inBoth(async (name) => {
    const { page, close } = await open(name);
    const button = await page.waitForSelector('header button');
    await button?.click();
    const input = await page.waitForSelector('dialog input[type=file]');
    // If a reader opens only a file of weights, the page uses the tokens of its own language model.
    await input?.uploadFile(
      fileURLToPath(new URL('../../web/languageModel/model.safetensors', import.meta.url)),
    );
    await page.waitForSelector('input[value=own]:checked');
    await close();
  }));

test('programs and pictures name the file without its folder', async () => {
  const { page, close } = await open('Chromium');
  await page.click('#sentence [aria-label^="Code for"]');
  const program = await page.waitForSelector('#sentence pre');
  const [first] =
    (await program?.evaluate((element) => element.textContent ?? ''))?.split('\n') ?? [];
  assert.match(first, /: attn\.html#at=opening\.sentence$/);
  await close();
});

test('a page next to the file embeds a figure of it', async () => {
  const source = 'attn.html#embed=encoding.encoding-heatmap&amp;v=2&amp;weights=xavier';
  const html = `<!doctype html><title>lesson</title><iframe src="${source}" width="800"></iframe>`;
  await writeFile(join(folder, 'lesson.html'), html);
  await inBoth(async (name) => {
    const { page, close } = await openEmpty(browsers[name], (url) =>
      /^(?:file|data|blob):/.test(url),
    );
    await page.goto(pathToFileURL(join(folder, 'lesson.html')).href);
    const [, frame] = page.frames();
    await frame.waitForSelector('#encoding-heatmap.only canvas');
    await close();
  });
});

test('a browser that cannot unpack the file says so', async () => {
  const { page, close } = await openEmpty(browsers.Chromium, () => true);
  await page.evaluateOnNewDocument(() => Reflect.deleteProperty(globalThis, 'DecompressionStream'));
  await page.goto(pathToFileURL(join(folder, 'attn.html')).href);
  await page.waitForSelector('#first-unpack:not([hidden])');
  await assert.rejects(close(), /DecompressionStream is not defined/);
});

/**
 * Saves pages from a page that is open in Chromium, and returns their sizes.
 * @param {import('playwright-core').Page} page
 * @param {Record<string, () => Promise<void>>} clicks  what to click for each file
 */
async function save(page, clicks) {
  const sizes = [];
  for (const [file, click] of Object.entries(clicks)) {
    const download = page.waitForEvent('download');
    await click();
    await (await download).saveAs(join(folder, file));
    sizes.push((await stat(join(folder, file))).size);
  }
  return sizes;
}

/** @param {import('playwright-core').Page} page @param {string} figure */
async function clickSave(page, figure) {
  await page
    .locator(figure)
    .getByRole('button', { name: /^Export/ })
    .first()
    .click();
  await page.getByRole('button', { name: 'Save as a page' }).click();
}

test('a figure saved as a page is drawn and follows its controls', async () => {
  const site = await openSite();
  const page = await site.open('#v=2&length=12&width=8&at=encoding.encoding-heatmap');
  const [size] = await save(page, {
    'heatmap.html': () => clickSave(page, '#encoding-heatmap'),
  });
  assert.ok(size <= kMaxFileBytes.withoutModel, `${size} bytes`);
  await site.close();
  await inBoth(async (name) => {
    const { page, close } = await open(name, '', 'heatmap.html');
    await page.waitForSelector('#encoding-heatmap.only canvas');
    assert.equal(await page.title(), 'Every position has its own row');
    assert.equal(await page.$$eval('textarea', ({ length }) => length), 1);
    const summary = () => page.$eval('#encoding-heatmap [data-summary]', (e) => e.textContent);
    await becomes(async () => /12/.test((await summary()) ?? ''), true);
    const before = await summary();
    await page.focus('#encoding-heatmap input[type=range]');
    await page.keyboard.press('ArrowRight');
    await becomes(async () => (await summary()) !== before, true);
    await close();
  });
});

test('a figure that shows the language model is saved with it and with the sentence', async () => {
  const site = await openSite();
  const page = await site.open('#v=2&text=the+lady+saw+him&head=2&at=self-attention.weights');
  await page.locator('#weights canvas').first().waitFor();
  const [size] = await save(page, { 'weights.html': () => clickSave(page, '#weights') });
  assert.ok(size <= kMaxFileBytes.page, `${size} bytes`);
  await site.close();
  await inBoth(async (name) => {
    const { page, close } = await open(name, '', 'weights.html');
    const map = '#weights.only [role=application]';
    const label = () => page.$eval(map, (element) => element.getAttribute('aria-label') ?? '');
    await page.waitForSelector(map);
    await becomes(async () => /4 queries/.test(await label()), true);
    await type(page, 'the lady saw the letter');
    await becomes(async () => /5 queries/.test(await label()), true);
    await close();
  });
});

test('the whole page is saved with its settings, and a saved page saves figures', async () => {
  const site = await openSite();
  const page = await site.open('#v=2&weights=xavier&text=one+two+three&length=60');
  const [size] = await save(page, {
    'whole.html': () => page.getByRole('button', { name: /^Save as one file/ }).click(),
  });
  assert.ok(size <= kMaxFileBytes.page, `${size} bytes`);
  const saved = await (await site.browser.newContext({ offline: true })).newPage();
  const link = '#v=2&weights=xavier&length=9&at=encoding.encoding-heatmap';
  await saved.goto(pathToFileURL(join(folder, 'whole.html')).href + link);
  await saved.locator('#encoding-heatmap canvas').first().waitFor();
  const [again] = await save(saved, {
    'again.html': () => clickSave(saved, '#encoding-heatmap'),
  });
  assert.ok(again <= kMaxFileBytes.withoutModel, `${again} bytes`);
  await site.close();
  await inBoth(async (name) => {
    const whole = await open(name, '', 'whole.html');
    await whole.page.waitForSelector('input[value=xavier]:checked');
    const field = await whole.page.$eval('textarea', ({ value }) => value);
    assert.equal(field, 'one two three');
    await whole.close();
    const figure = await open(name, '', 'again.html');
    await figure.page.waitForSelector('#encoding-heatmap.only canvas');
    await figure.close();
  });
});
