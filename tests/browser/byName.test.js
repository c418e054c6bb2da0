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
  // Without this, the page loads its own language model.
  await context.addInitScript(() =>
    Object.defineProperty(navigator, 'connection', { value: { saveData: true } }),
  );
});
afterEach(() => context.close());

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
  assert.deepEqual(await accessibilityProblems(page), []);
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
  assert.deepEqual(await accessibilityProblems(page), []);
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
  await page.getByRole('checkbox', { name: /^Keep the files/ }).check();
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
  const kept = page.locator('[data-kept]');
  await matches(() => kept.innerText(), /someone\/small, \d+\skB/);
  await kept.getByRole('button', { name: 'Open' }).click();
  await isOpen(page);
  assert.equal(hub.asked.length, asked, 'nothing was requested');
  await openDialog(page);
  await kept.getByRole('button', { name: 'Delete' }).click();
  await kept.waitFor({ state: 'detached' });
  const keys = await page.evaluate(async () => {
    const name = (await caches.keys()).find((each) => each.startsWith('attn-models-')) ?? '';
    return (await (await caches.open(name)).keys()).length;
  });
  assert.equal(keys, 0);
});

test('a download continues after a lost connection and, if the files are kept, after a reload', async () => {
  const page = await visit();
  await list(page, 'someone/small');
  await page.getByRole('checkbox', { name: /^Keep the files/ }).check();
  hub.faults = stopAfter(5000);
  await fetchButton(page).click();
  await becomes(async () => (await fetched(page)) === small + 5000, true);
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
  await page.getByRole('checkbox', { name: /^Keep the files/ }).check();
  await fetchButton(page).click();
  await matches(() => page.locator('[data-fetched]').innerText(), /\d+\skB of \d+\skB/);
  await becomes(async () => (await fetched(page)) === small + 7000, true);
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  const kept = page.locator('[data-kept]');
  await matches(() => kept.innerText(), /someone\/other, \d+\skB of \d+\skB/);
  hub.reset();
  await page.reload();
  await openDialog(page);
  await kept.getByRole('button', { name: 'Continue' }).click();
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
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: /^Fetch the remaining/ }).waitFor();
  hub.reset();
  await page.getByRole('button', { name: /^Fetch the remaining/ }).click();
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
