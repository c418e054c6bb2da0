import assert from 'node:assert/strict';
import test from 'node:test';

import { becomes, heatmap, numberOf, openTestSite } from './site.js';

const site = await openTestSite();

/**
 * Opens the page at a figure of the chapter on precision. The page draws only figures in or near
 * the visible area.
 * @param {'error' | 'drift' | 'bytes'} figure
 * @param {string} [settings]
 */
async function open(figure, settings = '') {
  const page = await site.visit(`#${settings}&at=precision.precision-${figure}`);
  const map = {
    error: /^Error of the core/,
    drift: /^Attention weights by the core/,
    bytes: /^Errors of the weights in int8/,
  };
  await heatmap(page, map[figure]).waitFor();
  return page;
}

const error = '[id="precision-error"]';
const drift = '[id="precision-drift"]';

/** @param {import('playwright-core').Locator} element @param {string} name */
const numberIn = async (element, name) => Number(await element.getAttribute(`data-${name}`));

test('the largest errors come from float32 angles and from one rounding', async () => {
  const page = await open('error');
  const largest = (/** @type {string} */ of) =>
    numberIn(page.locator(`${error} [data-of="${of}"]`), 'largest');
  assert.ok((await largest('usual')) > 0.1);
  assert.ok((await largest('core')) <= 3.9e-8);
});

test('a cell shows both errors and the exact value', async () => {
  const page = await open('error');
  const map = heatmap(page, /^Error of usual float32 code/);
  await map.focus();
  for (let i = 0; i < 10; i++) await map.press('PageDown');
  for (let i = 0; i < 5; i++) await map.press('ArrowRight');
  const text = await page.locator(`${error} .readout p`).innerText();
  const [, written] = /exactly\s+(\S+),/.exec(text) ?? [];
  const exact = Math.cos(2 ** 24 / 10000 ** (4 / 32));
  assert.match(text, /position 16,777,216, column 5/);
  assert.ok(Math.abs(numberOf(written) - exact) < 2e-9, text);
  const [, usual] = /usual code\s+(\S+), off/.exec(text) ?? [];
  const [, core] = /core\s+(\S+), off/.exec(text) ?? [];
  const off = {
    usual: await numberIn(page.locator(`${error} [data-value]`), 'value'),
    core: await numberIn(page.locator(`${error} [data-core]`), 'core'),
  };
  assert.ok(Math.abs(Math.abs(numberOf(usual) - exact) - off.usual) < 1e-7);
  assert.ok(Math.abs(Math.abs(numberOf(core) - exact) - off.core) < 1e-9);
  assert.ok(off.usual > 1000 * off.core);
});

test('weights are stable in the core and drift in the usual code', async () => {
  const page = await open('drift');
  const changed = (/** @type {string} */ of) =>
    numberIn(page.locator(`${drift} [data-of="${of}"]`), 'drift');
  assert.ok((await changed('usual')) > 1e-3);
  await page.locator(drift, { hasText: 'from 4,194,304' }).waitFor();
  assert.ok((await changed('core')) < 1e-6);

  // The exact weights, computed from cosines of distances.
  const map = heatmap(page, /^Attention weights by the core/);
  await map.focus();
  for (const key of ['ArrowDown', 'ArrowDown', 'ArrowRight']) await map.press(key);
  const score = (/** @type {number} */ distance) => {
    let sum = 0;
    for (let j = 0; j < 16; j++) sum += Math.cos(distance / 10000 ** (j / 16));
    return Math.exp(sum / Math.sqrt(32));
  };
  const scores = Array.from({ length: 16 }, (_, k) => score(2 - k));
  const exact = scores[1] / scores.reduce((sum, each) => sum + each);
  const weight = async (/** @type {string} */ of) =>
    numberOf(await page.locator(`${drift} [data-weight="${of}"]`).innerText());
  assert.ok(Math.abs((await weight('core')) - exact) < 1e-6);
  assert.ok(Math.abs((await weight('usual')) - exact) > 1e-4);
});

test('the window starts at the selected position', async () => {
  const page = await open('error', 'width=8&base=100');
  const map = heatmap(page, /^Error of the core, 93 positions by 8 columns/);
  await map.focus();
  // Enter locks the selection, so that it stays while the page scrolls.
  for (const key of ['ArrowDown', 'Enter']) await map.press(key);
  await page.locator(drift).scrollIntoViewIfNeeded();
  await page.locator(drift, { hasText: 'from 1' }).waitFor();
});

const bytes = '[id="precision-bytes"]';

test('fewer bytes: each map shows its largest and mean error, and a cell its numbers', async () => {
  const page = await open('bytes', 'width=16&length=20');
  const largest = (/** @type {string} */ of) =>
    numberIn(page.locator(`${bytes} [data-of="${of}"]`), 'largest');
  await becomes(() => page.locator(`${bytes} [data-of]`).count(), 9);
  assert.ok((await largest('encoding-float16')) <= 2 ** -12);
  const [two, one] = [await largest('encoding-bfloat16'), await largest('encoding-int8')];
  assert.ok(two > 2 ** -11 && two <= 2 ** -9 && one > two && one <= 0.5 / 127 + 1e-6);

  const map = heatmap(page, /^Errors of the numbers in bfloat16, 20 by 16/);
  await map.focus();
  for (const key of ['ArrowDown', 'ArrowDown', 'Enter']) await map.press(key);
  const exact = numberOf(await page.locator(`${bytes} [data-exact]`).innerText());
  assert.ok(Math.abs(exact - Math.sin(2)) < 1e-7);
  // bfloat16 has 8 significant binary digits, so 0.909… is rounded to a multiple of 1/256.
  const off = await numberIn(page.locator(`${bytes} [data-off="bfloat16"]`), 'value');
  assert.ok(Math.abs(off - Math.abs(Math.round(256 * exact) / 256 - exact)) < 1e-7);
  await page.waitForFunction(() => location.hash.includes('bytesCell=encoding.2.0'));
});

test('fewer bytes: cells of the sentence are labelled with its words', async () => {
  const page = await open('bytes', 'text=one+two+three');
  await page.getByRole('radio', { name: 'your sentence' }).check({ force: true });
  const map = heatmap(page, /^Errors of the weights in int8, 3 by 3/);
  await map.focus();
  await map.press('ArrowRight');
  const text = await page.locator(`${bytes} .readout p`).innerText();
  assert.match(text, /“one” attends to “two”, weight/);
});
