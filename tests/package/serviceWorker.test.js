// Tests attn/static where import() is forbidden: in service workers and in background scripts of
// extensions.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { chromium } from 'playwright-core';
import sirv from 'sirv';

import { findChromium } from '../../wasm/toolchain/system.js';
import { chromiumFlags } from '../browser/site.js';

/** @import { BrowserContext, Worker } from 'playwright-core' */

const dist = fileURLToPath(new URL('../../wasm/dist', import.meta.url));

/** A worker that makes the loaders of all entry points accessible. */
const script = `
import { load } from './attn/static.js';
import { load as loadModels } from './attn/staticModels.js';
import { load as loadTraining } from './attn/staticTraining.js';
import { load as loadDefault } from './attn/index.js';

Object.assign(globalThis, { load, loadModels, loadTraining, loadDefault });
addEventListener('install', () => skipWaiting());
`;

let folder = '';
/** @type {BrowserContext} */
let context;
const server = createServer((request, response) =>
  sirv(folder, { dev: true })(request, response, () => void response.writeHead(404).end()),
);

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'attn-test-'));
  cpSync(dist, join(folder, 'attn'), { recursive: true });
  writeFileSync(join(folder, 'worker.js'), script);
  writeFileSync(join(folder, 'index.html'), '<!doctype html><link rel="icon" href="data:," />');
  writeFileSync(
    join(folder, 'manifest.json'),
    JSON.stringify({
      manifest_version: 3,
      name: 'attn',
      version: '1',
      background: { service_worker: 'worker.js', type: 'module' },
      content_security_policy: { extension_pages: "script-src 'self' 'wasm-unsafe-eval'" },
    }),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  context = await chromium.launchPersistentContext('', {
    executablePath: process.env.CHROMIUM || findChromium(),
    args: [...chromiumFlags, `--disable-extensions-except=${folder}`, `--load-extension=${folder}`],
    ignoreDefaultArgs: ['--disable-extensions'],
  });
});
after(async () => {
  await context?.close();
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

/** @param {RegExp} address */
const serviceWorker = async (address) =>
  context.serviceWorkers().find((worker) => address.test(worker.url())) ??
  context.waitForEvent('serviceworker', (worker) => address.test(worker.url()));

const places = {
  a_service_worker: async () => {
    const page = await context.newPage();
    await page.goto(`http://127.0.0.1:${/** @type {any} */ (server.address()).port}/`);
    await page.evaluate(() => navigator.serviceWorker.register('worker.js', { type: 'module' }));
    return serviceWorker(/^http:/);
  },
  the_background_of_an_extension: () => serviceWorker(/^chrome-extension:/),
};

for (const [place, find] of Object.entries(places)) {
  test(`every_flavour_runs_in_${place}`, async () => {
    const worker = await find();
    const found = await worker.evaluate(async () => {
      const { load, loadModels, loadTraining } = /** @type {any} */ (globalThis);
      const x = { data: [1, 2, 3, 4], shape: [2, 2] };
      const found = [];
      for (const attn of [await load(), await loadModels(), await loadTraining()]) {
        const { output } = attn.scaledDotProductAttention(x, x, x, { causal: true });
        found.push([attn.constructor.name, attn.numThreads, ...output.data.slice(0, 2)]);
        attn.dispose();
      }
      return found;
    });
    assert.deepEqual(found, [
      ['Attn', 1, 1, 2],
      ['ModelsAttn', 1, 1, 2],
      ['TrainingAttn', 1, 1, 2],
    ]);
  });

  test(`an_error_names_the_entry_that_works_in_${place}`, async () => {
    const worker = await find();
    const messages = await worker.evaluate(async () => {
      const { loadDefault } = /** @type {any} */ (globalThis);
      const failures = [{}, { models: true }, { training: true }].map((options) =>
        loadDefault(options).catch((/** @type {Error} */ { message }) => message),
      );
      return Promise.all(failures);
    });
    for (const message of messages) {
      assert.match(
        message,
        /could not be loaded: .*; in a service worker, use load\(\) of 'attn\/static'$/,
      );
    }
  });
}
