// Tests the chapter in which models are trained in workers.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import test from 'node:test';

import { load } from 'attn';

import { Lane } from '../../web/src/training/lane.js';
import { accessibilityProblems } from './accessibility.js';
import { arrival, becomes, heatmap, matches, openTestSite, readValues, unfold } from './site.js';

/** @import { Page } from 'playwright-core' */

const site = await openTestSite('/', {}, { ownBrowser: true });

/** @param {Page} page */
const figure = (page) => page.locator('#training-run');

/** @param {Page} page @param {string} name */
const button = (page, name) => figure(page).getByRole('button', { name, exact: true });

/** @param {Page} page */
const stepOf = async (page) =>
  Number(await figure(page).locator('[data-step]').getAttribute('data-step'));

/** @param {Page} page */
const accuracies = (page) =>
  figure(page)
    .locator('[data-accuracy]')
    .evaluateAll((all) => all.map((each) => Number(each.getAttribute('data-accuracy'))));

/** @param {Page} page @param {number} step */
const arrives = (page, step) => page.locator(`#training-run [data-step="${step}"]`).waitFor();

/** Waits until a run has reached the given step. @param {Page} page @param {number} step */
const passes = (page, step) => becomes(async () => (await stepOf(page)) >= step, true);

/** @param {Page} page @param {number} lane */
async function weights(page, lane) {
  const map = heatmap(page, /^Attention weights of lane/).nth(lane);
  await show(page, 'training-heads');
  await map.waitFor();
  const values = await readValues(map, 3, 20);
  await show(page, 'training-run');
  return values;
}

/**
 * Scrolls to a figure, because figures far from the window are not drawn.
 * @param {Page} page
 * @param {string} id
 */
const show = (page, id) =>
  page.evaluate((id) => {
    const element = document.getElementById(id);
    const part = element?.closest('details');
    if (part) part.open = true;
    element?.scrollIntoView({ behavior: 'instant' });
  }, id);

/** Returns the loss of each lane, read from the chart's label. @param {Page} page */
async function losses(page) {
  const label = await figure(page).getByRole('img', { name: /^Loss/ }).getAttribute('aria-label');
  return [...(label ?? '').matchAll(/[AB] ([\d.]+)/g)].map(([, loss]) => Number(loss));
}

/** Opens the closed part with the checksums and files of the weights. @param {Page} page */
const openEngineers = (page) => unfold(page.locator('#training-run .engineers'));

/**
 * Trains a model like the page's lane A in Node and returns its checksum.
 * @param {number} steps
 * @param {Partial<import('../../web/src/training/model.js').LaneOptions>} [options]
 */
async function checksumInNode(steps, options) {
  const attn = await load({ training: true, threads: 1, variant: 'simd128' });
  const lane = new Lane(attn, {
    ...{ world: 'reverse', positions: 'sinusoidal', heads: 4, layers: 2, causal: false },
    ...{ rate: 3e-3, seed: 1, ...options },
  });
  lane.train(steps);
  const checksum = lane.checksum();
  lane.dispose();
  return checksum;
}

test('no training code is loaded before the reader asks for it', async () => {
  const page = await site.open('#at=training.training-heads');
  // To draw untrained models, the page needs no training code.
  await page.locator('[data-answer=A] s').first().waitFor();
  const before = await page.evaluate(() =>
    performance.getEntriesByType('resource').map(({ name }) => name),
  );
  assert.deepEqual(
    before.filter((url) => /training[-.]/.test(url)),
    [],
  );
  assert.equal(page.workers().length, 0);
  const module = page.waitForRequest(/training-simd128-(?!threads)[^/]*\.wasm$/);
  await show(page, 'training-run');
  await button(page, 'One step').click();
  await module;
  await arrives(page, 1);
});

test('two lanes learn and pause by key, and a link restores the run', async () => {
  const page = await site.visit('#trainLayers=1&at=training.training-run');
  await button(page, 'Play').focus();
  await page.keyboard.press('Enter');
  await passes(page, 10);
  await page.keyboard.press('Enter');
  await button(page, 'Play').waitFor();
  const step = await stepOf(page);
  // lane.test.js checks how far the loss falls. ln 21 is the loss of a uniform guess.
  const shownLosses = await losses(page);
  assert.equal(shownLosses.length, 2);
  assert.ok(Math.max(...shownLosses) < 1.1 * Math.log(21), `${shownLosses} after ${step}`);
  await becomes(
    async () => new URLSearchParams(new URL(page.url()).hash.slice(1)).get('trainStep'),
    `${step}`,
  );
  const shown = { accuracies: await accuracies(page), weights: await weights(page, 0) };
  assert.equal(shown.accuracies.length, 2);

  assert.deepEqual(await accessibilityProblems(page, ['#training']), []);

  await openEngineers(page);
  const checksums = await page.locator('[data-checksum]').allInnerTexts();
  assert.equal(checksums.length, 2);
  assert.equal(checksums[0], await checksumInNode(step, { layers: 1 }));
  const download = page.waitForEvent('download');
  await button(page, 'save as .safetensors').first().click();
  assert.equal((await download).suggestedFilename(), `reverse-A-${step}.safetensors`);
  await figure(page).getByRole('slider', { name: 'look back' }).press('Home');
  await figure(page).getByText(`step 0 of ${step}`).waitFor();
  const untrained = await weights(page, 0);
  assert.notDeepEqual(untrained, shown.weights);
  await figure(page).getByRole('slider', { name: 'look back' }).press('End');
  await figure(page).getByText(`step ${step}, the newest`).waitFor();
  assert.deepEqual(await weights(page, 0), shown.weights);

  const fragment = new URL(page.url()).hash;
  const again = await site.visit(`${fragment}&at=training.training-run`);
  await arrives(again, step);
  await button(again, 'Play').waitFor();
  await becomes(() => accuracies(again), shown.accuracies);
  assert.deepEqual(await weights(again, 0), shown.weights);
  // The checksums appear after the pictures.
  await openEngineers(again);
  await again.locator('[data-checksum]').nth(1).waitFor();
  await becomes(() => again.locator('[data-checksum]').allInnerTexts(), checksums);

  await button(again, 'Ten steps').click();
  await arrives(again, step + 10);
  await button(again, 'From the start').click();
  await arrives(again, 0);
  await becomes(() => accuracies(again), []);
});

test('a link copied during a run contains its step, and a reload keeps it', async () => {
  const page = await site.visit('#trainLayers=1&at=training.training-run', {
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  await button(page, 'Play').click();
  await passes(page, 5);
  await button(page, 'Link to Two models learn the same task').click();
  await button(page, 'Copy link').click();
  await figure(page).getByText('link copied').waitFor();
  const link = new URL(await page.evaluate(() => navigator.clipboard.readText()));
  const stepIn = (/** @type {URL} */ { hash }) =>
    Number(new URLSearchParams(hash.slice(1)).get('trainStep'));
  assert.ok(stepIn(link) >= 5, link.href);
  await becomes(async () => stepIn(new URL(page.url())) >= 5, true);
  await button(page, 'Pause').waitFor();
  await page.reload();
  await page.getByRole('contentinfo').waitFor();
  const step = stepIn(new URL(page.url()));
  await show(page, 'training');
  await show(page, 'training-run');
  await arrives(page, step);
});

test('a Transformer and a recurrent decoder write dates, and both answer a date you type', async () => {
  const page = await site.visit('#at=training.training-run');
  await figure(page).getByText('Change the two models').click();
  await figure(page).getByRole('radio', { name: 'dates' }).check();
  await figure(page).getByText('Bahdanau’s recurrent decoder').waitFor();
  await becomes(() => figure(page).getByRole('radio', { name: 'decoder' }).isChecked(), true);
  // The decoders of the two lanes have little code in common, so each has its own program.
  await button(page, 'Code for Two models learn the same task').click();
  await figure(page).getByRole('tab', { name: 'JavaScript' }).click();
  const code = figure(page).getByRole('tabpanel');
  await code.getByText('TransformerDecoder').first().waitFor();
  await button(page, 'lane B').click();
  await code.getByText('BahdanauDecoder').first().waitFor();
  await becomes(() => figure(page).getByRole('radio', { name: 'mask' }).count(), 0);
  await becomes(() => page.locator('#training-longer').count(), 0);
  await button(page, 'One step').click();
  await arrives(page, 1);
  await openEngineers(page);
  const checksum = page.locator('[data-checksum=A]');
  await checksum.waitFor();
  const expected = await checksumInNode(1, { world: 'dates', decoder: 'transformer' });
  await becomes(() => checksum.innerText(), expected);

  await show(page, 'training-heads');
  const example = page.getByLabel('an example of your own');
  await example.fill('the third of May 1999');
  const right = page.locator('#training-heads tr').filter({ hasText: /^right/ });
  await becomes(async () => (await right.innerText()).replace(/\s/g, ''), 'right1999-05-03');
  for (const lane of ['A', 'B']) {
    const map = heatmap(
      page,
      new RegExp(`^Attention weights of lane ${lane}.*10 queries by 21 keys`),
    );
    await map.waitFor();
    const weights = await readValues(map, 10, 21);
    for (const row of weights) {
      const sum = row.reduce((total, weight) => total + weight, 0);
      assert.ok(Math.abs(sum - 1) < 1e-3, `${sum}`);
    }
    const answer = await page.locator(`[data-answer=${lane}]`).innerText();
    assert.match(answer, /\d of 10/);
  }
  assert.deepEqual(await accessibilityProblems(page, ['#training']), []);
  await example.fill('3.5.1999');
  await page.getByText('this text names no date, or more than one').waitFor();
  await becomes(async () => (await right.innerText()).replace(/\s/g, ''), 'right');

  // In the task “copy”, no decoder writes an answer.
  await show(page, 'training-run');
  await figure(page).getByRole('radio', { name: 'copy' }).check();
  await figure(page).getByRole('radio', { name: 'mask' }).waitFor();
  await page.locator('#training-longer').waitFor({ state: 'attached' });
});

test('the accuracy and the heads are on one screen of 1280 by 720 pixels', async () => {
  const page = await site.visit('#v=2&at=training.training-heads', {
    viewport: { width: 1280, height: 720 },
  });
  const heads = page.locator('#training-heads');
  await becomes(() => heads.locator('.thumbnail').count(), 16);
  const chart = heads.locator('.chart', { hasText: 'Right answers on held-out examples' });
  for (const part of [chart, heads.locator('.thumbnail').last()]) {
    await becomes(async () => {
      const box = await part.boundingBox();
      return box !== null && box.y > 0 && box.y + box.height <= 720;
    }, true);
  }
});

test('Play stops at the chosen step, and when both lanes are always right', async () => {
  const page = await site.visit(
    '#world=copy&differ=heads&trainLayers=1&rate=0.01&at=training.training-run',
  );
  const until = figure(page).getByRole('spinbutton', { name: 'until step' });
  await until.fill('20');
  // The figure of the heads has the same button.
  await until.press('Tab');
  await show(page, 'training-heads');
  const play = page.locator('#training-heads').getByRole('button', { name: 'Play', exact: true });
  await play.click();
  await play.waitFor();
  await show(page, 'training-run');
  await figure(page).getByText('step 20', { exact: true }).first().waitFor();
  await becomes(() => until.inputValue(), '620');
  await button(page, 'Play').click();
  await button(page, 'Play').waitFor();
  const right = await figure(page).locator('.lanes').innerText();
  assert.equal(right.match(/100 % right/g)?.length, 2, right);
  const step = await stepOf(page);
  assert.ok(step > 20 && step < 620, `${step}`);
});

test('two models with four heads and with one head learn to add, and the passage on heads links to this run', async () => {
  const page = await site.visit('#at=self-attention.weights');
  await page.getByRole('button', { name: /^See four heads and a single head/ }).click();
  const gain = page.locator('#training-gain');
  const guess = gain.locator('[data-predict]');
  const isAtTheTop = async () => {
    const top = (await gain.boundingBox())?.y ?? NaN;
    return top > 0 && top < 300;
  };
  await arrival(page, 'training.training-gain');
  await becomes(isAtTheTop, true);
  await guess.getByRole('button', { name: /^Whether the sum has a hundreds digit/ }).click();
  await guess.getByText('To find out, let both models learn.').waitFor();
  await becomes(isAtTheTop, true);

  const table = gain.getByRole('button', { name: /with a table/ });
  await table.click();
  // gain.test.js trains these models for 600 steps, and checks what they learn.
  const now = guess.getByText(/^After \d+ steps here/);
  await matches(() => now.innerText(), /(\d+), (\d+), (\d+).*(\d+), (\d+), (\d+)/s);
  // The button shows as pressed only while all of its settings apply, including the 600 steps.
  await becomes(() => table.getAttribute('aria-pressed'), 'true');
  await show(page, 'training-run');
  await page.waitForURL(({ hash }) => {
    const link = new URLSearchParams(hash.slice(1));
    const settings = ['world', 'differ', 'schemeA', 'trainLayers', 'rate', 'trainSeed'];
    return settings.map((name) => link.get(name)).join() === 'add,heads,learned,1,0.002,5';
  });
  await matches(() => figure(page).locator('.lanes').innerText(), /4 heads.*1 head\b/s);
  await show(page, 'training-gain');
  await gain.getByRole('button', { name: /T5/ }).click();
  await guess.getByText(/^After \d+ steps here with T5’s bias/).waitFor();
});

test('invalid settings in a link are corrected, and the page says so', async () => {
  const page = await site.visit('#world=fly&trainStep=2&rate=99&at=training.training-run');
  await arrives(page, 2);
  const notes = await figure(page).locator('.corrected').allInnerTexts();
  assert.equal(notes.length, 2);
  assert.match(notes.join(' '), /world to “fly”.*reverse.*rate to “99”.*10/s);
  await figure(page).getByRole('radio', { name: 'sort' }).check();
  await arrives(page, 0);
  await becomes(() => figure(page).locator('.corrected').count(), 0);
});

test('a difference between lanes that the link’s task does not offer is corrected, and the page says so', async () => {
  const page = await site.visit('#world=dates&differ=mask&at=training.training-run');
  await figure(page)
    .getByText(/cannot differ in “mask”\. They now differ in decoder/)
    .waitFor();
  await becomes(() => figure(page).getByRole('radio', { name: 'decoder' }).isChecked(), true);
  // The decoders of the two lanes have little code in common, so each has its own program.
  await button(page, 'Code for Two models learn the same task').click();
  await figure(page).getByRole('tab', { name: 'JavaScript' }).click();
  const code = figure(page).getByRole('tabpanel');
  await code.getByText('TransformerDecoder').first().waitFor();
  await button(page, 'lane B').click();
  await code.getByText('BahdanauDecoder').first().waitFor();
});

test('a learning rate of 10 ends the run with a sentence that names the step', async () => {
  const page = await site.visit('#rate=10&trainStep=200&at=training.training-run');
  const problem = page.getByRole('alert');
  await problem
    .filter({ hasText: /Lane [AB] could not take step \d+.*\w+\.\w+.*finite/s })
    .waitFor();
  await button(page, 'Play').waitFor();
  const [said, step] = [await problem.innerText(), await stepOf(page)];
  assert.ok(step > 0 && step < 200);
  // The page does not retry, even if the reader leaves the figure and comes back.
  await show(page, 'training-heads');
  await page.locator('#training-heads .picture').waitFor();
  await show(page, 'training-run');
  await button(page, 'Play').waitFor();
  assert.deepEqual([await problem.innerText(), await stepOf(page)], [said, step]);
  await becomes(() => button(page, 'Play').count(), 1);
});

test('saved weights can be loaded if they fit, and the page says that the link lacks them', async () => {
  const page = await site.visit('#world=count&trainStep=12&at=training.training-run');
  await arrives(page, 12);
  const sums = () => page.locator('[data-checksum]').allInnerTexts();
  await openEngineers(page);
  await page.locator('[data-checksum]').first().waitFor();
  const saved = await sums();
  const file = page.waitForEvent('download');
  await button(page, 'save as .safetensors').first().click();
  const buffer = await readFile(await (await file).path());
  const load = (/** @type {string} */ lane, bytes = buffer) =>
    figure(page)
      .getByLabel(`load weights into ${lane}`)
      .setInputFiles({ name: 'mine.safetensors', mimeType: '', buffer: bytes });
  const said = (/** @type {string} */ lane, /** @type {RegExp} */ hasText) =>
    page.locator(`[data-file=${lane}]`).filter({ hasText }).waitFor();

  // The model in lane B has no positions.
  await load('B');
  await said(
    'B',
    /mine.safetensors contains a model for count, sinusoidal.*lane B.*no positions.*unchanged/s,
  );
  await load('B', Buffer.from('no weights'));
  await said('B', /is not a weights file.*unchanged/s);
  await becomes(() => sums(), saved);
  await becomes(() => page.locator('[data-given]').count(), 0);

  await button(page, 'From the start').click();
  await arrives(page, 0);
  await becomes(() => page.locator('[data-file]').count(), 0);
  await load('A');
  await said(
    'A',
    /lane A loaded the weights.*count, sinusoidal.*4 heads.*already trained for 12 steps/s,
  );
  await page.locator('[data-given]').waitFor();
  await becomes(async () => (await sums())[0], saved[0]);
  // A rejected file changes nothing.
  await load('A', Buffer.from('no weights'));
  await said('A', /is not a weights file/);
  await page.locator('[data-given]').waitFor();
  await button(page, 'One step').click();
  await arrives(page, 1);
  await page.locator('[data-checksum]').first().waitFor();
  assert.notEqual((await sums())[0], saved[0]);
  await page.locator('[data-given]').waitFor();
  // A run is defined by its settings, so changing them starts another run.
  await figure(page).getByRole('radio', { name: 'copy' }).check();
  await page.locator('[data-given]').waitFor({ state: 'detached' });
});

test('the spoken summary of a figure is updated while models learn', async () => {
  const page = await site.visit('#at=training.training-run');
  await button(page, 'Play').click();
  await figure(page)
    .locator('[data-summary]')
    .filter({ hasText: /After [1-9]\d* steps/ })
    .waitFor({ state: 'attached' });
  await button(page, 'Pause').click();
  // The summary of a figure that was out of view during training is up to date, too.
  await show(page, 'training-longer');
  await page.locator('#training-longer [data-longer=A]').first().waitFor();
  await page
    .locator('#training-longer [data-summary]')
    .filter({ hasText: /After [1-9]\d* steps/ })
    .waitFor({ state: 'attached' });
});

test('both lanes are tested on longer examples, and a learned table ends at its own length', async () => {
  const page = await site.visit('#world=count&schemeB=learned&at=training.training-longer');
  const longer = page.locator('#training-longer');
  await longer.getByText('press Play above').waitFor();
  await show(page, 'training-run');
  await button(page, 'Ten steps').click();
  await arrives(page, 10);
  const accuracy = await accuracies(page);
  await show(page, 'training-longer');
  await longer.locator('[data-longer=A]').first().waitFor();
  const sizesOf = (/** @type {string} */ lane) =>
    longer
      .locator(`[data-longer=${lane}]`)
      .evaluateAll((all) => all.map((each) => [each.dataset.size, each.dataset.value].map(Number)));
  const [a, b] = [await sizesOf('A'), await sizesOf('B')];
  assert.deepEqual(
    a.map(([size]) => size),
    [10, 15, 20, 30, 40],
  );
  assert.deepEqual(
    b.map(([size]) => size),
    [10],
  );
  [a, b].forEach(([[, share]], i) => assert.ok(Math.abs(share - accuracy[i]) < 1e-6));
  await longer.getByText('the table ends at the training length').waitFor();
  assert.deepEqual(await accessibilityProblems(page, ['#training']), []);
});

test('a table of positions is drawn while it is learned, next to the sinusoid', async () => {
  const page = await site.visit('#world=count&at=training.training-table');
  const table = page.locator('#training-table');
  await heatmap(page, /^sinusoidal, 10 positions by 64/).waitFor();
  await becomes(() => table.getByRole('button', { name: /^Code for/ }).count(), 0);
  await table.getByRole('button', { name: 'let lane B learn a table' }).click();
  const learned = heatmap(page, /^learned by lane B, 10 positions by 64/);
  await learned.waitFor();
  await table.getByRole('button', { name: /^Code for/ }).waitFor();
  const products = heatmap(page, /^Dot products between all rows of learned/);
  const [before, alike] = [await readValues(learned, 2, 64), await readValues(products, 3, 10)];
  await show(page, 'training-run');
  await button(page, 'Ten steps').click();
  await arrives(page, 10);
  await button(page, 'Play').waitFor();
  await show(page, 'training-table');
  await learned.waitFor();
  assert.notDeepEqual(await readValues(learned, 2, 64), before);
  assert.notDeepEqual(await readValues(products, 3, 10), alike);
  assert.deepEqual(await accessibilityProblems(page, ['#training']), []);
});

/**
 * Ends a worker, as a browser does when it is short of memory.
 * @param {Page} page
 * @param {number} lane
 */
const endWorker = (page, lane) =>
  page.evaluate((lane) => /** @type {any} */ (globalThis).started.at(lane - 2).terminate(), lane);

/** Records the page's workers from now on. @param {Page} page */
const knowWorkers = (page) =>
  page.evaluate(() => {
    const started = /** @type {Worker[]} */ ([]);
    Object.assign(globalThis, { started });
    globalThis.Worker = class extends Worker {
      /** @param {string | URL} url @param {WorkerOptions} [options] */
      constructor(url, options) {
        super(url, options);
        started.push(this);
      }
    };
  });

/** @param {Page} page */
const checksumsOf = async (page) => {
  await openEngineers(page);
  await page.locator('[data-checksum=B]').waitFor();
  return page.locator('[data-checksum]').allInnerTexts();
};

test('a run whose worker ends says so, continues from its last state, and survives a reload', async () => {
  const page = await site.open('#world=count&trainLayers=1&at=training.training-run');
  await knowWorkers(page);
  await button(page, 'Ten steps').click();
  await arrives(page, 10);
  await button(page, 'Play').waitFor();
  const before = await accuracies(page);
  await button(page, 'Play').click();
  await endWorker(page, 1);
  const alert = page.getByRole('alert').filter({ hasText: 'ended a worker after step' });
  await alert.waitFor();
  await matches(() => alert.innerText(), /Play continues from step 10/);
  const step = await stepOf(page);
  assert.ok(step >= 10);
  // The earlier results are still displayed.
  assert.equal((await accuracies(page)).length, before.length);
  await button(page, 'One step').click();
  await arrives(page, step + 1);
  await becomes(() => page.getByRole('alert').count(), 0);
  const checksums = await checksumsOf(page);
  assert.equal(checksums[0], await checksumInNode(step + 1, { world: 'count', layers: 1 }));
  await becomes(
    async () => new URLSearchParams(new URL(page.url()).hash.slice(1)).get('trainStep'),
    `${step + 1}`,
  );
  await page.reload();
  // The page loads a chapter when the reader scrolls near it.
  await page.waitForFunction(() => {
    const near = ['training-run', 'training'].map((id) => document.getElementById(id));
    near.find((each) => each)?.scrollIntoView({ behavior: 'instant' });
    return document.querySelector('#training-run [data-step]');
  });
  await arrives(page, step + 1);
  assert.deepEqual(await checksumsOf(page), checksums);
});

test('loaded weights survive the end of a worker', async () => {
  const page = await site.open('#world=count&trainLayers=1&at=training.training-run');
  await knowWorkers(page);
  await button(page, 'Ten steps').click();
  await arrives(page, 10);
  await checksumsOf(page);
  const file = page.waitForEvent('download');
  await button(page, 'save as .safetensors').first().click();
  const buffer = await readFile(await (await file).path());
  await button(page, 'From the start').click();
  await arrives(page, 0);
  await figure(page)
    .getByLabel('load weights into A')
    .setInputFiles({ name: 'mine.safetensors', mimeType: '', buffer });
  await page.locator('[data-file=A]').waitFor();
  await button(page, 'Play').waitFor();
  await button(page, 'Ten steps').click();
  await arrives(page, 10);
  const expected = await checksumsOf(page);
  await endWorker(page, 0);
  await button(page, 'One step').click();
  const alert = page.getByRole('alert').filter({ hasText: 'ended a worker after step 10' });
  await alert.waitFor();
  await matches(() => alert.innerText(), /Play continues from step 10/);
  // The replacement workers compute the displayed results again.
  await button(page, 'One step').click();
  await arrives(page, 11);
  await page.locator('[data-given]').waitFor();
  assert.notDeepEqual(await checksumsOf(page), expected);
  await figure(page).getByRole('slider', { name: 'look back' }).press('ArrowLeft');
  await figure(page).getByText('step 10 of 11').waitFor();
});

test('discarded runs leave no objects behind', async (context) => {
  const page = await site.open('#world=count&trainLayers=1&at=training.training-run');
  const session = await page.context().newCDPSession(page);
  // Counts objects rather than bytes, because the heap also grows with the code that V8 compiles
  // meanwhile.
  const objects = async () => {
    let text = '';
    /** @param {{ chunk: string }} part */
    const add = ({ chunk }) => (text += chunk);
    session.on('HeapProfiler.addHeapSnapshotChunk', add);
    await session.send('HeapProfiler.takeHeapSnapshot', { reportProgress: false });
    session.off('HeapProfiler.addHeapSnapshotChunk', add);
    const { snapshot, nodes } = JSON.parse(text);
    const { node_fields: fields, node_types: types } = snapshot.meta;
    const object = types[0].indexOf('object');
    let count = 0;
    for (let i = fields.indexOf('type'); i < nodes.length; i += fields.length) {
      if (nodes[i] === object) count++;
    }
    return count;
  };
  // The loop runs in the page, because each round trip to the test would take longer than a step.
  const run = (/** @type {number} */ times) =>
    page.evaluate(async (times) => {
      const figure = /** @type {Element} */ (document.getElementById('training-run'));
      const click = (/** @type {string} */ name) =>
        [...figure.querySelectorAll('button')]
          .find(({ textContent }) => textContent?.trim() === name)
          ?.click();
      const arrives = (/** @type {number} */ step) =>
        new Promise((resolve) => {
          const check = () => {
            if (!figure.querySelector(`[data-step="${step}"]`)) return;
            observer.disconnect();
            resolve(undefined);
          };
          const observer = new MutationObserver(check);
          observer.observe(figure, { subtree: true, childList: true, attributes: true });
          check();
        });
      for (let i = 0; i < times; i++) {
        click('next seed');
        await arrives(0);
        click('One step');
        await arrives(1);
      }
    }, times);
  await run(10);
  let before = await objects();
  /** @type {number[]} */
  const growth = [];
  // While the page loads the scripts of its chapters, it also creates objects, so the first groups
  // of runs may add many. A leak would add at least one object in every run, so every group would
  // add at least as many objects as it has runs.
  const runs = 12;
  while (growth.length < 12 && !(growth[growth.length - 1] < runs)) {
    await run(runs);
    const now = await objects();
    growth.push(now - before);
    before = now;
  }
  context.diagnostic(`${growth.join(', ')} objects more`);
  assert.equal(page.workers().length, 2);
  assert.ok(growth[growth.length - 1] < runs, `${growth} objects more`);
});
