// Drives Firefox by WebDriver BiDi, and Chromium.

import assert from 'node:assert/strict';

import puppeteer from 'puppeteer-core';

import { findChromium, findFirefox } from '../../../wasm/toolchain/system.js';
import { chromiumFlags } from '../../browser/site.js';

/** @typedef {import('puppeteer-core').Browser} Browser */
/**
 * @template {Node} N
 * @typedef {import('puppeteer-core').ElementHandle<N>} ElementHandle
 */
/** @typedef {import('puppeteer-core').Page} Page */

export const kBrowsers = /** @type {const} */ (['Firefox', 'Chromium']);
/** @typedef {(typeof kBrowsers)[number]} BrowserName */

/** Maximum time to wait for any event, in ms. */
export const kPatience = 60_000;

/** @returns {Promise<Record<BrowserName, Browser>>} */
export async function launchBrowsers() {
  const options = { headless: true, timeout: kPatience, protocolTimeout: 3 * kPatience };
  const [Firefox, Chromium] = await Promise.all([
    puppeteer.launch({ ...options, browser: 'firefox', executablePath: findFirefox() }),
    puppeteer.launch({
      ...options,
      browser: 'chrome',
      executablePath: process.env.CHROMIUM || findChromium(),
      args: chromiumFlags,
    }),
  ]);
  return { Firefox, Chromium };
}

/**
 * Opens an empty page in a fresh profile, and records messages, errors and unexpected requests.
 * `close` fails if anything was recorded.
 * @param {Browser} browser
 * @param {(url: string) => boolean} isExpected  true for the requests that the page may make
 */
export async function openEmpty(browser, isExpected) {
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  page.setDefaultTimeout(kPatience);
  /** @type {string[]} */
  const problems = [];
  page.on('console', (message) => problems.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('requestfailed', (request) => problems.push(`failed: ${request.url()}`));
  page.on('request', (request) => {
    if (!isExpected(request.url())) problems.push(`request: ${request.url()}`);
  });
  await page.setViewport({ width: 1440, height: 900 });
  const close = async () => {
    await context.close();
    assert.deepEqual(problems, []);
  };
  return { page, close };
}

/**
 * Types a sentence in place of the page's sentence.
 * @param {Page} page
 * @param {string} sentence
 */
export async function type(page, sentence) {
  await page.waitForSelector('textarea');
  await page.$eval('textarea', (field) => {
    field.focus();
    field.select();
  });
  await page.keyboard.type(sentence);
}

/** @typedef {(name: BrowserName, fragment: string) => Promise<{ page: Page, close: () => Promise<void> }>} Open */

/**
 * Opens the card for the reader's own encoding in both browsers, and compares its numbers.
 * @param {Open} open opens the page with a fragment
 */
export async function assertSameInvention(open) {
  const formula =
    'k % 2 == 0 ? sin(i / slow^(k / d)) : exp(-i / (1 + k)) + atan2(tanh(i / 9), log(2 + k))';
  const fragment = `#${new URLSearchParams({
    ...{ v: '2', text: 'a rose is a rose', formula, formulaBias: '-abs(i - j)^1.5 / slow' },
    ...{ parameters: 'slow:50:1:100', at: 'encoding.encoding-schemes' },
  })}`;
  const [Firefox, Chromium] = await Promise.all(
    kBrowsers.map(async (name) => {
      const { page, close } = await open(name, fragment);
      await page.waitForSelector('[data-scheme="yours"] [data-verdict=bounded]');
      // The text area is transparent, and its text is drawn below it.
      const sizes = await page.$$eval('[data-scheme="yours"] .formula .field', (fields) =>
        fields.map((field) =>
          Array.from(field.children, (child) => {
            const { x, y, width, height } = child.getBoundingClientRect();
            return [x, y, width, height, child.scrollHeight].map(Math.round).join();
          }),
        ),
      );
      for (const [text, area] of sizes) assert.equal(text, area, name);
      const found = await page.$$eval('[data-scheme="yours"] dd', (all) =>
        all.map((each) => each.textContent),
      );
      await close();
      return found;
    }),
  );
  assert.equal(Firefox.length, 4);
  assert.deepEqual(Firefox, Chromium);
}

/**
 * Trains the two models of chapter 8 in both browsers, and compares their checksums.
 * @param {Open} open opens the page with a fragment
 * @param {number} steps
 * @param {Record<string, string>} [settings] more settings
 */
export async function assertSameTraining(open, steps, settings = {}) {
  const [Firefox, Chromium] = await Promise.all(
    kBrowsers.map(async (name) => {
      const fragment = `#${new URLSearchParams({
        ...{ world: 'count', trainLayers: '1', trainStep: String(steps), ...settings },
        at: 'training.training-run',
      })}`;
      const { page, close } = await open(name, fragment);
      await page.waitForSelector(`#training-run [data-step="${steps}"]`, {
        timeout: 3 * kPatience,
      });
      await page.waitForSelector('[data-checksum=B]');
      const checksums = await page.$$eval('[data-checksum]', (all) =>
        all.map((each) => each.textContent ?? ''),
      );
      await close();
      return checksums;
    }),
  );
  assert.equal(Firefox.length, 2);
  assert.deepEqual(Firefox, Chromium);
}
