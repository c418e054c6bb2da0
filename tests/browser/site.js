// The built page on a server of its own, in a real browser. Whatever the page should not do is
// collected while a test drives it: console messages, errors, failed requests, other origins.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';

import { chromium } from 'playwright-core';
import sirv from 'sirv';

import { findChromium } from '../../wasm/toolchain/system.js';

/** @import { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core' */

export const dist = fileURLToPath(new URL('../../web/dist', import.meta.url));

/**
 * What Chromium shall do without: pages of its address bar's own, which every new window would load,
 * and which take as long as the page; and what Playwright turns off, whose list this one replaces.
 */
const kFeaturesOff = [
  ...['WebUIOmniboxPopup', 'WebUIOmniboxAimPopup'],
  ...['AimEnabled', 'AvoidUnnecessaryBeforeUnloadCheckSync', 'DestroyProfileOnBrowserClose'],
  ...['HttpsFirstBalancedModeAutoEnable', 'HttpsUpgrades', 'LensOverlay', 'MediaRouter'],
  ...['NetworkTimeServiceQuerying', 'OptimizationHints', 'PaintHolding', 'PreconnectToSearch'],
];

export const chromiumFlags = [
  ...['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-sync'],
  ...['--disable-background-networking', '--disable-component-update'],
  `--disable-features=${kFeaturesOff.join()}`,
];

const kViewport = { width: 1440, height: 900 };

/** Longest wait for anything, in ms: other tests, and other machines, take their time. */
export const kPatience = 60_000;

/**
 * Serves web/dist from a folder of a static server.
 * @param {string} [folder] with slashes around it
 * @param {Record<string, ReturnType<typeof sirv>>} [beside] other folders of that server
 */
export async function serveSite(folder = '/', beside = {}) {
  // As of hosts that let a new version be seen at once.
  const setHeaders = (/** @type {import('node:http').ServerResponse} */ response) =>
    response.setHeader('Cache-Control', 'no-cache');
  const folders = new Map(Object.entries(beside));
  const deploy = (/** @type {string} */ root) =>
    void folders.set(folder, sirv(root, { setHeaders }));
  deploy(dist);
  const server = createServer((request, response) => {
    const notFound = () => void response.writeHead(404).end();
    const found = [...folders].find(([folder]) => request.url?.startsWith(folder));
    if (!found) return notFound();
    const [{ length }, serve] = found;
    request.url = request.url?.slice(length - 1);
    serve(request, response, notFound);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const address = /** @type {import('node:net').AddressInfo} */ (server.address());
  return { server, origin: `http://127.0.0.1:${address.port}`, deploy };
}

/**
 * Serves web/dist from a folder of a static server and starts a browser.
 * @param {string} [folder] with slashes around it
 */
export async function openSite(folder = '/') {
  const { server, origin, deploy } = await serveSite(folder);
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || findChromium(),
    args: chromiumFlags,
  });
  return new Site(browser, server, origin, folder, deploy);
}

export class Site {
  /** @type {string[]} */
  problems = [];
  /** The pages that visits share, by their options. @type {Map<string, Promise<Page>>} */
  #shared = new Map();

  /**
   * @param {Browser} browser
   * @param {import('node:http').Server} server
   * @param {string} origin
   * @param {string} folder
   * @param {(root: string) => void} deploy serves another version from now on
   */
  constructor(browser, server, origin, folder, deploy) {
    this.browser = browser;
    this.server = server;
    this.origin = origin;
    this.url = origin + folder;
    this.deploy = deploy;
  }

  /**
   * Follows a link on a page that is already open, which costs a quarter of opening it and leaves the
   * page as if it had been opened with that link. Visits with the same options share the page.
   * @param {string} [fragment] with '#'
   * @param {BrowserContextOptions} [options]
   */
  async visit(fragment = '', options = {}) {
    const key = JSON.stringify(options);
    const shared = this.#shared.get(key);
    if (!shared) {
      this.#shared.set(key, this.open(fragment, { ...options, keepsOffline: false }));
      return /** @type {Promise<Page>} */ (this.#shared.get(key));
    }
    const page = await shared;
    const viewport = options.viewport ?? kViewport;
    if (!isDeepStrictEqual(page.viewportSize(), viewport)) await page.setViewportSize(viewport);
    await page.mouse.move(0, 0);
    await page.evaluate(
      (fragment) =>
        new Promise((resolve) => {
          // Following the same link twice would be no change.
          history.replaceState(null, '', '#left');
          addEventListener('hashchange', () => resolve(undefined), { once: true });
          location.hash = fragment;
        }),
      fragment,
    );
    await shows(page, fragment);
    return page;
  }

  /**
   * Opens a page in a fresh profile, with nothing in its caches.
   * @param {string} [fragment] with '#'
   * @param {BrowserContextOptions & { learns?: boolean, keepsOffline?: boolean, clock?: boolean, anchors?: boolean }} [options]
   *   learns: whether a page without a link turns to the language model, as it does unless the reader
   *   saves data; keepsOffline: whether it has a service worker; clock: whether its clock can be put
   *   forward, to see what happens later, or that nothing does; anchors: whether the browser keeps what is in
   *   sight where it is while the page above it grows
   * @param {number} [attempts] for a browser that leaves a page without frames
   * @returns {Promise<Page>}
   */
  async open(fragment = '', options = {}, attempts = 3) {
    const {
      learns = false,
      keepsOffline = true,
      clock = false,
      anchors = true,
      ...others
    } = options;
    const context = await this.browser.newContext({ viewport: kViewport, ...others });
    if (!learns) {
      await context.addInitScript(() =>
        Object.defineProperty(navigator, 'connection', { value: { saveData: true } }),
      );
    }
    if (!anchors) {
      await context.addInitScript(() =>
        document.addEventListener('readystatechange', () => {
          const sheet = new CSSStyleSheet();
          sheet.replaceSync('* { overflow-anchor: none !important }');
          document.adoptedStyleSheets = [sheet];
        }),
      );
    }
    if (!keepsOffline) {
      await context.addInitScript(
        () => delete (/** @type {any} */ (Navigator.prototype).serviceWorker),
      );
    }
    context.setDefaultTimeout(kPatience);
    const page = await context.newPage();
    if (clock) await page.clock.install();
    page.on('console', (message) => this.problems.push(`${message.type()}: ${message.text()}`));
    page.on('pageerror', (error) => this.problems.push(String(error)));
    page.on('requestfailed', (request) => {
      const reason = request.failure()?.errorText;
      // A page that is closed or left gives up what it was still loading.
      if (reason !== 'net::ERR_ABORTED') this.problems.push(`failed: ${request.url()}: ${reason}`);
    });
    page.on('response', (response) => {
      if (response.status() >= 400) this.problems.push(`${response.status()}: ${response.url()}`);
    });
    page.on('request', (request) => {
      if (new URL(request.url()).origin !== this.origin) {
        this.problems.push(`another origin: ${request.url()}`);
      }
    });
    try {
      await page.goto(this.url + fragment);
      await page.getByRole('contentinfo').waitFor();
      await shows(page, fragment);
      return page;
    } catch (error) {
      const frames = await Promise.race([framesOf(page), delay(10_000, 'thread is blocked')]);
      console.error(`${this.url}${fragment} did not open; the page's ${frames}`);
      if (frames !== 'frames are missing' || attempts === 1) throw error;
      await context.close();
      return this.open(fragment, options, attempts - 1);
    }
  }

  /** Ends the browser and the server; fails if any page did what it should not. */
  async close() {
    // The end of the browser is also that of requests under way.
    const problems = [...this.problems];
    await this.browser.close();
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
    assert.deepEqual(problems, []);
  }
}

/**
 * Why a page may have got stuck: its own thread, or a browser that draws it no more.
 * @param {Page} page
 */
function framesOf(page) {
  return page.evaluate(
    () =>
      new Promise((/** @type {(frames: string) => void} */ resolve) => {
        requestAnimationFrame(() => resolve('frames come'));
        setTimeout(() => resolve('frames are missing'), 5000);
      }),
  );
}

/**
 * Waits until the page shows what a link leads to, with its figures drawn.
 * @param {Page} page
 * @param {string} fragment
 */
async function shows(page, fragment) {
  const at = new URLSearchParams(fragment.slice(1)).get('at');
  if (at) await arrival(page, at);
  else await settled(page);
}

/**
 * Waits until the page has scrolled to a chapter, or to a figure of it, and shows it.
 * @param {Page} page
 * @param {string} at
 */
export async function arrival(page, at) {
  const [chapter, figure = chapter] = at.split('.');
  await page.locator(`[data-chapter][data-loaded][id="${chapter}"]`).waitFor();
  await page.waitForFunction((id) => {
    const element = document.getElementById(id);
    return element
      ? !element.querySelector(':scope > .away')
      : !document.documentElement.dataset.going;
  }, figure);
  await settled(page);
  // The page holds this place for a while, unless the reader scrolls.
  await page.evaluate(() => dispatchEvent(new Event('wheel')));
  await page.waitForFunction(() => !document.documentElement.dataset.going);
}

/**
 * Waits until what comes near has been drawn, and all of it stays where it is: a figure is drawn some
 * frames after it has come near, and moves those below it.
 * @param {Page} page
 */
export async function settled(page) {
  const state = await page.evaluateHandle(() => ({ frames: 0, layout: '' }));
  await page.waitForFunction((state) => {
    const layout = Array.from(document.querySelectorAll('[data-chapter], figure'), (element) => {
      const { left, top, width, height } = element.getBoundingClientRect();
      return [left, top, width, height];
    }).join();
    const loading =
      document.fonts.status === 'loading' ||
      document.querySelector('[data-wanted]:not([data-loaded])');
    state.frames = loading || layout !== state.layout ? 0 : state.frames + 1;
    state.layout = layout;
    return state.frames >= 5;
  }, state);
}

/**
 * Reads again and again until that gives what is expected.
 * @template T
 * @param {() => Promise<T>} read
 * @param {T} expected
 */
export async function becomes(read, expected) {
  const end = performance.now() + kPatience;
  let found = await read();
  while (!isDeepStrictEqual(found, expected) && performance.now() < end) {
    await delay(50);
    found = await read();
  }
  assert.deepEqual(found, expected);
}

/** A number as the page writes it. @param {string} text */
export const numberOf = (text) =>
  Number(text.replaceAll('−', '-').replaceAll(',', '').replace('∞', 'Infinity'));

/** @param {Page | Locator} within @param {RegExp} name */
export const heatmap = (within, name) => within.getByRole('application', { name });

/** The weights in the large figure; one with this name is in the pipeline before it. @param {Page} page */
export const weightsMap = (page) => heatmap(page.locator('#weights'), /^Attention weights/);

/**
 * The value that a figure's readout shows for the selected cell.
 * @param {Locator} heatmap
 */
export async function shownValue(heatmap) {
  const readout = await heatmap.getAttribute('aria-describedby');
  const text = await heatmap.page().locator(`[id="${readout}"] [data-value]`).innerText();
  return numberOf(text);
}

/**
 * What the readout of a heatmap says of each cell, row by row, while the pointer passes over them. It
 * runs in the page.
 * @param {Element} heatmap
 * @param {[rows: number, columns: number]} size
 */
export async function readCells(heatmap, [rows, columns]) {
  const readout = /** @type {HTMLElement} */ (
    document.getElementById(heatmap.getAttribute('aria-describedby') ?? '')
  );
  // A message, unlike a timer, comes back at once.
  const { port1, port2 } = new MessageChannel();
  const redrawn = () =>
    new Promise((resolve) => {
      port1.onmessage = resolve;
      port2.postMessage(null);
    });
  const texts = [];
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const box = heatmap.getBoundingClientRect();
      heatmap.dispatchEvent(
        new PointerEvent('pointermove', {
          bubbles: true,
          pointerType: 'mouse',
          clientX: box.left + ((column + 0.5) / columns) * box.width,
          clientY: box.top + ((row + 0.5) / rows) * box.height,
        }),
      );
      await redrawn();
      texts.push(readout.querySelector('[data-value]')?.textContent ?? '');
    }
  }
  return texts;
}

/**
 * Every value of a heatmap.
 * @param {Locator} heatmap
 * @param {number} rows
 * @param {number} columns
 * @returns {Promise<number[][]>}
 */
export async function readValues(heatmap, rows, columns) {
  const texts = await heatmap.evaluate(
    readCells,
    /** @type {[number, number]} */ ([rows, columns]),
  );
  const values = texts.map(numberOf);
  return Array.from({ length: rows }, (_, row) => values.slice(row * columns, (row + 1) * columns));
}

/** By how much the page is wider than its window. @param {Page} page */
export const overflow = (page) =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
