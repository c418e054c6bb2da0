// Measures how long readers' actions take with 64 tokens, how long dragging a heatmap of 512 × 512
// takes, and how long a newly opened page takes to show its first picture. The unit is one frame of
// 16 ms. A frame is represented by a fixed amount of work in the same page, which takes 16 ms on an
// ordinary computer. Actions and work are both measured in processor time of the page's thread, so
// that their ratio hardly depends on how slow or busy the machine is. The test also reports the
// milliseconds. The goal is one frame; the limits are values that every machine achieves today.

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';

import { openSite } from '../browser/site.js';
import { stopwatch } from './stopwatch.js';

/** @import { Locator, Page } from 'playwright-core' */

/** @type {import('../browser/site.js').Site} */
let site;
before(async () => (site = await openSite()));
after(() => site.close());

/** Largest permitted number of frames for one change. */
const kMostFrames = 4;

/**
 * Largest permitted number of frames from opening the page to its first picture. The browser has
 * just been started, and the frames include the time to load scripts. Measured values are between
 * 34 and 63, so this limit only catches drastic regressions.
 */
const kMostFramesToPicture = 200;

/** Number of times that a control is changed. */
const changes = 24;

/**
 * Changes a control in consecutive frames.
 * @param {Locator} control
 * @param {readonly (string | number)[]} values
 */
const change = (control, values) =>
  control.evaluate(
    async (input, { values, changes }) => {
      for (let i = 0; i < changes; i++) {
        /** @type {HTMLInputElement} */ (input).value = String(values[i % values.length]);
        input.dispatchEvent(new InputEvent('input', { bubbles: true }));
        await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
      }
    },
    { values, changes },
  );

/** Performs the unit of work many times. @param {Page} page */
const work = (page) =>
  page.evaluate((times) => {
    let x = 0.5;
    for (let i = 0; i < times * 400_000; i++) x = Math.sin(x + (i % 1000));
    return x;
  }, changes);

/**
 * Measures how many frames a change takes.
 * @param {string} what
 * @param {string} fragment
 * @param {(page: Page) => Locator} control
 * @param {readonly (string | number)[]} values
 */
function takesFewFrames(what, fragment, control, values) {
  test(`${what} takes few frames`, async (context) => {
    const page = await site.open(fragment);
    const time = await stopwatch(page);
    await change(control(page), values);
    const each = (await time(() => change(control(page), values))) / changes;
    const unit = (await time(() => work(page))) / changes;
    context.diagnostic(
      `${each.toFixed(1)} ms where the unit takes ${unit.toFixed(1)} ms: ${(each / unit).toFixed(2)} frames`,
    );
    assert.ok(each <= kMostFrames * unit, `${each} ms where the unit takes ${unit} ms`);
    await page.context().close();
  });
}

test('a visit takes few frames until the first picture', async (context) => {
  const page = await (await site.browser.newContext()).newPage();
  page.setDefaultTimeout(60_000);
  const time = await stopwatch(page);
  const picture = await time(async () => {
    await page.goto(`${site.url}#at=encoding`);
    await page.locator('figure .picture :is(canvas, path)').first().waitFor({ state: 'attached' });
  });
  const unit = (await time(() => work(page))) / changes;
  context.diagnostic(
    `${picture.toFixed(0)} ms where the unit takes ${unit.toFixed(1)} ms: ${(picture / unit).toFixed(0)} frames`,
  );
  assert.ok(
    picture <= kMostFramesToPicture * unit,
    `${picture} ms where the unit takes ${unit} ms`,
  );
  await page.context().close();
});

const words = ['the', 'cat', 'sat', 'on', 'the', 'mat', 'because', 'it', 'was', 'tired'];
const sentence = Array.from({ length: 63 }, (_, i) => words[i % words.length]).join(' ');
const text = `#text=${encodeURIComponent(`${sentence} a`)}`;

for (const at of [
  'opening.sentence',
  'pooling',
  'self-attention.weights',
  'self-attention.stages',
  'self-attention.edit',
  'order.shuffle',
  'encoding.encoding-heatmap',
  'encoding.schemes',
  'architectures.paths',
  'transformer.encoder-block',
  'transformer.decoder-cache',
]) {
  takesFewFrames(
    `typing at ${at}`,
    `${text}&at=${at}`,
    (page) => page.getByRole('textbox').first(),
    ['a', 'ab', 'abc', 'abcd', 'abcde', 'abcdef'].map((word) => `${sentence} ${word}`),
  );
}

takesFewFrames(
  'dragging the width of the layer',
  `${text}&at=self-attention.weights`,
  (page) => page.getByRole('slider', { name: 'width' }).first(),
  [64, 72, 80, 88],
);

for (const name of ['width', 'length']) {
  takesFewFrames(
    `dragging the ${name} of an encoding of 512 by 512`,
    '#length=512&width=512&at=encoding.encoding-heatmap',
    (page) => page.locator('#encoding-heatmap').getByRole('slider', { name: new RegExp(name) }),
    [512, 511, 510, 509, 508, 507],
  );
}
