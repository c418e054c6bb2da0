// Compares the page in Firefox, driven by WebDriver BiDi, with the page in Chromium, both without
// relaxed SIMD. Everything displayed or computed must be bit-identical in both browsers.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { load } from 'attn';
import sirv from 'sirv';

import { numberOf, readCells, serveSite } from '../browser/site.js';
import {
  assertSameInvention,
  assertSameTraining,
  kBrowsers,
  launchBrowsers,
  openEmpty,
  type,
} from './driver/browsers.js';
import { bitsOf, bitsOfTraining } from './sameBits.js';

/** @import { ElementHandle, Page } from './driver/browsers.js' */
/** @import { BrowserName } from './driver/browsers.js' */

const packageFolder = sirv(fileURLToPath(new URL('../../wasm/dist', import.meta.url)), {
  dev: true,
});
const testsFolder = sirv(import.meta.dirname, { dev: true });

/** @type {Awaited<ReturnType<typeof serveSite>>} */
let site;
/** @type {Awaited<ReturnType<typeof launchBrowsers>>} */
let browsers;
before(async () => {
  site = await serveSite('/', { '/attn/': packageFolder, '/tests/': testsFolder });
  browsers = await launchBrowsers();
});
after(async () => {
  await Promise.all(Object.values(browsers ?? {}).map((browser) => browser.close()));
  site?.server.closeAllConnections();
  site?.server.close();
});

/** Hides relaxed SIMD from the page. Runs before the page's own scripts. */
function hideRelaxedSimd() {
  const { validate } = WebAssembly;
  // The package detects relaxed SIMD with this instruction, i32x4.relaxed_trunc_f32x4_s.
  const opcode = [253, 129, 2, 11];
  WebAssembly.validate = (bytes) => {
    const end = Array.from(/** @type {Uint8Array} */ (bytes).slice(-opcode.length));
    return end.join() !== opcode.join() && validate(bytes);
  };
}

/**
 * @param {BrowserName} name
 * @param {string} [fragment] with '#'
 */
async function open(name, fragment = '') {
  const { page, close } = await openEmpty(
    browsers[name],
    // Vite puts small fonts into the style sheet.
    (url) => url.startsWith('data:') || new URL(url).origin === site.origin,
  );
  await page.evaluateOnNewDocument(hideRelaxedSimd);
  await page.goto(`${site.origin}/${fragment}`);
  await page.waitForSelector('[data-variant]');
  return { page, close };
}

/**
 * Reads every number of a heatmap, as the page writes it.
 * @param {Page} page
 * @param {string} figure
 * @param {string} label
 * @param {number} rows
 * @param {number} columns
 */
async function shownNumbers(page, figure, label, rows, columns) {
  const name = `${label}, ${rows} ${label.startsWith('Input') ? 'tokens' : 'queries'} by ${columns}`;
  // A figure far from the window has no picture.
  await page.$eval(`#${figure}`, (element) => element.scrollIntoView({ behavior: 'instant' }));
  const heatmap = /** @type {ElementHandle<Element>} */ (
    await page.waitForSelector(`#${figure} [role="application"][aria-label^="${name} "]`)
  );
  const texts = await heatmap.evaluate(
    readCells,
    /** @type {[number, number]} */ ([rows, columns]),
  );
  assert.ok(texts.every((text) => Number.isFinite(numberOf(text || 'none'))));
  return texts;
}

test('Firefox shows the same as Chromium on opening the page and while typing', async () => {
  const tokens = 'a cat , a dog and a mouse saw the same cat'.split(' ').length;
  /** @type {Partial<Record<BrowserName, object>>} */
  const shown = {};
  await Promise.all(
    kBrowsers.map(async (name) => {
      const { page, close } = await open(
        name,
        '#v=1&at=self-attention.weights&weights=xavier&dModel=16',
      );
      assert.equal(await page.$eval('[data-variant]', (label) => label.textContent), 'simd128');
      await type(page, 'a cat, a dog and a mouse saw the same cat');
      shown[name] = {
        input: await shownNumbers(page, 'pipeline', 'Input of the layer', tokens, 16),
        weights: await shownNumbers(page, 'weights', 'Attention weights of head 1', tokens, tokens),
      };
      await close();
    }),
  );
  assert.deepEqual(shown.Firefox, shown.Chromium);
});

test('Firefox measures a formula of the reader like Chromium', () => assertSameInvention(open));

test('training two models gives the same checksums in Firefox and Chromium after three hundred steps', () =>
  assertSameTraining(open, 300));

test('SIMD128 gives bit-identical results in Firefox, Chromium and Node', async () => {
  const expected = await bitsOf(await load({ variant: 'simd128' }));
  await Promise.all(
    kBrowsers.map(async (name) => {
      const { page, close } = await open(name);
      const found = await page.evaluate(async () => {
        const [{ load }, { bitsOf }] = await Promise.all([
          import(String('/attn/index.js')),
          import(String('/tests/sameBits.js')),
        ]);
        return bitsOf(await load({ variant: 'simd128' }));
      });
      await close();
      assert.deepEqual(found, expected, name);
    }),
  );
});

test('a thousand training steps give bit-identical results in Firefox, Chromium and Node', async () => {
  const kSteps = 1000;
  const expected = await Promise.all(
    [1, 2].map(async (threads) => {
      const variant = threads > 1 ? 'simd128-threads' : 'simd128';
      const attn = await load({ training: true, variant, threads });
      const bits = await bitsOfTraining(attn, kSteps);
      attn.dispose();
      return bits;
    }),
  );
  assert.deepEqual(expected[1], expected[0], 'two threads');
  await Promise.all(
    kBrowsers.map(async (name) => {
      const { page, close } = await open(name);
      const found = await page.evaluate(async (steps) => {
        const [{ load }, { bitsOfTraining }] = await Promise.all([
          import(String('/attn/index.js')),
          import(String('/tests/sameBits.js')),
        ]);
        return bitsOfTraining(await load({ training: true, variant: 'simd128' }), steps);
      }, kSteps);
      await close();
      assert.deepEqual(found, expected[0], name);
    }),
  );
});
