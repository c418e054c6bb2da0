import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from 'attn';

import {
  attentionWeights,
  maxAbsDifference,
  project,
  roundingError,
  sinusoidalEncoding,
} from './reference.js';
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

/** @param {number[][]} x @param {number} head @param {number} numHeads */
const sliceOf = (x, head, numHeads) =>
  x.map((row) => row.slice((head * dModel) / numHeads, ((head + 1) * dModel) / numHeads));

test('the input is embedding plus encoding, and identical words have identical embeddings', async () => {
  const page = await site.visit(`#${both}&encoding=none`, high);
  const embedding = await readValues(heatmap(page, /^Embeddings/), n, dModel);
  assert.deepEqual(embedding[0], embedding[4]);
  assert.notDeepEqual(embedding[1], embedding[2]);
  for (const row of embedding) {
    const meanSquare = row.reduce((sum, value) => sum + value * value, 0) / dModel;
    assert.ok(Math.abs(meanSquare - 1) < 1e-5);
  }
  await page.getByRole('radio', { name: 'sinusoidal' }).first().check({ force: true });
  const input = await readValues(heatmap(page, /^Input of/), n, dModel);
  const encoding = sinusoidalEncoding(n, dModel, 10000);
  const sum = embedding.map((row, i) => row.map((value, j) => value + encoding[i][j]));
  assert.ok(maxAbsDifference(input, sum) <= 1.2e-7 + 6 * roundingError);
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

for (const causal of [false, true]) {
  test(`identity weights match the reference in every head${causal ? ', causal' : ''}`, async () => {
    const page = await site.visit(`#${both}&causal=${Number(causal)}`, high);
    const input = await readValues(heatmap(page, /^Input of/), n, dModel);
    for (let head = 0; head < 4; head++) {
      await page.getByRole('radio', { name: `head ${head + 1}:` }).check({ force: true });
      const slice = sliceOf(input, head, 4);
      const { weights, tolerance } = attentionWeights({ values: slice }, { values: slice }, causal);
      const shown = await readValues(weightsMap(page), n, n);
      const difference = maxAbsDifference(shown, weights);
      assert.ok(difference <= tolerance, `head ${head}: ${difference} > ${tolerance}`);
      shown.forEach((row, i) => {
        if (causal) assert.ok(row.slice(i + 1).every((weight) => weight === 0));
        assert.ok(Math.abs(row.reduce((sum, weight) => sum + weight) - 1) < 1e-6);
      });
    }
  });
}

test('Xavier weights match the reference', async () => {
  const page = await site.visit(`#${both}&weights=xavier&seed=5&heads=2&head=1`, high);
  const input = await readValues(heatmap(page, /^Input of/), n, dModel);
  const attn = await load();
  const layer = new attn.MultiHeadAttention({ dModel, numHeads: 2, init: 'xavier', seed: 5 });
  // The parameter stacks the rows of W_q, W_k and W_v.
  const { data } = layer.parameter('in_proj_weight');
  const matrices = [0, 1].map((which) =>
    Array.from({ length: dModel }, (_, row) => {
      const start = (which * dModel + row) * dModel;
      return [...data.subarray(start, start + dModel)];
    }),
  );
  layer.dispose();
  const [query, key] = matrices.map((matrix) => {
    const { values, errors } = project(input, matrix);
    return { values: sliceOf(values, 1, 2), errors: sliceOf(errors, 1, 2) };
  });
  const { weights, tolerance } = attentionWeights(query, key, false);
  const shown = await readValues(weightsMap(page), n, n);
  const difference = maxAbsDifference(shown, weights);
  assert.ok(difference <= tolerance, `${difference} > ${tolerance}`);
});

test('identical words get identical weights only without the encoding', async () => {
  const page = await site.visit(`#${text}&encoding=none`);
  const without = await readValues(weightsMap(page), n, n);
  assert.deepEqual(without[0], without[4]);
  for (const row of without) assert.ok(Math.abs(row[0] - row[4]) <= roundingError);
  await page.getByRole('radio', { name: 'sinusoidal' }).first().check({ force: true });
  const encoded = await readValues(weightsMap(page), n, n);
  assert.notDeepEqual(encoded[0], encoded[4]);
});

test('the legend ends at the largest weight of all heads', async () => {
  const page = await site.visit(`#${text}&heads=2`);
  let largest = 0;
  for (const head of [1, 2]) {
    await page.getByRole('radio', { name: `head ${head}:` }).check({ force: true });
    const weights = await readValues(weightsMap(page), n, n);
    largest = Math.max(largest, ...weights.flat());
  }
  const shown = page.locator('#weights .caption .legend').locator('.high');
  await becomes(async () => numberOf(await shown.innerText()), Number(largest.toPrecision(3)));
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

test('masks exclude the right cells, and rows still sum to one', async () => {
  const page = await site.visit(`#${text}&window=2&validLen=5&blocked=3.3,3.2`);
  const shown = await readValues(weightsMap(page), n, n);
  shown.forEach((row, i) => {
    row.forEach((weight, j) => {
      const excluded = Math.abs(i - j) > 2 || j >= 5 || (i === 3 && (j === 3 || j === 2));
      assert.equal(weight === 0, excluded, `${i}, ${j}: ${weight}`);
    });
    assert.ok(Math.abs(row.reduce((sum, weight) => sum + weight) - 1) < 1e-6);
  });
});

test('dragging excludes cells, and the keyboard includes them again', async () => {
  const page = await site.visit(`#${text}`);
  const map = weightsMap(page);
  await page.getByRole('switch', { name: 'paint cells out' }).check();
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

test('the statistics of a head match its weights', async () => {
  const page = await site.visit(`#${text}&heads=1`);
  const weights = await readValues(weightsMap(page), n, n);
  const mean = (/** @type {(row: number[], i: number) => number} */ of) =>
    weights.reduce((sum, row, i) => sum + of(row, i), 0) / n;
  const expected = {
    entropy: mean((row) => row.reduce((sum, w) => sum - (w && w * Math.log2(w)), 0)),
    distance: mean((row, i) => row.reduce((sum, w, j) => sum + w * Math.abs(i - j), 0)),
    largest: mean((row) => Math.max(...row)),
  };
  for (const [name, value] of Object.entries(expected)) {
    const shown = await page.locator(`[data-${name}]`).getAttribute(`data-${name}`);
    assert.ok(Math.abs(Number(shown) - value) < 1e-6, `${name}: ${shown} against ${value}`);
  }
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

test('a link keeps its place, selects one head and leaves nothing to reset', async () => {
  const state = 'v=1&weights=learned&causal=1&layer=1&head=0&shuffle=0';
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
