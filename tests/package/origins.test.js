// Tests the package on a different origin from the page: on a CDN, and in frames without an origin.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { after, before, test } from 'node:test';

import { chromium } from 'playwright-core';
import sirv from 'sirv';

import { findChromium } from '../../wasm/toolchain/system.js';
import { chromiumFlags } from '../browser/site.js';

/** @import { Browser } from 'playwright-core' */

const isolation = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};
const serve = sirv(fileURLToPath(new URL('../../wasm/dist', import.meta.url)), {
  dev: true,
  setHeaders: (response) => {
    response.setHeader('Access-Control-Allow-Origin', '*');
    response.setHeader('Cross-Origin-Resource-Policy', 'cross-origin');
  },
});
const cdn = createServer((request, response) =>
  serve(request, response, () => void response.writeHead(404).end()),
);
const site = createServer((request, response) => {
  if (request.url === '/favicon.ico') return response.writeHead(204).end();
  const headers = request.url === '/isolated' ? isolation : {};
  response.writeHead(200, { 'Content-Type': 'text/html', ...headers }).end('<!doctype html>');
});

/** @type {Browser} */
let browser;
/** @type {string} */
let cdnOrigin;
/** @type {string} */
let siteOrigin;

before(async () => {
  const origins = [cdn, site].map(async (server) => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return `http://127.0.0.1:${/** @type {any} */ (server.address()).port}`;
  });
  [cdnOrigin, siteOrigin] = await Promise.all(origins);
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || findChromium(),
    args: chromiumFlags,
  });
});
after(async () => {
  await browser?.close();
  for (const server of [cdn, site]) {
    server.closeAllConnections();
    server.close();
  }
});

/** @param {string} path */
async function open(path) {
  const page = await browser.newPage();
  await page.goto(siteOrigin + path);
  return page;
}

for (const entry of ['index.js', 'worker.js']) {
  test(`threads_start_from_another_origin_with_${entry}`, async () => {
    const page = await open('/isolated');
    const found = await page.evaluate(async (address) => {
      const { load } = await import(address);
      const attn = await load({ threads: 3 });
      const x = { data: [1, 2, 3, 4], shape: [2, 2] };
      const { output } = await attn.scaledDotProductAttention(x, x, x, { causal: true });
      return [await attn.numThreads, await attn.fallback, ...output.data.slice(0, 2)];
    }, `${cdnOrigin}/${entry}`);
    assert.deepEqual(found, [3, undefined, 1, 2]);
    await page.close();
  });
}

test('scripts_of_the_same_origin_need_no_blob', async () => {
  const page = await browser.newPage();
  await page.goto(`${cdnOrigin}/index.js`);
  const blobs = await page.evaluate(async (address) => {
    let blobs = 0;
    const { createObjectURL } = URL;
    URL.createObjectURL = (blob) => (++blobs, createObjectURL(blob));
    const { load } = await import(address);
    (await load()).terminate();
    return blobs;
  }, `${cdnOrigin}/worker.js`);
  assert.equal(blobs, 0);
  await page.close();
});

test('a_sandboxed_frame_runs_attn_and_its_worker', async () => {
  const page = await open('/');
  const found = await page.evaluate(async (origin) => {
    const program = `
      const x = { data: new Float32Array([1, 2, 3, 4]), shape: [2, 2] };
      const found = [origin];
      try {
        for (const entry of ['index.js', 'worker.js']) {
          const { load } = await import('${origin}/' + entry);
          const attn = await load({ wasmUrl: '${origin}/' });
          const { output } = await attn.scaledDotProductAttention(x, x, x, { causal: true });
          found.push(...output.data.slice(0, 2));
        }
      } catch (error) {
        found.push(error.message);
      }
      parent.postMessage(found, '*');`;
    const frame = document.createElement('iframe');
    frame.setAttribute('sandbox', 'allow-scripts');
    frame.srcdoc = `<!doctype html><script type="module">${program}</script>`;
    const message = new Promise((resolve) => addEventListener('message', resolve, { once: true }));
    document.body.append(frame);
    return /** @type {MessageEvent} */ (await message).data;
  }, cdnOrigin);
  assert.deepEqual(found, ['null', 1, 2, 1, 2]);
  await page.close();
});

test('every_argument_accepts_values_from_a_frame', async () => {
  const page = await open('/');
  const found = await page.evaluate(async (origin) => {
    const frame = document.createElement('iframe');
    document.body.append(frame);
    const realm = /** @type {any} */ (frame.contentWindow);
    const { load } = await import(`${origin}/index.js`);
    const wasm = await (await realm.fetch(`${origin}/training-simd128.wasm`)).arrayBuffer();
    const controller = new realm.AbortController();
    const wasmUrl = new realm.URL(`${origin}/`);
    const { signal } = controller;
    const attn = await load({ wasmUrl, signal });
    const trained = await load({ wasm, training: true });
    const values = realm.eval(
      `(${`{
      x: { data: new Float32Array([1, 2, 3, 4]), shape: [2, 2] },
      mask: { data: new Uint8Array([1, 0, 1, 1]), shape: [2, 2] },
      half: { data: new Uint16Array(4), shape: [2, 2], type: 'bfloat16' },
      ids: new BigInt64Array([0n, 1n]),
      lengths: [1],
      options: { dModel: 2, numHeads: 1 },
    }`})`,
    );
    const { x, mask, half, ids, lengths, options } = values;
    const { output } = attn.scaledDotProductAttention(x, x, x, { mask });
    attn.scaledDotProductAttention(half, half, half);
    const batch = { data: x.data, shape: [1, 2, 2] };
    attn.scaledDotProductAttention(batch, batch, batch, { validLens: lengths });
    const layer = new attn.MultiHeadAttention(options);
    layer.loadStateDict(realm.structuredClone(layer.stateDict()));
    const bytes = attn.toSafetensors(new realm.Map([['x', x]]));
    const files = [realm.Uint8Array.from(bytes), realm.Uint8Array.from(bytes).buffer];
    for (const file of files) new attn.Safetensors(file).dispose();
    const embedding = new trained.Embedding({ numEmbeddings: 2, embeddingDim: 2 });
    const model = realm.Object.assign(new realm.Object(), { embedding });
    new trained.SGD(model, { lr: 0.1 }).dispose();
    embedding.forward(ids);
    controller.abort();
    const reason = await load({ wasmUrl, signal }).catch((/** @type {any} */ e) => e.name);
    return [...output.data.slice(0, 2), reason];
  }, cdnOrigin);
  assert.deepEqual(found, [1, 2, 'AbortError']);
  await page.close();
});
