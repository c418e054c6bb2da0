// Tests that a sentence reaches the tokenizer of a reader's model unchanged.

import assert from 'node:assert/strict';
import test from 'node:test';

import { file, filesOf, open } from './ownModel.js';
import { becomes, openTestSite } from './site.js';

const site = await openTestSite();

const letters = ['a', 'b', ' ', '\n', '\u00a0', '\u3000', '\ufeff'];
const tokenizer = file(
  'tokenizer.json',
  JSON.stringify({
    model: {
      type: 'BPE',
      vocab: Object.fromEntries(letters.map((letter, id) => [letter, id])),
      merges: [],
    },
  }),
);

test('typed white space reaches the tokenizer and survives in the link', async () => {
  const text = ' a\u00a0b\u3000\ufeff\n\na  ';
  const page = await site.open();
  await open(page, [...filesOf('gpt2'), tokenizer]);
  const field = page.getByRole('textbox').first();
  await field.fill(text);
  // All white space except newlines has the same label.
  await page.getByText(/11\s+tokens.*,\s+4 of them different/s).waitFor();
  const inLink = async () =>
    new URLSearchParams(new URL(page.url()).hash.slice(1)).get('text') ?? '';
  await becomes(inLink, text);
  await page.reload();
  assert.equal(await page.getByRole('textbox').first().inputValue(), text);
});
