import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';

import { maxAbsDifference, sinusoidalEncoding } from './reference.js';
import { heatmap, numberOf, openSite, readValues, shownValue } from './site.js';

/** @type {import('./site.js').Site} */
let site;
before(async () => (site = await openSite()));
after(() => site.close());

const name = /^Sinusoidal encoding/;

/** What the core promises for every position up to 2^24. */
const tolerance = 1.2e-7;

test('every cell is the exact value to float32 precision', async () => {
  const page = await site.open();
  const values = await readValues(heatmap(page, name), 60, 32);
  assert.ok(maxAbsDifference(values, sinusoidalEncoding(60, 32, 10000)) <= tolerance);
});

test('length, width and base change what is drawn, odd widths included', async () => {
  const page = await site.open('#length=7&width=5&base=50');
  const map = page.getByRole('application', { name: `${name.source.slice(1)}, 7 positions by 5` });
  const values = await readValues(map, 7, 5);
  assert.ok(maxAbsDifference(values, sinusoidalEncoding(7, 5, 50)) <= tolerance);
});

test('sliders obey the keyboard', async () => {
  const page = await site.open();
  await page.getByRole('slider', { name: 'length' }).press('ArrowRight');
  await page.getByRole('slider', { name: 'width' }).press('End');
  await page.getByRole('slider', { name: 'base' }).press('Home');
  await page.getByRole('application', { name: /61 positions by 128 columns/ }).waitFor();
  assert.equal(
    await page.getByRole('slider', { name: 'base' }).getAttribute('aria-valuetext'),
    '2',
  );
});

test('dragging a slider redraws', async () => {
  const page = await site.open();
  const slider = page.getByRole('slider', { name: 'length' });
  await slider.scrollIntoViewIfNeeded();
  const box = /** @type {NonNullable<Awaited<ReturnType<typeof slider.boundingBox>>>} */ (
    await slider.boundingBox()
  );
  await page.mouse.move(box.x + 0.3 * box.width, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width, box.y + box.height / 2, { steps: 8 });
  await page.mouse.up();
  await page.getByRole('application', { name: /200 positions/ }).waitFor();
});

test('the extremes of all sliders are drawn', async () => {
  for (const fragment of ['#length=1&width=1&base=2', '#length=200&width=128&base=1000000']) {
    const page = await site.open(fragment);
    const map = heatmap(page, name);
    await map.focus();
    assert.equal(await shownValue(map), 0);
    await map.press('End');
    await map.press('PageDown');
    assert.ok(Math.abs(await shownValue(map)) <= 1);
  }
});

test('arrow keys walk over the cells, Enter locks and Escape lets go', async () => {
  const page = await site.open();
  const map = heatmap(page, name);
  await map.focus();
  for (const key of ['ArrowDown', 'ArrowDown', 'ArrowRight', 'ArrowLeft', 'ArrowRight']) {
    await map.press(key);
  }
  assert.ok(Math.abs((await shownValue(map)) - Math.cos(2)) <= tolerance);
  await map.press('Enter');
  await page.mouse.move(5, 5);
  await page.getByRole('textbox').focus();
  assert.ok(Math.abs((await shownValue(map)) - Math.cos(2)) <= tolerance);
  await map.focus();
  await map.press('Escape');
  assert.equal(
    await page.locator('[data-value]').count(),
    1,
    'only the shuffle figure has a value',
  );
});

test('a click locks a cell, another unlocks it', async () => {
  const page = await site.open();
  const map = heatmap(page, name);
  const unlock = page.getByRole('button', { name: 'unlock' });
  await map.click({ position: { x: 3, y: 100 } });
  const locked = await shownValue(map);
  await map.hover({ position: { x: 200, y: 300 } });
  assert.equal(await shownValue(map), locked);
  await map.click({ position: { x: 3, y: 100 } });
  await map.hover({ position: { x: 200, y: 300 } });
  assert.notEqual(await shownValue(map), locked);
  assert.equal(await unlock.count(), 0);
  await map.click({ position: { x: 3, y: 100 } });
  await unlock.click();
  assert.equal(await unlock.count(), 0);
});

test('columns 6 to 9 are drawn as curves, others can be added and removed', async () => {
  const page = await site.open();
  const curves = page.getByRole('img', { name: /^Curves of columns/ });
  const columns = async () => (await curves.getAttribute('aria-label'))?.match(/\d+/g)?.join();
  assert.equal(await columns(), '6,7,8,9');

  await page.getByRole('button', { name: /^Remove the curve of column 7/ }).click();
  assert.equal(await columns(), '6,8,9');

  const map = heatmap(page, name);
  await map.focus();
  await map.press('ArrowRight');
  await map.press('c');
  assert.equal(await columns(), '1,6,8,9');

  const header = page.getByTitle('Click to draw a column as a curve');
  const { width } = /** @type {{ width: number }} */ (await header.boundingBox());
  await header.click({ position: { x: (20.5 / 32) * width, y: 8 } });
  assert.equal(await columns(), '1,6,8,9,20');
  await header.click({ position: { x: (20.5 / 32) * width, y: 8 } });
  assert.equal(await columns(), '1,6,8,9');
});

test('a curve passes through the values of its column', async () => {
  const page = await site.open('#columns=8');
  const svg = page.getByRole('img', { name: 'Curves of columns 8' });
  const path = (await svg.locator('path.curve').getAttribute('d')) ?? '';
  const zero = numberOf((await svg.locator('line.zero').getAttribute('x1')) ?? '');
  const points = path
    .split(/[ML]/)
    .slice(1)
    .map((point) => point.split(',').map(Number));
  const expected = sinusoidalEncoding(60, 32, 10000).map((row) => row[8]);
  assert.equal(points.length, 60);
  const amplitude = Math.max(...points.map(([x]) => x - zero));
  points.forEach(([x], i) => assert.ok(Math.abs((x - zero) / amplitude - expected[i]) < 0.005));
});

test('the legend has the true range', async () => {
  const page = await site.open();
  const legend = page.locator('.legend', { hasText: 'encoding' });
  assert.equal(await legend.locator('.low').innerText(), '−1');
  assert.equal(await legend.locator('.high').innerText(), '1');
});
