// Tests the elements of `attn/figures` in Firefox and Chromium, on a page at another origin.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import sirv from 'sirv';

import { becomes } from '../browser/site.js';
import { kBrowsers, launchBrowsers, openEmpty } from './driver/browsers.js';

/** @import { BrowserName } from './driver/browsers.js' */

const serve = sirv(fileURLToPath(new URL('../../wasm/dist', import.meta.url)), {
  dev: true,
  setHeaders: (response) => response.setHeader('Access-Control-Allow-Origin', '*'),
});
const cdn = createServer((request, response) =>
  serve(request, response, () => void response.writeHead(404).end()),
);
let cdnOrigin = '';
const site = createServer((_, response) => {
  response.writeHead(200, { 'Content-Type': 'text/html' });
  response.end(`<!doctype html><title>Mine</title><link rel="icon" href="data:,">
    <attn-weights tokens="the cat sat" weights="[[1, 0, 0], [0.25, 0.75, 0], [0.125, 0.375, 0.5]]"></attn-weights>
    <attn-curves values="[[0, 5], [1, 6]]"></attn-curves>
    <attn-heatmap values="[[0, 1]]"></attn-heatmap>
    <script type="module" src="${cdnOrigin}/figures.js"></script>`);
});
let siteOrigin = '';

/** @type {Awaited<ReturnType<typeof launchBrowsers>>} */
let browsers;
before(async () => {
  [cdnOrigin, siteOrigin] = await Promise.all(
    [cdn, site].map(async (server) => {
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      return `http://127.0.0.1:${/** @type {any} */ (server.address()).port}`;
    }),
  );
  browsers = await launchBrowsers();
});
after(async () => {
  await Promise.all(Object.values(browsers ?? {}).map((browser) => browser.close()));
  for (const server of [cdn, site]) {
    server.closeAllConnections();
    server.close();
  }
});

/** @param {BrowserName} name */
async function open(name) {
  const { page, close } = await openEmpty(
    browsers[name],
    (url) => [cdnOrigin, siteOrigin].includes(new URL(url).origin) || url.startsWith('data:'),
  );
  await page.goto(siteOrigin);
  await page.waitForSelector('attn-heatmap >>> canvas');
  return { page, close };
}

for (const name of kBrowsers) {
  test(`${name}: the keyboard reads cells and curves`, async () => {
    const { page, close } = await open(name);
    const map = await page.waitForSelector('attn-weights >>> [role=application]');
    await map?.focus();
    for (const key of /** @type {const} */ (['ArrowDown', 'ArrowRight', 'Enter'])) {
      await page.keyboard.press(key);
    }
    const selected = (/** @type {string} */ element) =>
      page.$eval(element, (element) => /** @type {any} */ (element).selected);
    await becomes(() => selected('attn-weights'), {
      ...{ head: 0, query: 1, key: 1, weight: 0.75, queryToken: 'cat', keyToken: 'cat' },
      locked: true,
    });
    const chart = await page.waitForSelector('attn-curves >>> [role=application]');
    await chart?.evaluate((chart) =>
      /** @type {SVGElement} */ (/** @type {unknown} */ (chart)).focus(),
    );
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowDown');
    await becomes(async () => (await selected('attn-curves'))?.value, 6);
    await close();
  });

  test(`${name}: the colours follow color-scheme`, async () => {
    const { page, close } = await open(name);
    const first = () =>
      page.$eval('attn-heatmap >>> canvas', (canvas) => {
        const context = /** @type {HTMLCanvasElement} */ (canvas).getContext('2d');
        return context?.getImageData(0, 0, 1, 1).data[0];
      });
    await becomes(first, 253);
    await page.evaluate(() => void (document.documentElement.style.colorScheme = 'dark'));
    await becomes(first, 22);
    await close();
  });
}

test('both browsers draw an error in place of the element', async () => {
  for (const name of kBrowsers) {
    const { page, close } = await open(name);
    await page.$eval('attn-weights', (element) => {
      element.addEventListener('error', (event) => event.preventDefault());
      element.setAttribute('tokens', 'the cat');
    });
    const alert = await page.waitForSelector('attn-weights >>> [role=alert]');
    const said = await alert?.evaluate((alert) => alert.textContent);
    assert.equal(said, 'tokens: got an array of length 2, needs 3, the number of queries');
    await close();
  }
});
