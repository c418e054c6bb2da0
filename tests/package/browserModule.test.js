// Tests the package itself in a real browser, without a bundler, on a static server and under a
// strict content security policy.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { after, before, test } from 'node:test';

import { load } from 'attn';
import { chromium } from 'playwright-core';
import sirv from 'sirv';

import { findChromium } from '../../wasm/toolchain/system.js';
import { chromiumFlags } from '../browser/site.js';

/** @import { Browser } from 'playwright-core' */

const policy = "default-src 'none'; connect-src 'self'; worker-src 'self'; script-src 'self'";
const isolation = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};

/**
 * Pages that differ only in their response headers.
 * @type {Record<string, Record<string, string>>}
 */
const pages = {
  '/strict': { 'Content-Security-Policy': `${policy} 'wasm-unsafe-eval'` },
  '/isolated': { 'Content-Security-Policy': `${policy} 'wasm-unsafe-eval'`, ...isolation },
  '/without-webassembly': { 'Content-Security-Policy': policy },
  '/isolated-without-workers': {
    'Content-Security-Policy': `${policy.replace("worker-src 'self'", "worker-src 'none'")} 'wasm-unsafe-eval'`,
    ...isolation,
  },
  '/without-workers': {
    'Content-Security-Policy': `${policy.replace("worker-src 'self'", "worker-src 'none'")} 'wasm-unsafe-eval'`,
  },
  '/without-connections': {
    'Content-Security-Policy': `${policy.replace("connect-src 'self'; ", '')} 'wasm-unsafe-eval'`,
  },
};

const exampleModule = `
export async function run({ entry = 'index.js', ...options }) {
  try {
    // Awaits every result, because the functions of worker.js return promises. Awaiting a result of
    // index.js changes nothing.
    const { load } = await import('/attn/' + entry);
    const attn = await load(options);
    const tokens = ['the', 'cat', 'sat', 'on', 'the', 'mat'];
    const x = await attn.positionalEncoding(await attn.ngramEmbedding(tokens, { dModel: 32 }));
    const mha = await new attn.MultiHeadAttention({ dModel: 32, numHeads: 4, seed: 7 });
    let result;
    for (let i = 0; i < 200; ++i) {
      result = await mha.forward(x, x, x, { causal: true, needWeights: true });
    }
    const long = await attn.sinusoidalEncoding({ length: 1000, dModel: 64 });
    const { output } = await attn.scaledDotProductAttention(long, long, long);
    return {
      variant: await attn.variant,
      numThreads: await attn.numThreads,
      output: [...result.output.data],
      weights: [...result.weights.data],
      long: [...output.data.slice(-64)],
    };
  } catch (error) {
    return { name: error.name, code: error.code, message: error.message };
  }
}
`;
const worker = `
import { run } from './example.js';
addEventListener('message', async ({ data }) => postMessage(await run(data)));
`;

/** A worker that serves a custom task. */
const tasks = `
import { serve } from '/attn/serve.js';

serve({
  *lengths(attn, count) {
    let sum = 0;
    for (let i = 1; i <= count; ++i) {
      sum += attn.sinusoidalEncoding({ length: i, dModel: 2 }).data.length;
      yield i / count;
    }
    return sum;
  },
});
`;

const serve = sirv(fileURLToPath(new URL('../../wasm', import.meta.url)), { dev: true });
const server = createServer((request, response) => {
  const url = request.url ?? '';
  const script = (/** @type {string} */ text) =>
    response.writeHead(200, { 'Content-Type': 'text/javascript', ...isolation }).end(text);
  if (url in pages) {
    response.writeHead(200, { 'Content-Type': 'text/html', ...pages[url] });
    return response.end('<!doctype html>');
  }
  if (url === '/favicon.ico') return response.writeHead(204).end();
  if (url === '/example.js') return script(exampleModule);
  if (url === '/worker.js') return script(worker);
  if (url === '/tasks.js') return script(tasks);
  if (url === '/page/attn-simd128.wasm') {
    return response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>');
  }
  request.url = url.replace('/attn/', '/dist/');
  // An isolated page can start a worker only if the worker's script has the same headers.
  for (const [name, value] of Object.entries(isolation)) response.setHeader(name, value);
  serve(request, response, () => void response.writeHead(404).end());
});

/** @type {Browser} */
let browser;
let origin = '';

before(async () => {
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
  server.closeAllConnections();
  server.close();
});

/**
 * Runs the example in a page, and returns its results and the messages in the console.
 * @param {string} path
 * @param {object} [options]  options of load()
 * @param {boolean} [inWorker]
 */
async function run(path, options = {}, inWorker = false) {
  const page = await browser.newPage();
  /** @type {string[]} */
  const said = [];
  page.on('console', (message) => said.push(message.text()));
  page.on('pageerror', (error) => said.push(String(error)));
  await page.goto(origin + path);
  const result = await page.evaluate(async ([options, inWorker]) => {
    if (!inWorker) {
      const example = '/example.js';
      return (await import(example)).run(options);
    }
    const worker = new Worker('/worker.js', { type: 'module' });
    worker.postMessage(options);
    return new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = ({ message }) => reject(new Error(message));
    });
  }, /** @type {const} */ ([options, inWorker]));
  await page.close();
  return { ...result, said };
}

/** Returns the result of the SIMD128 variant in Node. */
async function expected() {
  const attn = await load({ variant: 'simd128' });
  const tokens = ['the', 'cat', 'sat', 'on', 'the', 'mat'];
  const x = attn.positionalEncoding(attn.ngramEmbedding(tokens, { dModel: 32 }));
  const mha = new attn.MultiHeadAttention({ dModel: 32, numHeads: 4, seed: 7 });
  const { output, weights } = mha.forward(x, x, x, { causal: true, needWeights: true });
  const long = attn.sinusoidalEncoding({ length: 1000, dModel: 64 });
  const attended = attn.scaledDotProductAttention(long, long, long).output;
  mha.dispose();
  return {
    output: [...output.data],
    weights: [...weights.data],
    long: [...attended.data.slice(-64)],
  };
}

test('a_page_with_a_strict_policy_gets_relaxed_simd_and_one_thread', async () => {
  const { variant, numThreads, output, said } = await run('/strict');
  assert.equal(variant, 'relaxed-simd');
  assert.equal(numThreads, 1);
  assert.equal(output.length, 6 * 32);
  assert.deepEqual(said, []);
});

test('simd128_gives_the_same_bits_in_browser_worker_and_node_for_any_number_of_threads', async () => {
  const numbers = await expected();
  for (const [variant, threads] of /** @type {const} */ ([
    ['simd128', 1],
    ['simd128-threads', 1],
    ['simd128-threads', 4],
  ])) {
    const options = { variant, threads };
    for (const result of [
      await run('/isolated', options),
      await run('/isolated', options, true),
      await run('/isolated', { ...options, entry: 'worker.js' }),
      await run('/isolated', { ...options, entry: 'worker.js' }, true),
    ]) {
      assert.deepEqual(result, { variant, numThreads: threads, ...numbers, said: [] });
    }
  }
});

test('an_isolated_page_gets_threads', async () => {
  const { variant, numThreads, said } = await run('/isolated', { threads: 2 });
  assert.equal(variant, 'relaxed-simd-threads');
  assert.equal(numThreads, 2);
  assert.deepEqual(said, []);
});

for (const entry of ['/attn/index.js', '/attn/worker.js']) {
  test(`the_numbers_of_a_Float16Array_are_read_by${entry}`, async (context) => {
    const page = await browser.newPage();
    await page.goto(`${origin}/strict`);
    const [got, wanted] = await page.evaluate(async (entry) => {
      const Halves = Reflect.get(globalThis, 'Float16Array');
      if (!Halves) return [];
      const { load } = await import(entry);
      const attn = await load();
      const data = Halves.from({ length: 200 }, (_, i) => Math.sin(i * i));
      const halves = { data: data.subarray(8), shape: [12, 16] };
      const floats = { data: Float32Array.from(halves.data), shape: [12, 16] };
      const results = [halves, floats].map(async (x) => {
        const { output } = await attn.scaledDotProductAttention(x, x, x, { outputType: 'float16' });
        return Array.from(new Halves(output.data.buffer));
      });
      return Promise.all(results);
    }, entry);
    await page.close();
    if (!got) return context.skip('this browser has no Float16Array');
    assert.equal(got.length, 192);
    assert.ok(Math.max(...got) > 0.1);
    assert.deepEqual(got, wanted);
  });
}

test('dispose_ends_the_threads_workers', async () => {
  const page = await browser.newPage();
  await page.goto(`${origin}/isolated`);
  const numThreads = await page.evaluate(async (entry) => {
    const { load } = await import(entry);
    const attn = await load({ threads: 3 });
    Reflect.set(window, 'attn', attn);
    return attn.numThreads;
  }, '/attn/index.js');
  assert.equal(numThreads, 3);
  assert.equal(page.workers().length, 2);
  const ended = Promise.all(page.workers().map((worker) => worker.waitForEvent('close')));
  await page.evaluate(() => Reflect.get(window, 'attn').dispose());
  await ended;
  assert.deepEqual(page.workers(), []);
  await page.close();
});

test('a_policy_that_forbids_webassembly_is_named', async () => {
  const { code, message } = await run('/without-webassembly');
  assert.equal(code, 'load_failed');
  assert.match(
    message,
    /^the page's content security policy blocks WebAssembly; add 'wasm-unsafe-eval' to its script-src: /,
  );
});

test('a_policy_that_forbids_workers_leaves_one_thread', async () => {
  const { variant, numThreads } = await run('/isolated-without-workers', { threads: 2 });
  assert.equal(variant, 'relaxed-simd');
  assert.equal(numThreads, 1);
});

test('a_policy_that_forbids_workers_is_named_when_a_worker_is_requested', async () => {
  const { code, message } = await run('/without-workers', { entry: 'worker.js' });
  assert.equal(code, 'load_failed');
  assert.match(
    message,
    /^the worker could not be started: .*content security policy \(worker-src\)/,
  );
});

test('a_policy_that_forbids_connections_is_named', async () => {
  const { code, message } = await run('/without-connections', { variant: 'simd128' });
  assert.equal(code, 'load_failed');
  assert.match(
    message,
    /attn-simd128\.wasm could not be read: .*content security policy \(connect-src\)/,
  );
});

test('a_missing_file_is_named', async () => {
  for (const entry of ['index.js', 'worker.js']) {
    const options = { entry, variant: 'simd128', wasmUrl: '/nowhere/' };
    const { code, message } = await run('/strict', options);
    assert.equal(code, 'load_failed');
    assert.equal(
      message,
      `${origin}/nowhere/attn-simd128.wasm could not be read: the server returned 404 Not Found`,
    );
    const page = await run('/strict', { ...options, wasmUrl: '/page/' });
    assert.match(page.message, /could not be read: the server returned a page \(text\/html\)/);
  }
});

test('tasks_in_a_worker_report_progress_and_end_when_aborted', async () => {
  const page = await browser.newPage();
  await page.goto(`${origin}/strict`);
  const found = await page.evaluate(async () => {
    const attnWorker = '/attn/worker.js';
    const { load } = await import(attnWorker);
    const attn = await load({ worker: new Worker('/tasks.js', { type: 'module' }) });
    /** @type {number[]} */
    const progress = [];
    const onProgress = (/** @type {number} */ value) => progress.push(value);
    const sum = await attn.with({ onProgress }).run('lengths', 4);
    const controller = new AbortController();
    const aborted = attn
      .with({ signal: controller.signal, onProgress: () => controller.abort() })
      .run('lengths', 1e9);
    const { name } = await aborted.catch((/** @type {Error} */ error) => error);
    const version = await attn.version;
    attn.terminate();
    const { code } = await attn.version.catch((/** @type {Error} */ error) => error);
    return { progress, sum, name, version, code };
  });
  await page.close();
  assert.deepEqual(found.progress, [0.25, 0.5, 0.75, 1]);
  assert.equal(found.sum, 2 * (1 + 2 + 3 + 4));
  assert.equal(found.name, 'AbortError');
  assert.match(found.version, /^\d+\.\d+\.\d+$/);
  assert.equal(found.code, 'disposed');
});
