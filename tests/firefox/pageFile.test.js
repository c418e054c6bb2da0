// Opens the page as a single file from the disk, in Firefox and Chromium. The page may request
// nothing besides that file.

import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { becomes, dist } from '../browser/site.js';
import { kMaxFileBytes } from '../limits.js';
import { assertSameTraining, kBrowsers, launchBrowsers, openEmpty, type } from './browsers.js';

/** @import { Page } from 'puppeteer-core' */
/** @import { BrowserName } from './browsers.js' */

/** @type {Awaited<ReturnType<typeof launchBrowsers>>} */
let browsers;
/** A folder that contains only copies of the file. @type {string} */
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

// Chromium reports the requests of a page, but not those of its workers.
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
    // Weights alone are read with the tokens of the page's own model.
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

test('a figure with other settings fits into 2 MB without the language model', async () => {
  const link = 'v=2&weights=xavier&text=one+two+three&at=encoding.encoding-heatmap&length=60';
  const filled = html
    .replace(
      'name="attn-fragment" content=""',
      `name="attn-fragment" content="${link.replaceAll('&', '&amp;')}"`,
    )
    .replace(
      /<script [^>]*id="part:(?:model\.safetensors|models\.wasm|training\.wasm)">.*<\/script>\n/g,
      '',
    );
  assert.ok(filled.length <= kMaxFileBytes.withoutModel, `${filled.length} bytes`);
  await writeFile(join(folder, 'filled.html'), filled);
  const { page, close } = await open('Chromium', '', 'filled.html');
  await page.waitForSelector('#encoding-heatmap canvas');
  assert.equal(await page.$eval('textarea', (field) => field.value), 'one two three');
  await close();
});
