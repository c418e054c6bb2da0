// Tests figures that are shown without the rest of the page: in a presentation, and in a frame of
// another page.

import { createServer } from 'node:http';
import { after, before, test } from 'node:test';

import { becomes, heatmap, matches, numberOf, openSite, serveSite, shownValue } from './site.js';

/** @import { Page } from 'playwright-core' */

/** @type {Awaited<ReturnType<typeof openSite>>} */
let site;
/** A server of another origin. It answers each request with the HTML that the address contains. */
const host = createServer(({ url = '' }, response) => {
  response.setHeader('Content-Type', 'text/html');
  response.end(`<!doctype html><title>host</title>${decodeURIComponent(url.slice(2))}`);
});
before(async () => {
  site = await openSite('/', { 'Access-Control-Allow-Origin': '*' }, { ownBrowser: true });
  await new Promise((resolve) => host.listen(0, '127.0.0.1', () => resolve(undefined)));
});
after(async () => {
  host.close();
  await site.close();
});

const settings = 'v=2&weights=xavier&text=man+bites+dog&dModel=16&heads=2';

/** @param {Page} page */
const bar = (page) => page.getByRole('region', { name: 'Sentence and settings' });

/** The figure that is shown alone. @param {Page} page */
const shown = (page) => page.locator('figure.only');

/** Opens a page of another origin that contains this HTML. @param {string} html */
async function openHost(html) {
  const page = await (await site.newContext()).newPage();
  const address = /** @type {import('node:net').AddressInfo} */ (host.address());
  // Gives the frame the height and the title that it reports, and ignores all other messages.
  await page.addInitScript(() =>
    addEventListener('message', ({ source, data }) => {
      const frame = document.querySelector('iframe');
      if (frame && source === frame.contentWindow && data.type === 'attn-height') {
        frame.height = data.height;
        frame.title = data.figure;
      }
    }),
  );
  await page.goto(`http://127.0.0.1:${address.port}/?${encodeURIComponent(html)}`);
  return page;
}

test('a figure of the short path is presented, and keys lead along the path and back', async () => {
  const page = await site.visit(`#${settings}&weightCell=2.1&at=self-attention.weights`, {
    viewport: { width: 1280, height: 900 },
  });
  const weights = heatmap(page.locator('#weights'), /^Attention weights/);
  const value = await shownValue(weights);
  await page.getByRole('button', { name: 'Present What each token looks at' }).click();
  await shown(page).waitFor();
  await becomes(() => shown(page).getAttribute('id'), 'weights');
  await becomes(() => shownValue(weights), value);
  await becomes(() => bar(page).isVisible(), false);
  await becomes(async () => {
    const { width = 0, height = 0 } = (await shown(page).boundingBox()) ?? {};
    return width >= 1260 && height >= 900;
  }, true);
  await page.keyboard.press('ArrowRight');
  await page.locator('#shuffle.only').waitFor();
  for (const figure of ['weights', 'pooling-figure', 'sentence']) {
    await page.keyboard.press('PageUp');
    await page.locator(`#${figure}.only`).waitFor();
  }
  const previous = page.getByRole('button', { name: 'Previous figure' });
  await becomes(() => previous.isDisabled(), true);
  await page.keyboard.press('ArrowRight');
  await page.locator('#pooling-figure.only').waitFor();
  await becomes(() => previous.isEnabled(), true);
  await page.keyboard.press('Escape');
  await bar(page).waitFor();
  await becomes(() => shown(page).count(), 0);
  await becomes(() => page.locator('#pooling').isVisible(), true);
});

test('from a figure outside the short path, keys lead to all figures in other chapters and back', async () => {
  const page = await site.visit(`#${settings}&at=architectures.paths`);
  await page.getByRole('button', { name: 'Present The path from one token' }).click();
  await page.locator('#paths.only').waitFor();
  await page.keyboard.press('ArrowLeft');
  await page.locator('#rotation figure.only').waitFor();
  await page.keyboard.press('ArrowRight');
  await page.locator('#paths.only').waitFor();
});

test('at the last figure of a presentation, “next” is disabled', async () => {
  const page = await site.visit(`#${settings}&at=training.training-heads`);
  await page
    .locator('#training-heads')
    .getByRole('button', { name: /^Present/ })
    .click();
  await page.locator('#training-heads.only').waitFor();
  const next = page.getByRole('button', { name: 'Next figure' });
  await becomes(() => next.isDisabled(), true);
  await becomes(() => next.getAttribute('title'), 'This is the last figure');
  await page.getByRole('button', { name: 'Previous figure' }).click();
  await page.locator('figure.only:not(#training-heads)').waitFor();
  await becomes(() => next.isEnabled(), true);
});

test('in a presentation, names of rows are at least 14 pixels high', async () => {
  const page = await site.visit(
    `#${settings}&text=the+lady+sat+by+the+fire+because+the+lady+was+tired&at=transformer.encoder-block`,
    {
      viewport: { width: 1280, height: 720 },
    },
  );
  await page.getByRole('button', { name: /^Present One block/ }).click();
  const name = page.locator('#encoder-block.only svg text').first();
  const size = () =>
    name.evaluate(
      (text) =>
        parseFloat(getComputedStyle(text).fontSize) *
        Number(document.documentElement.style.getPropertyValue('--zoom')),
    );
  await becomes(async () => (await size()) >= 14, true);
});

test('in a presentation, a heatmap takes the arrow keys, but not the keys of a remote', async () => {
  const page = await site.visit(`#${settings}&at=self-attention.weights`);
  await page.getByRole('button', { name: 'Present What each token looks at' }).click();
  await shown(page).waitFor();
  const weights = heatmap(page.locator('#weights'), /^Attention weights/);
  await weights.press('ArrowRight');
  await becomes(() => shown(page).getAttribute('id'), 'weights');
  await weights.press('Enter');
  await page.keyboard.press('PageDown');
  await page.locator('#shuffle.only').waitFor();
  await page.keyboard.press('PageUp');
  await page.locator('#weights.only').waitFor();
  // The first Escape unlocks the cell.
  for (let i = 0; i < 2; i++) await weights.press('Escape');
  await bar(page).waitFor();
});

test('the embed code shows the figure with its settings in a page of another origin', async () => {
  const page = await site.visit(`#${settings}&at=self-attention.weights`, {
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  const weights = heatmap(page.locator('#weights'), /^Attention weights/);
  for (const key of ['ArrowDown', 'Enter']) await weights.press(key);
  await page.waitForURL(({ hash }) => hash.includes('weightCell'));
  const value = await shownValue(weights);
  await page.getByRole('button', { name: 'Link to What each token looks at' }).click();
  await page.getByRole('button', { name: 'Copy embed code' }).click();
  await page.getByText('embed code copied').waitFor();
  const code = await page.evaluate(() => navigator.clipboard.readText());
  // To measure the figure, the page gave it a fixed width. The page must have removed this width
  // again.
  await becomes(() => page.locator('#weights').getAttribute('style'), '');

  // The other page has no script that adjusts the frame's height. In a column of 800 pixels, the
  // frame is high enough for its content, and not much higher.
  const height = Number(/ height="(\d+)"/.exec(code)?.[1]);
  const column = await openHost(`<div style="width: 800px">${code}</div>`);
  await column.locator('iframe[title="self-attention.weights"]').waitFor();
  await becomes(async () => {
    const needed = Number(await column.locator('iframe').getAttribute('height'));
    return needed <= height && height <= needed + 40;
  }, true);
  await column.context().close();

  const other = await openHost(code);
  const frame = other.frameLocator('iframe');
  // The frame becomes as high as its content. Until then the card with the value can be hidden,
  // because its cell is outside the frame.
  await becomes(() => other.locator('iframe').getAttribute('title'), 'self-attention.weights');
  const [inner] = other.frames().slice(1);
  await becomes(() => inner.evaluate(() => innerHeight - document.body.offsetHeight), 0);
  const readout = frame.locator('#weights [data-value]').first();
  await becomes(async () => numberOf((await readout.getAttribute('data-value')) ?? ''), value);
  await becomes(() => frame.getByRole('textbox').count(), 0);
  await matches(
    () => frame.getByRole('link', { name: 'Open the whole page' }).getAttribute('href'),
    /#v=2&.*weights=xavier.*&at=self-attention\.weights$/,
  );
  await other.context().close();
});

test('an embedded figure works in a sandboxed frame 320 pixels wide, and its sentence can be changed', async () => {
  const source = `${site.url}#embed=self-attention.weights&amp;sentence=1&amp;${settings.replaceAll('&', '&amp;')}`;
  const page = await openHost(
    `<iframe sandbox="allow-scripts" src="${source}" width="320" height="900"></iframe>`,
  );
  const frame = page.frameLocator('iframe');
  await frame.getByRole('textbox').fill('dog bites');
  await frame.locator('#weights').getByText('bites', { exact: true }).first().waitFor();
  await becomes(() => page.locator('iframe').getAttribute('title'), 'self-attention.weights');
  const [inner] = page.frames().slice(1);
  await becomes(
    () => inner.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
    true,
  );
  await page.context().close();
});

test('an embedded figure in a sandboxed frame says so if the server does not send the required header', async () => {
  const { server, origin } = await serveSite();
  const source = `${origin}/#embed=self-attention.weights&v=2`;
  const page = await openHost(
    `<iframe sandbox="allow-scripts" src="${source}" width="700" height="400"></iframe>`,
  );
  const frame = page.frameLocator('iframe');
  await frame.getByText('The live page cannot start in this frame').waitFor();
  await becomes(() => frame.getByRole('link', { name: source }).getAttribute('href'), source);
  await becomes(() => frame.getByText('Loading the live page').isHidden(), true);
  await becomes(() => frame.locator('#still').isHidden(), true);
  await page.context().close();
  server.close();
});

test('a figure in a closed part of the page is embedded and presented', async () => {
  const link = `${settings}&length=12&width=8`;
  const page = await openHost(
    `<iframe src="${site.url}#embed=encoding.encoding-similarity&amp;${link.replaceAll('&', '&amp;')}" width="700" height="900"></iframe>`,
  );
  const frame = page.frameLocator('iframe');
  await frame.locator('#encoding-similarity .picture').waitFor();
  await page.context().close();

  const whole = await site.visit(`#${link}&at=encoding.encoding-similarity`);
  await whole
    .locator('#encoding-similarity')
    .getByRole('button', { name: /^Present/ })
    .click();
  await whole.locator('#encoding-similarity.only .picture').waitFor();
  await whole.getByRole('button', { name: /^End the presentation/ }).click();
  await bar(whole).waitFor();
  await becomes(() => whole.evaluate(() => document.fullscreenElement !== null), false);
});

test('a page that the server cannot provide is not saved, and the figure says why', async () => {
  const page = await site.visit(`#${settings}&at=self-attention.weights`);
  await page.route(
    '**/figure.html',
    (route) =>
      route.fulfill({ contentType: 'text/html', body: '<!doctype html><title>other</title>' }),
    { times: 1 },
  );
  await page.getByRole('button', { name: 'Export What each token looks at' }).click();
  await page.getByRole('button', { name: 'Save as a page' }).click();
  await page.locator('#weights').getByText('This server lacks the file').waitFor();
});

test('an embedded figure whose code cannot be loaded says so', async () => {
  const page = await openHost('');
  await page.route('**/assets/Order-*.js', (route) => route.abort());
  await page.setContent(
    `<iframe src="${site.url}#embed=order.shuffle&amp;v=1" height="400"></iframe>`,
  );
  const frame = page.frameLocator('iframe');
  await frame.getByText(/^This chapter could not be loaded/).waitFor();
  await becomes(() => frame.getByText('There is no figure').count(), 0);
  await page.context().close();
});

test('a frame says so if its link names a missing figure or contains no words', async () => {
  const page = await openHost(`<iframe src="${site.url}#embed=nothing"></iframe>`);
  const frame = page.frameLocator('iframe');
  await frame.getByText('There is no figure “nothing”').waitFor();
  // The page loads the chapter "order", which has no figure "nothing".
  await page.setContent(`<iframe src="${site.url}#embed=order.nothing&amp;v=1"></iframe>`);
  await frame.getByText('There is no figure “order.nothing”').waitFor();
  await page.setContent(
    `<iframe src="${site.url}#embed=self-attention.weights&amp;sentence=1&amp;v=1&amp;text="></iframe>`,
  );
  await frame.getByText('There are no words yet').waitFor();
  await frame.getByRole('textbox').fill('two words');
  await frame.locator('#weights .picture').waitFor();
  await frame.getByText('There are no words yet').waitFor({ state: 'detached' });
  await page.context().close();
});
