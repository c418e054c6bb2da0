import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from 'attn';

import { encoderFlow } from '../../web/src/core/flow.js';
import { align } from '../../web/src/figures/alignment/alignment.js';
import { Spelled } from '../../web/src/models/spelled.js';
import { parseSettings } from '../../web/src/state/url.js';
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

/**
 * Returns the untrained layer in Node and its sentence. block.test.js, decode.test.js and
 * matrices.test.js compare its numbers with the equations.
 * @param {string} link
 */
async function layerInNode(link) {
  const spelled = new Spelled(await load({ threads: 1 }));
  const shown = parseSettings(`v=1&${link}`);
  return { spelled, given: { ...shown, ...spelled.split(shown.text), rotary: false } };
}

/**
 * Compares what a figure shows with numbers of Node, which may not support the browser's
 * instruction set, and then rounds differently.
 * @param {number[][]} shown
 * @param {ArrayLike<number>} numbers
 */
const near = (shown, numbers) =>
  shown
    .flat()
    .forEach((value, i) =>
      assert.ok(Math.abs(value - numbers[i]) < 1e-5, `${i}: ${value}, ${numbers[i]}`),
    );

for (const norm of /** @type {const} */ (['post', 'pre'])) {
  test(`the block shows the matrices of the layer in the settings, ${norm}-norm`, async () => {
    const link = `${settings}&norm=${norm}`;
    const { figure } = await openFigure('encoder-block', link);
    const { spelled, given } = await layerInNode(link);
    const { stages } = spelled.block(given);
    const last = encoderFlow(norm === 'pre', heads).at(-1)?.id ?? '';
    for (const [name, id, columns] of /** @type {[RegExp, string, number][]} */ ([
      [/^input/, 'x', dModel],
      [/^head 2/, 'weights1', n],
      [norm === 'pre' ? /^H \+ F/ : /^output/, last, dModel],
    ])) {
      const map = figure.getByRole('application', { name });
      near(await readValues(map, n, columns), stages[id].data);
    }
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
  const { spelled, given } = await layerInNode(settings);
  const { keys } = spelled.decode({ ...given, causal: true });
  const { figure } = await openFigure('decoder-cache', `${settings}&decoderStep=0`);
  for (let step = 0; step < n; step++) {
    const cache = figure.getByRole('application', { name: /^Cache of keys/ });
    const shown = await readValues(cache, n, dModel);
    near(shown.slice(0, step + 1), keys.data);
    // Cells that are not computed yet have no value.
    assert.ok(shown.slice(step + 1).every((row) => row.every((value) => Number.isNaN(value))));
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

test('the alignment has the weights that its settings give, by hand and random', async () => {
  const [source, target] = ['signed in 1992', 'signé en 1992'].map((text) => text.split(' '));
  const attn = await load({ threads: 1 });
  const { figure } = await openFigure(
    'alignment',
    'source=signed+in+1992&target=sign%C3%A9+en+1992&seed=3',
  );
  const read = () => readValues(figure.getByRole('application'), 3, 3);
  // alignment.test.js compares these weights with the equations.
  const byHand = align(attn, source, target, { byHand: true, sharpness: 0.13 });
  near(await read(), byHand.weights.data);
  await figure.getByRole('radio', { name: 'random' }).check({ force: true });
  await figure.getByText(/^Nothing is trained: /).waitFor();
  near(await read(), align(attn, source, target, { byHand: false, seed: 3 }).weights.data);
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
