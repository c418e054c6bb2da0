// Tests the walk that follows one word of the sentence step by step.

import assert from 'node:assert/strict';
import test from 'node:test';

import { accessibilityProblems } from './accessibility.js';
import { maxAbsDifference, sinusoidalEncoding } from './reference.js';
import {
  arrival,
  becomes,
  heatmap,
  matches,
  numberOf,
  openTestSite,
  overflow,
  readValues,
  settled,
  weightsMap,
} from './site.js';

/** @import { Page } from 'playwright-core' */

const site = await openTestSite();

const steps = 8;
/** @param {Page} page */
const title = (page) => page.locator('#walk-title').innerText();
/** @param {Page} page */
const says = (page) => page.locator('#walk [data-says]').innerText();
/** @param {Page} page @param {string} name */
const button = (page, name) => page.locator('#walk').getByRole('button', { name, exact: true });
/** @param {Page} page */
const stepInLink = (page) => new URLSearchParams(new URL(page.url()).hash.slice(1)).get('walk');
/** The word that the page's walk-through follows, with its position. @param {Page} page */
const chosen = (page) =>
  page.locator('#walk [aria-pressed="true"]').evaluate((element) => element.textContent?.trim());

test('the walk is offered in the first view, and keys start, step through and leave it with the right focus', async () => {
  const page = await site.visit();
  const start = page.getByRole('button', { name: 'Follow one word' });
  const { y, height } = /** @type {{ y: number, height: number }} */ (await start.boundingBox());
  assert.ok(y + height < 900, String(y));
  await start.press('Enter');
  await becomes(() => title(page), 'A word becomes numbers');
  await becomes(() => page.evaluate(() => document.activeElement?.id), 'walk-title');
  await becomes(() => page.locator('#sentence').count(), 0);
  await page.keyboard.press('ArrowRight');
  await becomes(() => title(page), 'Clock hands show the word’s position');
  await becomes(async () => stepInLink(page), '2');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  await becomes(() => title(page), 'A word becomes numbers');
  // The space bar and the buttons of a presentation remote also move through the walk.
  await page.keyboard.press('PageDown');
  await page.keyboard.press('Space');
  await becomes(() => title(page), 'Its query meets the keys');
  await page.keyboard.press('PageUp');
  await page.keyboard.press('Shift+Space');
  await becomes(() => title(page), 'A word becomes numbers');
  // If a matrix has the focus, it receives the arrow keys. Escape still leaves the walk.
  const strip = heatmap(page.locator('#walk'), /^the vector of the word/);
  await strip.focus();
  await strip.press('ArrowRight');
  await becomes(() => title(page), 'A word becomes numbers');
  await page.keyboard.press('Escape');
  await page.locator('#sentence').waitFor();
  await becomes(() => page.evaluate(() => document.activeElement?.id), 'start-walk');
  await becomes(async () => new URL(page.url()).hash, '');
});

test('the walk leaves time to read every step, ends within four minutes, and stops at a click', async () => {
  const page = await site.open('', { reducedMotion: 'reduce' });
  await page.clock.install();
  await page.getByRole('button', { name: 'Follow one word' }).click();
  const dots = page.locator('#walk .dots button');
  const readSeconds = () =>
    dots.evaluateAll((all) =>
      all.map((dot) =>
        parseFloat(/** @type {HTMLElement} */ (dot).style.getPropertyValue('--seconds')),
      ),
    );
  await becomes(async () => (await readSeconds()).filter((duration) => duration > 0).length, steps);
  const seconds = await readSeconds();
  const total = seconds.reduce((sum, duration) => sum + duration);
  assert.ok(total > 100 && total < 240, String(total));
  /** Lets the time of a step pass, and waits for the next step. @param {number} step */
  const pass = async (step) => {
    await page.clock.fastForward(1000 * seconds[step - 1]);
    await dots.nth(step).and(page.locator('[aria-current]')).waitFor();
  };
  await button(page, 'Play').click();
  await pass(1);
  await page.locator('#walk .stage :is(canvas, .row)').first().click();
  await button(page, 'Play').waitFor();
  await dots.first().click();
  // Records when steps begin, by the page's clock.
  const begins = await page.locator('#walk .dots').evaluateHandle((list) => {
    const times = /** @type {number[]} */ ([]);
    new MutationObserver(() => times.push(Date.now())).observe(list, {
      ...{ subtree: true, attributeFilter: ['aria-current'] },
    });
    return times;
  });
  await button(page, 'Play').click();
  for (let step = 1; step < steps; step++) await pass(step);
  const times = await begins.jsonValue();
  assert.equal(times.length, steps - 1);
  // The first of these times is the beginning of the second step.
  for (let step = 2; step < steps; step++) {
    const lasted = (times[step - 1] - times[step - 2]) / 1000;
    assert.ok(lasted >= seconds[step - 1], `step ${step}: ${lasted} s`);
  }
  await page.clock.fastForward(1000 * seconds[steps - 1]);
  await button(page, 'Play again').waitFor();
});

test('the walk shows the same numbers as the chapters', async () => {
  const settings = 'weights=xavier&head=1&walkWord=8';
  const weights = await (async () => {
    const page = await site.visit(`#at=self-attention.weights&${settings}`);
    const values = await readValues(weightsMap(page), 11, 11);
    return values[8];
  })();
  const page = await site.visit(`#walk=4&${settings}`);
  await becomes(() => chosen(page), 'cat8');
  await becomes(async () => {
    const shown = await page.locator('#walk .row .number').allInnerTexts();
    return shown.length > 0 && shown.every((text, key) => text === weights[key].toFixed(3));
  }, true);
  const entropy = weights.reduce((sum, weight) => sum - weight * Math.log2(weight), 0);
  await button(page, 'Next').click();
  const entropies = page.locator('#walk [data-entropy]');
  await becomes(() => entropies.count(), 2);
  const [divided, undivided] = await entropies.evaluateAll((all) =>
    all.map((each) => Number(each.getAttribute('data-entropy'))),
  );
  assert.ok(Math.abs(divided - entropy) < 1e-4, `${divided} for ${entropy}`);
  assert.ok(undivided < divided);
  await matches(() => says(page), new RegExp(`from ${divided.toFixed(2)} bits`));
  // In step 2, the walk adds the clock hands of position 8.
  await page.locator('.dots button').nth(1).click();
  const hands = heatmap(page.locator('#walk'), /^plus the clock hands of its position/);
  await becomes(async () => {
    const [row] = await readValues(hands, 1, 64);
    return maxAbsDifference([row], [sinusoidalEncoding(9, 64, 10000)[8]]) < 1e-6;
  }, true);
});

test('without positions, shuffling the sentence changes nothing, whatever the order', async () => {
  const page = await site.visit('#walk=7&weights=xavier');
  const differences = () =>
    page
      .locator('#walk [data-difference]')
      .evaluateAll((all) => all.map((each) => Number(each.getAttribute('data-difference'))));
  const [before] = await differences();
  await button(page, 'another order').click();
  await becomes(async () => (await differences())[0] !== before, true);
  const [placed, unplaced] = await differences();
  assert.ok(placed > 1e-2 && unplaced < 1e-5, `${placed}, ${unplaced}`);
});

test('an untrained layer guesses nothing, and the language model guesses the next word', async () => {
  const page = await site.visit(
    '#walk=8&walkWord=8&text=the+lady+sat+by+the+fire+because+the+lady',
  );
  await becomes(() => title(page), 'There is no model yet to guess');
  await page
    .locator('#walk')
    .getByRole('button', { name: /^Use a trained model/ })
    .click();
  await becomes(() => title(page), 'The next word is guessed');
  await page.locator('#walk [data-probability]').first().waitFor();
  const shares = await page
    .locator('#walk [data-probability]')
    .evaluateAll((all) => all.map((each) => Number(each.getAttribute('data-probability'))));
  assert.ok(shares[0] > 0.1 && shares.every((share, i) => !i || share <= shares[i - 1]));
  // The positions of this model rotate queries and keys, and the page says so.
  await page.locator('.dots button').nth(1).click();
  await matches(() => says(page), /This model instead turns two vectors/);
  await heatmap(page.locator('#walk'), /^turned by the clocks/).waitFor();
  // Each clock rotates two neighbouring numbers, as in the chapters.
  const pairs = await page.locator('#walk .clock .columns').allInnerTexts();
  assert.deepEqual([pairs.length, pairs[0], pairs[1], pairs[15]], [16, '0, 1', '2, 3', '30, 31']);
  // Clicking the model's guess appends it to the sentence.
  await page.locator('.dots button').nth(7).click();
  const text = await page.getByRole('textbox').first().inputValue();
  await page.locator('#walk [aria-label="The word to follow"] button').last().click();
  const candidate = page.locator('#walk [aria-label="What may come next"] button').first();
  const word = await candidate.locator('bdi').innerText();
  await candidate.click();
  await becomes(() => page.getByRole('textbox').first().inputValue(), `${text} ${word}`);
});

test('another word can be chosen, and the walk says if masks hide every word', async () => {
  const page = await site.visit('#walk=3&causal=1');
  await page.locator('#walk').getByRole('button', { name: /^mat/ }).click();
  await becomes(() => chosen(page), 'mat5');
  await becomes(() => page.locator('#walk .row').count(), 6);
  await page.waitForURL(({ hash }) => /[#&]walkWord=5(&|$)/.test(hash));
  await page.goto(`${site.url}#v=1&walk=3&walkWord=0&blocked=0.0&causal=1`);
  await page.getByText('The masks hide every word').waitFor();
});

test('each step links to a chapter, and Back returns to the step', async () => {
  const page = await site.visit('#walk=7');
  await page
    .locator('#walk')
    .getByRole('link', { name: /^Chapter 3/ })
    .click();
  await page.locator('#order[data-loaded]').waitFor();
  await page.waitForFunction(() => !document.documentElement.dataset.going);
  await page.goBack();
  await page.waitForFunction(() => !document.documentElement.dataset.going);
  await becomes(() => title(page), 'Break it: take away the positions');
});

test('the last step closes the walk and leads to the first chapter', async () => {
  const page = await site.visit('#walk=8');
  await button(page, 'Next: chapter 1').click();
  await arrival(page, 'pooling');
  const { y } = /** @type {{ y: number }} */ (await page.locator('#pooling-title').boundingBox());
  assert.ok(y > 0 && y < 300, `${y}`);
  await page.locator('#walk').waitFor({ state: 'detached' });
  // Back leads to the first picture.
  await page.goBack();
  await page.locator('#sentence').waitFor();
  await becomes(async () => stepInLink(page), null);
});

test('the worker computes the walk of a long sentence', async () => {
  const text = Array.from({ length: 900 }, (_, i) => `word${i % 300}`).join('+');
  const page = await site.visit(`#walk=6&text=${text}`);
  await page.getByText(/^and 88\d more/).waitFor();
  const shown = await page.locator('#walk .row .number').allInnerTexts();
  assert.ok(shown.every((each) => numberOf(each.replace('< ', '')) <= 1));
});

const text = 'the+lady+sat+by+the+fire+because+the+lady+was+tired';

for (const [
  name,
  options,
] of /** @type {[string, import('playwright-core').BrowserContextOptions][]} */ ([
  ['a phone', { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }],
  ['a dark screen', { colorScheme: 'dark' }],
])) {
  test(`on ${name} each step is accessible and fits, its caption and word are visible, and its controls stay in place`, async () => {
    const page = await site.visit(`#walk=1&weights=learned&causal=1&layer=1&text=${text}`, {
      ...{ ...options, reducedMotion: 'reduce' },
    });
    await page.locator('#walk [data-says]', { hasText: 'A model cannot read' }).waitFor();
    /** @param {string} what */
    const box = async (what) =>
      /** @type {{ y: number, height: number }} */ (await page.locator(what).boundingBox());
    await settled(page);
    const { y: place } = await box('#walk .controls');
    for (let step = 1; step <= steps; step++) {
      await page
        .locator('.dots button')
        .nth(step - 1)
        .click();
      await settled(page);
      await becomes(() => overflow(page), 0, `step ${step}`);
      for (const what of ['#walk-title', '#walk .controls']) {
        await becomes(
          async () => {
            const { y, height } = await box(what);
            return y > 0 && y + height <= (page.viewportSize()?.height ?? 0);
          },
          true,
          `${what}, ${step}`,
        );
      }
      await becomes(
        async () => Math.abs((await box('#walk .controls')).y - place) < 1,
        true,
        `step ${step}`,
      );
      if (options.viewport && step >= 3 && step <= 6) {
        await becomes(
          async () => {
            const { y, height } = await box('#walk .names .selected');
            return y + height <= (await box('#walk .caption')).y;
          },
          true,
          `step ${step}`,
        );
      }
      // The page around the walk is the same in all steps.
      const parts = step === 1 ? undefined : ['#walk'];
      assert.deepEqual(await accessibilityProblems(page, parts), [], `step ${step}`);
    }
  });
}

test('the other occurrence of a repeated word is shown, however far away', async () => {
  const page = await site.visit('#walk=1&weights=xavier&text=lady+' + text.slice(9), {
    viewport: { width: 390, height: 844 },
  });
  const rows = page.locator('#walk .all svg').first().locator('text');
  await page.locator('#walk [aria-label="The word to follow"] button').nth(7).click();
  await page.locator('#walk .more', { hasText: 'is also at position 0' }).waitFor();
  await becomes(
    () => rows.allTextContents(),
    'lady the fire because the lady was tired'.split(' '),
  );
});

test('the head that attends to what followed the same word is explained, with its effect', async () => {
  const head = `weights=learned&causal=1&layer=1&head=0&text=${text}&walkWord=8`;
  const page = await site.visit(`#walk=4&${head}`);
  await page.locator('#walk .more', { hasText: 'The first time, “' }).waitFor();
  await page.locator('.dots button').nth(7).click();
  await becomes(async () => /which this head looked at, comes second/.test(await says(page)), true);
  // The prediction after the fourth word does not depend on the head.
  await page.locator('#walk [aria-label="The word to follow"] button').nth(3).click();
  await becomes(async () => /which this head looked at/.test(await says(page)), false);
});

test('if one key has nearly all the weight, another word shows the division and the blend, and the walk says so', async () => {
  const head = `weights=learned&causal=1&layer=1&head=0&text=${text}&walkWord=8`;
  const page = await site.visit(`#walk=4&${head}`);
  const shown = page.locator('#walk .shown');
  await becomes(() => shown.innerText(), 'lady8');
  await page
    .locator('#walk .more', { hasText: /The next two steps show another word .* “[^”]*was/ })
    .waitFor();
  await button(page, 'Next').click();
  await matches(() => says(page), /this step and the next show “[^”]*was[^”]*” instead/);
  await becomes(() => chosen(page), 'lady8');
  await becomes(() => shown.innerText(), 'was9');
  const entropies = page.locator('#walk [data-entropy]');
  await becomes(() => entropies.count(), 2);
  const [divided, undivided] = await entropies.evaluateAll((all) =>
    all.map((each) => Number(each.getAttribute('data-entropy'))),
  );
  assert.ok(divided > 2 && undivided < 0.5, `${divided}, ${undivided}`);
  // The blend of the same word follows. It consists of more than one value.
  await button(page, 'Next').click();
  await matches(
    () => says(page),
    /still shows “[^”]*was[^”]*”. In its blend, 35\s% comes from “[^”]*by/,
  );
  await becomes(() => shown.innerText(), 'was9');
  await matches(
    async () => (await page.locator('#walk .row .number').allInnerTexts()).join(' '),
    /^0\.151 .* 0\.353 /,
  );
  await button(page, 'Next').click();
  await matches(() => says(page), /^Back to “[^”]*lady/);
  await becomes(() => shown.innerText(), 'lady8');
});

test('in a sentence with split words, the walk follows a whole word and explains the pieces', async () => {
  const page = await site.visit(
    '#walk=1&weights=learned&causal=1&layer=1&text=we+like+football+and+tea',
  );
  await page.locator('#walk .more', { hasText: /such as .*foot.*-/ }).waitFor();
  await becomes(async () => /^(like|and|tea)\d$/.test(String(await chosen(page))), true);
});

test('the walk can fill the screen and return', async () => {
  const page = await site.visit('#walk=5&weights=xavier');
  await button(page, 'Full screen').click();
  await page.locator('#walk:fullscreen').waitFor();
  const zoom = () =>
    page.locator('#walk .caption').evaluate((e) => Number(getComputedStyle(e).zoom));
  await becomes(async () => (await zoom()) > 1.1, true);
  await becomes(() => page.locator('#walk').evaluate((e) => e.scrollHeight <= innerHeight), true);
  await page.keyboard.press('PageDown');
  await becomes(() => title(page), 'Values are blended');
  await page.locator('#walk').getByRole('button', { name: 'Leave full screen' }).click();
  await becomes(zoom, 1);
});
