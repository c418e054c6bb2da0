// Tests sentences that take longer than a frame to compute. They are computed in a worker while the
// page stays responsive.

import assert from 'node:assert/strict';
import test from 'node:test';

import { forbidWorkers, sentence, shows, write } from './longSentence.js';
import { becomes, heatmap, openTestSite, shownValue, weightsMap } from './site.js';

/** @import { Page } from 'playwright-core' */

const site = await openTestSite();

/** Reads the weight in the middle of the large figure. @param {Page} page */
async function middleWeight(page) {
  const map = weightsMap(page);
  await map.hover({ position: { x: 100, y: 100 } });
  return shownValue(map);
}

/**
 * Holds back all messages to the worker, which is therefore idle, until the test releases them.
 * @param {Page} page
 */
const hold = (page) =>
  page.evaluate(() => {
    const { postMessage } = MessagePort.prototype;
    const kept = /** @type {(() => void)[]} */ ([]);
    MessagePort.prototype.postMessage = function (/** @type {any[]} */ ...args) {
      kept.push(() => Reflect.apply(postMessage, this, args));
    };
    const letGo = () => {
      MessagePort.prototype.postMessage = postMessage;
      for (const send of kept) send();
    };
    Object.assign(globalThis, { letGo });
  });

/** @param {Page} page */
const letGo = (page) => page.evaluate(() => /** @type {any} */ (globalThis).letGo());

test('a long sentence gives the same numbers with a worker and without one', async () => {
  const weight = async (/** @type {Page} */ page) => {
    await write(page, sentence(1180));
    await shows(page, 1180);
    return middleWeight(page);
  };
  const inWorker = await weight(await site.visit('#at=self-attention.weights'));
  const alone = await site.open('#at=self-attention.weights');
  await forbidWorkers(alone);
  assert.equal(await weight(alone), inWorker);
  await alone.getByText('Long sentences are computed on the page’s own thread').waitFor();
  await alone.context().close();
});

test('the latest of many changes wins, and no picture mixes two sentences', async () => {
  const page = await site.visit('#at=self-attention.weights');
  await write(page, sentence(300));
  await shows(page, 300);
  await page.evaluate(() => {
    const seen = /** @type {Set<string>[]} */ ([]);
    Object.assign(globalThis, { seen });
    new MutationObserver(() => {
      const names = [...document.querySelectorAll('#self-attention .heatmap')].flatMap((element) =>
        [...(element.getAttribute('aria-label') ?? '').matchAll(/(\d+) (?:tokens|queries)/g)].map(
          ([, length]) => length,
        ),
      );
      seen.push(new Set(names));
    }).observe(document.body, { subtree: true, attributes: true, attributeFilter: ['aria-label'] });
  });
  for (const length of [900, 1000, 1100, 700]) await write(page, sentence(length));
  await shows(page, 700);
  // The worker handles changes in order, so any answer to an earlier change would arrive before
  // the answer to the last change.
  await write(page, sentence(710));
  await shows(page, 710);
  const seen = await page.evaluate(() =>
    /** @type {any} */ (globalThis).seen.map((/** @type {Set<string>} */ names) => [...names]),
  );
  for (const names of seen) assert.equal(names.length, 1, names.join());
  const since = seen.findIndex((/** @type {string[]} */ [length]) => length === '700');
  assert.deepEqual([...new Set(seen.slice(since).flat())], ['700', '710']);
});

test('a chapter visited after typing a long sentence shows it', async () => {
  const page = await site.open('', { learns: true });
  await page.getByRole('button', { name: 'Settings' }).click();
  await page.getByRole('radio', { name: 'learned' }).and(page.locator(':checked')).waitFor();
  await write(page, sentence(200));
  for (const [chapter, figure] of [
    ['order', '#shuffle'],
    ['self-attention', '#weights'],
  ]) {
    await page.locator(`[id="${chapter}"]`).evaluate((element) => element.scrollIntoView());
    await page.locator(figure).waitFor();
    await becomes(
      () =>
        page
          .locator(`[id="${chapter}"]`)
          .getByText(/^Nothing to/)
          .count(),
      0,
    );
  }
});

test('the old picture stays while a long sentence is computed, and the page says so', async () => {
  // On a shared page, Undo could also undo the link.
  const page = await site.open(
    `#at=self-attention.weights&text=${encodeURIComponent(sentence(400))}`,
  );
  await shows(page, 400);
  const heights = () =>
    page
      .locator('#self-attention :is(#pipeline, #weights, #stages)')
      .evaluateAll((figures) => figures.map((figure) => figure.getBoundingClientRect().height));
  const before = await heights();
  await hold(page);
  await write(page, sentence(2048));
  await page.getByRole('status').filter({ hasText: 'computing …' }).waitFor();
  await page.locator('#weights[aria-busy]').waitFor();
  await heatmap(page, /400 queries by 400 keys/)
    .last()
    .waitFor();
  await letGo(page);
  await shows(page, 2048);
  await becomes(heights, before);
  await page.getByRole('button', { name: 'Undo' }).click();
  await shows(page, 400);
});

test('a link to a long sentence shows it, and a short sentence then appears at once', async () => {
  const page = await site.visit(
    `#at=self-attention.weights&text=${encodeURIComponent(sentence(1000))}`,
  );
  await shows(page, 1000);
  const caption = page
    .locator('#weights [data-hint]')
    .getByText('the strongest weight of its group');
  await caption.waitFor();
  assert.ok((await middleWeight(page)) > 0);
  await page.mouse.move(0, 0);
  await write(page, 'man bites dog');
  assert.equal(await page.locator('[aria-busy]').count(), 0);
  await caption.waitFor({ state: 'detached' });
  await heatmap(page, /3 queries by 3 keys/)
    .last()
    .waitFor();
});

/** Opens a page whose workers the test can end, as a browser does when it is short of memory. */
async function mortal() {
  const page = await site.open('#at=self-attention.weights');
  await page.evaluate(() => {
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
  const started = () => page.evaluate(() => /** @type {any} */ (globalThis).started.length);
  const end = async () => {
    await page.evaluate(() => /** @type {any} */ (globalThis).started.at(-1).terminate());
    await becomes(() => page.evaluate(async () => (await navigator.locks.query()).held), []);
  };
  return { page, started, end };
}

test('the page notices an ended worker, and the next change starts another', async () => {
  const { page, started, end } = await mortal();
  const problem = page.getByRole('alert');
  await write(page, sentence(600));
  await shows(page, 600);

  await hold(page);
  await write(page, sentence(2040));
  await page.getByRole('status').filter({ hasText: 'computing …' }).waitFor();
  await end();
  await problem.filter({ hasText: 'The browser stopped the worker' }).waitFor();
  await becomes(
    () => problem.evaluate((element) => element.getBoundingClientRect().top >= 0),
    true,
  );
  await becomes(() => page.locator('[aria-busy]').count(), 0);
  await heatmap(page, /600 queries by 600 keys/)
    .last()
    .waitFor();
  await letGo(page);
  await write(page, sentence(500));
  await shows(page, 500);
  await becomes(() => problem.count(), 0);
  assert.equal(await started(), 2);

  // No computation is running, so the reader does not notice that the worker ended.
  await end();
  await write(page, sentence(510));
  await shows(page, 510);
  await becomes(() => problem.count(), 0);
  assert.equal(await started(), 3);
});

test('the page computes on its own thread if its worker never starts', async () => {
  const { page, end } = await mortal();
  await page.clock.install();
  await page.evaluate(() => {
    // The message that passes the port to the worker is never sent, as if the worker had already
    // ended.
    Worker.prototype.postMessage = () => {};
  });
  await write(page, sentence(300));
  await page.getByRole('status').filter({ hasText: 'computing …' }).waitFor();
  await end();
  await page.clock.runFor(20_000);
  await page.getByText('Long sentences are computed on the page’s own thread').waitFor();
  await shows(page, 300);
});

test('heatmaps accept neither pointer nor keys until there is something to read', async () => {
  const page = await (await site.newContext()).newPage();
  await page.addInitScript(() => {
    /** Holds back messages until all are sent at once. @type {(() => void)[] | undefined} */
    let held = [];
    const letGo = () => {
      const sends = held;
      held = undefined;
      sends?.forEach((send) => send());
    };
    globalThis.Worker = class extends Worker {
      /** @param {any} message @param {any} transfer */
      postMessage(message, transfer) {
        Object.assign(globalThis, { letGo });
        if (held) held.push(() => super.postMessage(message, transfer));
        else super.postMessage(message, transfer);
      }
    };
  });
  await page.goto(
    `${site.url}#v=1&at=self-attention.weights&text=${encodeURIComponent(sentence(700))}`,
  );
  const map = page.locator('#weights .heatmap').first();
  await map.waitFor();
  await page.waitForFunction(() => 'letGo' in globalThis);
  const focused = () =>
    map.evaluate((element) => {
      /** @type {HTMLElement} */ (element).focus();
      return document.activeElement === element;
    });
  assert.equal(await focused(), false);
  await becomes(() => page.locator('#weights .heatmap:not([inert] *)').count(), 0);
  await page.evaluate(() => /** @type {any} */ (globalThis).letGo());
  await shows(page, 700);
  await becomes(focused, true);
});
