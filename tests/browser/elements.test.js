// Tests the elements of `attn/figures` on a page without a framework, which imports the package
// from another origin and forbids inline styles.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { after, afterEach, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { chromium } from 'playwright-core';
import sirv from 'sirv';

import { findChromium } from '../../wasm/toolchain/system.js';
import { accessibilityProblems } from './accessibility.js';
import { becomes, chromiumFlags, kPatience, matches } from './site.js';

/** @import { Browser, Page } from 'playwright-core' */

const serve = sirv(fileURLToPath(new URL('../../wasm/dist', import.meta.url)), {
  dev: true,
  setHeaders: (response) => response.setHeader('Access-Control-Allow-Origin', '*'),
});
const cdn = createServer((request, response) =>
  serve(request, response, () => void response.writeHead(404).end()),
);
let [cdnOrigin, siteOrigin] = ['', ''];
const site = createServer((_, response) => {
  response.writeHead(200, {
    'Content-Type': 'text/html',
    'Content-Security-Policy': `default-src 'none'; script-src ${cdnOrigin} 'wasm-unsafe-eval'; connect-src ${cdnOrigin}; style-src 'self'; img-src data:`,
  });
  response.end(
    '<!doctype html><html lang="en"><head><title>Mine</title><link rel="icon" href="data:,"></head><body><main><h1>Mine</h1></main></body></html>',
  );
});

/** @type {Browser} */
let browser;
/** @type {Page} */
let page;
/** @type {string[]} */
const problems = [];

before(async () => {
  [cdnOrigin, siteOrigin] = await Promise.all(
    [cdn, site].map(async (server) => {
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      return `http://127.0.0.1:${/** @type {any} */ (server.address()).port}`;
    }),
  );
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || findChromium(),
    args: chromiumFlags,
  });
  page = await browser.newPage();
  page.setDefaultTimeout(kPatience);
  page.on('console', (message) => problems.push(message.text()));
  page.on('pageerror', (error) => problems.push(error.message));
  await page.goto(siteOrigin);
  await page.evaluate(async (origin) => {
    await import(`${origin}/figures.js`);
  }, cdnOrigin);
});
after(async () => {
  await browser?.close();
  for (const server of [cdn, site]) {
    server.closeAllConnections();
    server.close();
  }
});
afterEach(async () => {
  await page.evaluate(() =>
    document.querySelectorAll('main > :not(h1)').forEach((e) => e.remove()),
  );
  assert.deepEqual(problems.splice(0), []);
});

/**
 * Adds an element with properties to the page. Its events are collected in `element.events`.
 * @param {string} name
 * @param {Record<string, unknown>} properties  arrays of numbers in `float32` become typed arrays
 */
async function add(name, properties) {
  await page.evaluate(([name, properties]) => {
    const element = /** @type {any} */ (document.createElement(name));
    element.events = [];
    for (const type of ['select', 'headchange', 'columnschange', 'error']) {
      element.addEventListener(type, (/** @type {any} */ event) => {
        event.preventDefault();
        element.events.push([type, event.detail ?? event.message ?? null]);
      });
    }
    for (const [property, value] of Object.entries(properties)) {
      const numbers = /** @type {any} */ (value)?.float32;
      element[property] = numbers ? Float32Array.from(numbers) : value;
    }
    document.querySelector('main')?.append(element);
  }, /** @type {const} */ ([name, properties]));
  return page.locator(name).last();
}

/** @param {import('playwright-core').Locator} element @returns {Promise<any[]>} */
const eventsOf = (element) => element.evaluate((element) => /** @type {any} */ (element).events);
/** @param {import('playwright-core').Locator} element */
const lastOf = async (element) => (await eventsOf(element)).at(-1);

const kTokens = ['the', 'cat', 'sat'];
const kWeights = [1, 0, 0, 0.25, 0.75, 0, 0.125, 0.375, 0.5];

test('weights in a typed array: the keyboard reads every cell, locks it and releases it', async () => {
  const element = await add('attn-weights', { weights: { float32: kWeights }, tokens: kTokens });
  const map = element.getByRole('application', {
    name: /^Attention weights, 3 queries by 3 keys$/,
  });
  await map.focus();
  for (const key of ['ArrowDown', 'ArrowRight', 'Enter']) await page.keyboard.press(key);
  const detail = {
    ...{ head: 0, query: 1, key: 1, weight: 0.75, queryToken: 'cat', keyToken: 'cat' },
    locked: true,
  };
  await becomes(() => lastOf(element), ['select', detail]);
  const readout = element.locator('[aria-live=polite]');
  assert.match((await readout.innerText()).trim(), /^cat1 attends to cat1 with weight 0\.75$/);
  assert.deepEqual(await element.evaluate((e) => /** @type {any} */ (e).selected), detail);
  await page.keyboard.press('Escape');
  await becomes(() => lastOf(element), ['select', null]);
});

test('the pointer selects, a click locks, and a click elsewhere keeps the lock', async () => {
  const element = await add('attn-weights', { weights: { float32: kWeights }, tokens: kTokens });
  const map = element.getByRole('application');
  const { width, height } = (await map.boundingBox()) ?? { width: 0, height: 0 };
  const position = { x: (width * 1) / 6, y: (height * 5) / 6 };
  await map.hover({ position });
  await becomes(async () => (await lastOf(element))?.[1]?.weight, 0.125);
  await map.click({ position });
  await page.locator('h1').click();
  await becomes(async () => (await lastOf(element))?.[1]?.locked, true);
});

test('the cells have the colours of the page', async () => {
  const element = await add('attn-heatmap', { values: [[0, 1]], theme: 'light' });
  const colours = () =>
    element.locator('canvas').evaluate((canvas) => {
      const context = /** @type {HTMLCanvasElement} */ (canvas).getContext('2d');
      return [...(context?.getImageData(0, 0, 2, 1).data ?? [])].join();
    });
  await becomes(colours, '253,252,249,255,61,13,10,255');
  await element.evaluate((element) => element.setAttribute('theme', 'dark'));
  await becomes(colours, '22,22,24,255,255,244,214,255');
});

test('without a theme, the colours follow color-scheme', async () => {
  const element = await add('attn-heatmap', { values: [[0, 1]] });
  const first = () =>
    element.locator('canvas').evaluate((canvas) => {
      const context = /** @type {HTMLCanvasElement} */ (canvas).getContext('2d');
      return context?.getImageData(0, 0, 1, 1).data[0];
    });
  await becomes(first, 253);
  await page.evaluate(() => (document.documentElement.style.colorScheme = 'dark'));
  await becomes(first, 22);
  await page.evaluate(() => (document.documentElement.style.colorScheme = ''));
  await becomes(first, 253);
});

test('a variable on the element changes a colour', async () => {
  const element = await add('attn-curves', { values: [[0], [1]] });
  await element.evaluate((element) => element.style.setProperty('--attn-accent', 'rgb(0, 128, 0)'));
  const curve = element.locator('svg[role=application] > path');
  await becomes(() => curve.evaluate((path) => getComputedStyle(path).stroke), 'rgb(0, 128, 0)');
});

test('heads: a choice is an event and a property', async () => {
  const weights = { data: [...kWeights, 0, 0, 1, 0, 1, 0, 1, 0, 0], shape: [2, 3, 3] };
  const element = await add('attn-heads', { weights });
  await element.getByRole('radio', { name: /^head 2: entropy 0.00 bits/ }).check({ force: true });
  await becomes(
    () => lastOf(element),
    ['select', { head: 1, entropy: 0, distance: 4 / 3, largest: 1 }],
  );
  const both = await add('attn-weights', { weights, tokens: kTokens });
  await both.getByRole('radio', { name: /^head 2/ }).check({ force: true });
  await becomes(() => lastOf(both), ['headchange', { head: 1 }]);
  await both.getByRole('application', { name: /head 2/ }).focus();
  await becomes(async () => (await lastOf(both))?.[1]?.weight, 0);
});

test('heads below the arcs are in one row if they fit', async () => {
  const weights = { data: [...kWeights, 0, 0, 1, 0, 1, 0, 1, 0, 0], shape: [2, 3, 3] };
  const element = await add('attn-weights', { weights, tokens: kTokens });
  const tops = () =>
    element
      .locator('.thumbnail')
      .evaluateAll((all) => new Set(all.map((each) => each.getBoundingClientRect().top)).size);
  for (const [width, rows] of [
    [984, 1],
    [320, 2],
  ]) {
    await element.evaluate((box, width) => (box.style.width = `${width}px`), width);
    await becomes(tops, rows);
  }
});

test('cross-attention has its own tokens for the keys', async () => {
  const weights = { data: [0.25, 0.75], shape: [1, 2] };
  const element = await add('attn-weights', { weights, tokens: ['a'], keyTokens: ['x', 'y'] });
  await element.getByRole('application', { name: '1 query by 2 keys' }).focus();
  await page.keyboard.press('ArrowRight');
  await becomes(async () => (await lastOf(element))?.[1]?.keyToken, 'y');
});

test('encoding: the equation at a position, and curves that the reader adds', async () => {
  const encoding = {
    data: [0, 1, Math.fround(Math.sin(1)), Math.fround(Math.cos(1))],
    shape: [2, 2],
  };
  const element = await add('attn-encoding', { encoding, base: 10000, label: 'Mine' });
  await element.getByRole('application', { name: 'Mine, 2 positions by 2 columns' }).focus();
  await page.keyboard.press('ArrowDown');
  await becomes(async () => (await lastOf(element))?.[1]?.value, Math.fround(Math.sin(1)));
  await matches(
    () => element.locator('[aria-live=polite]').innerText(),
    /position 1, column 0: sin\(1 \/ 10,000/,
  );
  await page.keyboard.press('c');
  await becomes(
    async () => (await eventsOf(element)).filter(([type]) => type !== 'select'),
    [['columnschange', { columns: [0] }]],
  );
  await element.getByRole('img', { name: 'Curves of columns 0' }).waitFor();
});

test('curves: the arrow keys move along a curve and to the next one', async () => {
  const values = [
    [0, 5],
    [1, 6],
    [2, 7],
  ];
  const element = await add('attn-curves', { values, labels: ['low', 'high'], xName: 'step' });
  await element.getByRole('application', { name: /^curves of low, high/ }).focus();
  for (const key of ['ArrowRight', 'ArrowDown']) await page.keyboard.press(key);
  await becomes(async () => (await lastOf(element))?.[1], {
    ...{ row: 1, position: 1, column: 1, value: 6, locked: false },
  });
  await matches(() => element.locator('[aria-live=polite]').innerText(), /step = 1, high: 6/);
});

for (const [title, name, properties, message] of /** @type {const} */ ([
  [
    'weights of the wrong length',
    'attn-weights',
    { weights: { float32: [1, 2, 3] }, shape: [2, 2] },
    'weights: got 3 numbers, needs 4 for shape (2, 2)',
  ],
  [
    'too few tokens',
    'attn-weights',
    { weights: [[1, 0], [0, 1]], tokens: ['a'] }, // prettier-ignore
    'tokens: got an array of length 1, needs 2, the number of queries',
  ],
  [
    'scores in place of weights',
    'attn-weights',
    { weights: [[-1]] },
    'weights: got -1 at head 0, query 0, key 0, needs no negative numbers; draw scores with <attn-heatmap>',
  ],
  ['weights that were not requested', 'attn-weights', { weights: undefined }, 'weights: got undefined; attention returns weights if you pass { needWeights: true }'], // prettier-ignore
  ['a head that does not exist', 'attn-heads', { weights: [[1]], head: 1 }, 'head: got 1, needs a whole number from 0 to 0'], // prettier-ignore
  ['curves without columns', 'attn-curves', { values: [[0], [1]], columns: [] }, 'columns: got an empty list, needs at least one column; null draws the first four'], // prettier-ignore
  ['text in place of a tensor', 'attn-curves', { values: 'abc' }, "values: got 'abc', needs a tensor { data, shape }, nested arrays of numbers, or a typed array with the property shape"], // prettier-ignore
])) {
  test(`${title}: the element and an event say what is wrong`, async () => {
    const element = await add(name, properties);
    await becomes(() => element.getByRole('alert').innerText(), message);
    assert.deepEqual(await eventsOf(element), [['error', message]]);
  });
}

test('an error that no listener handles is reported, and a correction clears it', async () => {
  await page.evaluate(() => {
    const element = document.createElement('attn-weights');
    element.setAttribute('weights', '[[1, 0], [0');
    document.querySelector('main')?.append(element);
  });
  const element = page.locator('attn-weights');
  await becomes(() => element.getByRole('alert').count(), 1);
  await becomes(async () => problems.length, 1);
  assert.match(problems.splice(0)[0], /^weights: is not valid JSON/);
  await element.evaluate((element) => element.setAttribute('weights', '[[1, 0], [0, 1]]'));
  await element.getByRole('application').waitFor();
});

test('properties set before the element is defined, and moving it, keep the drawing', async () => {
  const other = await browser.newPage();
  other.setDefaultTimeout(kPatience);
  await other.goto(siteOrigin);
  await other.evaluate(async (origin) => {
    const element = /** @type {any} */ (document.createElement('attn-weights'));
    element.weights = [[1]];
    document.body.append(element);
    await import(`${origin}/figures.js`);
  }, cdnOrigin);
  const map = other.locator('attn-weights').getByRole('application');
  await map.click();
  await other.evaluate(() => {
    const element = document.querySelector('attn-weights');
    if (element) document.querySelector('main')?.append(element);
  });
  await becomes(() => other.locator('attn-weights [aria-live] b').innerText(), '1');
  await other.close();
});

test('attention that the package computes', async () => {
  const element = await add('attn-weights', { tokens: kTokens });
  await page.evaluate(async ([origin, tokens]) => {
    const { load } = await import(`${origin}/index.js`);
    const attn = await load({ threads: 1 });
    const x = attn.ngramEmbedding(tokens, { dModel: 8 });
    const options = { needWeights: true, causal: true };
    const { weights } = attn.scaledDotProductAttention(x, x, x, options);
    const handle = attn.handles.scaledDotProductAttention(x, x, x, options).weights;
    const element = /** @type {any} */ (document.querySelector('attn-weights'));
    element.weights = handle;
    handle.dispose?.();
    /** @type {any} */ (globalThis).expected = weights.data[4];
  }, /** @type {const} */ ([cdnOrigin, kTokens]));
  await element.getByRole('application').focus();
  for (const key of ['ArrowDown', 'ArrowRight']) await page.keyboard.press(key);
  const expected = await page.evaluate(() => /** @type {any} */ (globalThis).expected);
  await becomes(async () => (await lastOf(element))?.[1]?.weight, expected);
});

test('axe finds no problems, in both themes', async () => {
  for (const theme of ['light', 'dark']) {
    const weights = { data: [...kWeights, ...kWeights], shape: [2, 3, 3] };
    await add('attn-weights', { weights, tokens: kTokens, theme, label: `Weights, ${theme}` });
    await add('attn-encoding', { encoding: [[0, 1]], base: 100, columns: [0], theme });
    await add('attn-curves', { values: [[0], [1]], theme });
    await add('attn-heatmap', { values: [[0, -1]], theme });
  }
  await page.locator('attn-heatmap').last().getByRole('application').waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);
});

test('an anywidget host: traits are properties, and the selection returns to the model', async () => {
  await page.evaluate(async ([origin, weights, tokens]) => {
    const { default: widget } = await import(`${origin}/figures.js`);
    // A minimal host for the widget. As in Jupyter, the host's model delivers bytes as a DataView.
    const bytes = new Uint8Array(2 + 4 * weights.length);
    bytes.set(new Uint8Array(Float32Array.from(weights).buffer), 2);
    /** @type {Record<string, any>} */
    const traits = {
      ...{ element: 'attn-weights', tokens, selected: null, head: 0 },
      weights: { data: new DataView(bytes.buffer, 2), shape: [3, 3] },
    };
    const events = new EventTarget();
    const saved = /** @type {any[]} */ ([]);
    const model = {
      get: (/** @type {string} */ name) => traits[name],
      set(/** @type {string} */ name, /** @type {unknown} */ value) {
        traits[name] = value;
        events.dispatchEvent(new Event(`change:${name}`));
      },
      save_changes: () => saved.push(structuredClone(traits.selected)),
      on: events.addEventListener.bind(events),
      off: events.removeEventListener.bind(events),
    };
    const el = document.createElement('div');
    document.querySelector('main')?.append(el);
    const remove = await widget.render({ model, el });
    Object.assign(globalThis, { widget: { model, saved, remove } });
  }, /** @type {const} */ ([cdnOrigin, kWeights, kTokens]));
  const element = page.locator('attn-weights');
  await element.getByRole('application').focus();
  await page.keyboard.press('ArrowDown');
  const saved = () =>
    page.evaluate(() => /** @type {any} */ (globalThis).widget.saved.at(-1)?.weight);
  await becomes(saved, 0.25);
  await page.evaluate(() =>
    /** @type {any} */ (globalThis).widget.model.set('tokens', ['le', 'chat', 'dort']),
  );
  await element.getByText('chat').first().waitFor();
  await page.evaluate(() => /** @type {any} */ (globalThis).widget.remove());
  await becomes(() => element.count(), 0);
});
