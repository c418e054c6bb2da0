import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from 'attn';

import { exclusionOf } from '../../web/src/core/exclusion.js';
import { headStatistics } from '../../web/src/core/statistics.js';
import { Spelled } from '../../web/src/models/spelled.js';
import { parseSettings } from '../../web/src/state/url.js';
import { maxAbsDifference } from './reference.js';
import {
  becomes,
  heatmap,
  matches,
  numberOf,
  openTestSite,
  readValues,
  settled,
  shownValue,
  weightsMap,
} from './site.js';

const site = await openTestSite();

const sentence = 'the cat sat on the mat';
const text = `text=${sentence.replaceAll(' ', '+')}&at=self-attention.weights`;
/**
 * A link to the pipeline with the same sentence, and a window that is tall enough for both figures.
 */
const both = text.replace('weights', 'pipeline');
const high = { viewport: { width: 1440, height: 2400 } };
const n = 6;
const dModel = 64;

/** The rows of a matrix, or of one matrix in a stack. @param {import('attn').Tensor} tensor */
const rowsOf = ({ data, shape }, at = 0) => {
  const [rows, columns] = shape.slice(-2);
  return Array.from({ length: rows }, (_, i) => {
    const start = (at * rows + i) * columns;
    return [...data.subarray(start, start + columns)];
  });
};

/**
 * Computes in Node what the figures show. spelled.test.js compares these numbers with the equations.
 * @param {string} link
 */
async function layerInNode(link) {
  const spelled = new Spelled(await load({ threads: 1 }));
  const settings = parseSettings(`v=1&${link}`);
  const given = { ...settings, ...spelled.split(settings.text), rotary: false };
  const shown = spelled.sentence(given, exclusionOf(given, given.tokens.length));
  const { weights } = shown.attend();
  const { embedding, input } = shown;
  shown.dispose();
  return { embedding: rowsOf(embedding), input: rowsOf(input), weights };
}

test('the pipeline and the weights show the numbers of the layer in the settings', async () => {
  const link = `${both}&weights=xavier&seed=5&heads=2&head=1&window=3&blocked=3.2`;
  const page = await site.visit(`#${link}`, high);
  const { embedding, input, weights } = await layerInNode(link);
  const near = (/** @type {number[][]} */ shown, /** @type {number[][]} */ expected) =>
    // Node may not support the browser's instruction set, which rounds differently.
    assert.ok(maxAbsDifference(shown, expected) < 1e-5);
  near(await readValues(heatmap(page, /^Input of/), n, dModel), input);
  near(await readValues(weightsMap(page), n, n), rowsOf(weights, 1));
  for (const [name, value] of Object.entries(headStatistics(weights, 1))) {
    const ofHead = page.locator(`#weights [data-${name}]`).nth(1);
    const shown = await ofHead.getAttribute(`data-${name}`);
    assert.ok(Math.abs(Number(shown) - value) < 1e-5, `${name}: ${shown} against ${value}`);
  }
  // The legend ends at the largest weight of all heads.
  const largest = Math.max(...weights.data);
  const end = page.locator('#weights .caption .legend .high');
  await becomes(async () => numberOf(await end.innerText()), Number(largest.toPrecision(3)));
  await page.getByRole('radio', { name: 'none' }).first().check({ force: true });
  near(await readValues(heatmap(page, /^Input of/), n, dModel), embedding);
  near(await readValues(heatmap(page, /^Embeddings/), n, dModel), embedding);
});

test('the encoding can have its own colour scale, and the legends say so', async () => {
  const page = await site.visit(`#${both}`);
  const legends = () => page.locator('#pipeline .legend').allInnerTexts();
  const red = () =>
    heatmap(page, /^Positional encoding, 6 positions/)
      .locator('canvas')
      .evaluate((/** @type {HTMLCanvasElement} */ canvas) =>
        Array.from(canvas.getContext('2d')?.getImageData(1, 0, 1, 1).data ?? []),
      );
  await becomes(async () => /^X, P and X \+ P/.test((await legends())[0]), true);
  const pale = await red();
  await page.getByRole('switch', { name: 'separate colour scale for P' }).check();
  await becomes(async () => (await legends()).length, 3);
  await matches(async () => (await legends()).join(' '), /X and X \+ P\s.*\sP\s+−1\s+1/s);
  await becomes(async () => (await red())[2] < pale[2] - 50, true);
  await page.waitForURL(({ hash }) => /[#&]ownScale=1(&|$)/.test(hash));
});

test('the page says which weights it uses', async () => {
  const page = await site.visit('#at=self-attention.weights');
  await page.getByText(/^Identity projections: head 1 compares columns 0 to 15/).waitFor();
  await page.getByRole('radio', { name: 'random' }).check({ force: true });
  await page.getByText(/^Random projections: .* seed 1/).waitFor();
  await page.getByRole('button', { name: 'seed 1' }).click();
  await page.getByText(/^Random projections: .* seed 2/).waitFor();
});

test('every keystroke redraws the figures', async () => {
  const page = await site.visit('#at=self-attention&text=');
  const box = page.getByRole('textbox');
  await page.getByText('Nothing to look at yet').waitFor();
  for (const [typed, tokens] of /** @type {[string, number][]} */ ([
    ['o', 1],
    ['n', 1],
    [' ', 1],
    ['o', 2],
    ['ff', 2],
    ['!', 3],
  ])) {
    await box.pressSequentially(typed);
    const size = tokens === 1 ? '1 query by 1 key' : `${tokens} queries by ${tokens} keys`;
    await page.getByRole('application', { name: size }).first().waitFor();
  }
  await box.fill('');
  await page.getByText('Nothing to look at yet').waitFor();
});

test('a token selected in one figure is marked in the other', async () => {
  // Both figures are drawn only if both are in view.
  const page = await site.visit(`#${text.replace('.weights', '')}`, {
    viewport: { width: 1440, height: 3200 },
  });
  const map = heatmap(page, /^Embeddings/);
  await map.focus();
  await map.press('ArrowDown');
  await becomes(() => page.locator('text.selected').allTextContents(), ['cat', 'cat']);
});

test('emoji, right-to-left and very long input are drawn', async () => {
  const page = await site.visit('#at=self-attention.weights');
  const box = page.getByRole('textbox');
  await box.fill('سلام 👩‍👩‍👧 שלום !');
  await page.getByRole('application', { name: '4 queries by 4 keys' }).first().waitFor();
  await box.fill('long '.repeat(20000));
  await page.getByText('2,400 tokens; the first 2,048 are used').waitFor();
  await page.getByText('The sentence was cut after 12,000 characters.').waitFor();
  await box.fill('x'.repeat(3000));
  const map = weightsMap(page);
  await map.focus();
  await becomes(() => shownValue(map), 1);
});

test('a locked cell that the sentence no longer has does not block the figure', async () => {
  const page = await site.visit(`#${text}`);
  const map = weightsMap(page);
  const { width, height } = /** @type {{ width: number, height: number }} */ (
    await map.boundingBox()
  );
  await map.click({ position: { x: width - 5, y: height - 5 } });
  await page.getByRole('textbox').fill('one two');
  await page.getByRole('application', { name: '2 queries by 2 keys' }).first().waitFor();
  await map.hover({ position: { x: 10, y: 10 } });
  assert.ok((await shownValue(map)) > 0);
  await becomes(() => page.getByRole('button', { name: 'unlock' }).count(), 0);
});

test('dragging excludes cells, and the keyboard includes them again', async () => {
  const page = await site.visit(`#${text}`);
  const map = weightsMap(page);
  await page.getByRole('switch', { name: 'mask single cells' }).check();
  await map.scrollIntoViewIfNeeded();
  await settled(page);
  const box = /** @type {{ x: number, y: number, width: number }} */ (await map.boundingBox());
  const at = (/** @type {number} */ i) => ((i + 0.5) / n) * box.width;
  await page.mouse.move(box.x + at(1), box.y + at(2));
  await page.mouse.down();
  await page.mouse.move(box.x + at(4), box.y + at(2), { steps: 12 });
  await page.mouse.up();
  await page.getByRole('button', { name: 'clear 4 painted' }).first().waitFor();
  const row = (await readValues(map, n, n))[2];
  assert.deepEqual(
    row.map((weight) => weight === 0),
    [false, true, true, true, true, false],
  );
  await map.focus();
  for (const key of ['Home', 'ArrowUp', 'ArrowUp', 'ArrowUp', 'ArrowUp', 'ArrowUp'])
    await map.press(key);
  for (const key of ['ArrowDown', 'ArrowDown', 'ArrowRight', 'Enter']) await map.press(key);
  await page.getByRole('button', { name: 'clear 3 painted' }).first().waitFor();
});

test('a thousand tokens are drawn', async () => {
  const page = await site.visit('#at=self-attention.weights');
  await page.getByRole('textbox').fill(Array.from({ length: 1000 }, (_, i) => `w${i}`).join(' '));
  const map = weightsMap(page);
  await page.getByRole('application', { name: '1000 queries by 1000 keys' }).last().waitFor();
  await map.focus();
  await map.press('End');
  assert.ok((await shownValue(map)) >= 0);
});

test('the small pictures have the colours of the large one unless the sentence is long', async () => {
  const page = await site.visit('#at=self-attention.weights');
  const note = page.locator('#weights').getByText('small maps: weights on a logarithmic scale');
  await becomes(() => note.count(), 0);
  await page.getByRole('textbox').fill(Array.from({ length: 65 }, (_, i) => `w${i}`).join(' '));
  await note.waitFor();
});

test('a link keeps its place, selects one head and leaves nothing to reset', async () => {
  const state = 'v=1&weights=learned&causal=1&layer=1&head=0&shuffle=0&schemesWeights=0';
  const page = await site.open(
    `#${state}&text=the+lady+sat+by+the+fire+because+the+lady+was+tired&at=self-attention.weights`,
    { clock: true, learns: true },
  );
  await page.getByRole('radio', { name: 'learned' }).first().waitFor({ state: 'attached' });
  const outlines = () =>
    page
      .locator('#weights .thumbnail')
      .evaluateAll((all) => all.map((each) => getComputedStyle(each).outlineWidth));
  await becomes(outlines, ['2px', '1px', '1px', '1px']);
  // The page starts with the same head, so there is nothing to reset.
  await becomes(() => page.locator('.bar button.needed').count(), 0);
  await page.clock.runFor(1000);
  assert.equal(new URL(page.url()).hash, '#at=self-attention.weights');
  await page.getByRole('radio', { name: '3', exact: true }).nth(1).check({ force: true });
  await page.waitForURL(({ hash }) => /head=3&at=self-attention/.test(hash));
});
