// Tests how the page loads its language model, and the figures that show the model.

import assert from 'node:assert/strict';
import test from 'node:test';

import { accessibilityProblems } from './accessibility.js';
import { becomes, openTestSite, settled, unfold } from './site.js';

/** @import { Page } from 'playwright-core' */

const site = await openTestSite();

/** The page's requests for the model's files. @param {Page} page */
function watchModel(page) {
  /** @type {string[]} */
  const asked = [];
  page.on('request', (request) => {
    if (request.url().endsWith('.safetensors')) asked.push(request.url());
  });
  return asked;
}

/** @param {Page} page @param {string} name */
const radio = (page, name) => page.getByRole('radio', { name, exact: true }).first();

/** @param {Page} page */
const text = (page) => page.getByRole('textbox').first();

const learned = '#weights=learned&causal=1';

test('a page without a link fetches the model after its first picture and keeps typed text', async () => {
  const page = await site.open('', { learns: true });
  await page.getByRole('button', { name: 'Settings' }).click();
  await text(page).fill('she was not');
  await radio(page, 'learned').and(page.locator(':checked')).waitFor();
  await becomes(() => text(page).inputValue(), 'she was not');
  await becomes(() => page.getByText(/^Layer \d, head \d/).isVisible(), true);
  // Undo restores the previous sentence. It does not turn off the model.
  await page.getByRole('button', { name: 'Undo' }).click();
  await becomes(() => radio(page, 'learned').isChecked(), true);
  await becomes(async () => new URL(page.url()).hash, '');
});

test('nothing moves when the model arrives', async () => {
  const page = await site.open('', { learns: true, reducedMotion: 'reduce' });
  const top = () =>
    page.evaluate(() => document.querySelector('#sentence canvas')?.getBoundingClientRect().top);
  await page.getByRole('button', { name: 'Settings' }).click();
  await radio(page, 'learned').and(page.locator(':checked')).waitFor();
  await settled(page);
  const before = await top();
  await radio(page, 'identity').check({ force: true });
  await radio(page, 'identity').and(page.locator(':checked')).waitFor();
  await settled(page);
  assert.equal(await top(), before);
  // The address now contains the choice of weights, so a reload keeps it.
  await page.waitForURL(({ hash }) => hash.length > 1 && !hash.includes('learned'));
});

test('a link without the model does not fetch it', async () => {
  const page = await site.open('#text=two+words', { learns: true, clock: true });
  const asked = watchModel(page);
  await page.clock.runFor(5000);
  await becomes(() => radio(page, 'identity').isChecked(), true);
  assert.deepEqual(asked, []);
});

test('the page asks before it fetches the model if the reader saves data', async () => {
  const page = await site.open('', { clock: true });
  const asked = watchModel(page);
  await page.clock.runFor(5000);
  assert.deepEqual(asked, []);
  await page.getByRole('button', { name: 'Fetch it' }).click();
  await radio(page, 'learned').and(page.locator(':checked')).waitFor();
  assert.equal(asked.length, 1);
  await page.getByRole('button', { name: 'Masks: causal' }).waitFor();
  // A loaded model is not fetched again.
  await radio(page, 'random').check({ force: true });
  const again = page.getByRole('button', { name: 'Look at it' });
  await again.waitFor();
  await becomes(() => page.getByText(/Fetch it|The model is downloaded/).count(), 0);
  await again.click();
  await radio(page, 'learned').and(page.locator(':checked')).waitFor();
  assert.equal(asked.length, 1);
});

test('a truncated model file is reported, changes nothing, and can be fetched again', async () => {
  const page = await site.open('#text=two+words');
  let whole = false;
  await page.route('**/*.safetensors', (route) =>
    whole ? route.continue() : route.fulfill({ body: 'half a file' }),
  );
  await radio(page, 'learned').click({ force: true });
  await page.getByText(/language model could not be loaded/).waitFor();
  await radio(page, 'identity').and(page.locator(':checked')).waitFor();
  whole = true;
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText(/language model could not be loaded/).waitFor({ state: 'detached' });
  await radio(page, 'learned').click({ force: true });
  await radio(page, 'learned').and(page.locator(':checked')).waitFor();
});

for (const [place, name] of [
  ['self-attention.pipeline', /^Input of the layer, \d+ tokens by 128/],
  ['self-attention.weights', /^Attention weights of head 2/],
  ['self-attention.stages', /^Weights after softmax/],
  ['self-attention.edit', /./],
  ['encoding.encoding-schemes', /^none: attention weights/],
  ['order.shuffle', /./],
  ['transformer.encoder-block', /^head 1/],
  ['transformer.decoder-cache', /./],
]) {
  test(`${place} shows the model, and its program loads it`, async () => {
    const page = await site.visit(`${learned}&layer=1&head=1&shuffle=1&at=${place}`);
    const figure = page.locator(`#${String(place).split('.')[1]}`);
    await radio(page, 'learned').and(page.locator(':checked')).waitFor();
    const map = figure.getByRole('application', { name }).first();
    await figure.locator('.body').waitFor();
    await unfold(figure);
    await map.waitFor();
    // In a figure with several pictures, the program computes the selected picture.
    if (place === 'encoding.encoding-schemes') await map.focus();
    await figure.getByRole('button', { name: /^Code for/ }).click();
    await figure
      .getByText(/model\.safetensors/)
      .first()
      .waitFor();
  });
}

test('axe finds nothing wrong where the model is shown, light, dark and on a phone', async () => {
  for (const place of ['', '&at=self-attention', '&at=order', '&at=transformer']) {
    for (const options of /** @type {const} */ ([
      {},
      { viewport: { width: 390, height: 844 }, isMobile: true, colorScheme: 'dark' },
    ])) {
      const page = await site.visit(learned + place, options);
      await page.waitForFunction(() =>
        performance.getEntriesByType('resource').some(({ name }) => name.endsWith('.safetensors')),
      );
      await settled(page);
      const chapter = place.split('=')[1];
      const parts = chapter ? [`[id="${chapter}"]`, '.bar'] : undefined;
      assert.deepEqual(await accessibilityProblems(page, parts), [], place);
    }
  }
});

test('the worker reads a long sentence', async () => {
  const sentence = 'it was not the same to him as it had been to her ';
  const words = sentence.repeat(12).trim();
  const page = await site.visit(
    `${learned}&layer=2&text=${words.replaceAll(' ', '+')}&at=self-attention.weights`,
  );
  const map = page.locator('#weights').getByRole('application', { name: /^Attention weights/ });
  await map.first().waitFor();
  await map.first().focus();
  await page.keyboard.press('End');
  await becomes(
    async () =>
      Number.isFinite(Number(await page.locator('#weights [data-value]').first().innerText())),
    true,
  );
});

test('the next word has probabilities, is sampled reproducibly, and can be chosen by hand', async () => {
  const link = `${learned}&text=she+was+very+much&at=transformer.next-word`;
  const written = [];
  for (let reader = 0; reader < 2; reader++) {
    const page = await site.visit(link);
    const figure = page.locator('#next-word');
    const probabilities = figure.locator('[data-probability]');
    const tokens = figure.getByRole('list', { name: 'The text, token by token' });
    // A page that shows another text shows its prediction until the new one is computed.
    await becomes(() => tokens.getByRole('listitem').count(), 4);
    await becomes(() => probabilities.count(), 10);
    const shares = await probabilities.evaluateAll((all) =>
      all.map((each) => Number(/** @type {HTMLElement} */ (each).dataset.probability)),
    );
    assert.deepEqual(
      shares,
      shares.toSorted((a, b) => b - a),
    );
    assert.ok(shares[9] > 0 && shares.reduce((a, b) => a + b) <= 1 + 1e-6);
    // A bar that fills its track would mean a probability of 1.
    const bars = await figure.locator('.next .bar').evaluateAll((all) =>
      all.map((track) => {
        const [whole, part] = [track, /** @type {Element} */ (track.firstElementChild)].map(
          (each) => each.getBoundingClientRect().width,
        );
        return part / whole;
      }),
    );
    bars.forEach((bar, i) => assert.ok(Math.abs(bar - shares[i]) < 0.01, `${bar}, ${shares[i]}`));
    await figure.getByRole('button', { name: 'Add ten tokens' }).click();
    await becomes(() => tokens.getByRole('listitem').count(), 14);
    written.push(await text(page).inputValue());
  }
  assert.equal(written[0], written[1]);
  assert.ok(written[0].startsWith('she was very much '));

  const page = await site.visit(link);
  const [tokens, next] = ['The text, token by token', 'What may come next'].map((name) =>
    page.locator('#next-word').getByRole('list', { name }),
  );
  await becomes(() => tokens.getByRole('listitem').count(), 4);
  const first = next.getByRole('button').first();
  const label = await first.locator('bdi').innerText();
  const takeBack = page.locator('#next-word').getByRole('button', { name: 'Take back' });
  await becomes(() => takeBack.isDisabled(), true);
  await first.click();
  await becomes(
    () =>
      text(page)
        .inputValue()
        .then((all) => all.endsWith(label)),
    true,
  );
  await becomes(() => tokens.getByRole('listitem').count(), 5);
  await takeBack.click();
  await becomes(() => text(page).inputValue(), 'she was very much');
  await becomes(() => takeBack.isDisabled(), true);
});

test('the loss of a sentence is lowest in its own order', async () => {
  const page = await site.visit(
    `${learned}&text=she+was+very+much+pleased+to+see+him+again&at=order.order-loss`,
  );
  const losses = page.locator('#order-loss [data-loss]');
  await becomes(() => losses.count(), 3);
  const [asWritten, shuffled, withoutPositions] = await losses.evaluateAll((all) =>
    all.map((each) => Number(/** @type {HTMLElement} */ (each).dataset.loss)),
  );
  assert.ok(0 < asWritten && asWritten < shuffled && asWritten < withoutPositions);
});
