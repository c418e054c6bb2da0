import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import test from 'node:test';

import {
  becomes,
  heatmap,
  matches,
  openTestSite,
  readValues,
  shownValue,
  weightsMap,
} from './site.js';

/** @import { Page } from 'playwright-core' */

const site = await openTestSite('/a/folder/', {}, { ownBrowser: true });

const weights = '#at=self-attention.weights&text=man+bites+dog';

/**
 * @param {Page} page
 * @param {string} kind
 * @param {string} [name] label of the entry in the export menu
 */
async function exported(page, kind, name = 'picture') {
  await page.getByRole('button', { name: 'Export What each token looks at' }).click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page
      .locator('#weights li', { hasText: name })
      .getByRole('button', { name: kind, exact: true })
      .click(),
  ]);
  return { name: download.suggestedFilename(), bytes: await readFile(await download.path()) };
}

test('the numbers of a figure are exported as CSV and NPY', async () => {
  const page = await site.visit(weights);
  const shown = await readValues(weightsMap(page), 3, 3);

  const csv = await exported(page, 'CSV', 'weights');
  assert.equal(csv.name, 'weights-weights.csv');
  const [names, ...lines] = csv.bytes.toString().trim().split('\n');
  assert.equal(names, 'matrix,row,word,0 man,1 bites,2 dog');
  assert.equal(lines.length, 4 * 3, 'a matrix for each head');
  lines.slice(0, 3).forEach((line, i) => {
    const [matrix, row, word, ...values] = line.split(',');
    assert.deepEqual([matrix, row, word], ['0', String(i), ['man', 'bites', 'dog'][i]]);
    values.forEach((value, j) =>
      assert.equal(Math.fround(Number(value)), Math.fround(shown[i][j])),
    );
  });

  const { bytes } = await exported(page, 'NPY', 'weights');
  assert.equal(bytes.subarray(1, 6).toString(), 'NUMPY');
  const length = bytes.readUInt16LE(8);
  assert.equal((10 + length) % 64, 0);
  const header = bytes.subarray(10, 10 + length).toString();
  assert.match(header, /'descr': '<f4', 'fortran_order': False, 'shape': \(4, 3, 3\)/);
  assert.equal(bytes.length, 10 + length + 4 * 36);
  assert.equal(bytes.readFloatLE(10 + length), Math.fround(shown[0][0]));
});

test('a chart without measurements has no numbers to export', async () => {
  const page = await site.visit('#at=architectures.timings');
  await page.getByRole('button', { name: 'Export Measured in this browser' }).click();
  const files = page.locator('#timings .files');
  await files.getByRole('button', { name: 'PNG' }).waitFor();
  await becomes(() => files.getByRole('button', { name: 'CSV' }).count(), 0);
});

test('the drawn figure is exported as SVG and as PNG', async () => {
  const page = await site.visit(`${weights}&causal=1`);
  const svg = await exported(page, 'SVG');
  assert.equal(svg.name, 'weights.svg');
  const text = svg.bytes.toString();
  const parts = ['<title>What each token looks at', '<desc>Attention weights', 'data:image/png'];
  const words = ['bites', 'What each token looks at', 'attention weight', 'softmax'];
  for (const part of [...parts, ...words.map((word) => `aria-label="${word}"`)]) {
    assert.ok(text.includes(part), part);
  }
  const address = site.url.replace(/^\w+:\/\//, '');
  // Below the picture are the equation, the data, the settings and the source.
  const [, credit] = /aria-label="(“man bites dog” · [^"]*)"/.exec(text) ?? [];
  assert.match(credit, /identity projections · width \d+ · \d heads? · .* positions/);
  assert.match(
    credit,
    /masks: causal/,
    'masks are named, although their controls belong to the figure',
  );
  const lines = [...text.matchAll(/aria-label="([^"]*)"/g)].map(([, line]) => line);
  const link = lines.slice(lines.findIndex((line) => line.startsWith('attn, '))).join('');
  assert.ok(link.includes(`attn, ${address}#v=2`), link);
  const target = new URLSearchParams(link.replace(/.*#/, '').replaceAll('&amp;', '&'));
  assert.equal(target.get('text'), 'man bites dog');
  assert.equal(target.get('weights'), 'identity');
  assert.match(target.get('at') ?? '', /^self-attention\.weights/);
  assert.ok(/<desc>.*?<\/desc>/.exec(text)?.[0].includes(`${site.url}#v=2`));
  assert.doesNotMatch(
    text,
    /Point at a cell|click to lock/,
    'no hint of what only the page can do',
  );
  const png = await exported(page, 'PNG');
  assert.deepEqual([...png.bytes.subarray(0, 4)], [0x89, 0x50, 0x4e, 0x47]);
  assert.ok(png.bytes.readUInt32BE(16) > 1000, 'width');
  assert.ok(png.bytes.length > 20_000);
});

test('pictures are drawn on a transparent background, without title and source, in 16:9 and with text', async () => {
  const page = await site.open(weights);
  const draw = async (/** @type {string[]} */ ...choices) => {
    await page.getByRole('button', { name: 'Export What each token looks at' }).click();
    for (const name of choices) await page.getByRole('checkbox', { name }).click();
    await page.keyboard.press('Escape');
    return (await exported(page, 'SVG')).bytes.toString();
  };
  const hasPaper = (/** @type {string} */ svg) => svg.includes('</defs><rect');
  const hasTitle = (/** @type {string} */ svg) => svg.includes('"What each token looks at"');
  const shapeOf = (/** @type {string} */ svg) => {
    const [, width, height] = /^<svg[^>]* width="(\d+)" height="(\d+)"/.exec(svg) ?? [];
    return Number(width) / Number(height);
  };
  const usual = await draw();
  assert.deepEqual([hasPaper(usual), hasTitle(usual)], [true, true]);
  const bare = await draw('background', 'title and source');
  assert.deepEqual([hasPaper(bare), hasTitle(bare)], [false, false]);
  assert.ok(shapeOf(bare) > shapeOf(usual));
  const wide = await draw('16:9', 'title and source');
  assert.equal(shapeOf(wide), 16 / 9);
  assert.doesNotMatch(wide, /<text/);
  const editable = await draw('editable text in SVG');
  assert.match(editable, />What each token looks at<\/text>/);
  assert.doesNotMatch(editable, /<use/);
});

test('a part is saved with its legend, and with a selection only if it is locked', async () => {
  const page = await site.visit('#length=8&width=32&at=encoding.encoding-heatmap');
  const figure = page.locator('#encoding-heatmap');
  const draw = async () => {
    await figure.getByRole('button', { name: /^Export/ }).click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      figure
        .getByRole('listitem')
        .filter({ hasText: 'only the heatmap' })
        .getByRole('button', { name: 'SVG' })
        .click(),
    ]);
    return readFile(await download.path(), 'utf8');
  };
  // In the heatmap, the page outlines the row of the position that the clocks show.
  const band = figure.locator('.map .band');
  await becomes(() => band.count(), 1);
  const opacity = /stroke-opacity="0\.4"/;
  const svg = await draw();
  assert.match(svg, /aria-label="encoding"/);
  assert.doesNotMatch(svg, opacity);
  await heatmap(figure, /^Sinusoidal encoding/).click();
  assert.match(await draw(), opacity);
});

test('the binary numbers are saved with their positions', async () => {
  const page = await site.visit('#length=8&width=32&at=encoding.encoding-heatmap');
  const names = page.locator('#encoding-heatmap .counter .names text');
  await names.first().waitFor();
  const labels = await names.allTextContents();
  for (let i = 0; i < 8; i++) assert.ok(labels.includes(String(i)), `${i} of ${labels}`);
});

test('the picture of a narrow part is wide enough for its title', async () => {
  const page = await site.visit('#length=8&width=32&at=encoding.encoding-heatmap');
  const figure = page.locator('#encoding-heatmap');
  await figure.getByRole('button', { name: /^Export/ }).click();
  const download = page.waitForEvent('download');
  await figure
    .getByRole('listitem')
    .filter({ hasText: 'only the counter' })
    .getByRole('button', { name: 'SVG' })
    .click();
  const svg = await readFile(await (await download).path(), 'utf8');
  const title = await figure.locator('h3').evaluate((heading) => {
    const range = document.createRange();
    range.selectNodeContents(heading);
    return range.getBoundingClientRect().width;
  });
  const [, width] = /^<svg[^>]* width="(\d+)"/.exec(svg) ?? [];
  assert.ok(Number(width) > title, `${width} pixels`);
});

test('the attention weights are saved without arcs and heads', async () => {
  const page = await site.visit(weights);
  const figure = page.locator('#weights');
  await figure.getByRole('button', { name: /^Export/ }).click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    figure
      .locator('li', { hasText: 'only the heatmap' })
      .getByRole('button', { name: 'SVG', exact: true })
      .click(),
  ]);
  assert.equal(download.suggestedFilename(), 'weights-heatmap.svg');
  const svg = (await readFile(await download.path())).toString();
  assert.match(svg, /aria-label="bites"/);
  assert.doesNotMatch(svg, /aria-label="entropy/);
  // No label is cut off at the right.
  const [, width] = /^<svg[^>]* width="(\d+)"/.exec(svg) ?? [];
  const labels = await figure.locator('div.map').evaluate((map) => {
    const right = Math.max(
      ...Array.from(map.querySelectorAll('text'), (text) => text.getBoundingClientRect().right),
    );
    return right - map.getBoundingClientRect().left;
  });
  assert.ok(labels + 16 <= Number(width), `${labels} of ${width} pixels`);
});

test('the caption of an exported picture describes the selected model', async () => {
  for (const at of ['transformer.next-word', 'transformer.encoder-block', 'self-attention.wall']) {
    const page = await site.visit(`#weights=learned&text=man+bites+dog&at=${at}`);
    const figure = page.locator(`[id="${at.split('.')[1]}"]:not([aria-busy])`);
    await figure.getByRole('button', { name: /^Export/ }).click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      figure.getByRole('button', { name: 'SVG', exact: true }).click(),
    ]);
    const svg = (await readFile(await download.path())).toString();
    assert.match(svg, /of the language model · width 128 · 4 heads · rotary positions/, at);
  }
});

test('a figure out of sight is drawn and exported', async () => {
  const page = await site.visit(weights);
  const figure = page.locator('figure:has(> .away):not(details:not([open]) *)').last();
  const download = page.waitForEvent('download');
  for (const name of [/^Export/, /^SVG$/]) {
    const button = figure.getByRole('button', { name });
    await button.evaluate((/** @type {HTMLButtonElement} */ element) => element.click());
  }
  await download;
});

test('a sentence with control characters is exported as well-formed SVG and as PNG', async () => {
  const page = await site.visit('#at=self-attention.weights&text=man+bi%02tes+do%0Cg');
  const { bytes } = await exported(page, 'SVG');
  const problems = await page.evaluate(
    (text) =>
      new DOMParser().parseFromString(text, 'image/svg+xml').querySelectorAll('parsererror').length,
    bytes.toString(),
  );
  assert.equal(problems, 0);
  const png = await exported(page, 'PNG');
  assert.ok(png.bytes.readUInt32BE(16) > 1000, 'width');
});

test('a figure shows the programs that compute it, with the current values', async () => {
  const page = await site.visit(`${weights}&heads=2&base=50`);
  await page.getByRole('button', { name: 'Code for What each token looks at' }).click();
  const code = page.locator('#weights [role=tabpanel]');
  await matches(() => code.innerText(), /MultiheadAttention\(d_model, 2/);
  await page.getByRole('tab', { name: 'C++' }).click();
  await matches(() => code.innerText(), /"man", "bites", "dog"[^]*\.base = 50/);
  await page.getByRole('tab', { name: 'JavaScript' }).click();
  await matches(() => code.innerText(), /numHeads = 2/);
});

test('undo and redo go step by step, and typing is one step', async () => {
  const page = await site.open('#text=one');
  const box = page.getByRole('textbox');
  await page.clock.install();
  await page.clock.pauseAt(Date.now() + 60_000);
  await box.press('End');
  await box.pressSequentially(' two three');
  await page.clock.runFor(900);
  await page.getByRole('radio', { name: 'none' }).first().check({ force: true });
  await page.getByRole('button', { name: 'Undo' }).click();
  await becomes(() => page.getByRole('radio', { name: 'sinusoidal' }).first().isChecked(), true);
  await becomes(() => box.inputValue(), 'one two three');
  await page.keyboard.press('Control+z');
  await becomes(() => box.inputValue(), 'one');
  await becomes(() => page.getByRole('button', { name: 'Undo' }).isDisabled(), true);
  await page.keyboard.press('Control+Shift+Z');
  await page.keyboard.press('Control+Shift+Z');
  await becomes(() => box.inputValue(), 'one two three');
  await becomes(() => page.getByRole('radio', { name: 'none' }).first().isChecked(), true);
});

test('controls and figures can be reset', async () => {
  const page = await site.visit(`${weights}&heads=2&causal=1&window=3`);
  await page.getByRole('button', { name: 'Reset heads' }).click();
  await becomes(
    () => page.getByRole('radio', { name: '4', exact: true }).first().isChecked(),
    true,
  );
  await page.getByRole('button', { name: 'Reset What each token looks at' }).click();
  await becomes(() => page.getByRole('switch', { name: 'causal mask' }).isChecked(), false);
  await page.waitForFunction(() => !/window|causal=1|heads/.test(location.hash));
});

test('a link restores the picture, its locked cell and its place', async () => {
  const permissions = ['clipboard-read', 'clipboard-write'];
  const page = await site.visit(weights, { permissions });
  const map = weightsMap(page);
  await map.focus();
  for (const key of ['ArrowDown', 'ArrowRight', 'Enter']) await map.press(key);
  await page.getByRole('radio', { name: 'head 2:' }).check({ force: true });
  const value = await shownValue(map);
  await page.waitForURL(
    ({ hash }) => /[#&]head=2(&|$)/.test(hash) && /[#&]weightCell=1\.1(&|$)/.test(hash),
  );
  await page.getByRole('button', { name: 'Link to What each token looks at' }).click();
  await page.getByRole('button', { name: 'Copy link' }).click();
  await page.getByText('link copied').waitFor();
  const link = new URL(await page.evaluate(() => navigator.clipboard.readText()));
  const copy = await site.open(link.hash);
  const other = heatmap(copy.locator('#weights'), /^Attention weights of head 2/);
  await becomes(() => shownValue(other), value);
  await becomes(async () => {
    const y = (await copy.locator('#weights').boundingBox())?.y ?? NaN;
    return y > 0 && y < 300;
  }, true);
});

test('without a clipboard, the text to copy is selected', async () => {
  const page = await site.open(weights);
  // A page that is served over plain HTTP has no clipboard.
  await page.evaluate(() => delete (/** @type {any} */ (Navigator.prototype).clipboard));
  const figure = page.locator('#weights');
  await figure.getByRole('button', { name: 'Link to' }).click();
  await figure.getByRole('button', { name: 'Copy link' }).click();
  await figure.getByText(/^selected; to copy it, press /).waitFor();
  const selected = await figure.getByRole('textbox', { name: 'Link to' }).evaluate((input) => {
    const { value, selectionStart, selectionEnd } = /** @type {HTMLInputElement} */ (input);
    return input === document.activeElement && value.slice(selectionStart ?? 0, selectionEnd ?? 0);
  });
  assert.match(String(selected), /at=self-attention\.weights$/);
  await figure.getByRole('button', { name: 'Code for' }).click();
  await figure.getByRole('button', { name: 'copy', exact: true }).click();
  await figure.locator('.copy', { hasText: 'selected; to copy it' }).waitFor();
  assert.equal(
    await page.evaluate(() => String(getSelection()).trim()),
    (await figure.locator('pre code').innerText()).trim(),
  );
});

test('chapters load when the reader comes near, and figures out of sight are not drawn', async () => {
  const page = await site.visit();
  await becomes(() => page.locator('#speed[data-loaded]').count(), 0);
  await page
    .getByRole('navigation', { name: 'Contents' })
    .getByRole('link', { name: /^2\s*Self-attention$/ })
    .click();
  await page.locator('#pipeline canvas').first().waitFor();
  // Wait until the page has reached the chapter. Before that, the page would undo scrollTo().
  await page.waitForFunction(() => !document.documentElement.dataset.going);
  await page.evaluate(() => scrollTo(0, 0));
  await page.waitForFunction(() => !document.querySelector('#pipeline canvas'));
});

test('Back and Forward visit the chosen chapters and keep the settings', async () => {
  const page = await site.visit();
  const arrived = () => page.waitForFunction(() => !document.documentElement.dataset.going);
  const top = (/** @type {string} */ chapter) =>
    page.locator(chapter).evaluate((section) => section.getBoundingClientRect().top);
  const contents = page.getByRole('navigation', { name: 'Contents' });
  await contents.scrollIntoViewIfNeeded();
  const start = await page.evaluate(() => scrollY);
  await contents.getByRole('link', { name: /^2\s*Self-attention$/ }).click();
  await page.waitForURL(({ hash }) => hash === '#at=self-attention');
  await arrived();
  await page.evaluate(() => scrollBy({ top: 500, behavior: 'instant' }));
  const before = await top('#self-attention');
  await page.getByRole('button', { name: /^Chapters/ }).click();
  await page
    .getByRole('navigation', { name: 'Chapters' })
    .getByRole('link', { name: /Relative position/ })
    .click();
  await page.waitForURL(({ hash }) => hash === '#at=rotation');
  await arrived();
  await page.getByRole('textbox').first().fill('here and there');
  await page.waitForURL(({ hash }) => /text=here.*&at=rotation$/.test(hash));
  await page.evaluate(() => scrollBy({ top: 300, behavior: 'instant' }));
  const further = await top('#rotation');

  await page.goBack();
  await page.waitForURL(({ hash }) => /text=here.*&at=self-attention$/.test(hash));
  await arrived();
  assert.ok(Math.abs((await top('#self-attention')) - before) < 2);
  await page.goForward();
  await arrived();
  assert.ok(Math.abs((await top('#rotation')) - further) < 2);
  await page.goBack();
  await arrived();
  assert.ok(Math.abs((await top('#self-attention')) - before) < 2);
  await page.goBack();
  await arrived();
  await page.waitForFunction((start) => Math.abs(scrollY - start) < 2, start);
  await becomes(() => page.getByRole('textbox').first().inputValue(), 'here and there');
});

test('a figure out of sight keeps its height, so nothing moves on the way back', async () => {
  const page = await site.visit(weights);
  const height = () =>
    page.locator('#weights').evaluate((figure) => figure.getBoundingClientRect().height);
  const drawn = await height();
  await page.evaluate(() => scrollTo(0, 0));
  await page.waitForFunction(() => !document.querySelector('#weights canvas'));
  assert.ok(Math.abs((await height()) - drawn) < 1, `${await height()} instead of ${drawn}`);
});

test('a change that is reverted at once is not an undo step', async () => {
  const page = await site.open(weights);
  const undo = page.getByRole('button', { name: 'Undo' });
  const map = weightsMap(page);
  await map.focus();
  // Dispatches both keys in the page itself, because the page may run other code between two keys
  // that the driver sends.
  await map.evaluate((element) => {
    for (let i = 0; i < 2; i++) {
      element.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }));
    }
  });
  await becomes(() => undo.isDisabled(), true);
});

test('the summary of a figure says what it shows', async () => {
  const page = await site.visit(weights);
  const summary = page.locator('#weights [data-summary]');
  await summary
    .filter({ hasText: 'head 1 of 4, 3 queries by 3 keys' })
    .waitFor({ state: 'attached' });
  await page.getByRole('radio', { name: '2', exact: true }).first().check({ force: true });
  await summary.filter({ hasText: 'head 1 of 2' }).waitFor({ state: 'attached' });
});

test('symbols of the equation and parts of the picture are highlighted together', async () => {
  const page = await site.visit(weights);
  await weightsMap(page).hover({ position: { x: 20, y: 20 } });
  await page.locator('#weights [data-part=weights].lit').first().waitFor();
  await page.locator('#weights [data-part=columns]').first().hover();
  await page.locator('#weights g[data-lit]').first().waitFor();
});

test('the links in the README of the page lead to the places they name', async () => {
  const readme = await readFile(new URL('../../web/README.md', import.meta.url), 'utf8');
  const fragments = [...readme.matchAll(/\(http:\/\/localhost:8000\/(#[^)]*)\)/g)].map(
    ([, f]) => f,
  );
  assert.ok(fragments.length >= 5);
  for (const fragment of fragments) {
    const page = await site.visit(fragment);
    const [chapter, figure] = (new URLSearchParams(fragment.slice(1)).get('at') ?? '').split('.');
    const target = page.locator(`[id="${figure ?? chapter}"]`);
    const isInView = async () => {
      const y = (await target.boundingBox())?.y ?? NaN;
      return y > 0 && y < 400;
    };
    await becomes(isInView, true, fragment);
  }
});

test('resetting a control moves nothing in the bar or in a figure', async () => {
  const page = await site.visit(weights);
  const places = () =>
    page.evaluate(() =>
      Array.from(
        document.querySelectorAll('.bar .controls > :not(.masks), #weights .controls > *'),
        (control) => {
          const { left, top } = control.getBoundingClientRect();
          // Measures positions relative to the bar or the figure, because the text above may take
          // one more line.
          const home = /** @type {Element} */ (control.closest('.bar, figure'));
          const at = home.getBoundingClientRect();
          return [left - at.left, top - at.top];
        },
      ),
    );
  const before = await places();
  await page.getByRole('radio', { name: '8', exact: true }).first().check({ force: true });
  await page.getByRole('radio', { name: 'none' }).first().check({ force: true });
  await page.locator('#weights').getByRole('switch', { name: 'causal mask' }).check();
  await page.getByRole('slider', { name: 'width' }).first().press('End');
  for (const name of ['heads', 'positions', 'width', 'causal mask']) {
    await page
      .getByRole('button', { name: `Reset ${name}`, exact: true })
      .first()
      .waitFor();
  }
  const now = await places();
  assert.equal(now.length, before.length);
  // The browser's layout unit is 1/64 of a pixel.
  now.forEach((place, i) =>
    place.forEach((at, axis) =>
      assert.ok(Math.abs(at - before[i][axis]) < 1.5 / 64, `${i}: ${at}`),
    ),
  );
  await page.getByRole('button', { name: 'Reset heads' }).click();
  await becomes(() => page.getByRole('button', { name: 'Reset heads' }).count(), 0);
});

test('a link may consist of the name of a chapter alone', async () => {
  const page = await site.visit('#order');
  const top = () =>
    page.locator('#order').evaluate((chapter) => chapter.getBoundingClientRect().top);
  await becomes(async () => (await top()) > 0 && (await top()) < 200, true);
});

test('settings without effect on the figures in sight say so', async () => {
  const page = await site.visit('#at=self-attention.weights');
  const names = () =>
    page
      .locator('.bar .idle :is(legend, label[for])')
      .evaluateAll((labels) =>
        labels.map((label) => /** @type {HTMLElement} */ (label).innerText.trim()),
      );
  await becomes(names, []);
  await page.goto(`${site.url}#at=rotation.rotation-shift`);
  await becomes(names, ['width', 'heads', 'projections', 'positions']);
  const heads = page.locator('.bar fieldset').first();
  await matches(() => heads.getAttribute('title'), /^Has no effect/);
  // Readers see why the control is grey, even if they do not hover over it.
  await becomes(() => page.getByText('Grey: no effect on the figures in view').isVisible(), true);
  await page.goto(`${site.url}#at=pooling.pooling-figure`);
  await becomes(names, ['width', 'heads', 'projections', 'positions', 'base']);
  // Readers can still change a control that has no effect on the current view.
  await page.getByRole('radio', { name: '8', exact: true }).first().check({ force: true });
  await page.waitForURL(({ hash }) => hash.includes('heads=8'));
});

test('a sentence longer than its field shows that it continues', async () => {
  const phone = { viewport: { width: 390, height: 844 } };
  const words = 'the+cat+sat+on+the+mat+and+';
  const page = await site.visit(`#text=${words.repeat(8)}slept`, phone);
  const field = page.locator('.sentence .scroller');
  const hints = () =>
    field.evaluate(({ classList }) =>
      ['above', 'below'].filter((name) => classList.contains(name)),
    );
  await becomes(hints, ['below']);
  await field.locator('textarea').evaluate((text) => text.scrollTo(0, 9999));
  await becomes(hints, ['above']);
  await field.locator('textarea').fill('one two');
  await becomes(hints, []);
});

test('drawing a figure above the window does not move the figures after it', async () => {
  const page = await site.visit('#at=precision');
  const moved = await page.evaluate(async () => {
    const [figure, next] = ['training-run', 'training-heads'].map(
      (id) => /** @type {HTMLElement} */ (document.getElementById(id)),
    );
    if (figure.querySelector('.body')) return 'drawn already';
    const height = figure.offsetHeight;
    const top = () => next.getBoundingClientRect().top;
    // Scrolls until the last pixels of the figure become visible.
    scrollBy({ top: figure.getBoundingClientRect().bottom - 10, behavior: 'instant' });
    const before = top();
    while (!figure.querySelector('.picture canvas, .picture svg')) {
      await new Promise(requestAnimationFrame);
    }
    // The figure may still be growing after its picture appears.
    while (figure.matches('.new')) await new Promise(requestAnimationFrame);
    return figure.offsetHeight === height ? 'it has not grown' : top() - before;
  });
  assert.equal(typeof moved, 'number', String(moved));
  assert.ok(Math.abs(Number(moved)) < 2, `${moved} pixels`);
});

test('an exported SVG has letters as outlines, and characters missing from the fonts as text', async () => {
  // In the second word, the accents are separate characters.
  const words = ['café', 'e\u0301te\u0301', '猫', 'fish'];
  const page = await site.visit(`#at=self-attention.weights&text=${encodeURI(words.join(' '))}`);
  const { bytes } = await exported(page, 'SVG');
  const svg = bytes.toString().normalize();
  assert.doesNotMatch(svg, /@font-face/);
  const texts = [...svg.matchAll(/<text[^>]*>([^<]*)/g)].map(([, text]) => text);
  assert.deepEqual([...new Set(texts)], ['猫']);
  for (const word of words) assert.ok(svg.includes(`aria-label="${word.normalize()}"`), word);
  const all = (/** @type {RegExp} */ expression) =>
    [...new Set([...svg.matchAll(expression)].map(([, name]) => name))].sort();
  const drawn = all(/<use xlink:href="#([^"]*)"/g);
  assert.ok(drawn.length > 20);
  assert.deepEqual(drawn, all(/<path id="(f\d[^"]*)"/g), 'each outline is there, and used');
});
