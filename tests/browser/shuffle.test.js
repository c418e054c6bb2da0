import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';

import { maxAbsDifference, selfAttention, sinusoidalEncoding } from './reference.js';
import { heatmap, openSite, readValues } from './site.js';

/** @import { Page } from 'playwright-core' */

/** @type {import('./site.js').Site} */
let site;
before(async () => (site = await openSite()));
after(() => site.close());

// All different, so that the shuffled order can be read off the words.
const words = ['one', 'two', 'three', 'four', 'five', 'six', 'seven'];
const text = `text=${words.join('+')}`;

/** @param {Page} page */
const shownDifference = async (page) =>
  Number(await page.locator('output[data-value]').getAttribute('data-value'));

/** @param {Page} page */
async function shownOrder(page) {
  const label = await page
    .getByRole('img', { name: /^The tokens in the shuffled order/ })
    .getAttribute('aria-label');
  return (label?.split(': ')[1] ?? '').split(' ').map((word) => words.indexOf(word));
}

test('without the encoding the difference is rounding, with it it is large', async () => {
  const page = await site.open(`#${text}`);
  assert.ok((await shownDifference(page)) > 0.1);
  await page.getByText('every token carries its position').waitFor();
  await page.getByRole('switch', { name: 'positional encoding' }).last().uncheck();
  assert.ok((await shownDifference(page)) < 1e-5);
  await page.getByText('Order does not matter').waitFor();
});

for (const causal of [false, true]) {
  test(`the difference is that of the reference${causal ? ', causal' : ''}`, async () => {
    const page = await site.open(`#${text}&encoding=0&causal=${Number(causal)}`);
    const embedding = await readValues(heatmap(page, /^Embeddings/), words.length, 64);
    const order = await shownOrder(page);
    const permute = (/** @type {number[][]} */ rows) => order.map((from) => rows[from]);
    const expected = (/** @type {boolean} */ encoded) => {
      const encoding = sinusoidalEncoding(words.length, 64, 10000);
      const layer = (/** @type {number[][]} */ rows) =>
        selfAttention(
          rows.map((row, i) => row.map((value, j) => value + (encoded ? encoding[i][j] : 0))),
          4,
          causal,
        );
      return maxAbsDifference(permute(layer(embedding)), layer(permute(embedding)));
    };
    assert.ok(Math.abs((await shownDifference(page)) - expected(false)) < 1e-5);
    await page.getByRole('switch', { name: 'positional encoding' }).last().check();
    assert.ok(Math.abs((await shownDifference(page)) - expected(true)) < 1e-4);
  });
}

test('the button gives another order each time', async () => {
  const page = await site.open(`#${text}`);
  const seen = new Set([(await shownOrder(page)).join()]);
  for (let i = 0; i < 4; i++) {
    await page.getByRole('button', { name: 'Shuffle' }).click();
    seen.add((await shownOrder(page)).join());
  }
  assert.equal(seen.size, 5);
});

test('with a causal mask order matters even without the encoding', async () => {
  const page = await site.open(`#${text}&encoding=0&causal=1`);
  assert.ok((await shownDifference(page)) > 0.1);
  await page.getByText('Order matters even without the encoding').waitFor();
});

test('one token has no order', async () => {
  const page = await site.open('#text=alone');
  assert.equal(await shownDifference(page), 0);
  assert.ok(await page.getByRole('button', { name: 'Shuffle' }).isDisabled());
});
