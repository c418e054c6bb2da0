// Tests how the page shows the positions of a reader's model.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';

import { accessibilityProblems } from './accessibility.js';
import { choose, filesOf, gpt2, kRecorded, tokenizer } from './ownModel.js';
import { becomes, matches, numberOf, openTestSite, settled } from './site.js';

/** @import { BrowserContextOptions } from 'playwright-core' */
/** @import { ChosenFile } from './ownModel.js' */

const site = await openTestSite();

/** @param {ChosenFile[]} files @param {BrowserContextOptions} [options] */
async function positionsOf(files, options) {
  const page = await site.visit('#text=the+lady+sat+by+the+fire', options);
  await choose(page, files);
  await page.locator('[data-recognised]').waitFor();
  await page.locator('#encoding').evaluate((chapter) => chapter.scrollIntoView());
  const figure = page.locator('#own-positions');
  await figure.waitFor();
  await figure.evaluate((element) => element.scrollIntoView());
  return { page, figure };
}

/** The position table `wpe` (19, 20) of the recorded GPT-2. */
function table() {
  const bytes = readFileSync(join(kRecorded, 'gpt2/model.safetensors'));
  const start = 8 + Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.subarray(8, start).toString());
  const name = /** @type {string} */ (Object.keys(header).find((each) => /wpe/.test(each)));
  const [begin, end] = header[name].data_offsets.map((/** @type {number} */ at) => start + at);
  assert.deepEqual(header[name].shape, [19, 20]);
  return new Float32Array(new Uint8Array(bytes.subarray(begin, end)).buffer);
}

/**
 * The first principal component's share of the variance, computed by the power method in double
 * precision.
 * @param {Float32Array} values
 */
function largestShare(values) {
  const [n, d] = [19, 20];
  const mean = Array.from({ length: d }, (_, c) => {
    let sum = 0;
    for (let i = 0; i < n; i++) sum += values[i * d + c];
    return sum / n;
  });
  const x = Array.from(values, (value, at) => value - mean[at % d]);
  let v = Array.from({ length: d }, (_, c) => 1 + c / d);
  let size = 0;
  for (let turn = 0; turn < 5000; turn++) {
    const u = Array.from({ length: n }, (_, i) =>
      v.reduce((sum, value, c) => sum + value * x[i * d + c], 0),
    );
    const next = v.map((_, c) => u.reduce((sum, value, i) => sum + value * x[i * d + c], 0));
    size = Math.hypot(...next);
    v = next.map((value) => value / size);
  }
  return size / x.reduce((sum, value) => sum + value * value, 0);
}

test('a learned table is shown next to the sinusoid, with its products and components', async () => {
  const { page, figure } = await positionsOf(gpt2());
  const map = figure.getByRole('application', { name: 'Your model’s table: 19 by 20' });
  await map.waitFor();
  await figure
    .getByRole('application', { name: 'The sinusoid, dot products of its rows: 19 by 19' })
    .waitFor();
  await map.focus();
  for (const key of ['ArrowRight', 'ArrowDown', 'ArrowRight']) await page.keyboard.press(key);
  const shown = figure.locator('[data-value]').first();
  await shown.waitFor();
  await matches(
    () =>
      figure
        .getByText(/^position 1, column/)
        .first()
        .innerText(),
    /position 1, column 2/,
  );
  const value = numberOf((await shown.getAttribute('data-value')) ?? '');
  assert.ok(Math.abs(value - table()[22]) < 1e-8, `${value}`);
  const shares = await figure
    .getByRole('list', { name: /^Your model’s table/ })
    .locator('[data-share]')
    .evaluateAll((all) => all.map((each) => Number(each.getAttribute('data-share'))));
  assert.equal(shares.length, 6);
  assert.deepEqual(
    shares,
    shares.toSorted((a, b) => b - a),
  );
  assert.ok(Math.abs(shares[0] - largestShare(table())) < 1e-4, `${shares[0]}`);
  // The reader can rotate the path in space.
  const way = figure
    .getByRole('img', { name: /^Your model’s table: The first three/ })
    .locator('path');
  const before = await way.first().getAttribute('d');
  await figure.getByRole('slider', { name: 'turn it' }).first().press('ArrowRight');
  await becomes(async () => (await way.first().getAttribute('d')) !== before, true);
  await settled(page);
  assert.deepEqual(await accessibilityProblems(page, ['#own-positions']), []);
});

test('rotary positions are shown with and without the scaling rule', async () => {
  const config = JSON.parse(readFileSync(join(kRecorded, 'gemma3/config.json'), 'utf8'));
  const { page, figure } = await positionsOf([...filesOf('gemma3'), tokenizer(config.vocab_size)], {
    ...{ viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
    colorScheme: 'dark',
  });
  await figure.getByText(/Scaling rule: linear/).waitFor();
  await figure.getByText(/No scaling rule/).waitFor();
  const turns = await figure
    .locator('[data-turn]')
    .evaluateAll((all) => all.map((each) => Number(each.getAttribute('data-turn'))));
  // The first pair rotates by one radian per position or, with the scaling rule, by an eighth of a
  // radian.
  for (const want of [2 * Math.PI, 16 * Math.PI]) {
    assert.ok(
      turns.some((turn) => Math.abs(turn - want) < 1e-6),
      `${turns}`,
    );
  }
  assert.ok((await figure.locator('circle.before').count()) > 0);
  assert.deepEqual(await accessibilityProblems(page, ['#own-positions']), []);
});
