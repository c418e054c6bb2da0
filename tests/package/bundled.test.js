// Tests the installed package in a real browser, both bundled by Vite and without a bundler.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { chromium } from 'playwright-core';
import sirv from 'sirv';
import { build } from 'vite';

import { kVariants } from '../../wasm/toolchain/build.js';
import { findChromium } from '../../wasm/toolchain/system.js';
import { installPackage } from './install.js';
import { chromiumFlags } from '../browser/site.js';

/** @import { Browser } from 'playwright-core' */
/** @import { Project } from './install.js' */

/** Every page computes the same sums on its main thread, in a worker, and in a custom worker. */
const page = `
import { load } from 'attn';
import { load as loadInWorker } from 'attn/worker';

const sum = ({ data }) => data.reduce((total, value) => total + value, 0);
const options = { length: 100, dModel: 8 };
const threads = 2;
const here = await load({ threads });
const there = await loadInWorker({ threads });
const worker = new Worker(new URL('./tasks.js', import.meta.url), { type: 'module' });
const tasks = await loadInWorker({ worker, threads });
const progress = [];
window.found = {
  sums: [
    sum(here.sinusoidalEncoding(options)),
    sum(await there.sinusoidalEncoding(options)),
    await tasks.with({ onProgress: (value) => progress.push(value) }).run('sum', options),
  ],
  progress,
  variants: [here.variant, await there.variant, await tasks.variant],
  numThreads: [here.numThreads, await there.numThreads, await tasks.numThreads],
};
`;

const tasks = (/** @type {string} */ serve) => `
import { serve } from '${serve}';

serve({
  *sum(attn, options) {
    const { data } = attn.sinusoidalEncoding(options);
    let total = 0;
    for (const [i, value] of data.entries()) {
      total += value;
      if (i === data.length / 2) yield 0.5;
    }
    return total;
  },
});
`;

/** Import maps apply to pages but not to workers. */
const importMap = `<script type="importmap">${JSON.stringify({
  imports: {
    attn: './node_modules/attn/wasm/dist/index.js',
    'attn/worker': './node_modules/attn/wasm/dist/worker.js',
  },
})}</script>`;

const script = (/** @type {string} */ name) =>
  `<!doctype html><link rel="icon" href="data:,"><script type="module" src="./${name}"></script>`;

const isolation = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};

/** @type {Project} */
let project;
/** @type {Browser} */
let browser;
/** @type {import('node:http').Server} */
let server;
let origin = '';

before(async () => {
  project = installPackage();
  const serve = sirv(project.folder, { dev: true });
  server = createServer((request, response) => {
    if (request.url?.startsWith('/isolated/')) {
      for (const [name, value] of Object.entries(isolation)) response.setHeader(name, value);
      request.url = request.url.slice('/isolated'.length);
    }
    serve(request, response, () => void response.writeHead(404).end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  origin = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`;
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || findChromium(),
    args: chromiumFlags,
  });
});
after(async () => {
  await browser?.close();
  server?.closeAllConnections();
  server?.close();
  project?.remove();
});

/** @param {string} path */
async function open(path) {
  const page = await browser.newPage();
  page.setDefaultTimeout(60_000);
  /** @type {string[]} */
  const problems = [];
  page.on('console', (message) => problems.push(message.text()));
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('response', (response) => {
    if (response.status() >= 400) problems.push(`${response.status()}: ${response.url()}`);
  });
  await page.goto(origin + path);
  return { page, problems };
}

/**
 * Opens a page that runs the program `page`, once without threads and once with threads.
 * @param {string} path
 */
async function check(path) {
  for (const [folder, suffix, numThreads] of /** @type {const} */ ([
    ['', '', 1],
    ['/isolated', '-threads', 2],
  ])) {
    const { page, problems } = await open(folder + path);
    const handle = await page.waitForFunction(() => Reflect.get(window, 'found'));
    const found = await handle.jsonValue();
    await page.close();
    assert.deepEqual(problems, []);
    assert.deepEqual(found.variants, Array(3).fill(`relaxed-simd${suffix}`));
    assert.deepEqual(found.numThreads, Array(3).fill(numThreads));
    assert.deepEqual(found.progress, [0.5]);
    let expected = 0;
    for (let i = 0; i < 100; ++i) {
      for (let j = 0; j < 4; ++j) {
        const angle = i / 10000 ** (j / 4);
        expected += Math.sin(angle) + Math.cos(angle);
      }
    }
    for (const sum of found.sums) assert.ok(Math.abs(sum - expected) < 1e-4, `${sum}`);
  }
}

test('vite_bundles_a_page_and_its_workers', async () => {
  const root = join(project.folder, 'bundled');
  mkdirSync(root);
  writeFileSync(join(root, 'index.html'), script('page.js'));
  writeFileSync(join(root, 'page.js'), page);
  writeFileSync(join(root, 'tasks.js'), tasks('attn/worker/serve'));
  // Vite must be told that the workers are modules.
  const worker = { format: /** @type {const} */ ('es') };
  await build({
    ...{ root, base: './', logLevel: 'error', worker, configFile: false },
    build: { target: 'es2023', modulePreload: { polyfill: false } },
  });
  const names = readdirSync(join(root, 'dist/assets'));
  for (const variant of kVariants) {
    const pattern = new RegExp(`^attn-${variant}-[\\w-]{8}\\.wasm$`);
    assert.equal(names.filter((name) => pattern.test(name)).length, 1, variant);
  }
  assert.equal(names.filter((name) => name.startsWith('attn-threads.glue')).length, 1);
  await check('/bundled/dist/index.html');
});

test('a_page_without_a_bundler_needs_at_most_an_import_map', async () => {
  writeFileSync(join(project.folder, 'plain.html'), importMap + script('page.js'));
  writeFileSync(join(project.folder, 'page.js'), page);
  const serve = './node_modules/attn/wasm/dist/serve.js';
  writeFileSync(join(project.folder, 'tasks.js'), tasks(serve));
  await check('/plain.html');
});

test('a_module_worker_can_import_the_package', async () => {
  const { folder } = project;
  writeFileSync(
    join(folder, 'worker.js'),
    `import { load } from './node_modules/attn/wasm/dist/index.js';
     const attn = await load();
     postMessage(attn.sinusoidalEncoding({ length: 2, dModel: 2 }).data);`,
  );
  writeFileSync(
    join(folder, 'inWorker.js'),
    `const worker = new Worker('./worker.js', { type: 'module' });
     worker.onmessage = ({ data }) => (window.found = [...data]);`,
  );
  writeFileSync(join(folder, 'inWorker.html'), script('inWorker.js'));
  for (const isolated of ['', '/isolated']) {
    const { page, problems } = await open(`${isolated}/inWorker.html`);
    const handle = await page.waitForFunction(() => Reflect.get(window, 'found'));
    assert.deepEqual(await handle.jsonValue(), [0, 1, Math.sin(1), Math.cos(1)].map(Math.fround));
    await page.close();
    assert.deepEqual(problems, []);
  }
});

test('the_example_draws_a_heatmap', async () => {
  const { folder } = project;
  const example = new URL('../package/examples/heatmap.js', import.meta.url);
  copyFileSync(example, join(folder, 'heatmap.js'));
  writeFileSync(join(folder, 'heatmap.html'), importMap + script('heatmap.js'));
  const { page } = await open('/heatmap.html');
  const pixels = await page.locator('canvas').evaluate((canvas) => {
    const context = /** @type {HTMLCanvasElement} */ (canvas).getContext('2d');
    return [...(context?.getImageData(0, 1, 2, 1).data ?? [])];
  });
  await page.close();
  // The colours of sin 1 and cos 1.
  const [red, lighter] = [Math.sin(1), Math.cos(1)].map((value) => Math.round(255 * (1 - value)));
  assert.deepEqual(pixels, [255, red, red, 255, 255, lighter, lighter, 255]);
});
