import assert from 'node:assert/strict';
import test from 'node:test';

import { maxAbsDifference, sinusoidalEncoding, sinusoidalEncodingAt } from './reference.js';
import {
  becomes,
  contentOf,
  heatmap,
  matches,
  numberOf,
  openTestSite,
  readValues,
  settled,
  shownValue,
  unfold,
} from './site.js';

const site = await openTestSite();

const name = /^Sinusoidal encoding/;

/** The error bound that the core states for every position up to 2^24. */
const tolerance = 1.2e-7;

/** Opens the page at its chapter on positional encoding. @param {string} [settings] */
async function open(settings = '') {
  const page = await site.visit(`#${settings}&at=encoding`);
  await heatmap(page, name).waitFor();
  return page;
}

const figure = '[id="encoding-heatmap"]';

test('every cell is the exact value to float32 precision, and the legend has the true range', async () => {
  const page = await open();
  const values = await readValues(heatmap(page, name), 60, 32);
  assert.ok(maxAbsDifference(values, sinusoidalEncoding(60, 32, 10000)) <= tolerance);
  const legend = page.locator(`${figure} .legend`);
  await becomes(() => legend.locator('.low').innerText(), '−1');
  await becomes(() => legend.locator('.high').innerText(), '1');
});

test('length, width, base, start and step change the picture, including odd widths', async () => {
  const page = await open('length=7&width=5&base=50&start=999990&step=7');
  const map = page.getByRole('application', { name: `${name.source.slice(1)}, 7 positions by 5` });
  const values = await readValues(map, 7, 5);
  const positions = Array.from({ length: 7 }, (_, i) => 999990 + 7 * i);
  assert.ok(maxAbsDifference(values, sinusoidalEncodingAt(positions, 5, 50)) <= tolerance);
});

test('sliders respond to the keyboard', async () => {
  const page = await open();
  await page.locator(figure).getByRole('slider', { name: 'length' }).press('ArrowRight');
  await page.locator(figure).getByRole('slider', { name: 'width' }).press('End');
  await page.locator(figure).getByRole('slider', { name: 'base' }).press('Home');
  await page.getByRole('application', { name: /61 positions by 512 columns/ }).waitFor();
  await becomes(
    () => page.locator(figure).getByRole('slider', { name: 'base' }).getAttribute('aria-valuetext'),
    '2',
  );
});

test('dragging a slider redraws', async () => {
  const page = await open();
  const slider = page.locator(figure).getByRole('slider', { name: 'length' });
  await slider.scrollIntoViewIfNeeded();
  await settled(page);
  const box = /** @type {NonNullable<Awaited<ReturnType<typeof slider.boundingBox>>>} */ (
    await slider.boundingBox()
  );
  await page.mouse.move(box.x + 0.3 * box.width, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width, box.y + box.height / 2, { steps: 8 });
  await page.mouse.up();
  await page.getByRole('application', { name: /512 positions/ }).waitFor();
});

test('the extremes of all sliders are drawn', async () => {
  for (const settings of [
    'length=1&width=1&base=2',
    'length=512&width=512&base=1000000&start=1000000&step=10000',
  ]) {
    const page = await open(settings);
    const map = heatmap(page, name);
    await map.focus();
    const first = settings.includes('start') ? Math.sin(1e6) : 0;
    assert.ok(Math.abs((await shownValue(map)) - first) <= tolerance);
    await map.press('End');
    await map.press('PageDown');
    assert.ok(Math.abs(await shownValue(map)) <= 1);
  }
});

test('arrow keys move between cells, Enter locks and Escape releases', async () => {
  const page = await open();
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
  await becomes(() => page.locator(`${figure} [data-value]`).count(), 0);
});

test('a click locks a cell, another unlocks it', async () => {
  const page = await open();
  const map = heatmap(page, name);
  const unlock = page.locator(figure).getByRole('button', { name: 'unlock' });
  await map.click({ position: { x: 3, y: 100 } });
  const locked = await shownValue(map);
  await map.hover({ position: { x: 200, y: 300 } });
  await becomes(() => shownValue(map), locked);
  await map.click({ position: { x: 3, y: 100 } });
  await map.hover({ position: { x: 200, y: 300 } });
  assert.notEqual(await shownValue(map), locked);
  await becomes(() => unlock.count(), 0);
  await map.click({ position: { x: 3, y: 100 } });
  await unlock.click();
  await becomes(() => unlock.count(), 0);
});

test('columns 6 to 9 are drawn as curves, and columns can be added and removed', async () => {
  const page = await open();
  const curves = page.getByRole('img', { name: /^Curves of columns/ });
  const columns = async () => (await curves.getAttribute('aria-label'))?.match(/\d+/g)?.join();
  await becomes(() => columns(), '6,7,8,9');

  await page.getByRole('button', { name: /^Remove the curve of column 7/ }).click();
  await becomes(() => columns(), '6,8,9');

  const map = heatmap(page, name);
  await map.focus();
  await map.press('ArrowRight');
  await map.press('c');
  await becomes(() => columns(), '1,6,8,9');

  const header = page.getByTitle('Click to draw a column as a curve');
  const { width } = /** @type {{ width: number }} */ (await header.boundingBox());
  await header.click({ position: { x: (20.5 / 32) * width, y: 8 } });
  await becomes(() => columns(), '1,6,8,9,20');
  await header.click({ position: { x: (20.5 / 32) * width, y: 8 } });
  await becomes(() => columns(), '1,6,8,9');
});

test('a curve passes through the values of its column', async () => {
  const page = await open('columns=8');
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

test('clock hands point at the sine and cosine of their pair', async () => {
  const page = await open();
  await page.locator(`${figure} [data-pair="3"]`).hover();
  await becomes(() => page.locator(`${figure} [data-position]`).innerText(), '10');
  for (const pair of [0, 1, 3, 15]) {
    const face = page.locator(`${figure} [data-pair="${pair}"]`);
    const tip = face.locator('circle.tip');
    const radius = Number(await face.locator('circle.face').getAttribute('r'));
    const angle = 10 / 10000 ** (pair / 16);
    const turned = await face.locator('g').getAttribute('transform');
    const turn = (Number(/^rotate\((\S+)\)$/.exec(turned ?? '')?.[1]) * Math.PI) / 180;
    // The tip of the clock hand. In an SVG, rotation is clockwise and the y axis points downwards.
    assert.equal(Number(await tip.getAttribute('cy')), -radius);
    const [x, y] = [radius * Math.sin(turn), -radius * Math.cos(turn)];
    assert.ok(Math.abs(x / radius - Math.sin(angle)) < 1e-6, `${pair}`);
    assert.ok(Math.abs(-y / radius - Math.cos(angle)) < 1e-6, `${pair}`);
  }
});

test('time passes until the reader stops it', async () => {
  // Other tests must not share this page, because this test stops the page's clock.
  const page = await site.open('#at=encoding');
  const position = page.locator(`${figure} [data-position]`);
  await page.clock.install();
  await page.clock.pauseAt(Date.now() + 60_000);
  await page.getByRole('button', { name: 'Let time pass' }).click();
  await page.clock.runFor(4 * 120);
  await becomes(() => position.innerText(), '14');
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.clock.runFor(4 * 120);
  await becomes(() => position.innerText(), '14');
});

test('pointing at a clock, a bit or a cell marks its counterparts', async () => {
  const page = await open();
  const map = heatmap(page, name);
  const counter = page.getByRole('img', { name: /as binary numbers of 6 bits/ });
  const markedBit = page.locator(`${figure} .names text.marked`);
  const markedPair = page.locator(`${figure} .clock.selected`);

  // Pair 3 has a period of 35 positions. Bit 4, with a period of 32 positions, is closest.
  await page.locator(`${figure} [data-pair="3"]`).hover();
  await becomes(() => markedBit.textContent(), '24');
  await becomes(() => markedPair.getAttribute('data-pair'), '3');
  await matches(() => page.locator(`${figure} .readout`).innerText(), /position 10, column 6/);

  // Bit 5 has a period of 64 positions, and pair 4 has almost the same period.
  const box = /** @type {{ width: number, height: number }} */ (await counter.boundingBox());
  // Focusing may scroll the page so that the pointer is over another element.
  await map.focus();
  await counter.hover({ position: { x: box.width / 12, y: (20.5 / 60) * box.height } });
  await becomes(() => markedPair.getAttribute('data-pair'), '4');
  await becomes(() => page.locator(`${figure} [data-position]`).innerText(), '20');

  await page.keyboard.press('Enter');
  await page.keyboard.press('Home');
  await becomes(() => markedPair.getAttribute('data-pair'), '0');
  await page.waitForURL(/encodingCell=20\.0/);
});

test('a link to eight positions shows the binary numbers of D2L 11.6.3', async () => {
  const page = await open('length=8&width=8');
  const digits = page.locator(`${figure} .digits text`);
  const written = (await digits.allTextContents()).join('');
  // The page draws the lowest bit first.
  const expected = Array.from({ length: 8 }, (_, i) =>
    i.toString(2).padStart(3, '0').split('').reverse().join(''),
  ).join('');
  assert.equal(written, expected);
});

test('the curves are drawn on the same axes, and saved alone', async () => {
  const page = await open('columns=6,7,8,9&length=60&width=32');
  await page.locator(figure).getByRole('button', { name: 'curves on the same axes' }).click();
  await page.waitForURL(({ hash }) => hash.includes('curves=axes'));
  const chart = page.getByRole('img', { name: 'Curves of columns 6, 7, 8, 9 over the position' });
  const paths = await chart
    .locator('path')
    .evaluateAll((all) => all.map((path) => path.getAttribute('d') ?? ''));
  const expected = sinusoidalEncoding(60, 32, 10000);
  const [top, bottom] = [8, 360 - 42];
  paths.forEach((path, i) => {
    const heights = path
      .slice(1)
      .split('L')
      .map((point) => Number(point.split(',')[1]));
    assert.equal(heights.length, 60);
    heights.forEach((height, row) => {
      const value = ((bottom + top) / 2 - height) / ((bottom - top) / 2);
      assert.ok(Math.abs(value - expected[row][6 + i]) < 1e-3, `column ${6 + i}, row ${row}`);
    });
  });
  await page
    .locator(figure)
    .getByRole('button', { name: /^Export/ })
    .click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page
      .locator(`${figure} li`, { hasText: 'only the curves' })
      .getByRole('button', { name: 'SVG', exact: true })
      .click(),
  ]);
  assert.equal(download.suggestedFilename(), 'encoding-heatmap-curves.svg');
  const svg = (await contentOf(download)).toString();
  assert.match(svg, /aria-label="column 6"/);
  assert.doesNotMatch(svg, /in binary/);
});

const schemes = '[id="encoding-schemes"]';
const schemeNames = [
  ...['none', 'sinusoidal', 'learned', 'alibi', 't5', 'shaw'],
  ...['rotary', 'linear', 'dynamic', 'yarn', 'llama3'],
];

/** Opens the page at its comparison of encodings. @param {string} [settings] */
async function openSchemes(settings = '') {
  const page = await site.visit(`#${settings}&at=encoding.encoding-schemes`);
  const last = page.locator(`${schemes} [data-scheme="llama3"]`);
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
  const page = await openSchemes('text=a+rose+is+a+rose');
  const map = heatmap(page, /^none: attention weights, 5 queries by 5 keys/);
  const rows = Object.fromEntries(schemeNames.map((name) => [name, /** @type {number[]} */ ([])]));
  await map.focus();
  for (let key = 0; key < 5; key++) {
    if (key > 0) await map.press('ArrowRight');
    for (const name of schemeNames) {
      const shown = page.locator(`${schemes} [data-weight="${name}"]`);
      const text = (await shown.getAttribute('title')) ?? '';
      rows[name].push(numberOf(text));
    }
  }
  for (const name of schemeNames) {
    const sum = rows[name].reduce((total, weight) => total + weight);
    assert.ok(Math.abs(sum - 1) < 1e-6, `${name}: ${sum}`);
  }
  // Equal tokens get equal weights only in the scheme without positions.
  assert.ok(Math.abs(rows.none[0] - rows.none[3]) < 1e-6);
  for (const name of schemeNames.slice(1))
    assert.ok(Math.abs(rows[name][0] - rows[name][3]) > 1e-5, name);
});

test('the cards show what encodes positions, and the attention only on request', async () => {
  const page = await site.visit('#v=2&weights=identity&at=encoding.encoding-schemes');
  const weights = page.locator(schemes).getByRole('application', { name: /attention weights/ });
  await heatmap(page, /^T5: bias/).waitFor();
  await becomes(() => weights.count(), 0);
  await page.getByRole('switch', { name: 'also show the attention' }).check({ force: true });
  await weights.first().waitFor();
});

test('rotary tables are cosines and sines, and position interpolation slows them down', async () => {
  const page = await openSchemes('text=a+b+c+d&base=100&factor=8');
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
  const page = await openSchemes('text=a+b+c&base=77&dModel=16&heads=2');
  const map = heatmap(page, /^sinusoidal: encoding, 3 rows by 16 columns/);
  await map.hover();
  const values = await readValues(map, 3, 16);
  assert.ok(maxAbsDifference(values, sinusoidalEncoding(3, 16, 77)) <= 1.2e-7);
});

test('no words, one word and heads of one column are handled', async () => {
  const page = await openSchemes('text=one&dModel=8&heads=8');
  await matches(
    () => page.locator(schemes).innerText(),
    /one column has no pair of columns to rotate/,
  );
  await page.evaluate(() => (location.hash = '#v=1&text=&at=encoding.encoding-schemes'));
  await page.getByText('Nothing to compare yet').waitFor();
});

test('the scheme in use is marked, and curves show how much each rule slows each hand', async () => {
  const page = await openSchemes('text=a+b+c&dModel=64&heads=2&factor=4&trained=8');
  const used = page.locator(`${schemes} .used`);
  await becomes(() => used.count(), 1);
  await becomes(() => page.locator(`${schemes} [data-scheme="sinusoidal"] .used`).count(), 1);
  for (const rule of ['linear', 'dynamic', 'yarn', 'llama3']) {
    // There is one dot for each of 16 clock hands, both for the small model and for a large model.
    const dots = page.locator(`${schemes} [data-rule="${rule}"] circle`);
    await becomes(() => dots.count(), 32, rule);
  }
});
