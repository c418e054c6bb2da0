import assert from 'node:assert/strict';
import test from 'node:test';

import { maxAbsDifference, sinusoidalEncoding } from './reference.js';
import { becomes, heatmap, matches, numberOf, openTestSite, readValues, unfold } from './site.js';

const site = await openTestSite();

const figure = '[id="rotation-shift"]';

/** The error bound that the core states for a rotated encoding. */
const tolerance = 2.7e-7;

/** Opens the page at its chapter on rotations. @param {string} [settings] */
async function open(settings = '') {
  const page = await site.visit(`#${settings}&at=rotation.rotation-shift`);
  await heatmap(page, /^Turned/).waitFor();
  return page;
}

test('both ways give the exact encoding δ positions later', async () => {
  const page = await open('length=9&width=8&base=50&delta=4');
  const turned = await readValues(heatmap(page, /^Turned encoding, 9 positions by 8/), 9, 8);
  const expected = sinusoidalEncoding(13, 8, 50).slice(4);
  assert.ok(maxAbsDifference(turned, expected) <= tolerance);
  const encoded = page.locator(`${figure} [data-encoded]`);
  // The last cell that was read is still selected.
  assert.ok(
    Math.abs(numberOf((await encoded.getAttribute('title')) ?? '') - expected[8][7]) <= 1.2e-7,
  );
});

test('the number is the largest difference', async () => {
  const page = await open('length=9&width=8&base=50&delta=-3.5');
  const largest = Number(
    await page.locator(`${figure} [data-largest]`).getAttribute('data-largest'),
  );
  assert.ok(largest > 0 && largest <= tolerance + 1.2e-7);
  await unfold(page.locator(figure));
  const rows = await page.evaluate(async () => {
    const cells = [];
    const map = /** @type {HTMLElement} */ (
      document.querySelector('[role="application"][aria-label^="Difference"]')
    );
    const readout = /** @type {HTMLElement} */ (
      document.getElementById(map.getAttribute('aria-describedby') ?? '')
    );
    for (let row = 0; row < 9; row++) {
      for (let column = 0; column < 8; column++) {
        const box = map.getBoundingClientRect();
        map.dispatchEvent(
          new PointerEvent('pointermove', {
            bubbles: true,
            pointerType: 'mouse',
            clientX: box.left + ((column + 0.5) / 8) * box.width,
            clientY: box.top + ((row + 0.5) / 9) * box.height,
          }),
        );
        await new Promise((resolve) => setTimeout(resolve));
        cells.push(
          ['encoded', 'value'].map(
            (name) => readout.querySelector(`[data-${name}]`)?.getAttribute('title') ?? '',
          ),
        );
      }
    }
    return cells;
  });
  const differences = rows.map(([encoded, turned]) =>
    Math.abs(numberOf(encoded) - numberOf(turned)),
  );
  assert.ok(Math.abs(Math.max(...differences) - largest) < 1e-9);
});

test('M consists of rotations, and its blocks are drawn with their numbers', async () => {
  const page = await open('length=20&width=6&base=10000&delta=7');
  const values = await readValues(heatmap(page, /^The matrix M, 6 by 6/), 6, 6);
  const expected = Array.from({ length: 6 }, (_, row) =>
    Array.from({ length: 6 }, (_, column) => {
      if (row >> 1 !== column >> 1) return 0;
      const angle = 7 / 10000 ** ((2 * (row >> 1)) / 6);
      if (row === column) return Math.cos(angle);
      return row < column ? Math.sin(angle) : -Math.sin(angle);
    }),
  );
  assert.ok(maxAbsDifference(values, expected) <= 1.2e-7);
  for (const pair of [0, 1, 2]) {
    const cells = page.locator(`${figure} [data-pair="${pair}"] td`);
    const numbers = (await cells.allTextContents()).map(numberOf);
    const block = [0, 1].flatMap((row) =>
      [0, 1].map((column) => expected[2 * pair + row][2 * pair + column]),
    );
    numbers.forEach((value, i) => assert.ok(Math.abs(value - block[i]) <= 0.0051, `${pair} ${i}`));
  }
});

test('the sliders move δ and the position', async () => {
  const page = await open();
  const slider = (/** @type {string} */ name) => page.locator(figure).getByRole('slider', { name });
  await slider('distance').press('ArrowRight');
  await page.waitForURL(/delta=5\.5/);
  await slider('distance').press('Home');
  await page.waitForURL(/delta=-100/);
  await slider('position').press('End');
  await page.waitForURL(/position=59/);
});

test('an odd width is drawn without its last sine, and the page says so', async () => {
  const page = await open('width=7');
  await heatmap(page, /^Turned encoding, 60 positions by 6 columns/).waitFor();
  await matches(
    () => page.locator(figure).innerText(),
    /last of 7 columns is a sine without a cosine/,
  );
});

test('a score depends only on the distance of a query and a key', async () => {
  const page = await site.visit(
    '#delta=3&position=4&text=the+cat+was+tired&at=rotation.rotation-rotary',
  );
  const figure = page.locator('#rotation-rotary');
  const score = figure.locator('[data-score]');
  const scoreNow = async () => Number(await score.getAttribute('data-score'));
  const before = await scoreNow();
  await figure.getByRole('slider', { name: 'position of the key' }).fill('20');
  await figure.getByText('at position 23, key').waitFor();
  await becomes(async () => Math.abs((await scoreNow()) - before) < 1e-5, true);
  await figure.getByRole('slider', { name: 'distance' }).fill('4');
  await figure.getByText('at position 24, key').waitFor();
  await becomes(async () => Math.abs((await scoreNow()) - before) > 1e-2, true);
  // The heatmap shows the same scores as the figure's text.
  const map = heatmap(page, /^Scores of a query and a key/);
  const values = await readValues(map, 4, 4);
  for (const distance of [-2, 0, 1]) {
    const all = [0, 1, 2, 3].flatMap((key) => values[key + distance]?.[key] ?? []);
    assert.ok(Math.max(...all) - Math.min(...all) < 1e-5);
  }
  const says = page.locator('#rotation');
  await says.getByText('Below are two words of your sentence').waitFor();
  const type = (/** @type {string} */ text) => page.getByRole('textbox').fill(text);
  await type('tired');
  await says.getByText('Your sentence has only one word').waitFor();
  await type('');
  await says.getByText('You have typed no sentence').waitFor();
});

test('every figure offers its own program', async () => {
  for (const [id, line] of [
    ['rotation-shift', 'const difference = '],
    ['rotation-sine', 'const sines = '],
    ['rotation-rotary', 'const { scaledScores: scores } = '],
  ]) {
    const page = await site.visit(`#delta=3&at=rotation.${id}`);
    const figure = page.locator(`#${id}`);
    await figure.getByRole('button', { name: /^Code for/ }).click();
    await figure.getByRole('tab', { name: 'JavaScript' }).click();
    assert.ok((await figure.locator('pre').innerText()).includes(line), id);
  }
});
