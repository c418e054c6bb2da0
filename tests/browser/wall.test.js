// Tests the wall, which shows all heads of all layers at once, for the page's model and for a
// reader's model.

import assert from 'node:assert/strict';
import test from 'node:test';

import { accessibilityProblems } from './accessibility.js';
import { bert, choose, gpt2, open, recorded } from './ownModel.js';
import { becomes, matches, openTestSite, settled, unfold } from './site.js';

/** @import { Page } from 'playwright-core' */

const site = await openTestSite();

const text = 'text=the+lady+sat+by+the+fire+because+the+lady+was+tired';
const learned = `#${text}&weights=learned&causal=1&at=self-attention.wall`;

/** @param {Page} page @param {number} heads number of heads */
async function wallOf(page, heads) {
  const wall = page.locator('#wall');
  await page.locator('#self-attention').evaluate((chapter) => chapter.scrollIntoView());
  await wall.waitFor({ state: 'attached' });
  await unfold(wall);
  await wall.evaluate((figure) => figure.scrollIntoView());
  await becomes(() => wall.locator('[data-head]').count(), heads);
  await settled(page);
  return wall;
}

/** @param {import('playwright-core').Locator} wall @param {string} name */
const sort = (wall, name) => wall.getByRole('radio', { name, exact: true }).check({ force: true });

/** @param {import('playwright-core').Locator} wall @returns {Promise<[string, number][]>} */
const shares = (wall) =>
  wall
    .locator('[data-head]')
    .evaluateAll((buttons) =>
      buttons.map((button) => [
        button.getAttribute('data-head') ?? '',
        Number(button.querySelector('[data-share]')?.getAttribute('data-share')),
      ]),
    );

test('the wall of a model from files shows the shares that PyTorch recorded', async () => {
  const { ids, read, text: sentence, files } = recorded('gpt2', 29);
  const page = await site.visit(`#text=${sentence}`);
  await open(page, files);
  const wall = await wallOf(page, 8);
  const n = ids.length;
  /** @type {Record<string, (row: number[], i: number) => number | null>} */
  const measures = {
    'previous token': (row, i) => (i < 2 ? null : row[i - 1]),
    'first token': (row, i) => (i < 2 ? null : row[0]),
    'same token': (row, i) =>
      ids.indexOf(ids[i]) < i
        ? row.reduce((sum, weight, j) => sum + (j < i && ids[j] === ids[i] ? weight : 0), 0)
        : null,
    'what followed': (row, i) =>
      ids.indexOf(ids[i]) < i
        ? row.reduce(
            (sum, weight, j) => sum + (j && ids[j - 1] === ids[i] && j <= i ? weight : 0),
            0,
          )
        : null,
  };
  for (const [name, measure] of Object.entries(measures)) {
    await sort(wall, name);
    await wall.locator('[data-share]').first().waitFor();
    const found = await shares(wall);
    assert.deepEqual(
      found.map(([, share]) => share),
      found.map(([, share]) => share).sort((a, b) => b - a),
      name,
    );
    for (const [head, share] of found) {
      const [layer, index] = head.split('.').map(Number);
      const all = read(`weights.${layer}`);
      const values = Array.from({ length: n }, (_, i) =>
        measure(all.slice((index * n + i) * n, (index * n + i + 1) * n), i),
      ).filter((value) => value !== null);
      const want = values.reduce((sum, value) => sum + value, 0) / values.length;
      assert.ok(Math.abs(share - want) <= 2e-5, `${name} of ${head}: ${share}, ${want}`);
    }
  }
});

test('the language model has a wall, and a picture opens the large figure', async () => {
  const page = await site.visit(learned);
  const wall = await wallOf(page, 12);
  // Each head is drawn.
  await becomes(
    () =>
      wall
        .locator('canvas')
        .evaluateAll((all) =>
          all.every((canvas) => /** @type {HTMLCanvasElement} */ (canvas).width === 11),
        ),
    true,
  );
  await sort(wall, 'what followed');
  await wall.getByText(/what followed the same token last time/).waitFor();
  await wall
    .getByText(
      /the 3 tokens of this sentence that also occur earlier\. So few tokens say little about a head\. If attention were spread evenly/,
    )
    .waitFor();
  const [[best, share]] = await shares(wall);
  assert.ok(share > 0.25, `${best} has ${share}`);
  await wall.getByRole('button', { name: /^Code for/ }).click();
  await wall
    .getByText(/layers\.|encoder\[|look\(ids\)/)
    .first()
    .waitFor();
  await wall.locator('[data-head]').first().click();
  const [layer, head] = best.split('.').map(Number);
  await page.getByRole('application', { name: `Attention weights of head ${head + 1},` }).waitFor();
  await becomes(async () => new URL(page.url()).hash.includes('at=self-attention'), true);
  assert.match(new URL(page.url()).hash, new RegExp(layer === 1 ? '^#' : `layer=${layer + 1}\\b`));
});

test('the measures are explained next to the wall before it is sorted', async () => {
  for (const width of [1440, 390]) {
    const page = await site.visit(learned, { viewport: { width, height: 900 } });
    const wall = await wallOf(page, 12);
    await matches(
      () => wall.locator('[data-read]').innerText(),
      /previous token\s+\d.*%\s+goes to the previous token\s+first token.*position alone.*reverse/s,
    );
    const [box, told] = await Promise.all(
      ['.box', '[data-read]'].map((part) => wall.locator(part).boundingBox()),
    );
    assert.ok(box && told);
    if (width > 1000) assert.ok(told.x > box.x + 600 && told.y < box.y + 20, JSON.stringify(told));
    else assert.ok(told.y >= box.y + box.height, JSON.stringify(told));
  }
});

test('keys move between pictures, and Enter opens one', async () => {
  const page = await site.visit(`${learned}&layer=0&head=0`);
  const wall = await wallOf(page, 12);
  await wall.locator('[data-head="0.0"]').focus();
  const focused = () =>
    page.evaluate(() => document.activeElement?.getAttribute('data-head') ?? '');
  for (const [key, head] of [
    ['ArrowRight', '0.1'],
    ['ArrowDown', '1.1'],
    ['ArrowLeft', '1.0'],
    ['ArrowUp', '0.0'],
    ['End', '2.3'],
    ['Home', '0.0'],
    ['ArrowDown', '1.0'],
    ['ArrowRight', '1.1'],
  ]) {
    await page.keyboard.press(key);
    await becomes(focused, head);
  }
  await matches(
    () => wall.locator('[data-read]').innerText(),
    /^Layer 2, head 2: of its attention\s+previous token\s+\d/,
  );
  await page.keyboard.press('Enter');
  await page.keyboard.press('Enter');
  await page.getByRole('application', { name: 'Attention weights of head 2,' }).waitFor();
  await page.waitForURL(
    ({ hash }) =>
      /head=2&shuffle=1&schemesWeights=1&at=self-attention/.test(hash) && !/layer/.test(hash),
  );
});

test('the wall says what it cannot measure in a sentence that is too short or has no repetition', async () => {
  const page = await site.visit(learned.replace(text, 'text=the+lady+sat+by+a+fire'));
  const wall = await wallOf(page, 12);
  await sort(wall, 'same token');
  await wall.getByText(/No token occurs twice/).waitFor();
  await page.getByRole('textbox').first().fill('the lady');
  await wall.getByText(/too short/).waitFor();
  await page.getByRole('textbox').first().fill('');
  await becomes(() => page.locator('#wall').count(), 0);
});

test('a bidirectional model has a wall, and axe finds nothing wrong', async () => {
  for (const options of /** @type {const} */ ([
    {},
    { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, colorScheme: 'dark' },
  ])) {
    const page = await site.visit(`#${text}`, options);
    await choose(page, options.viewport ? gpt2() : bert());
    await page.locator('[data-recognised]').waitFor();
    const wall = await wallOf(page, options.viewport ? 8 : 6);
    // Only a model that predicts tokens shows what silencing changes.
    assert.equal(await wall.getByRole('switch').count(), options.viewport ? 1 : 0);
    await sort(wall, 'same token');
    await wall
      .getByText(
        options.viewport
          ? 'goes to earlier copies of the same token'
          : 'goes to other copies of the same token',
      )
      .waitFor();
    assert.deepEqual(await accessibilityProblems(page, ['#wall']), []);
  }
});

test('heads are silenced on the wall, and a line says what this changes', async () => {
  const page = await site.visit(learned);
  const wall = await wallOf(page, 12);
  const head = wall.locator('[data-head="2.1"]');
  await wall.getByRole('switch', { name: 'a click silences a head' }).check();
  assert.equal(await head.getAttribute('aria-pressed'), 'false');
  await head.click();
  await becomes(() => head.getAttribute('aria-pressed'), 'true');
  const effect = page
    .locator('#self-attention')
    .getByText(/^Silenced parts give their mean: layer 3, head 2\. “.+” now has/);
  await effect.waitFor();
  const [, after] = /probability (.+) instead of/.exec(await effect.innerText()) ?? [];
  await becomes(async () => new URL(page.url()).hash.includes('silenced=3.2'), true);
  assert.deepEqual(await accessibilityProblems(page, ['#wall']), []);
  await effect.getByRole('button', { name: 'Switch all parts on again' }).click();
  await effect.waitFor({ state: 'detached' });
  assert.equal(await head.getAttribute('aria-pressed'), 'false');
  await head.click();
  await effect.getByRole('button', { name: 'What else changes' }).click();
  await page.locator('#silence').getByText(`and has ${after} with silenced parts`).waitFor();
});

test('the heads are sorted by how much silencing each of them changes the prediction', async () => {
  const page = await site.visit('#v=2&at=self-attention.wall&wallOrder=effect');
  const wall = page.locator('#wall');
  const shares = () =>
    wall
      .locator('[data-share]')
      .evaluateAll((all) =>
        all.map((each) => Number(/** @type {HTMLElement} */ (each).dataset.share)),
      );
  await wall.locator('[data-done="15"]').waitFor();
  await becomes(async () => (await shares()).length, 12);
  await becomes(async () => {
    const sizes = (await shares()).map(Math.abs);
    return sizes[0] > 0 && sizes.every((size, i) => i === 0 || size <= sizes[i - 1]);
  }, true);
  // The largest change is also the first head in the list of the figure with the switches.
  const [largest] = await shares();
  const other = await site.visit('#v=2&at=transformer.silence');
  await becomes(() => other.locator('#silence [data-value]').count(), 15);
  const listed = await other
    .locator('#silence')
    .locator('button:has-text("head") [data-value]')
    .first()
    .getAttribute('data-value');
  assert.ok(Math.abs(Number(listed) - largest) < 1e-4, `${listed} is not ${largest}`);
});
