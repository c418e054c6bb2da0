// Runs the browser half of the benchmark. Each workload runs in a new page, so that its memory
// contains nothing from other workloads. All pages are cross-origin isolated, which allows threads
// and gives a finer clock.

import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';

import { buildSync } from 'esbuild';
import { chromium } from 'playwright-core';
import sirv from 'sirv';

import { kFlavours, kVariants } from '../../wasm/toolchain/build.js';
import { kBuildFolder } from '../../wasm/toolchain/checkout.js';
import { builtModule, kModulesFolder } from '../../wasm/toolchain/modules.js';
import { findChromium, SetupError } from '../../wasm/toolchain/system.js';
import { duration } from './report.js';
import { judge } from './result.js';
import { kBenchFolder, variantsFor } from './setup.js';
import { kBrowserWorks } from './works.js';

/** @import { Browser } from 'playwright-core' */
/** @import { Pace } from './measure.js' */
/** @import { PageResult, PageWork } from './page.js' */
/** @import { DerivedRow, MeasuredRow } from './result.js' */
/** @import { Work } from './works.js' */

const kIsolation = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};

const modules = join(kBenchFolder, 'node_modules');

/** @type {Record<string, string>} */
const kFolders = {
  '/bench/': kBenchFolder,
  '/attn/': kModulesFolder,
  '/onnxruntime/': join(modules, 'onnxruntime-web/dist'),
  '/tfjs-core/': join(modules, '@tensorflow/tfjs-core/dist'),
  '/tfjs-wasm/': join(modules, '@tensorflow/tfjs-backend-wasm/dist'),
  '/jax/': join(modules, '@jax-js/jax/dist'),
  '/bench-wasm/': join(kBuildFolder, 'wasm/tests/bench/native'),
};

/**
 * The .wasm files by their addresses. They come from the build folder instead of `wasm/dist`, so
 * that only the measured variants need to be built.
 */
const kFiles = Object.fromEntries(
  kFlavours.flatMap((flavour) =>
    kVariants.map((variant) => [
      `/attn/${flavour}-${variant}.wasm`,
      builtModule(flavour, variant, 'wasm'),
    ]),
  ),
);

/**
 * Bundles TensorFlow.js's gradients. TensorFlow.js publishes them as separate modules, which only a
 * bundler can resolve.
 */
function tensorFlowGradients() {
  const entry = join(modules, '@tensorflow/tfjs-core/dist/register_all_gradients.js');
  const bundled = buildSync({ entryPoints: [entry], bundle: true, write: false, format: 'esm' });
  return bundled.outputFiles[0].text;
}

const kFlags = [
  ...['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-sync'],
  ...['--disable-background-networking', '--disable-component-update'],
];

/** @param {string} [tinyGpt]  folder of a checkout */
function makeServer(tinyGpt) {
  const all = { ...kFolders, ...(tinyGpt && { '/tinygpt/': join(tinyGpt, 'browser/public') }) };
  const folders = Object.entries(all).map(([prefix, folder]) => ({
    prefix,
    serve: sirv(folder, { dev: true }),
  }));
  return createServer((request, response) => {
    const url = request.url ?? '';
    for (const [name, value] of Object.entries(kIsolation)) response.setHeader(name, value);
    if (url === '/') {
      return response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>');
    }
    if (url === '/tfjs-gradients.js') {
      response.writeHead(200, { 'Content-Type': 'text/javascript' });
      return response.end(tensorFlowGradients());
    }
    const notFound = () => void response.writeHead(404).end();
    if (url in kFiles && existsSync(kFiles[url])) {
      response.writeHead(200, { 'Content-Type': 'application/wasm' });
      return response.end(readFileSync(kFiles[url]));
    }
    const folder = folders.find(({ prefix }) => url.startsWith(prefix));
    if (!folder) return notFound();
    request.url = url.slice(folder.prefix.lastIndexOf('/'));
    folder.serve(request, response, notFound);
  });
}

/**
 * @param {(works: Work[]) => Work[]} choose
 * @param {readonly number[]} threadCounts
 * @param {readonly string[]} variants
 * @param {Omit<Pace, 'settle'>} pace
 * @param {string | undefined} tinyGpt  folder of a checkout
 * @param {(row: MeasuredRow) => void} report
 */
export async function measureInBrowser(choose, threadCounts, variants, pace, tinyGpt, report) {
  const server = makeServer(tinyGpt);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const browser = await chromium.launch({ executablePath: findChromium(), args: kFlags });
  try {
    for (const work of choose(kBrowserWorks)) {
      for (const threads of threadCounts) {
        const own = variantsFor(variants, [threads]);
        const hasTinyGpt = tinyGpt !== undefined;
        const pageWork = { work, variants: own, threads, hasTinyGpt, pace };
        const result = await measureInPage(browser, `http://127.0.0.1:${port}/`, pageWork);
        for (const variant of own) report(rowOf(work, variant, threads, result));
      }
    }
    return browser.version();
  } finally {
    await browser.close();
    server.closeAllConnections();
    server.close();
  }
}

const kLoads = 7;

/** Time to wait until a new page is idle. */
const kRestMs = 300;

/**
 * Measures how long a page takes to import the package, and how long from load() to the first
 * result. Every measurement uses a new profile, so that nothing is cached.
 * @param {readonly string[]} variants
 * @returns {Promise<DerivedRow[]>}
 */
export async function measureLoading(variants) {
  const server = makeServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const browser = await chromium.launch({ executablePath: findChromium(), args: kFlags });
  /** @type {DerivedRow[]} */
  const rows = [];
  try {
    for (const variant of variants) {
      /** @type {Record<'imported' | 'called', number[]>} */
      const seconds = { imported: [], called: [] };
      for (let i = 0; i < kLoads; ++i) {
        const context = await browser.newContext();
        const page = await context.newPage();
        await page.goto(`http://127.0.0.1:${port}/`);
        await page.waitForTimeout(kRestMs);
        const { imported, called } = await page.evaluate(loadAndCall, variant);
        seconds.imported.push(imported);
        seconds.called.push(called);
        await context.close();
      }
      for (const times of Object.values(seconds)) times.sort((a, b) => a - b);
      const importing = duration(seconds.imported[kLoads >> 1]);
      const [best, median] = [seconds.called[0], seconds.called[kLoads >> 1]];
      rows.push({
        half: 'browser',
        name: 'load() to first result',
        variant,
        measured: `${duration(best)}, median ${duration(median)}; import before it ${importing}`,
      });
    }
  } finally {
    await browser.close();
    server.closeAllConnections();
    server.close();
  }
  return rows;
}

/** Times load() and the first call of a variant. Runs in the page. @param {string} variant */
async function loadAndCall(variant) {
  const address = '/attn/index.js';
  const start = performance.now();
  const { load } = await import(address);
  const imported = performance.now();
  const attn = await load({ variant });
  const x = { data: new Float32Array(64), shape: [8, 8] };
  attn.scaledDotProductAttention(x, x, x);
  const called = performance.now();
  return { imported: (imported - start) / 1000, called: (called - imported) / 1000 };
}

/**
 * @param {Browser} browser
 * @param {string} url
 * @param {PageWork} work
 * @returns {Promise<PageResult>}
 */
async function measureInPage(browser, url, work) {
  const page = await browser.newPage();
  try {
    await page.goto(url);
    return await page.evaluate(async (work) => {
      const address = '/bench/page.js';
      return (await import(address)).measureWork(work);
    }, work);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new SetupError(`${work.work.name}, in the browser: ${reason}`);
  } finally {
    await page.close();
  }
}

/**
 * Returns the row of the results table for one variant. One measurement covers several variants.
 * @param {Work} work
 * @param {string} variant
 * @param {number} threads
 * @param {PageResult} result
 */
function rowOf(work, variant, threads, { times, failed, difference, operations }) {
  const peers = Object.entries(times).filter(([name]) => !/^(attn|machine|float32) /.test(name));
  return judge({
    half: 'browser',
    work,
    variant,
    threads,
    times: {
      attn: times[`attn ${variant}`],
      machine: times[`machine ${variant}`],
      float32: times[`float32 ${variant}`],
      ...Object.fromEntries(peers),
    },
    failed,
    difference,
    machine: { amount: operations },
  });
}

/**
 * The sizes of the .wasm files of attn and its peers.
 * @param {readonly string[]} variants
 * @returns {DerivedRow[]}
 */
export function wasmSizes(variants) {
  const kilobytes = (/** @type {number} */ bytes) => `${(bytes / 1000).toFixed(0)} KB`;
  const sizesOf = (/** @type {string} */ file) => {
    const content = readFileSync(file);
    const [raw, gzip, brotli] = [content, gzipSync(content), brotliCompressSync(content)].map(
      ({ length }) => kilobytes(length),
    );
    return `${raw}, ${gzip} with gzip, ${brotli} with brotli`;
  };
  const half = /** @type {const} */ ('browser');
  const own = variants.map((variant) => ({
    ...{ half, name: 'size of the .wasm file', variant },
    measured: sizesOf(builtModule('attn', variant, 'wasm')),
  }));
  const peers = ['onnxruntime-web/dist', '@tensorflow/tfjs-backend-wasm/dist'].flatMap((folder) =>
    readdirSync(join(modules, folder))
      .filter((name) => /^(ort-wasm-simd-threaded|tfjs-backend-wasm.*simd)\.wasm$/.test(name))
      .filter((name) => statSync(join(modules, folder, name)).isFile())
      .map((name) => ({
        half,
        name: `size of ${name}`,
        variant: folder.split('/').at(-2) ?? folder,
        measured: sizesOf(join(modules, folder, name)),
      })),
  );
  return [...own, ...peers];
}
