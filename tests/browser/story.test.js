import assert from 'node:assert/strict';
import test from 'node:test';

import { accessibilityProblems } from './accessibility.js';
import { becomes, heatmap, matches, numberOf, openTestSite, settled, unfold } from './site.js';

/** @import { Page } from 'playwright-core' */

const site = await openTestSite();

const sentence = 'the+lady+sat+by+the+fire+because+the+lady+was+tired';
const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
const chapters = [
  ...['pooling', 'self-attention', 'order', 'encoding', 'rotation', 'architectures'],
  ...['transformer', 'training', 'precision', 'speed'],
];

test('each chapter has a question, a guess, sources and a takeaway', async () => {
  for (const chapter of chapters) {
    const page = await site.visit(`#at=${chapter}`);
    const here = page.locator(`[id="${chapter}"]`);
    await matches(() => here.locator('.question').first().innerText(), /\?$/, chapter);
    await matches(() => here.locator('.takeaway').innerText(), /^To take away\s+\S.*\.$/s, chapter);
    assert.ok((await here.getByRole('list', { name: 'Sources' }).count()) > 0, chapter);
    const guess = here.locator('[data-predict]').first();
    await unfold(guess);
    const choices = guess.getByRole('button');
    assert.ok((await choices.count()) >= 2, chapter);
    await becomes(async () => (await guess.getByRole('status').innerText()).trim(), '', chapter);
    await choices.first().press('Enter');
    await guess.getByRole('status').getByText(/\S/).first().waitFor();
    await becomes(() => choices.first().getAttribute('aria-pressed'), 'true');
    await becomes(() => guess.locator('button.right').count(), 1, chapter);
    const mark = await guess.locator('button.right .mark').innerText();
    assert.match(mark.trim(), /^(Right|The answer)$/, chapter);
    // No mark-up is left in the text.
    const said = await here.locator('.passage, .takeaway, [data-predict]').allInnerTexts();
    assert.doesNotMatch(said.join('\n'), /[[\]{}|]|\*\w|_\{|undefined|NaN|\[object/, chapter);
  }
});

test('the main path fits in 26,000 pixels, 5,500 words and 20 figures', async () => {
  const page = await site.open('#v=2', { viewport: { width: 1280, height: 800 } });
  const path = ['opening', ...chapters.slice(0, -2)];
  /**
   * Counts words to read, but neither names and numbers in drawings, nor formulas and controls.
   * @param {string} id @param {string} [outside] selector of elements to leave out
   */
  const wordsIn = (id, outside = '') =>
    page.locator(`[id="${id}"]`).evaluate((element, outside) => {
      const skipped = `svg, .katex, table, button, label, [popover], .visually-hidden${outside}`;
      const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT, ({ parentElement }) =>
        parentElement?.checkVisibility({ contentVisibilityAuto: true }) &&
        !parentElement.closest(skipped)
          ? NodeFilter.FILTER_ACCEPT
          : NodeFilter.FILTER_REJECT,
      );
      let count = 0;
      while (texts.nextNode())
        count += texts.currentNode.nodeValue?.match(/\p{L}{2,}/gu)?.length ?? 0;
      return count;
    }, outside);
  /** @type {string[]} */
  const figures = [];
  let words = 0;
  for (const chapter of path) {
    await page.evaluate((id) => document.getElementById(id)?.scrollIntoView(), chapter);
    await page.locator(`[data-loaded][id="${chapter}"]`).waitFor();
    // The language model's figure is loaded separately.
    if (chapter === 'transformer') await page.locator('#next-word').waitFor();
    words += await wordsIn(chapter, ', figure');
    const visible = await page
      .locator(`[id="${chapter}"] figure`)
      .evaluateAll((all) =>
        all.flatMap((figure) => (figure.closest('details:not([open])') ? [] : [figure.id])),
      );
    for (const figure of visible) {
      await page.evaluate((id) => document.getElementById(id)?.scrollIntoView(), figure);
      await page.locator(`[id="${figure}"]:not(:has(> .away))`).waitFor();
      await settled(page);
      words += await wordsIn(figure);
    }
    figures.push(...visible);
  }
  const height = await page
    .locator('main > .appendix')
    .evaluate((element) => element.getBoundingClientRect().top + scrollY);
  assert.ok(height <= 26_000, `${height} pixels`);
  assert.ok(words > 3000 && words <= 5500, `${words} words`);
  assert.ok(figures.length > 12 && figures.length <= 20, `figures: ${figures}`);
});

test('counts of one are written in the singular', async () => {
  for (const chapter of ['opening', ...chapters]) {
    const page = await site.visit(`#text=dog&heads=1&at=${chapter}`);
    const said = await page.evaluate(() => [
      document.body.innerText,
      ...Array.from(document.querySelectorAll('[data-summary]'), ({ textContent }) => textContent),
      ...Array.from(document.querySelectorAll('[aria-label]'), (element) => element.ariaLabel),
    ]);
    const plural =
      /(?:^|[^\d.,−\n])\b1 (?:sequential )?(?:tokens|words|keys|queries|rows|columns|positions|steps|heads|layers|points|pairs|numbers)\b/;
    assert.deepEqual(
      said.filter((text) => plural.test(text ?? '')).map((text) => plural.exec(text ?? '')?.[0]),
      [],
      chapter,
    );
  }
});

test('the opening explains layers and heads, and its settings explain themselves', async () => {
  const page = await site.visit('#weights=learned&causal=1&layer=1&head=0');
  const told = page.locator('#sentence .controls');
  await told
    .getByText(/in 3 layers, one after the other. In each layer 4 heads look at the words/)
    .waitFor();
  const bar = page.getByRole('region', { name: 'Sentence and settings' });
  // The bar sticks to the top of the window while the page scrolls under it.
  for (const top of [0, 5000]) {
    await page.evaluate((top) => scrollTo(0, top), top);
    await settled(page);
    for (const [name, means] of Object.entries({
      layer: 'One step of a model',
      head: 'look at the words at the same time',
      projections: 'turns a vector into a new one',
    })) {
      await bar.getByRole('button', { name, exact: true }).focus();
      const note = bar.getByRole('tooltip').filter({ hasText: means, visible: true });
      await note.waitFor();
      await becomes(async () => Number((await note.boundingBox())?.y) >= 0, true);
    }
  }
  // A head of the model answers the question that chapter 2 asks.
  await page.goto(`${site.url}#v=1&weights=learned&causal=1&at=self-attention&text=${sentence}`);
  await page.getByText('In your sentence the answer is “sat”').waitFor();
});

test('a guess stays while the page is open, and can be changed', async () => {
  const page = await site.visit('#at=order');
  const guess = page.locator('[data-predict="order"]');
  await guess.getByRole('button', { name: /^A little/ }).click();
  await guess.getByText('Attention does not know near from far').waitFor();
  const answer = await guess.getByRole('status').innerText();
  const [, mantissa, power] = /at most ([\d.]+)\s·\s10(−\d+)/.exec(answer) ?? [];
  assert.ok(Number(mantissa) * 10 ** numberOf(power) < 1e-5, answer);
  await page.evaluate(() => (location.hash = '#v=1&at=order&text=man+bites+dog'));
  await becomes(() => guess.locator('[aria-pressed="true"]').count(), 1);
  await guess.getByRole('button', { name: /^Nothing/ }).click();
  await guess.getByText('Attention simply does not see order').waitFor();
});

test('a term shows its meaning by pointer and keyboard, and Escape hides it', async () => {
  const page = await site.open('#at=pooling', { clock: true });
  // Nothing may move under the resting pointer.
  await settled(page);
  const term = page.locator('#pooling .term', { hasText: 'softmax' });
  const note = page.locator('#pooling [role=tooltip]', { hasText: 'Turns scores into weights' });
  await becomes(() => note.isHidden(), true);
  await term.hover();
  await note.waitFor();
  // The pointer moves straight from the term to its note.
  await note.hover();
  await page.clock.runFor(1000);
  await becomes(() => note.isVisible(), true);
  await page.keyboard.press('Escape');
  await note.waitFor({ state: 'hidden' });
  await page.mouse.move(2, 2);
  await term.focus();
  await note.waitFor();
  const inView = await note.evaluate((element) => {
    const { left, right, top, bottom } = element.getBoundingClientRect();
    return left >= 0 && right <= innerWidth && top >= 0 && bottom <= innerHeight;
  });
  assert.ok(inView);
  await matches(() => term.getAttribute('aria-describedby'), /\S/);
  await page.keyboard.press('Escape');
  await note.waitFor({ state: 'hidden' });
  await term.press('Enter');
  await note.waitFor();
});

test('on a phone a tap shows a term, and a tap elsewhere hides it', async () => {
  const page = await site.visit('#at=rotation', phone);
  const term = page.locator('#rotation .term', { hasText: 'Rotary' });
  const note = page.locator('#rotation [role=tooltip]', { hasText: 'RoPE' });
  await term.scrollIntoViewIfNeeded();
  await settled(page);
  await term.tap();
  await note.waitFor();
  await becomes(async () => Number((await note.boundingBox())?.width) <= 390, true);
  await page.locator('#rotation .takeaway').tap();
  await note.waitFor({ state: 'hidden' });
});

test('undivided scores saturate the softmax, and the numbers show it', async () => {
  const page = await site.visit('#weights=xavier&dModel=256&heads=1&at=self-attention.scale');
  const figure = page.locator('#scale');
  const value = async (/** @type {string} */ divisor, /** @type {string} */ name) =>
    Number(
      await figure
        .locator(`[data-divisor="${divisor}"] [data-${name}]`)
        .getAttribute(`data-${name}`),
    );
  await figure.locator('[data-divisor="root"]').waitFor();
  assert.ok((await value('none', 'entropy')) < (await value('root', 'entropy')));
  assert.ok((await value('root', 'entropy')) < (await value('width', 'entropy')));
  const spread = figure.locator('[data-width="1024"] [data-spread]');
  assert.ok(Math.abs(Number(await spread.getAttribute('data-spread')) / 32 - 1) < 0.1);
  await heatmap(figure, /scores divided by √D = 16/).waitFor();
  await figure.getByRole('radio', { name: 'nothing' }).check({ force: true });
  await heatmap(figure, /scores divided by nothing/).waitFor();
  await page.waitForURL(/scaleBy=none/);
});

test('buttons in the text apply masks', async () => {
  const page = await site.visit('#at=self-attention.weights');
  await page.getByRole('button', { name: 'no word looks ahead' }).click();
  await page.waitForURL(({ hash }) => hash.length > 1 && !hash.includes('causal'));
  await page.getByRole('button', { name: 'one neighbour on each side' }).click();
  await page.waitForURL(/window=1/);
  assert.match(page.url(), /causal=0/);
});

test('tables beside the text show the effect of a mask on a row and of the base on the hands', async () => {
  const page = await site.visit('#weights=xavier&causal=1&at=self-attention.weights');
  const shares = page.getByRole('table', { name: /^The largest weights that “.*”\d+ gives:/ });
  const cells = () => shares.locator('td').allInnerTexts();
  await becomes(async () => (await cells()).includes('–'), true);
  const told = await cells();
  const sum = (/** @type {number} */ column) =>
    told.reduce((all, text, i) => all + (i % 2 === column ? Number(text) || 0 : 0), 0);
  assert.ok(sum(0) < 1.03 && sum(1) > 0.3 && sum(1) < 1.03, told.join(' '));
  await page.getByRole('button', { name: 'no mask' }).click();
  await becomes(async () => {
    const now = await cells();
    return now.every((text, i) => i % 2 || text === now[i + 1]);
  }, true);
  await page.goto(`${site.url}#v=1&at=encoding&width=32&base=1000`);
  const bases = page.getByRole('table', { name: 'The slowest hand, with d = 32:' });
  const row = bases.getByRole('row', { name: /^1,000 / });
  await becomes(
    async () => (await row.getByRole('cell').innerText()).replace(/\D/g, ''),
    String(Math.round(2 * Math.PI * 1000 ** (30 / 32))),
  );
});

test('a button in the text chooses the projection to edit', async () => {
  const page = await site.visit('#at=self-attention.edit');
  const offer = page.getByRole('button', { name: /^Wv: what all words hand over/ });
  await offer.click();
  await becomes(() => offer.getAttribute('aria-pressed'), 'true');
  await page
    .locator('#edit')
    .getByRole('radio', { name: 'value' })
    .and(page.locator(':checked'))
    .waitFor();
});

test('the list of what each head attends to most links to the heads', async () => {
  const page = await site.visit('#at=self-attention.weights');
  const third = page.getByRole('button', { name: /^head 3/ });
  await matches(() => third.innerText(), /\d\.\d\d/);
  await third.click();
  await page.waitForURL(/head=3/);
});

test('the terms of a softmax name the subtracted score and distinguish equal tokens', async () => {
  const page = await site.visit('#at=self-attention.stages&stageCell=weights.0.0');
  const figure = page.locator('#stages');
  await figure.getByText(/is first subtracted from every score/).waitFor();
  await figure.getByText(/exp \/ [\d.]+ \(the sum of all exp\)/).waitFor();
  await figure.getByRole('rowheader', { name: /^exp\(score − [\d.]+\)$/ }).waitFor();
  const heads = await figure.locator('.terms th[scope=col]').allInnerTexts();
  assert.equal(new Set(heads).size, heads.length);
});

test('each of the twelve schemes is described, and pointing at one frames no other', async () => {
  const page = await site.visit('#v=2&schemesWeights=1&at=encoding.encoding-schemes');
  const cards = page.locator('#encoding-schemes [data-scheme]');
  await cards.first().waitFor();
  await unfold(page.locator('#encoding-schemes'));
  await becomes(() => cards.count(), 12);
  // The card of the reader's own scheme shows four measured answers where the other cards state
  // three facts.
  await cards.locator('[data-verdict]').nth(3).waitFor({ state: 'attached' });
  for (const card of await cards.all()) {
    await unfold(card);
    const facts = await card.locator('dd').allInnerTexts();
    const isYours = (await card.getAttribute('data-scheme')) === 'yours';
    assert.equal(facts.length, isYours ? 4 : 3);
    assert.ok(facts.every((fact) => fact.length > 5));
  }
  await heatmap(cards.nth(1), /attention weights/).hover();
  await becomes(() => page.locator('#encoding-schemes .grid [data-lit]').count(), 0);
});

test('the program of the sine computes its figure', async () => {
  const page = await site.visit('#at=rotation.rotation-sine');
  const figure = page.locator('#rotation-sine');
  await figure.getByRole('button', { name: /^Code for/ }).click();
  await figure.getByText(/sines = torch/).waitFor();
});

test('one value of a sine has two continuations', async () => {
  const page = await site.visit('#at=rotation.rotation-sine');
  const figure = page.locator('#rotation-sine');
  const told = figure.locator('.told b');
  await becomes(() => told.count(), 4);
  const [now, other, then, elsewhere] = (await told.allInnerTexts()).map(numberOf);
  assert.ok(Math.abs(now - other) < 0.15 && Math.abs(then - elsewhere) > 0.4);
});

test('the angles of a backward step have a sign', async () => {
  const page = await site.visit('#delta=-1&at=rotation.rotation-shift');
  const angle = page.locator('#rotation-shift [data-pair="0"]');
  await matches(() => angle.innerText(), /−57\.3°/);
});

test('on a phone the costs keep their formulas', async () => {
  const page = await site.visit('#at=architectures.costs', phone);
  const formulas = page.locator('#costs .formula');
  await becomes(() => formulas.count(), 15);
  for (const formula of await formulas.all()) await becomes(() => formula.isVisible(), true);
});

test('the chapters for engineers are an appendix with lettered headings', async () => {
  const page = await site.visit();
  await page.getByRole('heading', { name: 'Appendix, for engineers' }).waitFor();
  const contents = page.getByRole('navigation', { name: 'Contents' });
  await becomes(
    () => contents.locator('a > span').allInnerTexts(),
    ['1', '2', '3', '4', '5', '6', '7', '8', 'A', 'B'],
  );
});

test('axe finds nothing wrong with open guesses and terms', async () => {
  for (const options of [{}, { ...phone, colorScheme: /** @type {const} */ ('dark') }]) {
    const page = await site.visit('#at=self-attention', options);
    await page.locator('[data-predict="self-attention"] button').first().click();
    await page.locator('#self-attention .term').first().focus();
    await page.locator('#self-attention [role=tooltip]:popover-open').first().waitFor();
    assert.deepEqual(await accessibilityProblems(page, ['[id="self-attention"]']), []);
  }
});

test('a part that the lesson leaves out opens by a click, and by a link to its figure', async () => {
  const page = await site.visit('#at=self-attention');
  const [scale, edit] = ['scale', 'edit'].map((id) => page.locator(`#${id}`));
  await scale.waitFor({ state: 'attached' });
  await becomes(() => scale.isVisible(), false);
  await page.getByText('What happens if scores are not divided by √D').click();
  await heatmap(scale, /^Attention weights/)
    .first()
    .waitFor();
  await becomes(() => edit.isVisible(), false);
  const other = await site.visit('#at=self-attention.edit');
  await heatmap(other.locator('#edit'), /projection/)
    .first()
    .waitFor();
  await becomes(() => other.locator('#scale').isVisible(), false);
});

test('the short path leads from figure to figure', async () => {
  const page = await site.visit('#at=opening');
  const contents = page.getByRole('navigation', { name: 'Contents' });
  await contents.getByRole('link', { name: /^Short path: 12 figures/ }).click();
  const step = (/** @type {string} */ name) => page.getByRole('link', { name, exact: true });
  await step('1 of 12 ›').click();
  await page.locator('#pooling-figure .picture').waitFor();
  await page.waitForURL(/at=pooling\.pooling-figure$/);
  await step('2 of 12 ›').click();
  await page.waitForURL(/at=self-attention\.weights$/);
  await page.locator('#weights .picture').waitFor();
  // Even if the text before a figure is long, the title of the figure is in the window.
  await page.goto(`${site.url}#at=self-attention.weights`);
  await step('3 of 12 ›').click();
  await becomes(async () => {
    const box = await page.locator('#shuffle-title').boundingBox();
    const height = page.viewportSize()?.height ?? 0;
    return box !== null && box.y > 0 && box.y < 0.75 * height ? 'in sight' : box;
  }, 'in sight');
});

test('the bar shows a setting that was changed elsewhere and affects the figures in view', async () => {
  const page = await site.visit('#v=2&base=100&at=rotation.rotation-shift', {
    viewport: { width: 1280, height: 720 },
  });
  const changed = page.locator('.bar').getByRole('button', { name: 'base 100' });
  await changed.click();
  await changed.waitFor({ state: 'detached' });
  await page.waitForURL(({ hash }) => !hash.includes('base='));
  await page.goto(`${site.url}#v=2&base=100&at=pooling.pooling-figure`);
  await page.locator('#pooling-figure .picture').waitFor();
  await becomes(() => changed.count(), 0);
});
