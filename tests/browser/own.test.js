// Tests that readers can open their own model from files, see it in figures, and close it.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';

import { accessibilityProblems } from './accessibility.js';
import {
  bert,
  bigLlama,
  choose,
  file,
  filesOf,
  gpt2,
  kRecorded,
  open,
  openDialog,
  recorded,
  tokenizer,
} from './ownModel.js';
import { sentence, shows, write } from './longSentence.js';
import { becomes, matches, openTestSite, unfold } from './site.js';

/** @import { Page } from 'playwright-core' */
/** @import { ChosenFile } from './ownModel.js' */

// Most tests share a page. A link hides the model that the previous test has opened, and opening
// another model closes it.
// A shared browser would copy each model file, and some have gigabytes.
const site = await openTestSite('/', {}, { ownBrowser: true });

/**
 * Chooses files that cannot be opened, and returns the page's error message. @param {Page} page
 * @param {ChosenFile[]} files
 */
async function problemOf(page, files) {
  await choose(page, files);
  const problem = page.locator('[data-problem]');
  await problem.waitFor();
  const text = await problem.innerText();
  await page.keyboard.press('Escape');
  return text;
}

/** @param {Page} page */
const recognised = (page) => page.locator('[data-recognised]').innerText();

const link = '#text=the+lady+sat+by+the+fire';

test('a model is recognised, read and shown, and the page says that it stays on this machine', async () => {
  const page = await site.visit(link);
  await open(page, gpt2());
  await becomes(
    () => recognised(page),
    'GPT-2: 2 layers of 4 heads, width 20, 11,120 parameters in F32, a learned table of positions, causal.',
  );
  await becomes(
    () => page.locator('[data-note]').allInnerTexts(),
    [
      '2 tensors in the files are not used: h.0.attn.bias, h.1.attn.bias.',
      'One field of config.json has no effect: architectures.',
    ],
  );
  await page.getByText(/stays here: links do not include it/).waitFor();
  await becomes(() => page.getByRole('radio', { name: 'yours' }).isChecked(), true);
  await page.getByRole('button', { name: 'Masks: causal' }).waitFor();
  await page
    .locator('#sentence')
    .getByRole('button', { name: /^Export/ })
    .click();
  await page.getByRole('button', { name: 'Save as a page' }).click();
  await page.getByText('A saved page cannot contain your model.').waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);
});

test('warnings about the files of a model are shown', async () => {
  const page = await site.visit(link);
  const [config, ...files] = gpt2();
  assert.equal(config.name, 'config.json');
  const json = { ...JSON.parse(config.buffer.toString()), tie_word_embeddings: false };
  await open(page, [file(config.name, JSON.stringify(json)), ...files]);
  const note = page.locator('[data-note]').first();
  await matches(() => note.innerText(), /^config\.json: tie_word_embeddings is false, but/);
});

test('the figures of a model show what PyTorch recorded', async () => {
  const { ids, read, text, files } = recorded('gpt2', 29);
  const page = await site.visit(`#text=${text}&at=self-attention.weights`);
  await open(page, files);
  const n = ids.length;
  for (const layer of [0, 1]) {
    await page
      .getByRole('group', { name: 'layer' })
      .getByRole('radio')
      .nth(layer)
      .check({ force: true });
    const all = read(`weights.${layer}`);
    // The key with the largest weight for the last token, in each head.
    const want = [0, 1, 2, 3].map((head) =>
      Math.max(...all.slice(((head + 1) * n - 1) * n, (head + 1) * n * n)),
    );
    await becomes(async () => {
      const shares = await page
        .locator('#self-attention [data-share]')
        .evaluateAll((spans) => spans.map((span) => Number(span.getAttribute('data-share'))));
      return (
        shares.length === 4 && shares.every((share, head) => Math.abs(share - want[head]) <= 2e-5)
      );
    }, true);
  }
  // The figures about the stages of one layer use the layer that the reader chose.
  await becomes(() => page.getByText('Layer 2, head 1 of your model:').count(), 3);
  for (const [id, map] of [
    ['stages', /^Weights after softmax/],
    ['scale', /^Attention weights of head 1/],
    ['edit', /^Numbers of the query projection, 5 by 20/],
  ]) {
    const figure = page.locator(`#${id}`);
    await unfold(figure);
    await figure.evaluate((element) => element.scrollIntoView());
    await figure.getByRole('application', { name: /** @type {RegExp} */ (map) }).waitFor();
  }
});

for (const [name, size, facts, form] of /** @type {[string, number, RegExp, RegExp][]} */ ([
  ['gpt_neox', 29, /^GPT-NeoX: 2 layers of 3 heads,.*rotary positions/, /network in parallel/],
  [
    'gpt_neo',
    28,
    /^GPT-Neo: 4 layers of 3 heads,.*a learned table of positions/,
    /One pre-norm block, taken/,
  ],
  [
    'opt_projected',
    26,
    /^OPT: 3 layers of 3 heads, width 21,.*learned table/,
    /One post-norm block, taken/,
  ],
])) {
  test(`the figures show a model of the family ${name}`, async () => {
    const page = await site.visit(`${link}&at=transformer.encoder-block`);
    await open(page, [...filesOf(name), tokenizer(size)]);
    await matches(() => recognised(page), facts);
    const figure = page.locator('#encoder-block');
    await unfold(figure);
    await figure.evaluate((element) => element.scrollIntoView());
    await figure.getByText(form).waitFor({ state: 'attached' });
    await figure.getByRole('application', { name: /^head 3, 6 by 6/ }).waitFor();
    await becomes(() => page.locator('[role=alert]').count(), 0);
  });
}

test('a bidirectional model has its own tokens around the sentence', async () => {
  const page = await site.visit(link);
  await open(page, bert());
  await matches(() => recognised(page), /^BERT: 2 layers of 3 heads,.*bidirectional\.$/);
  await page.getByText(/8\s+tokens.*,\s+7 of them different/s).waitFor();
  await becomes(async () => (await page.locator('#sentence').innerHTML()).includes('[CLS]'), true);
  await becomes(() => page.getByRole('button', { name: /^Masks/ }).innerText(), 'masks\nnone');
});

test('every keystroke tokenizes the sentence with the model’s tokenizer', async () => {
  const page = await site.visit(link);
  await open(page, gpt2());
  await page.getByRole('textbox').first().fill('a rose is a rose');
  await page.getByText(/5\s+tokens.*,\s+3 of them different/s).waitFor();
  await page.getByRole('textbox').first().fill('');
  await page.getByText('0 tokens').waitFor();
  await page.getByRole('textbox').first().fill('the cat');
  await page.getByText(/2\s+tokens.*\(words/).waitFor();
});

/** Characters that a tokenizer must receive unchanged. */
const letters = ['a', 'b', ' ', '\n', '\u00a0', '\u3000', '\ufeff'];
const byLetters = file(
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
  const page = await site.visit();
  await open(page, [...filesOf('gpt2'), byLetters]);
  const field = page.getByRole('textbox').first();
  await field.fill(text);
  // All white space except newlines has the same label.
  await page.getByText(/11\s+tokens.*,\s+4 of them different/s).waitFor();
  const inLink = async () =>
    new URLSearchParams(new URL(page.url()).hash.slice(1)).get('text') ?? '';
  await becomes(inLink, text);
  await page.reload();
  await becomes(() => page.getByRole('textbox').first().inputValue(), text);
});

test('the files of a model in parts can be dropped with their index', async () => {
  const page = await site.visit(link);
  const dropped = [...filesOf('llama'), tokenizer(31)].map(({ name, buffer }) => [
    name,
    [...buffer],
  ]);
  const transfer = await page.evaluateHandle((all) => {
    const data = new DataTransfer();
    for (const [name, bytes] of /** @type {[string, number[]][]} */ (all)) {
      data.items.add(new File([new Uint8Array(bytes)], name));
    }
    return data;
  }, dropped);
  await page.dispatchEvent('body', 'dragenter', { dataTransfer: transfer });
  await page.getByText('Drop a model here').waitFor();
  await page.dispatchEvent('body', 'drop', { dataTransfer: transfer });
  await page.locator('[data-recognised]').waitFor();
  await matches(
    () => recognised(page),
    /^Llama: 3 layers of 6 heads, which share 2 .*rotary positions/,
  );
  await page.getByText('Drop a model here').waitFor({ state: 'detached' });
});

test('a model that cannot be opened is explained and changes nothing', async () => {
  const page = await site.open(`${link}&weights=xavier`);
  const [weights, config] = ['model.safetensors', 'config.json'].map((name) =>
    file(name, readFileSync(join(kRecorded, 'gpt2', name))),
  );
  // ownServer.test.js checks all messages.
  /** @type {[ChosenFile[], RegExp][]} */
  const cases = [
    [
      [weights, config],
      /tokenizer.json is missing: this is a gpt2 model with 11,120 parameters.*\n\nfrom transformers/,
    ],
    [[weights, config, file('tokenizer.json', '{')], /tokenizer.json is not valid JSON/],
  ];
  for (const [files, message] of cases) assert.match(await problemOf(page, files), message);
  await becomes(() => page.getByRole('radio', { name: 'random' }).isChecked(), true);
  await becomes(() => page.getByRole('radio', { name: 'yours' }).count(), 0);
  // Readers may choose files one at a time. The page forgets the files when the dialog closes.
  const input = page.locator('dialog input[type=file]').first();
  const problem = page.locator('[data-problem]');
  await openDialog(page);
  for (const each of [config, tokenizer(29)]) {
    await input.setInputFiles([each]);
    await problem.waitFor();
  }
  await page.keyboard.press('Escape');
  assert.match(await problemOf(page, [weights]), /config\.json is missing/);
  await openDialog(page);
  for (const each of [config, tokenizer(29)]) {
    await input.setInputFiles([each]);
    await problem.waitFor();
  }
  await input.setInputFiles([weights]);
  await page.locator('[data-recognised]').waitFor();
  // If another model cannot be opened, the model that is already open stays open.
  assert.match(await problemOf(page, [weights, config]), /is missing/);
  await matches(() => recognised(page), /^GPT-2/);
});

test('a model can be closed, hidden and shown again, and a link or a reload shows the page’s model', async () => {
  const page = await site.visit(`${link}&weights=xavier`);
  await open(page, gpt2());
  await page.getByRole('radio', { name: 'identity' }).check({ force: true });
  await page.locator('[data-recognised]').waitFor({ state: 'detached' });
  await page.getByRole('radio', { name: 'yours' }).check({ force: true });
  await page.locator('[data-recognised]').waitFor();
  await page.getByRole('button', { name: 'Close it' }).click();
  await page.locator('[data-recognised]').waitFor({ state: 'detached' });
  await becomes(() => page.getByRole('radio', { name: 'random' }).isChecked(), true);
  await becomes(() => page.getByRole('radio', { name: 'yours' }).count(), 0);
  await open(page, gpt2());
  await page.waitForURL(({ hash }) => hash.startsWith('#v=2') && !hash.includes('weights'));
  const learned = page.getByRole('radio', { name: 'learned' }).and(page.locator(':checked'));
  await page.evaluate(() => (location.hash = '#v=1&weights=learned&causal=1'));
  await learned.waitFor();
  await page.locator('[data-recognised]').waitFor({ state: 'detached' });
  await page.getByRole('radio', { name: 'yours' }).check({ force: true });
  await page.locator('[data-recognised]').waitFor();
  await page.reload();
  await learned.waitFor();
  await becomes(() => page.locator('[data-recognised]').count(), 0);
});

/**
 * Returns all settings: the address, and the state of every control that is near the window, except
 * in the dialog.
 * @param {Page} page
 */
const settingsOf = (page) =>
  page.evaluate(() => [
    location.hash,
    ...Array.from(
      document.querySelectorAll(':is(input, textarea, [aria-pressed]):not(dialog *)'),
      (each) => {
        const { type, value, checked, ariaPressed } = /** @type {HTMLInputElement} */ (each);
        return [type, value, checked, ariaPressed].join();
      },
    ),
  ]);

test('after two models the page shows the same as before the first', async () => {
  const page = await site.open(`${link}&weights=xavier&causal=1&head=1`);
  await page.waitForURL(({ hash }) => hash.startsWith('#v=2'));
  const before = await settingsOf(page);
  await open(page, gpt2());
  await choose(page, bert());
  await page.locator('[data-recognised]', { hasText: 'BERT' }).waitFor();
  await page.getByRole('button', { name: 'Close it' }).first().click();
  await page.locator('[data-recognised]').waitFor({ state: 'detached' });
  await becomes(() => settingsOf(page), before);
});

test('a model that fails ends no other worker, and is opened again', async () => {
  const page = await site.open('#weights=xavier&at=self-attention.weights');
  await write(page, sentence(300));
  await shows(page, 300);
  const [shared] = page.workers();
  await write(page, 'the lady sat');
  const [own] = await Promise.all([page.waitForEvent('worker'), open(page, gpt2())]);
  await own.evaluate(() => {
    performance.now = () => {
      throw new RangeError('broken for this test');
    };
  });
  await write(page, 'the lady was tired');
  const problem = page.getByText('Your model could not process this sentence: an unexpected error');
  await problem.waitFor();
  assert.equal(await shared.evaluate(() => typeof postMessage), 'function');
  await write(page, 'a rose is a rose');
  await problem.waitFor({ state: 'detached' });
  await page.getByText(/5\s+tokens.*,\s+3 of them different/s).waitFor();
  await matches(() => recognised(page), /^GPT-2/);
  assert.ok(page.workers().includes(shared));
});

test('closing a model while it reads a sentence is not an error', async () => {
  const page = await site.open(link);
  const [own] = await Promise.all([page.waitForEvent('worker'), open(page, gpt2())]);
  // Makes sure that the worker never receives the sentence.
  await page.evaluate(() => void (MessagePort.prototype.postMessage = () => {}));
  const alerts = await page.evaluateHandle(() => {
    /** @type {string[]} */
    const texts = [];
    new MutationObserver(() => {
      for (const { textContent } of document.querySelectorAll('[role=alert]')) {
        texts.push(textContent);
      }
    }).observe(document.body, { subtree: true, childList: true });
    return texts;
  });
  await write(page, 'the lady was tired');
  const ended = new Promise((resolve) => own.on('close', resolve));
  await page.getByRole('button', { name: 'Close it' }).first().click();
  await ended;
  await page.getByText('4 tokens').waitFor();
  assert.deepEqual(await alerts.jsonValue(), []);
});

test('a bar shows progress while a model is read, and reading can be cancelled', () =>
  inFolder(async (folder) => {
    await bigLlama(folder, 12);
    const page = await site.open(link);
    // Only the first 40 of the model's 150 MB can be read, so that the progress bar stays visible.
    await page.route('**/assets/worker-*.js', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, body: `(${slowDisk})();${await response.text()}` });
    });
    await openDialog(page);
    const names = ['model.safetensors', 'config.json', 'tokenizer.json'];
    const input = page.locator('dialog input[type=file]').first();
    await input.setInputFiles(names.map((name) => join(folder, name)));
    await page.locator('[data-found]').waitFor();
    await page.waitForFunction(() => Number(document.querySelector('progress')?.value) > 0);
    assert.deepEqual(await accessibilityProblems(page, ['dialog']), []);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.locator('progress').waitFor({ state: 'detached' });
    await becomes(() => page.locator('[data-problem]').count(), 0);
    await becomes(() => page.getByRole('radio', { name: 'yours' }).count(), 0);
  }));

/** Makes every read hang once 40 MB have been read. Runs in a worker. */
function slowDisk() {
  const read = Blob.prototype.arrayBuffer;
  let done = 0;
  Blob.prototype.arrayBuffer = function () {
    done += this.size;
    return done > 4e7 ? new Promise(() => {}) : read.call(this);
  };
}

test('on a phone a button opens a model', async () => {
  const page = await site.visit(link, {
    ...{ viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
    colorScheme: 'dark',
  });
  await openDialog(page);
  assert.deepEqual(await accessibilityProblems(page, ['dialog']), []);
  await page.locator('dialog input[type=file]').first().setInputFiles(gpt2());
  await page.locator('[data-recognised]').waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);
});

/** @param {Page} page */
async function nextWord(page) {
  await page.locator('#transformer').evaluate((chapter) => chapter.scrollIntoView());
  const figure = page.locator('#next-word');
  await figure.waitFor();
  await figure.evaluate((element) => element.scrollIntoView());
  return figure;
}

test('the next tokens match the tokens that PyTorch recorded, and the model continues from its cache', async () => {
  const { ids, read, text, files } = recorded('llama', 31);
  const page = await site.visit(`#text=${text}&temperature=1&topK=0&at=transformer`);
  await open(page, files);
  // Checks the figures of the model's layer.
  for (const id of ['encoder-block', 'decoder-cache']) {
    const figure = page.locator(`#${id}`);
    await unfold(figure);
    await figure.evaluate((element) => element.scrollIntoView());
    await figure
      .getByText(/Layer 1 of 3 in your model/)
      .first()
      .waitFor();
    await figure.getByRole('application').first().waitFor();
  }
  assert.deepEqual(await accessibilityProblems(page, ['#transformer']), []);
  const figure = await nextWord(page);
  const logits = read('logits').slice(-31);
  const powers = logits.map((logit) => Math.exp(logit));
  const total = powers.reduce((sum, power) => sum + power, 0);
  const want = powers.map((power) => power / total).sort((a, b) => b - a);
  const next = figure.getByRole('list', { name: 'What may come next' });
  await becomes(async () => {
    const probabilities = await next
      .locator('[data-probability]')
      .evaluateAll((all) => all.map((each) => Number(each.getAttribute('data-probability'))));
    const differences = probabilities.map((share, i) => Math.abs(share - want[i]));
    return [probabilities.length, Math.max(...differences) <= 2e-5];
  }, [10, true]);
  // The page does not run the model again to show the prediction after an earlier token.
  await figure
    .getByRole('list', { name: /token by token/ })
    .getByRole('button')
    .nth(2)
    .click();
  await becomes(async () => {
    const row = read('logits').slice(2 * 31, 3 * 31);
    const sum = row.reduce((all, logit) => all + Math.exp(logit), 0);
    const largest = Math.max(...row.map((logit) => Math.exp(logit) / sum));
    const shown = await next.locator('[data-probability]').first().getAttribute('data-probability');
    return Math.abs(Number(shown) - largest) <= 2e-5;
  }, true);
  const box = page.getByRole('textbox').first();
  const before = await box.inputValue();
  await figure.getByRole('button', { name: 'Add ten tokens' }).click();
  await becomes(async () => (await box.inputValue()).split(' ').length, ids.length + 10);
  const first = await box.inputValue();
  // The same seed gives the same text, and another seed gives another text.
  await box.fill(before);
  await page.getByText(`${ids.length} tokens`).first().waitFor();
  await figure.getByRole('button', { name: 'Add ten tokens' }).click();
  await becomes(() => box.inputValue(), first);
});

test('a bidirectional model has no next token, and the page says why', async () => {
  const page = await site.visit(`${link}&at=transformer`);
  await open(page, bert());
  await page.locator('#transformer').evaluate((chapter) => chapter.scrollIntoView());
  await page.getByText(/there is no next token for it to predict/).waitFor();
  await becomes(() => page.locator('#next-word').count(), 0);
  const cache = page.getByText(/nothing can be kept in a cache/);
  await unfold(cache);
  await cache.waitFor();
  await becomes(() => page.locator('#decoder-cache').count(), 0);
  await page.locator('#order').evaluate((chapter) => chapter.scrollIntoView());
  const shuffle = page.locator('#shuffle');
  await shuffle.waitFor();
  await shuffle.evaluate((element) => element.scrollIntoView());
  const verdict = shuffle.locator('.verdict');
  await verdict.filter({ hasText: 'only by the rounding error of 32-bit floats' }).waitFor();
  const loss = page.getByText(/has no such loss/);
  await unfold(loss);
  await loss.waitFor();
});

test('a model stops writing when it runs out of positions', async () => {
  const page = await site.visit(`${link}&at=transformer`);
  await open(page, gpt2());
  const figure = await nextWord(page);
  const box = page.getByRole('textbox').first();
  for (const length of [16, 19]) {
    await figure.getByRole('button', { name: 'Add ten tokens' }).click();
    await becomes(async () => (await box.inputValue()).split(' ').length, length);
  }
  await figure.getByText(/can read no more than 19 tokens/).waitFor();
  await becomes(() => figure.getByRole('button', { name: 'Add a token' }).isDisabled(), true);
});

/**
 * @param {(folder: string) => Promise<void>} use receives a temporary folder, which is removed
 *   afterwards
 */
async function inFolder(use) {
  const folder = await mkdtemp(join(tmpdir(), 'attn-own-'));
  try {
    await use(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

test('a model too large for memory names both sizes and changes nothing', () =>
  inFolder(async (folder) => {
    await bigLlama(folder, 800);
    const page = await site.open(`${link}&weights=xavier`);
    await openDialog(page);
    const names = ['model.safetensors', 'config.json', 'tokenizer.json'];
    const input = page.locator('dialog input[type=file]').first();
    await input.setInputFiles(names.map((name) => join(folder, name)));
    const problem = page.locator('[data-problem]');
    await problem.waitFor();
    const sizes = (await problem.innerText()).match(/[\d,.]+ ?(?:bytes|[KMG]i?B)/g) ?? [];
    assert.ok(sizes.length >= 2, await problem.innerText());
    await page.keyboard.press('Escape');
    await becomes(() => page.getByRole('radio', { name: 'random' }).isChecked(), true);
    await becomes(() => page.getByRole('radio', { name: 'yours' }).count(), 0);
  }));

/** Drops a folder from this machine onto the page. @param {Page} page @param {string} folder */
async function drop(page, folder) {
  const client = await page.context().newCDPSession(page);
  const data = { items: [], files: [folder], dragOperationsMask: 1 };
  const drag = (/** @type {'dragEnter' | 'dragOver' | 'drop'} */ type) =>
    client.send('Input.dispatchDragEvent', { type, x: 300, y: 300, data });
  await drag('dragEnter');
  await page.getByText('Drop a model here').waitFor();
  // Before dropping the files, waits until the page shows that it accepts them.
  const taken = page.evaluate(
    () =>
      new Promise((resolve) =>
        addEventListener('dragover', () => resolve(undefined), { once: true }),
      ),
  );
  await drag('dragOver');
  await taken;
  await drag('drop');
}

test('a model in the cache of Hugging Face can be dropped or chosen', () =>
  inFolder(async (folder) => {
    const root = join(folder, 'models--owner--name');
    const snapshot = join(root, 'snapshots/0f1e');
    for (const each of [snapshot, join(root, 'blobs'), join(root, 'refs')]) {
      await mkdir(each, { recursive: true });
    }
    await writeFile(join(root, 'refs/main'), '0f1e');
    for (const { name, buffer } of [...filesOf('llama'), tokenizer(31)]) {
      const blob = createHash('sha256').update(buffer).digest('hex');
      await writeFile(join(root, 'blobs', blob), buffer);
      await symlink(join('../../blobs', blob), join(snapshot, name));
    }
    const page = await site.visit(link);
    await drop(page, snapshot);
    await page.locator('[data-problem]', { hasText: 'leave out symbolic links' }).waitFor();
    await page.keyboard.press('Escape');
    await drop(page, root);
    await page.locator('[data-recognised]').waitFor();
    await matches(() => recognised(page), /^Llama: 3 layers/);
    await page.getByRole('button', { name: 'Close it' }).first().click();
    await openDialog(page);
    await page.locator('dialog input[webkitdirectory]').setInputFiles(root);
    await page.locator('[data-recognised]').waitFor();
  }));

test('a folder can be dropped or chosen', () =>
  inFolder(async (folder) => {
    await mkdir(join(folder, 'models/mine/checkpoint-5'), { recursive: true });
    await writeFile(join(folder, 'models/mine/checkpoint-5/tokenizer.json'), '{}');
    for (const { name, buffer } of gpt2()) {
      await writeFile(join(folder, 'models/mine', name), buffer);
    }
    const page = await site.visit(link);
    await drop(page, folder);
    await page.locator('[data-recognised]').waitFor();
    // An empty folder is reported.
    const empty = join(folder, 'empty');
    await mkdir(empty);
    await drop(page, empty);
    await page.locator('[data-problem]', { hasText: 'no files' }).waitFor();
    await page.keyboard.press('Escape');
    await matches(() => recognised(page), /^GPT-2/);

    const other = await site.visit(link);
    await openDialog(other);
    await other.locator('dialog input[webkitdirectory]').setInputFiles(folder);
    await other.locator('[data-recognised]').waitFor();
  }));
