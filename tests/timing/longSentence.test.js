// Measures how much of the page thread's time a long sentence takes while a worker computes it.

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';

import { forbidWorkers, sentence, shows, write } from '../browser/longSentence.js';
import { openSite } from '../browser/site.js';
import { stopwatch } from './stopwatch.js';

/** @type {import('../browser/site.js').Site} */
let site;
before(async () => (site = await openSite()));
after(() => site.close());

test('with a worker, a long sentence takes less than half of the page thread’s time', async (context) => {
  const taken = { worker: 0, alone: 0 };
  for (const who of /** @type {const} */ (['worker', 'alone'])) {
    const page = await site.open('#at=self-attention.weights');
    if (who === 'alone') await forbidWorkers(page);
    const time = await stopwatch(page);
    await write(page, sentence(1210));
    await shows(page, 1210);
    taken[who] = await time(async () => {
      for (const length of [1200, 1190, 1180]) {
        await write(page, sentence(length));
        await shows(page, length);
      }
    });
    await page.context().close();
  }
  context.diagnostic(
    `${taken.worker.toFixed(0)} ms of the page’s thread with a worker, ${taken.alone.toFixed(0)} ms without`,
  );
  assert.ok(taken.worker < taken.alone / 2, JSON.stringify(taken));
});
