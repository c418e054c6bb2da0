import assert from 'node:assert/strict';
import test from 'node:test';

import { maxAbsDifference, sinusoidalEncoding } from './reference.js';
import { becomes, heatmap, matches, numberOf, openTestSite, readValues, unfold } from './site.js';

const site = await openTestSite();

const figure = '[id="encoding-schemes"]';
const names = [
  ...['none', 'sinusoidal', 'learned', 'alibi', 't5', 'shaw'],
  ...['rotary', 'linear', 'dynamic', 'yarn', 'llama3'],
];

/** Opens the page at its comparison of encodings. @param {string} [settings] */
async function open(settings = '') {
  const page = await site.visit(`#${settings}&at=encoding.encoding-schemes`);
  const last = page.locator(`${figure} [data-scheme="llama3"]`);
  await last.waitFor({ state: 'attached' });
  await unfold(last);
  await last.waitFor();
  return page;
}

test('products of positions are sums of cosines of their distance', async () => {
  const page = await site.visit('#length=8&width=6&base=4&at=encoding.encoding-similarity');
  const map = heatmap(page, /^Dot products of 8 positions/);
  await map.waitFor();
  const expected = Array.from({ length: 8 }, (_, i) =>
    Array.from({ length: 8 }, (_, k) =>
      [0, 1, 2].reduce((sum, j) => sum + Math.cos((i - k) / 4 ** (j / 3)), 0),
    ),
  );
  assert.ok(maxAbsDifference(await readValues(map, 8, 8), expected) <= 2e-6);
  const legend = page.locator('#encoding-similarity .legend');
  const lowest = Math.min(...expected.flat());
  assert.ok(lowest < 0);
  const [low, high] = [legend.locator('.low'), legend.locator('.high')];
  assert.ok(Math.abs(numberOf(await low.innerText()) - lowest) < 0.005);
  assert.equal(numberOf(await high.innerText()), 3);
  const bar = await legend.locator('.bar').boundingBox();
  const zero = await legend.locator('.bar i').boundingBox();
  const at = ((zero?.x ?? 0) - (bar?.x ?? 0)) / (bar?.width ?? 1);
  assert.ok(Math.abs(at - lowest / (lowest - 3)) < 0.02, `zero at ${at}`);
});

test('every scheme shows its weight for the selected pair of tokens', async () => {
  const page = await open('text=a+rose+is+a+rose');
  const map = heatmap(page, /^none: attention weights, 5 queries by 5 keys/);
  const rows = Object.fromEntries(names.map((name) => [name, /** @type {number[]} */ ([])]));
  await map.focus();
  for (let key = 0; key < 5; key++) {
    if (key > 0) await map.press('ArrowRight');
    for (const name of names) {
      const shown = page.locator(`${figure} [data-weight="${name}"]`);
      const text = (await shown.getAttribute('title')) ?? '';
      rows[name].push(numberOf(text));
    }
  }
  for (const name of names) {
    const sum = rows[name].reduce((total, weight) => total + weight);
    assert.ok(Math.abs(sum - 1) < 1e-6, `${name}: ${sum}`);
  }
  // Equal tokens get equal weights only in the scheme without positions.
  assert.ok(Math.abs(rows.none[0] - rows.none[3]) < 1e-6);
  for (const name of names.slice(1))
    assert.ok(Math.abs(rows[name][0] - rows[name][3]) > 1e-5, name);
});

test('rotary tables are cosines and sines, and position interpolation slows them down', async () => {
  const page = await open('text=a+b+c+d&base=100&factor=8');
  for (const [title, factor] of /** @type {const} */ ([
    ['rotary', 1],
    ['rotary, linear', 8],
  ])) {
    const map = page.getByRole('application', {
      name: `${title}: encoding, 4 rows by 16 columns`,
      exact: true,
    });
    const expected = Array.from({ length: 4 }, (_, position) =>
      Array.from({ length: 16 }, (_, column) => {
        const angle = position / factor / 100 ** ((column % 8) / 8);
        return column < 8 ? Math.cos(angle) : Math.sin(angle);
      }),
    );
    await map.hover();
    assert.ok(maxAbsDifference(await readValues(map, 4, 16), expected) <= 1.2e-7, title);
  }
});

test('the sinusoidal matrix follows the settings of the sentence', async () => {
  const page = await open('text=a+b+c&base=77&dModel=16&heads=2');
  const map = heatmap(page, /^sinusoidal: encoding, 3 rows by 16 columns/);
  await map.hover();
  const values = await readValues(map, 3, 16);
  assert.ok(maxAbsDifference(values, sinusoidalEncoding(3, 16, 77)) <= 1.2e-7);
});

test('no words, one word and heads of one column are handled', async () => {
  const page = await open('text=one&dModel=8&heads=8');
  await matches(
    () => page.locator(figure).innerText(),
    /one column has no pair of columns to rotate/,
  );
  await page.evaluate(() => (location.hash = '#v=1&text=&at=encoding.encoding-schemes'));
  await page.getByText('Nothing to compare yet').waitFor();
});

test('the scheme in use is marked, and curves show how much each rule slows each hand', async () => {
  const page = await open('text=a+b+c&dModel=64&heads=2&factor=4&trained=8');
  const used = page.locator(`${figure} .used`);
  await becomes(() => used.count(), 1);
  await becomes(() => page.locator(`${figure} [data-scheme="sinusoidal"] .used`).count(), 1);
  for (const rule of ['linear', 'dynamic', 'yarn', 'llama3']) {
    // There is one dot for each of 16 clock hands, both for the small model and for a large model.
    const dots = page.locator(`${figure} [data-rule="${rule}"] circle`);
    await becomes(() => dots.count(), 32, rule);
  }
});
