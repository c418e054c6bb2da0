// Drives Firefox by WebDriver BiDi, and Chromium.

import assert from 'node:assert/strict';

import puppeteer from 'puppeteer-core';

import { findChromium, findFirefox } from '../../wasm/toolchain/system.js';
import { chromiumFlags } from '../browser/site.js';

/** @import { Browser, Page } from 'puppeteer-core' */

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
 * Opens an empty page in a fresh profile and records everything that it should not do. `close`
 * fails if there was anything.
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

/**
 * Trains the two models of chapter 8 in both browsers, and compares their checksums.
 * @param {(name: BrowserName, fragment: string) => Promise<{ page: Page, close: () =>
 *   Promise<void> }>} open  opens the page with a fragment
 * @param {number} steps
 */
export async function assertSameTraining(open, steps) {
  const [Firefox, Chromium] = await Promise.all(
    kBrowsers.map(async (name) => {
      const fragment = `#world=count&trainLayers=1&trainStep=${steps}&at=training.training-run`;
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
