import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'node:test';
import { brotliCompressSync, gzipSync } from 'node:zlib';

import { kMaxSiteBytes } from '../limits.js';
import { accessibilityProblems } from './accessibility.js';
import { becomes, dist, openTestSite, overflow, settled, shownValue, weightsMap } from './site.js';

/** @import { Page } from 'playwright-core' */

const site = await openTestSite('/some/folder/of/a/host/');

const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

test('the page works from a folder without other origins, errors or messages', async () => {
  const page = await site.open('', { keepsOffline: true });
  await page.evaluate(() => navigator.serviceWorker.ready);
  await page.getByRole('textbox').fill('a rose is a rose');
  await page.waitForURL(({ hash }) => hash.includes('rose'));
  assert.deepEqual(site.problems, []);
});

/** @param {string} file @returns {keyof typeof kMaxSiteBytes} */
const partOf = (file) =>
  /** @type {any} */ (
    /[\\/](Walk|[Ww]all|[Ll]ens|[Cc]ompare|[Cc]ircuits|programs|picture|outlines|training|models|language|tokenizers|hub|[Oo]wn|[Ii]nvent)/
      .exec(file.slice(dist.length))?.[1]
      .toLowerCase()
      .replace('tokenizers', 'language') ?? 'page'
  );

/**
 * @param {import('node:test').TestContext} context
 * @param {ReturnType<typeof partOf>} part
 */
async function assertSmall(context, part) {
  const files = (await readdir(dist, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    // The reference and the examples of the elements are separate pages that the page only links
    // to, and the page in a single file has its own limit.
    .filter(
      (file) =>
        !/\.(?:wasm|map|safetensors|json)$|^(?:reference|elements)[\\/]|^attn.html$/.test(
          file.slice(dist.length + 1),
        ),
    )
    .filter((file) => partOf(file) === part);
  assert.ok(files.length > 0);
  const bytes = { brotli: 0, gzip: 0 };
  for (const file of files) {
    const content = await readFile(file);
    const font = file.endsWith('.woff2');
    bytes.brotli += (font ? content : brotliCompressSync(content)).length;
    bytes.gzip += (font ? content : gzipSync(content, { level: 9 })).length;
  }
  const kilobytes = (/** @type {number} */ count) => `${(count / 1000).toFixed(1)} kB`;
  const { brotli, gzip } = bytes;
  context.diagnostic(
    `${files.length} files, ${kilobytes(brotli)} by brotli, ${kilobytes(gzip)} by gzip`,
  );
  const max = kMaxSiteBytes[part];
  assert.ok(brotli <= max.brotli && gzip <= max.gzip, JSON.stringify(bytes));
}

test('the whole site without WebAssembly is small', (context) => assertSmall(context, 'page'));
test('the walk loads few additional bytes', (context) => assertSmall(context, 'walk'));
test('training loads few additional bytes', (context) => assertSmall(context, 'training'));
test('models from files load few additional bytes', (context) => assertSmall(context, 'models'));
test('opening your own model loads few additional bytes', (context) => assertSmall(context, 'own'));
test('opening a model by its name loads few additional bytes', (context) =>
  assertSmall(context, 'hub'));
test('the wall of all heads loads few additional bytes', (context) => assertSmall(context, 'wall'));
test('the figures of what each layer adds load few additional bytes', (context) =>
  assertSmall(context, 'lens'));
test('comparing two sentences loads few additional bytes', (context) =>
  assertSmall(context, 'compare'));
test('the figure of what a head looks for loads few additional bytes', (context) =>
  assertSmall(context, 'circuits'));
test('inventing an encoding loads few additional bytes', (context) =>
  assertSmall(context, 'invent'));
test('exporting pictures loads few additional bytes', (context) => assertSmall(context, 'picture'));
test('the letter outlines for pictures are small', (context) => assertSmall(context, 'outlines'));
test('the programs of figures load few additional bytes', (context) =>
  assertSmall(context, 'programs'));
test('the language model loads few additional bytes', (context) =>
  assertSmall(context, 'language'));

test('the policy allows nothing but the page itself and WebAssembly', async () => {
  const page = await site.visit();
  const policy = await page
    .locator('meta[http-equiv="Content-Security-Policy"]')
    .getAttribute('content');
  assert.match(policy ?? '', /default-src 'none'/);
  assert.match(policy ?? '', /script-src 'self' 'wasm-unsafe-eval';/);
  // The page contacts the hosts in connect-src only if the reader agrees. byName.test.js checks them.
  const others = policy?.replace(/connect-src [^;]*/, '') ?? '';
  assert.doesNotMatch(others, /unsafe-inline|'unsafe-eval'|https?:|data:|\*/);
});

test('the footer names the variant and the time in the core', async () => {
  const page = await site.visit();
  await page
    .locator('[data-variant]')
    .filter({ hasText: /^(relaxed-simd|simd128)(-threads)?$/ })
    .waitFor();
  const milliseconds = page.locator('footer [data-milliseconds]');
  await becomes(async () => {
    const shown = Number((await milliseconds.getAttribute('data-milliseconds')) || NaN);
    return shown >= 0 && shown < 1000;
  }, true);
});

test('the footer links to the references and the page for teachers', async () => {
  const page = await site.visit();
  const links = page.locator('footer').getByRole('link');
  const here = new URL('.', page.url()).href;
  assert.deepEqual(
    await links.evaluateAll((all) =>
      all.map((link) => /** @type {HTMLAnchorElement} */ (link).href),
    ),
    ['reference/javascript/index', 'reference/cpp/index', 'teach'].map(
      (name) => `${here}${name}.html`,
    ),
  );
});

test('the URL holds the state, and a link restores it', async () => {
  const page = await site.visit();
  await becomes(async () => new URL(page.url()).hash, '');
  await page.getByRole('textbox').fill('man bites dog & runs');
  await page.getByRole('button', { name: /^Masks/ }).click();
  await page.getByRole('switch', { name: 'causal mask' }).first().check();
  await page.keyboard.press('Escape');
  await page.getByRole('radio', { name: '8', exact: true }).first().check({ force: true });
  await page.getByRole('slider', { name: 'width' }).first().press('ArrowRight');
  await page.waitForURL(/dModel=72/);

  const copy = await site.open(new URL(page.url()).hash);
  await becomes(() => copy.getByRole('textbox').inputValue(), 'man bites dog & runs');
  await becomes(
    () => copy.getByRole('radio', { name: '8', exact: true }).first().isChecked(),
    true,
  );
  await copy.getByRole('button', { name: 'Masks: causal' }).waitFor();
});

test('following a link on the open page applies its settings', async () => {
  const page = await site.visit('#at=encoding');
  await page.evaluate(() => {
    const here = location.href;
    location.hash = '#v=1&text=two+words&heads=2&at=self-attention.weights';
    // Before the page follows the link, it may write its own settings into the address.
    history.replaceState(null, '', here);
  });
  await page.getByRole('application', { name: '2 queries by 2 keys' }).first().waitFor();
  await becomes(() => page.getByRole('textbox').inputValue(), 'two words');
});

test('following a link closes everything that was open before', async () => {
  const page = await site.open('#at=self-attention.weights', { learns: true });
  await page.getByRole('button', { name: 'Code for What each token looks at' }).click();
  await page.locator('#weights pre').waitFor();
  await page.getByRole('button', { name: 'Settings' }).click();
  await page
    .getByRole('button', { name: /^Masks/ })
    .first()
    .click();
  await page.locator('.maskPanel').first().waitFor();
  const follow = (/** @type {string} */ fragment) =>
    page.evaluate((fragment) => void (location.hash = fragment), fragment);

  // A link that does not name a place on the page leads to the top.
  await follow('#v=1&text=two+words');
  await page.getByText(/^\s*2\s+tokens/).waitFor();
  await becomes(() => page.evaluate(() => scrollY), 0);
  const code = page.locator('[data-chapter][data-wanted] figure pre, .maskPanel');
  await becomes(() => code.count(), 0);

  await page.getByRole('radio', { name: 'identity' }).and(page.locator(':checked')).waitFor();
  await page.locator('.bar button.needed').first().waitFor();
  // A link without settings selects the settings that the page starts with.
  await follow('#at=self-attention.weights');
  await page.getByText('You are looking at layer 2').waitFor();
  await becomes(() => page.locator('.bar button.needed').count(), 0);
  await becomes(() => page.locator('#weights pre').count(), 0);
});

test('a link keeps the settings that the page starts with, but a link of version 1 does not', async () => {
  const page = await site.open('#v=2&text=the+lady+sat&head=2&at=self-attention.weights', {
    learns: true,
  });
  await page.getByText('You are looking at layer 2').waitFor();
  await page.getByRole('application', { name: 'Attention weights of head 2,' }).waitFor();
  await page.evaluate(
    () => (location.hash = '#v=1&text=the+lady+sat&head=2&at=self-attention.weights'),
  );
  await page.getByText(/^Identity projections/).waitFor();
  await page.waitForURL(({ hash }) => /^#v=2&.*head=3&weights=identity/.test(hash));
});

test('a link from a later version says so and stays unchanged until a setting changes', async () => {
  // The language model has a fixed number of heads, so the link must not select it.
  const link = '#v=99&weights=identity&heads=8&new=1';
  const page = await site.open(link, { clock: true });
  const notice = page.getByText('This link was made by a later version of this page');
  await notice.waitFor();
  await becomes(
    () => page.getByRole('radio', { name: '8', exact: true }).first().isChecked(),
    true,
  );
  await page.clock.runFor(1000);
  assert.equal(new URL(page.url()).hash, link);
  await page.getByRole('textbox').first().fill('man bites dog');
  await notice.waitFor({ state: 'detached' });
  await page.waitForURL(({ hash }) => /^#v=2&.*heads=8/.test(hash) && !hash.includes('new'));
});

test('hostile links are harmless', async () => {
  for (const [i, fragment] of [
    '#text=%3Cimg+src%3Dx+onerror%3Dalert(1)%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E',
    '#at=encoding&length=NaN&width=-1e999&base=Infinity&heads=3&head=99&columns=9999999999,-1&seed=x',
    '#order=1,1&blocked=x.y,1&weightCell=9.&__proto__=1&constructor=2&text=%00%ED%A0%80',
    `#text=${'%F0%9F%92%A5'.repeat(20000)}`,
    `#${'&'.repeat(10000)}=&length=1&width=1`,
  ].entries()) {
    const page = await (i ? site.visit(fragment) : site.open(fragment));
    await becomes(() => page.locator('main img:not([role]), main script').count(), 0);
    await becomes(() => page.getByRole('textbox').count(), 1);
  }
});

test('light and dark follow the system until the reader chooses', async () => {
  const page = await site.open('', { colorScheme: 'dark' });
  const paper = (/** @type {string} */ colour) =>
    page.waitForFunction(
      (colour) => getComputedStyle(document.documentElement).backgroundColor === colour,
      colour,
    );
  const [light, dark] = ['rgb(253, 252, 249)', 'rgb(22, 22, 24)'];
  await paper(dark);
  await page.emulateMedia({ colorScheme: 'light' });
  await paper(light);
  const button = page.getByRole('button', { name: /^Colours/ });
  // The first click must switch to the colours that are not displayed.
  await button.click();
  await paper(dark);
  // Leaving a page cancels its pending requests, and the test would report them as failed.
  await page.waitForLoadState('networkidle');
  await page.reload();
  await paper(dark);
});

/** The ids of all chapters. */
const chapters = [
  ...['pooling', 'self-attention', 'order', 'encoding', 'rotation', 'precision'],
  ...['architectures', 'transformer', 'training', 'speed'],
];

test('nothing is wider than the window', async () => {
  const page = await site.visit();
  const long = `${'x'.repeat(400)} ${'word '.repeat(40)}`;
  for (const sentence of ['the cat sat on the mat because the cat was tired', long]) {
    await page.getByRole('textbox', { name: 'Type a sentence' }).fill(sentence);
    for (const width of [360, 768, 1440, 3840]) {
      await page.setViewportSize({ width, height: 800 });
      for (const chapter of chapters) {
        await page.evaluate((id) => document.getElementById(id)?.scrollIntoView(), chapter);
        await settled(page);
        await becomes(() => overflow(page), 0, `${chapter}, ${width} px, ${sentence.slice(0, 20)}`);
      }
    }
  }
});

test('a tap reads and locks a cell, and a second tap releases it', async () => {
  const page = await site.visit('#at=self-attention.weights', phone);
  const map = weightsMap(page);
  const unlock = page.locator('#weights').getByRole('button', { name: 'unlock' });
  await map.tap({ position: { x: 2, y: 2 } });
  await unlock.waitFor();
  assert.ok((await shownValue(map)) > 0);
  await map.tap({ position: { x: 2, y: 2 } });
  await unlock.waitFor({ state: 'detached' });
});

test('the Tab key reaches everything in a chapter', async () => {
  const page = await site.open('#at=self-attention');
  const missing = new Set([
    ...['Embeddings', 'Export From the sentence', 'Link to From', 'Attention weights', 'window'],
    ...['Code for What each token looks at', 'causal mask', 'valid length', 'head 1'],
  ]);
  for (let i = 0; i < 70 && missing.size > 0; i++) {
    await page.keyboard.press('Tab');
    // Wait until a chapter is drawn before scrolling to the next one.
    await settled(page);
    const reached = await page.evaluate(() => {
      const element = document.activeElement;
      const label = /** @type {HTMLInputElement} */ (element)?.labels?.[0]?.innerText.trim();
      return element?.getAttribute('aria-label') ?? label ?? element?.textContent?.trim() ?? '';
    });
    for (const name of missing) if (reached.includes(name)) missing.delete(name);
  }
  assert.deepEqual([...missing], [], 'not reached');
});

for (const chapter of chapters) {
  test(`axe finds nothing wrong in ${chapter}, light, dark and on a phone`, async () => {
    for (const [fragment, options] of /** @type {const} */ ([
      [`#at=${chapter}`, {}],
      [
        `#at=${chapter}&weights=xavier&causal=1&encoding=none&heads=8`,
        { ...phone, colorScheme: 'dark' },
      ],
    ])) {
      const page = await site.visit(fragment, options);
      // A chapter stays on the page, so the last check includes all chapters.
      const parts = chapter === chapters.at(-1) ? undefined : [`[id="${chapter}"]`, '.bar'];
      assert.deepEqual(await accessibilityProblems(page, parts), [], fragment);
    }
  });
}

test('axe finds nothing wrong at the top, with every menu open, and without a sentence', async () => {
  const page = await site.visit('#text=');
  for (const name of [/^Masks/, /^Chapters/]) {
    await page.getByRole('button', { name }).first().click();
    assert.deepEqual(await accessibilityProblems(page), [], String(name));
    await page.keyboard.press('Escape');
  }
  const figure = await site.visit('#at=self-attention.weights');
  await figure.getByRole('button', { name: 'Code for What each token looks at' }).click();
  await figure.getByRole('button', { name: 'Export What each token looks at' }).click();
  assert.deepEqual(await accessibilityProblems(figure), []);
});

test('with forced colours selected controls differ from others, and sliders have a track', async () => {
  const page = await site.visit('#at=self-attention.weights', { forcedColors: 'active' });
  const settings = page.getByRole('button', { name: 'Settings' });
  if (await settings.isVisible()) await settings.click();
  const styleOf = (/** @type {Element} */ element) => {
    const { backgroundColor, color } = getComputedStyle(element);
    return [backgroundColor, color];
  };
  const colours = [];
  for (const state of [':checked', ':not(:checked)']) {
    const option = page.locator(`.options input${state} + span:visible`).first();
    colours.push(await option.evaluate(styleOf));
  }
  assert.notEqual(colours[0][0], colours[1][0]);
  assert.notEqual(colours[0][1], colours[1][1]);

  // Compares toggle buttons that are pressed with toggle buttons that are not.
  const toggle = page.locator('button[aria-pressed=false]:visible').first();
  const off = await toggle.evaluate(styleOf);
  assert.notDeepEqual(
    await toggle.evaluate((element) => {
      element.setAttribute('aria-pressed', 'true');
      const { backgroundColor, color } = getComputedStyle(element);
      element.setAttribute('aria-pressed', 'false');
      return [backgroundColor, color];
    }),
    off,
  );
  // With forced colours, the browser draws switches itself, and buttons and text fields get a
  // visible outline.
  const appearance = await page
    .locator('input[role=switch]:visible')
    .first()
    .evaluate((element) => getComputedStyle(element).appearance);
  assert.equal(appearance, 'auto');
  // Every kind of control shows the focus.
  for (const kind of [
    ...['textarea', 'input[type=range]', 'input[role=switch]', '.options input:checked'],
    ...['button.button, button.link', '[role=application]', '[role=button]'],
  ]) {
    const control = page.locator(`${kind}:visible`).first();
    await control.focus();
    await page.keyboard.press('Shift');
    const outline = await control.evaluate((element) => {
      const shown = [element, element.nextElementSibling, element.parentElement];
      return shown.map((each) => (each ? getComputedStyle(each).outlineStyle : 'none'));
    });
    assert.ok(
      outline.some((style) => style !== 'none'),
      `${kind}: ${outline}`,
    );
  }

  const slider = page.locator('input[type=range]:visible').first();
  const picture = await slider.screenshot();
  // Reads the colours at the right end of the track and just above it.
  const [track, above] = await page.evaluate(
    async (bytes) => {
      const image = await createImageBitmap(new Blob([new Uint8Array(bytes)]));
      const context = /** @type {OffscreenCanvasRenderingContext2D} */ (
        new OffscreenCanvas(image.width, image.height).getContext('2d', {
          willReadFrequently: true,
        })
      );
      context.drawImage(image, 0, 0);
      return [image.height / 2, 3].map((y) =>
        context.getImageData(image.width - 3, y, 1, 1).data.join(),
      );
    },
    [...picture],
  );
  assert.notEqual(track, above);
});

test('nothing moves if the reader prefers reduced motion', async () => {
  const page = await site.open('#at=order.shuffle', { reducedMotion: 'reduce', clock: true });
  const lines = page
    .getByRole('img', { name: /^The tokens in the shuffled order/ })
    .locator('path');
  const before = await lines.first().getAttribute('d');
  await page.getByRole('button', { name: 'Shuffle', exact: true }).click();
  await becomes(async () => (await lines.first().getAttribute('d')) !== before, true);
  const atOnce = await lines.first().getAttribute('d');
  await page.clock.runFor(1000);
  await becomes(() => lines.first().getAttribute('d'), atOnce);
});
