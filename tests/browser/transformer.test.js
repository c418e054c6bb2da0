import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from 'attn';

import {
  additiveWeights,
  attentionWeights,
  layerNorm,
  maxAbsDifference,
  mix,
  project,
} from './reference.js';
import {
  becomes,
  heatmap,
  matches,
  numberOf,
  openTestSite,
  readValues,
  shownValue,
  unfold,
} from './site.js';

/** @import { BrowserContextOptions, Page } from 'playwright-core' */

const site = await openTestSite();

const [n, dModel, heads] = [4, 8, 2];
const settings = `text=the+cat+sat+the&dModel=${dModel}&heads=${heads}&weights=xavier&seed=5`;

/**
 * @param {'encoder-block' | 'decoder-cache' | 'alignment'} figure
 * @param {string} [more] additional settings
 * @param {BrowserContextOptions} [options]
 * @param {'visit' | 'open'} [how]
 */
async function openFigure(figure, more = '', options = {}, how = 'visit') {
  const page = await site[how](`#at=transformer.${figure}&${more}`, options);
  const figureElement = page.locator(`#${figure}`);
  await figureElement.getByRole('application').first().waitFor();
  return { page, figure: figureElement };
}

/** @param {import('attn').Tensor} tensor @returns {number[][]} */
const rowsOf = ({ data, shape: [rows, columns] }) =>
  Array.from({ length: rows }, (_, i) => [...data.subarray(i * columns, (i + 1) * columns)]);

/**
 * @param {number[][]} actual
 * @param {{ values: number[][], errors: number[][] }} expected
 * @param {string} name
 */
function near(actual, { values, errors }, name) {
  values.forEach((row, i) =>
    row.forEach((value, j) => {
      const difference = Math.abs(actual[i][j] - value);
      assert.ok(difference <= errors[i][j], `${name}[${i}, ${j}]: ${difference} > ${errors[i][j]}`);
    }),
  );
}

/** @param {number[][]} matrix @param {number} head */
const slice = (matrix, head) =>
  matrix.map((row) => row.slice((head * dModel) / heads, ((head + 1) * dModel) / heads));

/** Returns the parameters of the block that the page shows. */
async function parameters() {
  const attn = await load({ threads: 1 });
  const layer = new attn.TransformerEncoderLayer({
    ...{ dModel, numHeads: heads, dimFeedforward: 2 * dModel, attentionBias: false, seed: 5 },
  });
  const projections = rowsOf(layer.parameter('self_attn.in_proj_weight'));
  const found = {
    ...{ q: projections.slice(0, dModel), k: projections.slice(dModel, 2 * dModel) },
    ...{ v: projections.slice(2 * dModel) },
    attention: rowsOf(layer.parameter('self_attn.out_proj.weight')),
    hidden: rowsOf(layer.parameter('linear1.weight')),
    feedForward: rowsOf(layer.parameter('linear2.weight')),
  };
  layer.dispose();
  return found;
}

for (const norm of /** @type {const} */ (['post', 'pre'])) {
  test(`every matrix of the block follows from those before it, ${norm}-norm`, async () => {
    const { figure } = await openFigure('encoder-block', `${settings}&norm=${norm}`);
    const weights = await parameters();
    /** @param {RegExp} name @param {number} columns @param {number} [which] */
    const read = async (name, columns, which = 0) => {
      const map = figure.getByRole('application', { name }).nth(which);
      // Nine digits identify a float, so rounding to float restores the exact values.
      return (await readValues(map, n, columns)).map((row) => row.map(Math.fround));
    };

    const x = await read(/^input/, dModel);
    const pre = norm === 'pre';
    const norms = [
      await read(pre ? /^norm\(X\)/ : /^normalised/, dModel),
      pre ? await read(/^norm\(H\)/, dModel) : [],
    ];
    const attended = pre ? norms[0] : x;
    const [q, k, v] = [
      await read(/^queries/, dModel),
      await read(/^keys/, dModel),
      await read(/^values/, dModel),
    ];
    near(q, project(attended, weights.q), 'queries');
    near(k, project(attended, weights.k), 'keys');
    near(v, project(attended, weights.v), 'values');
    const joined = await read(/^joined/, dModel);
    for (let head = 0; head < heads; head++) {
      const shown = await read(new RegExp(`^head ${head + 1}`), n);
      const expected = attentionWeights(
        { values: slice(q, head) },
        { values: slice(k, head) },
        false,
      );
      assert.ok(maxAbsDifference(shown, expected.weights) <= expected.tolerance);
      near(slice(joined, head), mix(shown, slice(v, head)), 'joined');
    }
    const projected = await read(/^projected/, dModel);
    near(projected, project(joined, weights.attention), 'projected');
    const sums = [
      await read(pre ? /^X \+ A/ : /^sum/, dModel),
      await read(pre ? /^H \+ F/ : /^sum/, dModel, pre ? 0 : 1),
    ];
    const add = (/** @type {number[][]} */ a, /** @type {number[][]} */ b) =>
      a.map((row, i) => row.map((value, j) => Math.fround(value + b[i][j])));
    assert.deepEqual(sums[0], add(x, projected));
    const fed = pre ? norms[1] : norms[0];
    near(fed, layerNorm(sums[0]), 'normalised');
    if (pre) near(norms[0], layerNorm(x), 'normalised input');
    const hidden = await read(/^hidden/, 2 * dModel);
    const linear = project(fed, weights.hidden);
    linear.values = linear.values.map((row) => row.map((value) => Math.max(0, value)));
    near(hidden, linear, 'hidden');
    const feedForward = await read(/^feed-forward/, dModel);
    near(feedForward, project(hidden, weights.feedForward), 'feed-forward');
    assert.deepEqual(sums[1], add(pre ? sums[0] : fed, feedForward));
    if (!pre) near(await read(/^output/, dModel), layerNorm(sums[1]), 'output');
  });
}

test('rows whose columns are narrower than a pixel do not blend', async () => {
  const { page, figure } = await openFigure('encoder-block', `dModel=256&${settings}`);
  const canvas = figure.getByRole('application', { name: 'queries, 4 by 256' }).locator('canvas');
  const png = (await canvas.screenshot()).toString('base64');
  const changes = await page.evaluate(async (png) => {
    const bytes = Uint8Array.from(atob(png), (letter) => letter.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes]));
    const { width, height } = image;
    const context = new OffscreenCanvas(width, height).getContext('2d', {
      willReadFrequently: true,
    });
    if (!context) throw new Error('no canvas');
    context.drawImage(image, 0, 0);
    const lineAt = (/** @type {number} */ y) => context.getImageData(0, y, width, 1).data.join();
    return Array.from({ length: height - 1 }, (_, y) => lineAt(y) !== lineAt(y + 1)).filter(Boolean)
      .length;
  }, png);
  // A row of pixels that contains a boundary differs from the rows above and below it.
  assert.ok(changes >= 3 && changes <= 2 * 3 + 2, `${changes} lines differ from the one below`);
});

test('selecting a cell shows its sources and fades everything else', async () => {
  const { figure } = await openFigure('encoder-block', settings);
  const readout = figure.locator('[id$="-readout"]');
  const map = figure.getByRole('application', { name: /^sum/ }).first();
  await map.focus();
  await map.press('ArrowDown');
  await matches(() => readout.innerText(), /^sum: cat1, column 0/);
  const [, value, a, sign, b] =
    /: (−?[\d.e−]+)\n= (−?[\d.]+) ([+−]) ([\d.]+)/.exec(await readout.innerText()) ?? [];
  const sum = numberOf(a) + (sign === '−' ? -1 : 1) * numberOf(b);
  // The page rounds the addends to three digits.
  assert.ok(Math.abs(numberOf(value) - sum) < 0.01, `${value} = ${sum}`);
  await becomes(() => figure.locator('rect.origin').count(), 2);
  const faded = await figure
    .locator('path.veil')
    .evaluateAll((all) => all.map((path) => (path.getAttribute('d') ?? '').split('M').length - 1));
  // A veil dims the cells that do not contribute. A veil with a hole has two outlines, a veil
  // without a hole has one, and the matrix of the selected cell has no veil.
  assert.deepEqual([...new Set(faded)].sort(), [0, 1, 2]);
  await map.press('Escape');
  await becomes(() => figure.locator('rect.origin').count(), 0);
});

test('one lock applies to all matrices, and a link restores it', async () => {
  // The readout appears next to the cell, so the whole figure must be in view.
  const whole = { viewport: { width: 1440, height: 1900 } };
  const { page, figure } = await openFigure('encoder-block', settings, whole);
  const output = figure.getByRole('application', { name: /^output/ });
  await output.focus();
  for (const key of ['ArrowDown', 'ArrowRight', 'Enter']) await output.press(key);
  const locked = await shownValue(output);
  await figure.getByRole('application', { name: /^input/ }).hover();
  await becomes(() => shownValue(output), locked);
  await page.waitForURL(/blockCell=norm2\.1\.1/);
  const link = new URL(page.url()).hash.slice(1);
  const copy = await openFigure('encoder-block', link, whole, 'open');
  const sameOutput = copy.figure.getByRole('application', { name: /^output/ });
  await sameOutput.scrollIntoViewIfNeeded();
  await becomes(() => shownValue(sameOutput), locked);
  await copy.figure.getByRole('button', { name: 'unlock' }).click();
  await becomes(() => copy.figure.locator('[data-value]').count(), 0);
  await output.press('Tab');
  await page.keyboard.press('Shift+Tab');
  await figure.getByRole('application', { name: /^input/ }).press('Escape');
  await becomes(() => figure.getByRole('button', { name: 'unlock' }).count(), 0);
});

test('the switch moves the normalisation in picture and equation', async () => {
  const { figure } = await openFigure('encoder-block', settings);
  const names = () => figure.locator('h4').allInnerTexts();
  await matches(async () => (await names()).at(-1) ?? '', /output/);
  await figure.getByRole('radio', { name: 'pre-norm' }).check({ force: true });
  await matches(async () => (await names()).at(-1) ?? '', /H \+ F, output/);
  await becomes(async () => (await names())[1].trim(), 'norm(X)');
});

test('a weight that the mask sets to 0 names the mask', async () => {
  const { figure } = await openFigure('encoder-block', `${settings}&causal=1`);
  const map = heatmap(figure, /^head 1/);
  await map.focus();
  await map.press('ArrowRight');
  const readout = figure.locator('[id$="-readout"]');
  await readout.getByText(/is hidden from .* by the mask, so the weight is 0/).waitFor();
  assert.doesNotMatch(await readout.innerText(), /softmax over/);
});

test('every letter next to a matrix is in the equation', async () => {
  for (const norm of ['pre', 'post']) {
    const { figure } = await openFigure('encoder-block', `${settings}&norm=${norm}`);
    const equation = await figure.locator('[data-equation]').innerText();
    const symbols = await figure.locator('h4 var').allInnerTexts();
    // The symbols of attention itself were explained two chapters earlier.
    const letters = symbols.filter((symbol) => !/^[QKV]$|^W V$/.test(symbol)).join('');
    assert.ok(letters.length >= 5, letters);
    for (const letter of letters.replace(/[\s+]/g, ''))
      assert.ok(equation.includes(letter), letter);
  }
});

test('the slider of the decoder counts tokens from 0 and says none if there are none', async () => {
  for (const [settings, text] of [
    ['&text=man+bites+dog&decoderStep=1', 'bites, position 1; the last position is 2'],
    ['&text=', 'none'],
  ]) {
    const page = await site.visit(`#at=transformer.decoder-cache${settings}`);
    const slider = page.locator('#decoder-cache').getByRole('slider', { name: 'token' });
    await becomes(() => slider.getAttribute('aria-valuetext'), text);
  }
});

test('decoding step by step fills the cache and matches one pass', async () => {
  const weights = await parameters();
  const { figure: block } = await openFigure('encoder-block', settings);
  const x = await readValues(block.getByRole('application', { name: /^input/ }), n, dModel);
  const { figure } = await openFigure('decoder-cache', `${settings}&decoderStep=0`);
  const keys = project(x, weights.k);
  const values = project(x, weights.v);
  const read = (/** @type {RegExp} */ name, /** @type {number} */ columns) =>
    readValues(figure.getByRole('application', { name }), n, columns);
  for (let step = 0; step < n; step++) {
    const shown = await read(/^Cache of keys/, dModel);
    const projected = { ...keys, values: keys.values.slice(0, step + 1) };
    near(shown.slice(0, step + 1), projected, 'keys');
    // Cells that are not computed yet have no value.
    assert.ok(
      shown
        .slice(step + 1)
        .flat()
        .every((value) => Number.isNaN(value)),
    );
    const cached = await read(/^Cache of values/, dModel);
    near(cached.slice(0, step + 1), { ...values, values: values.values.slice(0, step + 1) }, 'v');
    const query = await readValues(figure.getByRole('application', { name: /^Query/ }), 1, dModel);
    const shownWeights = await read(/^Attention weights/, heads);
    for (let head = 0; head < heads; head++) {
      const known = slice(shown.slice(0, step + 1), head);
      const expected = attentionWeights(
        { values: slice(query, head) },
        { values: known, errors: known.map((row) => row.map(() => 0)) },
        false,
      );
      expected.weights[0].forEach((weight, key) =>
        assert.ok(Math.abs(shownWeights[key][head] - weight) <= expected.tolerance),
      );
    }
    const difference = figure.locator('output[data-difference]');
    await becomes(
      async () => Number((await difference.getAttribute('data-difference')) ?? NaN) <= 1e-6,
      true,
    );
    await becomes(() => figure.locator('[data-rows]').innerText(), String(step + 1));
    const without = figure.locator('[data-rows-without]');
    await becomes(
      async () => Number(await without.getAttribute('data-rows-without')),
      ((step + 1) * (step + 2)) / 2,
    );
    const button = figure.getByRole('button', { name: 'Step', exact: true });
    if (step < n - 1) await button.click();
    else await becomes(() => button.isDisabled(), true);
  }
  await figure.getByRole('button', { name: 'Back' }).click();
  await becomes(() => figure.locator('[data-rows]').innerText(), String(n - 1));
});

test('decoding plays to the end, stops there, and starts again', async () => {
  const link = `${settings}&decoderStep=1`;
  const { page, figure } = await openFigure('decoder-cache', link, {}, 'open');
  await page.clock.install();
  await page.clock.pauseAt(Date.now() + 60_000);
  await figure.getByRole('button', { name: 'Play' }).click();
  await page.clock.runFor((n - 2) * 700);
  await figure.locator(`[data-rows="${n}"]`).waitFor();
  await figure.getByRole('button', { name: 'Play' }).click();
  await figure.locator('[data-rows="1"]').waitFor();
  await page.clock.runFor(700);
  await figure.locator('[data-rows="2"]').waitFor();
  await figure.getByRole('button', { name: 'Pause' }).click();
  await page.clock.runFor(n * 700);
  await becomes(() => figure.locator('[data-rows="2"]').count(), 1);
  await figure.getByRole('slider', { name: 'token' }).press('End');
  await figure.locator(`[data-rows="${n}"]`).waitFor();
});

test('the alignment matches the reference, by hand and random', async () => {
  const [source, target] = ['signed in 1992', 'signé en 1992'].map((text) => text.split(' '));
  const link = `source=signed+in+1992&target=sign%C3%A9+en+1992`;
  const attn = await load({ threads: 1 });
  const [keys, words] = [source, target].map((tokens) =>
    rowsOf(attn.ngramEmbedding(tokens, { dModel: 256 })),
  );

  const byHand = await openFigure('alignment', link);
  const one = (/** @type {number} */ sign) =>
    keys[0].map((_, c) => keys[0].map((_, other) => (other === c ? sign : 0)));
  const units = (/** @type {number} */ shift) => one(1).map((row) => [...row, shift]);
  const expected = additiveWeights(
    words.map((row) => [...row, 1]),
    keys,
    {
      query: [...units(1), ...units(-1)],
      key: [...one(-1), ...one(-1)],
      value: [...keys[0].map(() => 0.13), ...keys[0].map(() => -0.13)],
    },
  );
  const shown = await readValues(byHand.figure.getByRole('application'), 3, 3);
  const difference = maxAbsDifference(shown, expected.weights);
  assert.ok(difference <= expected.tolerance, `${difference} > ${expected.tolerance}`);
  assert.ok(shown[0][0] > 0.9 && shown[2][2] > 0.9);

  const random = await openFigure('alignment', `${link}&alignment=xavier&seed=3`);
  const layer = new attn.AdditiveAttention({
    ...{ queryDim: 256, keyDim: 256, numHiddens: 64, seed: 3 },
  });
  const [query, key, value] = ['W_q.weight', 'W_k.weight', 'w_v.weight'].map((name) =>
    rowsOf(layer.parameter(name)),
  );
  layer.dispose();
  const drawn = additiveWeights(words, keys, { query, key, value: value[0] });
  const read = await readValues(random.figure.getByRole('application'), 3, 3);
  assert.ok(maxAbsDifference(read, drawn.weights) <= drawn.tolerance);
});

test('the page explains the weights of the alignment', async () => {
  const { figure } = await openFigure('alignment');
  await figure.getByText(/^The network is set by hand, not trained/).waitFor();
  await figure.getByRole('radio', { name: 'random' }).check({ force: true });
  await figure.getByText(/^Nothing is trained: [^]*\(seed\s+1\)/).waitFor();
  await figure.getByRole('button', { name: 'next seed' }).click();
  await figure.getByText(/^Nothing is trained: [^]*\(seed\s+2\)/).waitFor();
  await figure.getByRole('radio', { name: 'GRU decoder' }).check({ force: true });
  await figure.getByText(/^Bahdanau’s decoder before training, seed\s+2/).waitFor();
});

test('both sentences can be edited, emptied and reset', async () => {
  const { figure } = await openFigure('alignment');
  const [source, target] = [
    figure.getByLabel('Sentence that is read (keys)'),
    figure.getByLabel('Sentence that is written (queries)'),
  ];
  await source.fill('one\ntwo 👩‍👩‍👧');
  await target.fill('سلام');
  await figure
    .getByRole('application', { name: /1 word of the target by 3 words of the source/ })
    .waitFor();
  await target.fill('');
  await figure.getByText(/^An alignment needs two sentences/).waitFor();
  await figure.getByRole('button', { name: 'Reset Alignment by additive attention' }).click();
  await figure.getByRole('application', { name: /13 words of the source/ }).waitFor();
});

test('no sentence, one word and very many words are handled', async () => {
  const page = await site.visit('#at=transformer&text=');
  await page.locator('#encoder-block').getByText('Nothing to look at yet').waitFor();
  await unfold(page.locator('#decoder-cache'));
  await page.locator('#decoder-cache').scrollIntoViewIfNeeded();
  await page.locator('#decoder-cache').getByText('Nothing to look at yet').waitFor();
  const one = await openFigure('decoder-cache', 'text=word&decoderStep=40&dModel=8');
  await one.figure.locator('[data-rows="1"]').waitFor();
  const many = await openFigure('encoder-block', `text=${'a+b+'.repeat(300)}&dModel=8`);
  await many.figure.getByText('The first 128 tokens are drawn.').waitFor();
  const long = await openFigure('alignment', `source=${'a+b+'.repeat(50)}&target=a`);
  await long.figure.getByText('Of 100 words, the first 64 are aligned.').waitFor();
});

test('every figure offers its code, with the current values', async () => {
  for (const [figure, expected] of /** @type {const} */ ([
    ['encoder-block', /const numHeads = 2;/],
    ['decoder-cache', /layer\.makeCache\(\)/],
    ['alignment', /new attn\.AdditiveAttention/],
  ])) {
    const { figure: element } = await openFigure(figure, settings);
    await element.getByRole('button', { name: /^Code for/ }).click();
    await element.getByRole('tab', { name: 'JavaScript' }).click();
    await matches(() => element.locator('pre').innerText(), expected);
  }
});

test('everything fits on a phone without scrolling sideways', async () => {
  const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
  for (const figure of /** @type {const} */ (['encoder-block', 'decoder-cache', 'alignment'])) {
    const { page } = await openFigure(figure, '', phone);
    const overflow = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    assert.equal(overflow, 0, figure);
  }
});
