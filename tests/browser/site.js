// Serves the built page to a real browser. Collects everything that the page should not do while a
// test drives it: console messages, errors, failed requests, other origins.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, afterEach } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';

import { chromium } from 'playwright-core';
import sirv from 'sirv';

import { findChromium } from '../../wasm/toolchain/system.js';

/** @import { Browser, BrowserContext, BrowserContextOptions, Locator, Page } from 'playwright-core' */

export const dist = fileURLToPath(new URL('../../web/dist', import.meta.url));

/**
 * Chromium features to disable. The first line disables the pages of Chromium's address bar: every
 * new window would load them, and loading them takes as long as loading the page itself. The other
 * lines contain the features that Playwright disables, because this list replaces Playwright's
 * list.
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

/**
 * Maximum time to wait for any event, in ms. Slow machines and tests that run in parallel may need
 * this long.
 */
export const kPatience = 120_000;

/**
 * Starts a static server that serves web/dist at the path `folder`.
 * @param {string} [folder] with leading and trailing slashes
 * @param {Record<string, ReturnType<typeof sirv>>} [beside] other folders of that server
 * @param {Record<string, string>} [headers] sent with each file
 */
export async function serveSite(folder = '/', beside = {}, headers = {}) {
  // With `Cache-Control: no-cache`, which many hosts send, browsers show a new version at once.
  const all = new Map(Object.entries({ 'Cache-Control': 'no-cache', ...headers }));
  const setHeaders = (/** @type {import('node:http').ServerResponse} */ response) =>
    all.forEach((value, name) => void response.setHeader(name, value));
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

const launchOptions = () => ({
  executablePath: process.env.CHROMIUM || findChromium(),
  args: chromiumFlags,
});

/**
 * Starts the browser that the test files of a suite share. Each file connects to it with the
 * returned environment variable. Chromium quits when this process ends, however it ends.
 */
export async function shareBrowser() {
  const server = await chromium.launchServer({ ...launchOptions(), host: '127.0.0.1' });
  return { env: { ATTN_BROWSER: server.wsEndpoint() }, close: () => server.close() };
}

/**
 * Connects to the suite's browser. Starts a browser if there is none, as in
 * `node --test tests/browser/page.test.js`.
 */
async function openBrowser() {
  const endpoint = process.env.ATTN_BROWSER;
  if (!endpoint) return chromium.launch(launchOptions());
  return chromium.connect(endpoint).catch((cause) => {
    throw new Error('The browser that the test files share has quit.', { cause });
  });
}

/**
 * Opens a browser, and starts a static server that serves web/dist at the path `folder`.
 * @param {string} [folder] with leading and trailing slashes
 * @param {Record<string, string>} [headers] sent with each file
 * @param {{ ownBrowser?: boolean }} [options] `ownBrowser`: starts a browser instead of sharing the
 *   suite's. Tests that copy need one, because a browser has only one clipboard
 */
export async function openSite(folder = '/', headers = {}, { ownBrowser = false } = {}) {
  const { server, origin, deploy } = await serveSite(folder, {}, headers);
  const browser = ownBrowser ? await chromium.launch(launchOptions()) : await openBrowser();
  return new Site(browser, server, origin, folder, deploy);
}

/**
 * Opens a site for all tests of a file. Closes the pages that a test opened after the test, and the
 * site after the last test. Takes the arguments of `openSite()`.
 * @param {Parameters<typeof openSite>} args
 */
export function openTestSite(...args) {
  const opening = openSite(...args);
  afterEach(async () => (await opening).closePages());
  after(async () => (await opening).close());
  return opening;
}

export class Site {
  /** @type {string[]} */
  problems = [];
  /** Pages of the current test, which are closed after it. @type {Set<BrowserContext>} */
  #opened = new Set();
  /** Open pages that several visits share, keyed by their devices. @type {Map<string, Promise<Page>>} */
  #shared = new Map();

  /**
   * @param {Browser} browser
   * @param {import('node:http').Server} server
   * @param {string} origin
   * @param {string} folder
   * @param {(root: string) => void} deploy makes the server serve another version of the site
   */
  constructor(browser, server, origin, folder, deploy) {
    this.browser = browser;
    this.server = server;
    this.origin = origin;
    this.url = origin + folder;
    this.deploy = deploy;
  }

  /**
   * Follows a link on a page that is already open. Following a link takes a fifth of the time of
   * opening a page, and leaves the page as if it had been opened with that link. Visits share a
   * page if their options differ only in the size of the window, the preferences and the
   * permissions.
   * @param {string} [fragment] with '#'
   * @param {BrowserContextOptions} [options]
   * @param {number} [attempts] how many times to open the page if the browser stops rendering it
   * @returns {Promise<Page>}
   */
  async visit(fragment = '', options = {}, attempts = 3) {
    fragment = versioned(fragment);
    const {
      viewport = kViewport,
      colorScheme = 'light',
      reducedMotion = 'no-preference',
      forcedColors = 'none',
      permissions = [],
      ...device
    } = options;
    const key = JSON.stringify(device);
    const shared = this.#shared.get(key);
    if (!shared) {
      const opening = this.#open(fragment, options);
      this.#shared.set(key, opening);
      return opening;
    }
    const page = await shared;
    if (viewport && !isDeepStrictEqual(page.viewportSize(), viewport)) {
      await page.setViewportSize(viewport);
    }
    await page.emulateMedia({ media: 'screen', colorScheme, reducedMotion, forcedColors });
    await page.context().clearPermissions();
    await page.context().grantPermissions(permissions);
    await page.mouse.move(0, 0);
    await page.evaluate(
      (fragment) =>
        new Promise((resolve) => {
          // Following the same link twice would change nothing.
          history.replaceState(null, '', '#left');
          addEventListener('hashchange', () => resolve(undefined), { once: true });
          location.hash = fragment;
        }),
      fragment,
    );
    // Chromium sometimes stops rendering a page permanently.
    const isLost = async () =>
      (await Promise.race([framesOf(page), delay(10_000, '', { ref: false })])) ===
      'frames are missing';
    if (!(await isLost())) {
      try {
        await shows(page, fragment);
        return page;
      } catch (error) {
        if (attempts === 1 || !(await isLost())) throw error;
      }
    }
    console.error(`${page.url()} no longer draws frames`);
    this.#shared.delete(key);
    await page.context().close();
    return this.visit(fragment, options, attempts - 1);
  }

  /**
   * Opens a page in a fresh profile with empty caches.
   * @param {string} [fragment] with '#'
   * @param {BrowserContextOptions & { learns?: boolean, keepsOffline?: boolean, clock?: boolean,
   *   anchors?: boolean }} [options]
   *   `learns`: a page without a link switches to the language model (otherwise the data saver is
   *   on, which prevents the switch). `keepsOffline`: the page has a service worker, which
   *   fetches all files of the site. `clock`: the test can advance the page's clock instead of
   *   waiting. `anchors`: the browser has scroll anchoring
   * @returns {Promise<Page>}
   */
  async open(fragment = '', options = {}) {
    const page = await this.#open(fragment, options);
    this.#opened.add(page.context());
    return page;
  }

  /**
   * Makes a fresh profile, whose pages wait patiently.
   * @param {BrowserContextOptions} [options]
   */
  async newContext(options) {
    const context = await this.browser.newContext(options);
    context.setDefaultTimeout(kPatience);
    return context;
  }

  /** Closes the pages that `open()` has opened. */
  async closePages() {
    const contexts = [...this.#opened];
    this.#opened.clear();
    await Promise.all(contexts.map((context) => context.close()));
  }

  /**
   * @param {string} fragment
   * @param {Parameters<Site['open']>[1]} options
   * @param {number} [attempts] how many times to open the page if the browser stops rendering it
   * @returns {Promise<Page>}
   */
  async #open(fragment, options = {}, attempts = 3) {
    fragment = versioned(fragment);
    const {
      learns = false,
      keepsOffline = false,
      clock = false,
      anchors = true,
      ...others
    } = options;
    const context = await this.newContext({ viewport: kViewport, ...others });
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
    const page = await context.newPage();
    if (clock) await page.clock.install();
    page.on('console', (message) =>
      this.problems.push(`${message.type()}: ${message.text()} (${page.url()})`),
    );
    page.on('pageerror', (error) => this.problems.push(String(error)));
    page.on('requestfailed', (request) => {
      const reason = request.failure()?.errorText;
      // A page that is closed or left cancels its pending requests.
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
      return this.#open(fragment, options, attempts - 1);
    }
  }

  /**
   * Closes the browser, or the connection to a shared one, and stops the server. Fails if any page
   * logged a message, threw an error, failed a request or contacted another origin.
   */
  async close() {
    // Closing the browser also cancels pending requests.
    const problems = [...this.problems];
    await this.browser.close();
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
    assert.deepEqual(problems, []);
  }
}

/**
 * Turns a fragment into a link of version 1, unless the fragment states a version or has no
 * settings. The default settings of version 1 select a layer that needs no language model.
 * @param {string} fragment
 */
function versioned(fragment) {
  return /^(?:#at=[^&]*)?$|^#v=|&v=/.test(fragment) ? fragment : fragment.replace('#', '#v=1&');
}

/**
 * Diagnoses a stuck page: either its own thread is busy, or the browser no longer draws it.
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
 * Opens the folded part of the page that contains an element or, if there is none, the folded parts
 * inside the element.
 * @param {import('playwright-core').Locator} element
 */
export const unfold = (element) =>
  element.evaluate((inside) => {
    const around = inside.closest('details');
    for (const part of around ? [around] : inside.querySelectorAll('details')) part.open = true;
  });

/**
 * Waits until the page shows a link's target and has drawn the figures there.
 * @param {Page} page
 * @param {string} fragment
 */
async function shows(page, fragment) {
  const at = new URLSearchParams(fragment.slice(1)).get('at');
  if (at) await arrival(page, at);
  else await settled(page);
}

/**
 * Waits until the page has scrolled to a chapter or figure and has drawn it.
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
  // For a while, the page keeps the link's target in place unless the reader scrolls.
  await page.evaluate(() => dispatchEvent(new Event('wheel')));
  await page.waitForFunction(() => !document.documentElement.dataset.going);
}

/**
 * Records from now on which figures are busy. Returns a function that reads their ids.
 * @param {Page} page
 */
export async function recordBusy(page) {
  const recorded = await page.evaluateHandle(() => {
    const ids = /** @type {string[]} */ ([]);
    new MutationObserver((changes) => {
      for (const { target } of changes) {
        const { id, ariaBusy } = /** @type {Element} */ (target);
        if (ariaBusy) ids.push(id);
      }
    }).observe(document.body, { subtree: true, attributeFilter: ['aria-busy'] });
    return ids;
  });
  return () => recorded.jsonValue();
}

/**
 * Waits until everything near the window has been computed and drawn and stays in place. A figure is
 * drawn a few frames after it comes near the window, and then moves the figures below it.
 * @param {Page} page
 */
export async function settled(page) {
  const state = await page.evaluateHandle(() => ({ frames: 0, layout: '' }));
  await page
    .waitForFunction((state) => {
      const layout = Array.from(document.querySelectorAll('[data-chapter], figure'), (element) => {
        const { left, top, width, height } = element.getBoundingClientRect();
        return [left, top, width, height];
      }).join();
      const loading =
        document.fonts.status === 'loading' ||
        document.querySelector('[data-wanted]:not([data-loaded]), figure[aria-busy]');
      state.frames = loading || layout !== state.layout ? 0 : state.frames + 1;
      state.layout = layout;
      return state.frames >= 5;
    }, state)
    .catch(async (cause) => {
      throw new Error(`${page.url()} did not settle: ${await unsettled(page)}`, { cause });
    });
}

/** Explains why a page does not settle. @param {Page} page */
async function unsettled(page) {
  const frames = await Promise.race([framesOf(page), delay(10_000, 'thread is blocked')]);
  if (frames !== 'frames come') return `the page's ${frames}`;
  return page.evaluate(async () => {
    const places = () =>
      new Map(
        Array.from(document.querySelectorAll('[data-chapter], figure'), (element) => {
          const { top, height } = element.getBoundingClientRect();
          return [element.id, `${top} ${height}`];
        }),
      );
    const before = places();
    await new Promise((resolve) => requestAnimationFrame(resolve));
    const moved = [...places()].filter(([id, place]) => place !== before.get(id));
    const wanted = document.querySelectorAll('[data-wanted]:not([data-loaded]), figure[aria-busy]');
    return [
      `fonts are ${document.fonts.status}`,
      `waiting: ${Array.from(wanted, ({ id }) => id)}`,
      `moved: ${moved.map(([id, place]) => `${id} from ${before.get(id)} to ${place}`)}`,
    ].join('; ');
  });
}

/**
 * Reads repeatedly until the result is accepted or the time is up. Returns the last result.
 * @template T
 * @param {() => Promise<T>} read
 * @param {(found: T) => boolean} isExpected
 */
async function poll(read, isExpected) {
  const end = performance.now() + kPatience;
  let found = await read();
  while (!isExpected(found) && performance.now() < end) {
    await delay(50);
    found = await read();
  }
  return found;
}

/**
 * Reads repeatedly until the result is as expected. After an action, use this function instead of
 * asserting a value that was read once, because the page may react later.
 * @template T
 * @param {() => Promise<T>} read
 * @param {T} expected
 * @param {string} [message]
 */
export async function becomes(read, expected, message) {
  const found = await poll(read, (found) => isDeepStrictEqual(found, expected));
  assert.deepEqual(found, expected, message);
}

/**
 * Reads repeatedly until the text matches a pattern.
 * @param {() => Promise<string | null>} read
 * @param {RegExp} pattern
 * @param {string} [message]
 */
export async function matches(read, pattern, message) {
  const found = await poll(read, (found) => pattern.test(found ?? ''));
  assert.match(found ?? '', pattern, message);
}

/**
 * Parses a number in the page's format. Returns NaN for the empty text of a hidden element.
 * @param {string} text
 */
export const numberOf = (text) =>
  text.trim() === ''
    ? NaN
    : Number(text.replaceAll('−', '-').replaceAll(',', '').replace('∞', 'Infinity'));

/**
 * Reads a downloaded file. A shared browser does not reveal the file's path.
 * @param {import('playwright-core').Download} download
 */
export async function contentOf(download) {
  const stream = await download.createReadStream();
  return Buffer.concat(await stream.toArray());
}

/** @param {Page | Locator} within @param {RegExp} name */
export const heatmap = (within, name) => within.getByRole('application', { name });

/**
 * The weights in the large figure. The pipeline before it has a heatmap with the same name.
 * @param {Page} page
 */
export const weightsMap = (page) => heatmap(page.locator('#weights'), /^Attention weights/);

/**
 * The value of the selected cell in a figure's readout. The readout is hidden while the cell is
 * outside of the window.
 * @param {Locator} heatmap
 */
export async function shownValue(heatmap) {
  const readout = await heatmap.getAttribute('aria-describedby');
  const value = heatmap.page().locator(`[id="${readout}"] [data-value]`);
  await value.waitFor();
  return numberOf((await value.getAttribute('data-value')) ?? '');
}

/**
 * Returns the readout of a heatmap for each cell, row by row, while the pointer passes over the
 * cells. Runs in the page.
 * @param {Element} heatmap
 * @param {[rows: number, columns: number]} size
 */
export async function readCells(heatmap, [rows, columns]) {
  const readout = /** @type {HTMLElement} */ (
    document.getElementById(heatmap.getAttribute('aria-describedby') ?? '')
  );
  // The figure measures its canvas at each move. Measuring would lay out the page for each cell,
  // although the canvas stays where it is.
  const canvas = heatmap.querySelector('canvas') ?? heatmap;
  const box = canvas.getBoundingClientRect();
  canvas.getBoundingClientRect = () => box;
  const texts = [];
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      heatmap.dispatchEvent(
        new PointerEvent('pointermove', {
          bubbles: true,
          pointerType: 'mouse',
          clientX: box.left + ((column + 0.5) / columns) * box.width,
          clientY: box.top + ((row + 0.5) / rows) * box.height,
        }),
      );
      // Svelte updates the readout in a microtask, before this function continues.
      await undefined;
      texts.push(readout.querySelector('[data-value]')?.getAttribute('data-value') ?? '');
    }
  }
  // Restores the method of all elements.
  Reflect.deleteProperty(canvas, 'getBoundingClientRect');
  return texts;
}

/**
 * Reads every value of a heatmap.
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

/** The number of pixels by which the page is wider than its window. @param {Page} page */
export const overflow = (page) =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
