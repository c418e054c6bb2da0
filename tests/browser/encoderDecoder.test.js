// Tests that a reader's model with an encoder and a decoder is shown with a target, and that figures
// show the attention of its three parts.

import assert from 'node:assert/strict';
import test from 'node:test';

import { pairTexts } from '../../web/src/texts/pair.js';
import { accessibilityProblems } from './accessibility.js';
import { open, recorded } from './ownModel.js';
import { becomes, heatmap, matches, openTestSite, readValues, unfold, weightsMap } from './site.js';

/** @import { Page } from 'playwright-core' */

const site = await openTestSite();
const { ids, read, text, textOf, files } = recorded('t5', 29);
const targets = read('targets');
const target = textOf(targets.slice(1));
const link = `#v=2&text=${text}&ownTarget=${target}&layer=1&head=2`;
const sources = ids.length;

/** @param {Page} page */
const field = (page) => page.getByRole('textbox', { name: /^Type a target/ });

/** @param {Page} page @param {string} name */
const choose = (page, name) =>
  page.getByRole('radio', { name, exact: true }).and(page.locator('.target *')).check({
    force: true,
  });

/**
 * Waits until the figure shows a recorded matrix of the second head.
 * @param {Page} page
 * @param {string} name
 * @param {[rows: number, columns: number]} size
 */
async function shows(page, name, [rows, columns]) {
  const map = heatmap(
    page.locator('#weights'),
    new RegExp(`^Attention weights of head 2, ${rows} queries by ${columns} keys`),
  );
  await map.waitFor();
  const want = read(name).slice(rows * columns, 2 * rows * columns);
  await becomes(async () => {
    const values = (await readValues(map, rows, columns)).flat();
    return values.every((value, i) => Math.abs(value - want[i]) <= 2e-5);
  }, true);
}

test('the weights of all three parts are the weights that PyTorch recorded', async () => {
  const page = await site.visit(`${link}&part=cross&at=self-attention.weights`);
  await open(page, files);
  await page.locator('#self-attention').evaluate((chapter) => chapter.scrollIntoView());
  await page.locator('#weights').evaluate((figure) => figure.scrollIntoView());
  await matches(
    () => page.locator('[data-recognised]').innerText(),
    /^T5: an encoder with 3 layers of 4 heads, a decoder with 2 layers of 4 heads, width 18/,
  );
  await shows(page, 'cross_weights.0', [targets.length, sources]);
  assert.deepEqual(await accessibilityProblems(page, ['.bar', '[id="self-attention"]']), []);
  await choose(page, 'decoder');
  await shows(page, 'self_weights.0', [targets.length, targets.length]);
  await page.getByRole('button', { name: 'Masks: causal' }).waitFor();
  await choose(page, 'encoder');
  await shows(page, 'encoder_weights.0', [sources, sources]);
  await page.getByRole('button', { name: 'Masks: none' }).waitFor();
  await becomes(() => page.locator('[role=alert]').count(), 0);
});

test('the stages of all three parts lead to the weights that PyTorch recorded', async () => {
  const page = await site.visit(`${link}&part=cross&at=self-attention.stages`);
  await open(page, files);
  const figure = page.locator('#stages');
  await figure.waitFor();
  await figure.evaluate((element) => element.scrollIntoView());
  for (const [part, recorded, rows, columns] of /** @type {const} */ ([
    ['cross', 'cross_weights.0', targets.length, sources],
    ['decoder', 'self_weights.0', targets.length, targets.length],
    ['encoder', 'encoder_weights.0', sources, sources],
  ])) {
    await choose(page, part);
    const map = heatmap(figure, new RegExp(`^Weights after softmax, ${rows} by ${columns}`));
    await map.waitFor();
    const want = read(recorded).slice(rows * columns, 2 * rows * columns);
    await becomes(async () => {
      const values = (await readValues(map, rows, columns)).flat();
      return values.every((value, i) => Math.abs(value - want[i]) <= 2e-5);
    }, true);
    const memory = heatmap(figure, new RegExp(`^Output of the encoder, ${sources} by 18`));
    await becomes(() => memory.count(), part === 'cross' ? 1 : 0);
    await becomes(() => figure.getByText('+ bias, mask').count(), part === 'cross' ? 0 : 1);
    const count = (/** @type {string} */ text) =>
      page.locator('#self-attention').getByText(text).count();
    const isCross = part === 'cross';
    await becomes(() => count('It makes keys and values from E, the output'), isCross ? 1 : 0);
    await becomes(() => count('makes queries, keys and values from X.'), isCross ? 0 : 1);
    await becomes(() => count('Other models divide scores by √D. Your model does not'), 1);
    await becomes(
      () => count('depends on the distance, and a mask removes pairs'),
      isCross ? 0 : 1,
    );
    await figure.getByRole('button', { name: /^Code for/ }).click();
    await matches(
      () => figure.getByRole('tabpanel').innerText(),
      /load_encoder_decoder|loadEncoderDecoder/,
    );
    await figure.getByRole('button', { name: /^Code for/ }).click();
  }
  assert.deepEqual(await accessibilityProblems(page, ['#stages']), []);
});

test('undivided scores give the weights of cross attention that PyTorch recorded', async () => {
  const page = await site.visit(`${link}&part=cross&scaleBy=none&at=self-attention.scale`);
  await open(page, files);
  const figure = page.locator('#scale');
  await unfold(figure);
  await figure.evaluate((element) => element.scrollIntoView());
  const [rows, columns] = [targets.length, sources];
  const name = `head 2, scores divided by nothing, ${rows} queries by ${columns} keys`;
  const map = heatmap(figure, new RegExp(name));
  await map.waitFor();
  const want = read('cross_weights.0').slice(rows * columns, 2 * rows * columns);
  await becomes(async () => {
    const values = (await readValues(map, rows, columns)).flat();
    return values.every((value, i) => Math.abs(value - want[i]) <= 2e-5);
  }, true);
  const isLeftOut = figure.getByText('the bias that your model adds to scores is left out');
  await becomes(() => isLeftOut.count(), 0);
  await choose(page, 'decoder');
  await isLeftOut.waitFor();
});

test('figures draw a block of the encoder, and the cache of the decoder', async () => {
  const page = await site.visit(`${link}&part=encoder&at=transformer.encoder-block`);
  await open(page, files);
  const block = page.locator('#encoder-block');
  await block.evaluate((element) => element.scrollIntoView());
  await heatmap(block, new RegExp(`^input, ${sources} by 18`, 'i')).waitFor();
  await block.getByRole('button', { name: /^Code for/ }).waitFor();
  await becomes(() => page.locator('[data-lacks=block]').count(), 0);
  await choose(page, 'decoder');
  await page.locator('[data-lacks=block]').waitFor();
  const cache = page.locator('#decoder-cache');
  await unfold(page.locator('#transformer'));
  await cache.waitFor({ state: 'attached' });
  await cache.evaluate((element) => element.scrollIntoView());
  await heatmap(cache, new RegExp(`^Cache of keys, ${targets.length} tokens by`)).waitFor();
  await cache.getByRole('button', { name: /^Code for/ }).waitFor();
  await becomes(() => page.locator('[role=alert]').count(), 0);
});

/** The sentences that replace figures, for each part. A chapter shows them at most once. */
const always = ['edit', 'shuffle', 'loss', 'schemes'];
for (const [part, lacks] of /** @type {const} */ ([
  ['encoder', ['cache', 'next']],
  ['decoder', ['block', 'change', 'lens']],
  ['cross', ['opening', 'pipeline', 'masks', 'block', 'cache', 'next']],
])) {
  test(`each figure that does not show the ${part} says why`, async () => {
    const page = await site.visit(`${link}&part=${part}`);
    await open(page, files);
    const sentences = pairTexts.lacks(part);
    const shown = [...always, ...lacks];
    // The walk is only offered by a button. Without predictions, figures about predictions are absent.
    const absent = ['walk', ...(part === 'decoder' ? [] : ['change', 'lens'])];
    assert.deepEqual(Object.keys(sentences).sort(), [...shown, ...absent].sort());
    for (const chapter of ['opening', 'encoding', 'order', 'self-attention', 'transformer']) {
      const element = page.locator(`[id="${chapter}"]`);
      if (!(await element.count())) continue;
      await element.evaluate((element) => element.scrollIntoView());
      await unfold(element);
    }
    for (const name of shown) {
      // The controls for masks are in a figure, which is drawn once it is near the window.
      if (name === 'masks') {
        await page.locator('#weights').evaluate((figure) => figure.scrollIntoView());
      }
      await matches(
        () => page.locator('p.label').filter({ hasText: sentences[name] }).innerText(),
        /^[A-Z].*\./,
      );
    }
  });
}

test('an edited target is read again, and links keep it', async () => {
  const page = await site.visit(`${link}&part=cross&at=self-attention.weights`);
  await open(page, files);
  await page.locator('#weights').evaluate((figure) => figure.scrollIntoView());
  await field(page).fill('rose');
  const map = weightsMap(page);
  await matches(
    async () => (await map.getAttribute('aria-label')) ?? '',
    new RegExp(`2 queries by ${sources} keys`),
  );
  const inLink = async (/** @type {string} */ name) =>
    new URLSearchParams(new URL(page.url()).hash.slice(1)).get(name);
  await becomes(() => inLink('ownTarget'), 'rose');
  await becomes(() => inLink('part'), 'cross');
});

test('the model writes the tokens that PyTorch recorded', async () => {
  const gated = recorded('t5_gated', 26);
  const page = await site.visit(`#v=2&text=${gated.text}`);
  await open(page, gated.files);
  await page.getByRole('button', { name: 'Let the model write it' }).click();
  const words = new URLSearchParams(`text=${gated.textOf(gated.read('greedy'))}`).get('text');
  await becomes(async () => (await field(page).inputValue()).startsWith(words ?? '?'), true);
});

test('the wall has the heads of all three parts, and opens each of them', async () => {
  const page = await site.visit(`${link}&at=self-attention.wall`);
  await open(page, files);
  const wall = page.locator('#wall');
  await page.locator('#self-attention').evaluate((chapter) => chapter.scrollIntoView());
  await wall.waitFor({ state: 'attached' });
  await unfold(wall);
  await wall.evaluate((figure) => figure.scrollIntoView());
  await becomes(() => wall.locator('[data-head]').count(), 4 * (3 + 2 + 2));
  await becomes(
    () => wall.locator('.group').allInnerTexts(),
    [
      'Encoder: the source looks at itself',
      'Decoder: the target looks at itself',
      'Cross attention: the target (rows) looks at the source (columns)',
    ],
  );
  // The last head of the second layer of cross attention.
  await wall.locator('[data-head="6.3"]').click();
  const map = heatmap(
    page.locator('#weights'),
    new RegExp(`^Attention weights of head 4, ${targets.length} queries by ${sources} keys`),
  );
  await map.waitFor();
  const size = targets.length * sources;
  const want = read('cross_weights.1').slice(3 * size, 4 * size);
  await becomes(async () => {
    const values = (await readValues(map, targets.length, sources)).flat();
    return values.every((value, i) => Math.abs(value - want[i]) <= 2e-5);
  }, true);
});

test('the decoder predicts the target, and other figures say why they are missing', async () => {
  const gated = recorded('t5_gated', 26);
  const page = await site.visit(
    `#v=2&text=${gated.text}&part=decoder&temperature=1&topK=0&at=transformer`,
  );
  await open(page, gated.files);
  await page.locator('#transformer').evaluate((chapter) => chapter.scrollIntoView());
  const figure = page.locator('#next-word');
  await figure.waitFor();
  await figure.evaluate((element) => element.scrollIntoView());
  // The target is empty, so the model reads only its start token, as in the first recorded row.
  const powers = gated
    .read('logits')
    .slice(0, 26)
    .map((logit) => Math.exp(logit));
  const total = powers.reduce((sum, power) => sum + power, 0);
  const want = Math.max(...powers) / total;
  const next = figure.getByRole('list', { name: 'What may come next' });
  const likeliest = next.locator('[data-probability]').first();
  await becomes(
    async () => Math.abs(Number(await likeliest.getAttribute('data-probability')) - want) <= 2e-5,
    true,
  );
  await next.getByRole('button').first().click();
  const [first] = gated.read('greedy');
  const written = decodeURIComponent(gated.textOf([first]));
  await becomes(async () => (await field(page).inputValue()).trim(), written);
  await becomes(() => page.locator('#transformer [data-lacks=block]').count(), 1);
  await choose(page, 'encoder');
  await page.locator('#transformer [data-lacks=next]').waitFor();
});
