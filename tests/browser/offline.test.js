// Tests what the service worker caches and what it leaves alone.

import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after, afterEach, before, beforeEach } from 'node:test';

import { choose, gpt2, open } from './ownModel.js';
import { arrival, becomes, dist, openSite } from './site.js';

/** @import { BrowserContext, Page } from 'playwright-core' */

/** The window is wide enough for the bar to show the settings. */
const viewport = { width: 1440, height: 900 };

/** @type {import('./site.js').Site} */
let site;
let nextVersion = '';
/** @type {BrowserContext} */
let context;

before(async () => {
  // The folder's name contains characters that have a special meaning in regular expressions.
  site = await openSite('/a.folder+/of(a)host/', {}, { ownBrowser: true });
  nextVersion = anotherVersion();
});
after(async () => {
  rmSync(nextVersion, { recursive: true, force: true });
  await site.close();
});
beforeEach(async () => {
  site.deploy(dist);
  context = await site.newContext({ viewport });
});
afterEach(() => context.close());

/** A copy of the site in which every file has changed. */
function anotherVersion() {
  const folder = mkdtempSync(join(tmpdir(), 'attn-site-'));
  cpSync(dist, folder, {
    recursive: true,
    filter: (file) => !file.startsWith(join(dist, 'reference')),
  });
  const assets = readdirSync(join(folder, 'assets'));
  const renamed = (/** @type {string} */ name) => name.replace(/-([\w-]{8})(?=\.\w+$)/, '-next$1');
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!/\.(?:js|css|html)$/.test(name)) continue;
    let text = readFileSync(join(folder, name), 'utf8');
    for (const asset of assets) text = text.replaceAll(asset, renamed(asset));
    if (name === 'index.html') text = text.replace('<title>', '<title>Next: ');
    text = text.replace(/(url:[`"']index\.html[`"'],revision:[`"'])/, '$1next');
    writeFileSync(join(folder, name), text);
  }
  for (const asset of assets) {
    cpSync(join(folder, 'assets', asset), join(folder, 'assets', renamed(asset)));
    rmSync(join(folder, 'assets', asset));
  }
  return folder;
}

/**
 * Opens a tab that the service worker serves, and waits until its WebAssembly module is cached.
 * @param {string} [fragment]
 */
async function visit(fragment = '') {
  const page = await context.newPage();
  await page.goto(site.url + fragment);
  await page.getByRole('contentinfo').waitFor();
  await page.evaluate(() => navigator.serviceWorker.ready);
  await page.waitForFunction(() => navigator.serviceWorker.controller);
  await isKept(page, '.wasm');
  return page;
}

/**
 * Waits until a cache contains a file whose address ends in `ending`. @param {Page} page @param
 * {string} ending
 */
const isKept = (page, ending) =>
  becomes(async () => (await keptUrls(page)).some((url) => url.endsWith(ending)), true);

/** A page of another project on the same host. */
async function elsewhere() {
  const page = await context.newPage();
  await page.route('**/elsewhere', (route) => route.fulfill({ body: 'elsewhere' }));
  await page.goto(`${site.origin}/elsewhere`);
  return page;
}

/**
 * Returns the addresses of all files in the caches of this page.
 * @param {Page} page
 * @returns {Promise<string[]>}
 */
const keptUrls = (page) =>
  page.evaluate(async (scope) => {
    const names = (await caches.keys()).filter((name) => name.endsWith(scope));
    const kept = names.map(async (name) => (await caches.open(name)).keys());
    return (await Promise.all(kept)).flat().map(({ url }) => url);
  }, site.url);

/** Waits until the next version is installed and waiting. @param {Page} page */
const waits = (page) =>
  becomes(
    () =>
      page.evaluate(async () =>
        Boolean((await navigator.serviceWorker.getRegistration())?.waiting),
      ),
    true,
  );

/** @param {Page} page @param {string} chapter */
async function read(page, chapter) {
  await page.evaluate((chapter) => (location.hash = `#at=${chapter}`), chapter);
  await arrival(page, chapter);
  await page.locator(`#${chapter} figure`).first().waitFor();
}

test('after the first visit the page opens without a network', async () => {
  const page = await visit();
  await context.setOffline(true);
  await page.goto(`${site.url}?a=search#at=self-attention.weights`);
  await page.reload();
  // Before, the page may still move between a press and its release, and then nothing is clicked.
  await arrival(page, 'self-attention.weights');
  const figure = page.locator('#weights');
  await figure.locator('canvas').first().waitFor();
  await figure.getByRole('button', { name: /^Export/ }).click();
  const saved = page.waitForEvent('download');
  await figure.getByRole('button', { name: 'SVG', exact: true }).first().click();
  await (await saved).path();
  await read(page, 'speed');
});

test('the language model, once fetched, needs no network either', async () => {
  const page = await visit();
  const chosen = page.getByText(/^Layer \d, head \d/);
  await chosen.waitFor();
  for (const ending of ['.safetensors', '.json']) await isKept(page, ending);
  await context.setOffline(true);
  await page.reload();
  await chosen.waitFor();
});

/** Trains for at least one more step. @param {Page} page */
async function train(page) {
  const run = page.locator('#training-run');
  await run.evaluate((figure) => figure.scrollIntoView());
  const step = async () => Number(await run.locator('[data-step]').getAttribute('data-step'));
  const before = await step();
  await run.getByRole('button', { name: 'One step', exact: true }).click();
  await becomes(step, before + 1);
}

const training = '#at=training.training-run';

test('files used before the page was cached work without a network', async () => {
  const page = await context.newPage();
  // Delays the service worker until the page has fetched all files without it.
  await page.addInitScript(() => {
    const { serviceWorker } = navigator;
    const released = new Promise((resolve) => Object.assign(globalThis, { release: resolve }));
    const register = serviceWorker.register.bind(serviceWorker);
    serviceWorker.register = (...args) => released.then(() => register(...args));
  });
  await page.goto(site.url + training);
  await arrival(page, training.slice(4));
  await train(page);
  await open(page, gpt2());
  await page.evaluate(() => /** @type {any} */ (globalThis).release());
  await page.waitForFunction(() => navigator.serviceWorker.controller);
  await isKept(page, '.safetensors');
  for (const kind of ['/training-', '/models-']) {
    await becomes(
      async () => (await keptUrls(page)).some((url) => url.includes(kind) && /wasm$/.test(url)),
      true,
    );
  }
  await context.setOffline(true);
  await page.goto(`${site.url}?again${training}`);
  await arrival(page, training.slice(4));
  await train(page);
  await open(page, gpt2());
});

test('parts that were never used report that the page is offline', async () => {
  const page = await visit(training);
  await arrival(page, training.slice(4));
  await context.setOffline(true);
  await page
    .locator('#training-run')
    .getByRole('button', { name: 'One step', exact: true })
    .click();
  const offline = /could not be (started|loaded): you are offline, .*; go online and try again\.$/;
  await page.locator('#training').getByText(offline).waitFor();
  await choose(page, gpt2());
  await page.locator('[data-problem]').getByText(offline).waitFor();
  await context.setOffline(false);
  await page.keyboard.press('Escape');
  await train(page);
  await open(page, gpt2());
});

test('a part that cannot be fetched says so and can be tried again', async () => {
  await context.close();
  context = await site.newContext({ viewport, serviceWorkers: 'block' });
  const page = await context.newPage();
  const parts = /Opening-|OpenModel-|Pooling-/;
  await page.route(parts, (route) => route.abort());
  await page.goto(site.url + '#v=1&text=the+cat');
  const failure = (/** @type {string} */ what) =>
    page.getByText(`${what} could not be loaded: the server could not be reached.`);
  const failures = ['The picture of the sentence', 'This chapter'].map(failure);
  for (const each of failures) await each.waitFor();
  await becomes(() => page.getByText('No words yet').count(), 0);
  const openOwn = page.getByRole('button', { name: 'open your own model' });
  await openOwn.click();
  failures.push(failure('The dialog for your own model'));
  await failures[2].waitFor();
  await openOwn.click();
  await failures[2].waitFor();
  await page.unroute(parts);
  for (const each of failures) {
    await each.getByRole('button', { name: 'Try again' }).click();
    await each.waitFor({ state: 'detached' });
  }
  await page.getByRole('dialog').waitFor();
  await page.evaluate(() => scrollTo(0, 0));
  await page.locator('#sentence canvas').first().waitFor();
  await page.locator('#pooling[data-loaded]').waitFor();
});

test('a tab of the old version reads chapters that it had not loaded', async () => {
  const old = await visit();
  site.deploy(nextVersion);
  const fresh = await visit();
  assert.match(await fresh.title(), /^Next: /, 'a new version is seen at once');
  assert.doesNotMatch(await old.title(), /^Next: /);
  await waits(fresh);
  for (const page of [old, fresh]) await read(page, 'speed');

  // A third version replaces the version that is waiting. The tab that loaded the replaced version
  // must still work.
  site.deploy(dist);
  await fresh.evaluate(async () => (await navigator.serviceWorker.getRegistration())?.update());
  for (const page of [old, fresh]) await read(page, 'transformer');
});

test('when its tabs are closed, the old version is removed, and the new one needs no network', async () => {
  const old = await visit();
  site.deploy(nextVersion);
  const fresh = await visit();
  await waits(fresh);
  const other = await elsewhere();
  await old.close();
  await fresh.close();
  await becomes(async () => {
    const urls = await keptUrls(other);
    return urls.filter((url) => url.includes('/assets/') && !url.includes('-next'));
  }, []);
  await context.setOffline(true);
  const page = await context.newPage();
  await page.goto(`${site.url}#at=self-attention.weights`);
  assert.match(await page.title(), /^Next: /);
  await page.locator('#weights canvas').first().waitFor();
});

test('caches of other projects on the same host are left alone', async () => {
  const page = await elsewhere();
  const others = ['photos', 'attn-0123456789abcdef', `attn-precache-v2-${site.origin}/other/`];
  await page.evaluate(async (others) => {
    for (const name of others) await (await caches.open(name)).put('/kept', new Response(name));
  }, others);
  const survivors = () =>
    page.evaluate(async (others) => {
      const texts = others.map(async (name) => {
        const response = (await caches.has(name)) && (await caches.open(name)).match('/kept');
        return response ? (await response)?.text() : undefined;
      });
      return Promise.all(texts);
    }, others);

  const first = await visit();
  await becomes(() => survivors(), others);
  site.deploy(nextVersion);
  const second = await visit();
  await waits(second);
  await first.close();
  await second.close();
  await becomes(
    async () => (await keptUrls(page)).some((url) => url.endsWith('.js') && !url.includes('-next')),
    false,
  );
  await becomes(() => survivors(), others);
});
