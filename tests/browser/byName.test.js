// Tests that readers can open a model by its name. A local server takes the place of the hub.

import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after, afterEach, before, beforeEach } from 'node:test';

import { hub as kHub } from '../../web/hub.js';
import { Hub } from '../hub.js';
import { accessibilityProblems } from './accessibility.js';
import { bigLlama, gpt2, openDialog } from './ownModel.js';
import { becomes, dist, matches, openSite, overflow } from './site.js';

/** @import { BrowserContext, Page } from 'playwright-core' */

const { address, redirects } = kHub ?? assert.fail('this page was built without a hub');

/** @type {import('./site.js').Site} */
let site;
/** @type {Hub} */
let hub;
/** Folder of a page that uses the local hub. */
let folder = '';
/** @type {BrowserContext} */
let context;
/** Errors that the page did not handle. @type {string[]} */
let errors = [];

before(async () => {
  hub = await Hub.start();
  site = await openSite('/page/');
  folder = mkdtempSync(join(tmpdir(), 'attn-hub-'));
  cpSync(dist, folder, {
    recursive: true,
    filter: (file) => !/reference$|attn\.html$|figure\.html$/.test(file),
  });
  // The sources list the hosts in one place. In the built page, the list is in the policy and the
  // address is in the code.
  for (const name of await readdir(folder, { recursive: true })) {
    if (!/\.(?:js|html)$/.test(name)) continue;
    const file = join(folder, name);
    const text = readFileSync(file, 'utf8');
    const local = text.replaceAll(redirects.join(' '), hub.files).replaceAll(address, hub.address);
    if (local !== text) writeFileSync(file, local);
  }
  site.deploy(folder);
});
after(async () => {
  await site.close();
  await hub.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  hub.reset();
  const files = (/** @type {import('./ownModel.js').ChosenFile[]} */ chosen) =>
    Object.fromEntries(chosen.map(({ name, buffer }) => [name, buffer]));
  hub.models = {
    'someone/small': { files: files(gpt2()) },
    'someone/gated': { files: files(gpt2()), gated: 'auto' },
    'someone/strange': {
      files: { ...files(gpt2()), 'config.json': Buffer.from('{"model_type":"strange"}'), ...large },
    },
    'someone/checkpoint': {
      files: { 'config.json': Buffer.from('{}'), 'model.bin': Buffer.from('PK') },
    },
  };
  context = await site.newContext({ viewport: { width: 1440, height: 900 } });
  errors = [];
  context.on('weberror', (error) => void errors.push(String(error.error())));
  // Without this, the page loads its own language model.
  await context.addInitScript(() =>
    Object.defineProperty(navigator, 'connection', { value: { saveData: true } }),
  );
});
afterEach(async () => {
  await context.close();
  assert.deepEqual(errors, []);
});

/** A weight file that is longer than the beginning that the page fetches first. */
const header = '{"a":{"dtype":"F32","shape":[50000],"data_offsets":[0,200000]}}'.padEnd(72);
const large = {
  'model.safetensors': Buffer.concat([
    Buffer.from(BigUint64Array.of(72n).buffer),
    Buffer.from(header),
    Buffer.alloc(200_000),
  ]),
};

/** The size of config.json and tokenizer.json, which are fetched before the weights. */
const small = gpt2().reduce(
  (sum, { name, buffer }) => sum + (name.endsWith('.json') ? buffer.length : 0),
  0,
);

const link = '#text=the+lady+sat+by+the+fire';

/** @param {string} [fragment] */
async function visit(fragment = link) {
  const page = await context.newPage();
  await page.goto(site.url + fragment);
  await page.getByRole('contentinfo').waitFor();
  return page;
}

/** @param {Page} page */
const field = (page) => page.getByRole('textbox', { name: /^Name of a model on/ });

/** @param {Page} page @param {string} name */
async function list(page, name) {
  if (!(await field(page).isVisible())) await openDialog(page);
  await field(page).fill(name);
  await page.getByRole('button', { name: 'List its files' }).click();
}

/** @param {Page} page */
const keepBox = (page) => page.getByRole('checkbox', { name: /^Keep the files/ });

/** @param {Page} page */
const kept = (page) => page.locator('[data-kept]');

/** @param {Page} page */
const cancelButton = (page) => page.getByRole('dialog').getByRole('button', { name: 'Cancel' });

/** @param {Page} page */
const fetchButton = (page) => page.getByRole('button', { name: /^Fetch / });

/**
 * Makes the first answer stop after `bytes` bytes. If the test takes very long, the page sends more
 * requests. Their answers stop immediately.
 * @param {number} bytes
 */
const stopAfter = (bytes) => ({ stallAfter: [bytes, 0, 0, 0, 0] });

/** The number of bytes that the progress bar shows. @param {Page} page */
const fetched = (page) =>
  page.getByRole('progressbar').evaluate((bar) => /** @type {HTMLProgressElement} */ (bar).value);

/** @param {Page} page */
async function isOpen(page) {
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  await matches(() => page.locator('[data-recognised]').innerText(), /^GPT-2: 2 layers of 4 heads/);
}

/** @param {Page} page */
const problem = (page) => page.locator('[data-problem-by-name]');

test('the policy allows the listed hosts, and the page contacts none of them unasked', async () => {
  const html = readFileSync(join(dist, 'index.html'), 'utf8');
  const connect = /connect-src ([^;]*)/.exec(html.replaceAll('&#39;', "'"))?.[1];
  assert.equal(connect, ["'self'", address, ...redirects].join(' '));
  const page = await visit();
  await openDialog(page);
  await field(page).waitFor();
  assert.deepEqual(await accessibilityProblems(page, ['dialog']), []);
  assert.deepEqual(hub.asked, []);
});

test('a model is listed, fetched after the reader agrees, and shown', async () => {
  const page = await visit();
  await list(page, 'someone/small');
  const listing = page.locator('[data-listing]');
  await matches(
    () => listing.innerText(),
    /These files of someone\/small would be fetched from 127/,
  );
  await matches(
    () => listing.innerText(),
    /config\.json: .*\ntokenizer\.json: .*\nmodel\.safetensors: \d+\skB/,
  );
  assert.deepEqual(await accessibilityProblems(page, ['dialog']), []);
  assert.equal(hub.asked.length, 1, 'only the list was requested');
  await fetchButton(page).click();
  await isOpen(page);
  assert.ok(hub.ranges.length > 0);
  for (const { method, headers, url } of hub.asked) {
    assert.equal(method, 'GET', 'no request needs a preflight');
    for (const name of ['referer', 'cookie', 'authorization', 'if-range']) {
      assert.equal(headers[name], undefined, `${name} of ${url}`);
    }
    assert.doesNotMatch(JSON.stringify([url, headers]), /lady|fire/);
  }
  // Nothing is kept.
  assert.equal(
    await page.evaluate(async () => (await caches.keys()).join().includes('models')),
    false,
  );
});

test('kept models open without a network, and the reader can delete them', async () => {
  const page = await visit();
  await page.evaluate(() => navigator.serviceWorker.ready);
  await list(page, 'someone/small');
  await keepBox(page).check();
  await fetchButton(page).click();
  await isOpen(page);
  await page.waitForFunction(() => navigator.serviceWorker.controller);
  await becomes(
    () =>
      page.evaluate(async () => {
        const caches_ = await Promise.all((await caches.keys()).map((name) => caches.open(name)));
        const keys = (await Promise.all(caches_.map((cache) => cache.keys()))).flat();
        return keys.some(({ url }) => /models-.*\.wasm$/.test(url));
      }),
    true,
  );
  const asked = hub.asked.length;
  await context.setOffline(true);
  await page.reload();
  await openDialog(page);
  await matches(() => kept(page).innerText(), /someone\/small, \d+\skB/);
  await kept(page).getByRole('button', { name: 'Open' }).click();
  await isOpen(page);
  assert.equal(hub.asked.length, asked, 'nothing was requested');
  await openDialog(page);
  await kept(page).getByRole('button', { name: 'Delete' }).click();
  await kept(page).waitFor({ state: 'detached' });
  assert.equal(
    await page.evaluate(async () => (await caches.keys()).join().includes('models')),
    false,
  );
});

/** Opens a page whose download, with files to keep, has stopped after 5,000 bytes of the weights. */
async function interrupted() {
  const page = await visit();
  await list(page, 'someone/small');
  await keepBox(page).check();
  hub.faults = stopAfter(5000);
  await fetchButton(page).click();
  await becomes(async () => (await fetched(page)) === small + 5000, true);
  return page;
}

test('a second tab waits, and continues where the first tab stopped', async () => {
  const page = await interrupted();
  const other = await visit();
  await list(other, 'someone/small');
  await matches(() => fetchButton(other).innerText(), /^Fetch the remaining/);
  await fetchButton(other).click();
  await other.getByText('Another tab is fetching this model.').waitFor();
  const { length } = hub.ranges;
  await cancelButton(page).click();
  hub.faults = {};
  hub.cut();
  await isOpen(other);
  assert.ok(hub.ranges[length]?.startsWith('bytes=5000-'), String(hub.ranges));
  await openDialog(other);
  await matches(() => kept(other).innerText(), /someone\/small, \d+\skB\s/);
});

test('an update replaces a kept model only once the update has arrived', async () => {
  const page = await visit();
  await list(page, 'someone/small');
  await keepBox(page).check();
  await fetchButton(page).click();
  await isOpen(page);
  hub.models['someone/small'].revision = 'b'.repeat(40);
  hub.faults = stopAfter(5000);
  await list(page, 'someone/small');
  await page.locator('[data-listing]').getByText('revision bbbbbbbb').waitFor();
  await fetchButton(page).click();
  await becomes(async () => (await fetched(page)) === small + 5000, true);
  await cancelButton(page).click();
  await becomes(
    () => kept(page).getByRole('button').allInnerTexts(),
    ['Open', 'Delete', 'Continue', 'Delete'],
  );
  hub.reset();
  await kept(page).getByRole('button', { name: 'Continue' }).click();
  await isOpen(page);
  await openDialog(page);
  await becomes(() => kept(page).getByRole('button').allInnerTexts(), ['Open', 'Delete']);
});

test('a model that is deleted while its files are listed is fetched from the start', async () => {
  const page = await interrupted();
  await cancelButton(page).click();
  await page.getByRole('button', { name: /^Fetch the remaining/ }).waitFor();
  await kept(page).getByRole('button', { name: 'Delete' }).click();
  await keepBox(page).waitFor();
  hub.reset();
  await fetchButton(page).click();
  await isOpen(page);
  assert.ok(hub.ranges[0]?.startsWith('bytes=0-'), String(hub.ranges));
  await openDialog(page);
  await matches(() => kept(page).innerText(), /someone\/small, \d+\skB\s/);
});

test('without room for its files, a model is fetched but not kept', async () => {
  await context.addInitScript(() => {
    // A blank page has no cache.
    if (!globalThis.caches) return;
    const { put } = Cache.prototype;
    /** @type {Cache['put']} */
    Cache.prototype.put = function (key, response) {
      // The first parts still fit.
      return String(key).includes('.safetensors')
        ? Promise.reject(new DOMException('', 'QuotaExceededError'))
        : put.call(this, key, response);
    };
  });
  const page = await visit();
  await list(page, 'someone/small');
  await keepBox(page).check();
  await fetchButton(page).click();
  await isOpen(page);
  await openDialog(page);
  await matches(() => problem(page).innerText(), /no room to keep all files of this model/);
  await matches(() => kept(page).innerText(), /someone\/small, .* of \d+\skB/);
  // The browser now says beforehand that there is no room.
  await page.evaluate(() => (navigator.storage.estimate = async () => ({ quota: 9, usage: 8 })));
  hub.models['someone/other'] = hub.models['someone/small'];
  await list(page, 'someone/other');
  await matches(
    () => page.locator('[data-listing]').innerText(),
    /only < 1\skB left for this page, so the files cannot be kept/,
  );
  assert.equal(await keepBox(page).count(), 0);
  await fetchButton(page).click();
  await isOpen(page);
  await openDialog(page);
  await matches(() => kept(page).innerText(), /^Kept in this browser:\s+someone\/small[^]*Delete$/);
});

test('a browser that stores nothing for the page still opens models by name', async () => {
  await context.addInitScript(() => {
    if (!globalThis.caches) return;
    for (const name of /** @type {const} */ (['keys', 'open', 'has', 'match'])) {
      CacheStorage.prototype[name] = () => Promise.reject(new DOMException('', 'SecurityError'));
    }
    StorageManager.prototype.estimate = () => Promise.reject(new TypeError());
  });
  const page = await visit();
  await list(page, 'someone/small');
  await fetchButton(page).waitFor();
  assert.equal(await keepBox(page).count(), 0);
  await fetchButton(page).click();
  await isOpen(page);
});

test('a model that the page does not support is not kept', async () => {
  const page = await visit();
  await list(page, 'someone/strange');
  await keepBox(page).check();
  await fetchButton(page).click();
  await matches(() => problem(page).innerText(), /strange/);
  await page.locator('[data-listing]').waitFor({ state: 'detached' });
  await field(page).waitFor();
  assert.equal(await kept(page).count(), 0);
});

test('a download continues after a lost connection and, if the files are kept, after a reload', async () => {
  const page = await interrupted();
  hub.faults = {};
  hub.cut();
  await isOpen(page);
  assert.ok(
    hub.ranges.some((range) => range?.startsWith('bytes=5000-')),
    String(hub.ranges),
  );

  hub.reset();
  hub.models['someone/other'] = hub.models['someone/small'];
  hub.faults = stopAfter(7000);
  await list(page, 'someone/other');
  await keepBox(page).check();
  await fetchButton(page).click();
  await matches(() => page.locator('[data-fetched]').innerText(), /\d+\skB of \d+\skB/);
  await becomes(async () => (await fetched(page)) === small + 7000, true);
  await cancelButton(page).click();
  await matches(() => kept(page).innerText(), /someone\/other, \d+\skB of \d+\skB/);
  hub.reset();
  await page.reload();
  await openDialog(page);
  await kept(page).getByRole('button', { name: 'Continue' }).click();
  await isOpen(page);
  assert.ok(hub.ranges[0]?.startsWith('bytes=7000-'), String(hub.ranges));
});

test('a file that changes on the server is not mixed with its earlier version', async () => {
  const page = await visit();
  await list(page, 'someone/small');
  hub.faults = { ...stopAfter(5000), etags: Array(9).fill('"1"') };
  await fetchButton(page).click();
  await becomes(async () => (await fetched(page)) === small + 5000, true);
  hub.faults = { etags: ['"2"'] };
  hub.cut();
  await matches(
    () => problem(page).innerText(),
    /model\.safetensors changed on the server .*List the model’s files again\.$/,
  );
  await page.locator('[data-listing]').waitFor({ state: 'detached' });
});

test('a large model is recognised before its weights are fetched in several parts', async () => {
  const disk = mkdtempSync(join(tmpdir(), 'attn-llama-'));
  await bigLlama(disk, 1);
  hub.models['someone/large'] = {
    files: Object.fromEntries(
      (await readdir(disk)).map((name) => [name, readFileSync(join(disk, name))]),
    ),
  };
  rmSync(disk, { recursive: true, force: true });
  const page = await visit();
  await list(page, 'someone/large');
  await matches(() => fetchButton(page).innerText(), /^Fetch \d+\sMB$/);
  hub.faults = { stallAfter: [Infinity, 20e6, 0, 0, 0] };
  await fetchButton(page).click();
  await becomes(async () => (await fetched(page)) >= 20e6 + 131_072, true);
  await page.getByText(/^Llama: 1 layers? of 9 heads/).waitFor();
  hub.faults = {};
  hub.cut();
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  await matches(() => page.locator('[data-recognised]').innerText(), /^Llama/);
  assert.match(hub.ranges[1] ?? '', /^bytes=131072-/);
  assert.match(hub.ranges[2] ?? '', /^bytes=20131072-/);
});

test('a download that stops shows its progress, can be cancelled and continues', async () => {
  const page = await visit();
  await list(page, 'someone/small');
  hub.faults = stopAfter(10_000);
  await fetchButton(page).click();
  await becomes(async () => (await fetched(page)) === small + 10_000, true);
  await cancelButton(page).click();
  await page.getByRole('button', { name: /^Fetch the remaining/ }).waitFor();
  hub.reset();
  await page.getByRole('button', { name: /^Fetch the remaining/ }).click();
  await isOpen(page);
});

test('a download that is cancelled and started again at once continues', async () => {
  const page = await visit();
  await list(page, 'someone/small');
  hub.faults = stopAfter(10_000);
  await fetchButton(page).click();
  await becomes(async () => (await fetched(page)) === small + 10_000, true);
  const { length } = hub.ranges;
  await page.getByRole('dialog').evaluate(async (dialog) => {
    const press = (/** @type {RegExp} */ name) => {
      const all = [...dialog.querySelectorAll('button')];
      const button = all.find(({ innerText }) => name.test(innerText));
      button?.click();
      return button;
    };
    press(/^Cancel$/);
    // The button appears in one of the next microtasks.
    for (let i = 0; i < 1000 && !press(/^Fetch /); i++) await undefined;
  });
  await becomes(async () => hub.ranges.length > length, true);
  hub.faults = {};
  hub.cut();
  await isOpen(page);
  assert.ok(hub.ranges[length]?.startsWith('bytes=10000-'), String(hub.ranges));
});

test('after a failure before the first byte, the files stay listed', async () => {
  const page = await visit();
  await list(page, 'someone/small');
  await fetchButton(page).waitFor();
  const { address } = hub;
  await context.route(`${address}/**`, (route) => route.fulfill({ status: 404 }));
  await fetchButton(page).click();
  await matches(() => problem(page).innerText(), /no longer has the file config\.json/);
  await context.unroute(`${address}/**`);
  await fetchButton(page).click();
  await isOpen(page);
});

test('closing the dialog ends the download', async () => {
  const page = await visit();
  await list(page, 'someone/small');
  hub.faults = stopAfter(1000);
  await fetchButton(page).click();
  await page.getByRole('progressbar').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'close' }).click();
  await openDialog(page);
  await page.getByRole('button', { name: /^Fetch/ }).waitFor();
  assert.equal(await page.locator('[data-recognised]').count(), 0);
});

test('error messages explain what to do', async () => {
  const page = await visit();
  /** @type {[string, RegExp][]} */
  const cases = [
    ['someone', /has no public model named someone\. Check the spelling\./],
    ['someone/unknown', /has no public model named someone\/unknown\. Check the spelling\./],
    ['https://elsewhere.test/a/b', /opens models only from/],
    ['a b', /Type a name such as openai-community\/gpt2/],
    ['someone/gated', /Accept the terms on .*hf download someone\/gated --local-dir folder/],
    ['someone/checkpoint', /no \.safetensors file.*\n\nfrom transformers import/],
  ];
  for (const [name, message] of cases) {
    await list(page, name);
    await matches(() => problem(page).innerText(), message);
    await becomes(() => page.locator('[data-listing]').count(), 0);
  }
  // The loader rejects the model before its weights are fetched.
  await list(page, 'someone/strange');
  await fetchButton(page).click();
  await matches(() => problem(page).innerText(), /strange/);
  assert.deepEqual(hub.ranges, ['bytes=0-131071']);
  // The page's policy blocks servers that are not in the list.
  await list(page, 'someone/small');
  hub.faults = { redirect: `${site.origin.replace('127.0.0.1', 'localhost')}/elsewhere` };
  await fetchButton(page).click();
  await matches(
    () => problem(page).innerText(),
    /redirected to a server that this page is not allowed to contact/,
  );
  await context.setOffline(true);
  await list(page, 'someone/small');
  await matches(() => problem(page).innerText(), /You are offline\. Connect/);
});

test('the dialog fits on a phone and shows the size before anything is fetched', async () => {
  await context.close();
  context = await site.newContext({
    viewport: { width: 390, height: 844 },
    hasTouch: true,
    isMobile: true,
  });
  const page = await visit();
  await list(page, 'someone/small');
  await matches(() => fetchButton(page).innerText(), /^Fetch \d+\skB$/);
  assert.equal(await overflow(page), 0);
  const wide = await page
    .getByRole('dialog')
    .evaluate((dialog) => dialog.scrollWidth - dialog.clientWidth);
  assert.equal(wide, 0);
  assert.equal(hub.ranges.length, 0);
});
