// A model of the reader's, from its files: how it comes, what figures show of it, and how it goes.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after, before } from 'node:test';

import { kRoot } from '../../wasm/toolchain/checkout.js';
import { accessibilityProblems } from './accessibility.js';
import { becomes, openSite, settled } from './site.js';

/** @import { Page } from 'playwright-core' */

/** @typedef {{ name: string, mimeType: string, buffer: Buffer }} ChosenFile */

const kRecorded = join(kRoot, 'tests/native/models/recorded');

/** @type {import('./site.js').Site} */
let site;
before(async () => (site = await openSite()));
after(() => site.close());

/** @param {string} name @param {Uint8Array | string} content @returns {ChosenFile} */
const file = (name, content) => ({
  ...{ name, mimeType: 'application/octet-stream' },
  buffer: Buffer.from(content),
});

const words = 'the lady sat by fire because was tired a rose is man bites dog , . cat on mat';

/**
 * A tokenizer of whole words, written for a test.
 * @param {number} size of its vocabulary @param {string[]} special tokens around a sentence, before the words
 */
function tokenizer(size, special = []) {
  const all = ['[UNK]', ...special, ...words.split(' ')];
  const vocab = Object.fromEntries(
    Array.from({ length: size }, (_, id) => [all[id] ?? `#${id}`, id]),
  );
  const [first, last] = special;
  return file(
    'tokenizer.json',
    JSON.stringify({
      ...{ version: '1.0', truncation: null, padding: null, decoder: null },
      added_tokens: ['[UNK]', ...special].map((content, id) => ({
        ...{ id, content, special: true, normalized: false },
        ...{ single_word: false, lstrip: false, rstrip: false },
      })),
      normalizer: { type: 'Lowercase' },
      pre_tokenizer: { type: 'Whitespace' },
      post_processor: special.length
        ? {
            type: 'TemplateProcessing',
            single: [
              { SpecialToken: { id: first, type_id: 0 } },
              { Sequence: { id: 'A', type_id: 0 } },
              { SpecialToken: { id: last, type_id: 0 } },
            ],
            pair: [],
            special_tokens: Object.fromEntries(
              special.map((id, i) => [id, { id, ids: [i + 1], tokens: [id] }]),
            ),
          }
        : null,
      model: { type: 'WordLevel', vocab, unk_token: '[UNK]' },
    }),
  );
}

/** The files of a recorded model, without a tokenizer. @param {string} name */
const filesOf = (name) =>
  readdirSync(join(kRecorded, name))
    .filter((each) => !each.startsWith('expected'))
    .map((each) => file(each, readFileSync(join(kRecorded, name, each))));

const gpt2 = () => [...filesOf('gpt2'), tokenizer(29)];
const bert = () => [...filesOf('bert'), tokenizer(27, ['[CLS]', '[SEP]'])];

/** @param {Page} page */
async function openDialog(page) {
  const settings = page.getByRole('button', { name: 'Settings' });
  const button = page.getByRole('button', { name: /^(open your own model|your model)/ });
  if (!(await button.isVisible())) await settings.click();
  await button.click();
  await page.getByRole('dialog').waitFor();
}

/** @param {Page} page @param {ChosenFile[]} files */
async function choose(page, files) {
  await openDialog(page);
  await page.locator('dialog input[type=file]').first().setInputFiles(files);
}

/** @param {Page} page @param {ChosenFile[]} files */
async function open(page, files) {
  await choose(page, files);
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  await page
    .getByRole('radio', { name: 'yours' })
    .and(page.locator(':checked'))
    .waitFor({ state: 'attached' });
  await settled(page);
}

/** What is wrong, in the page's words. @param {Page} page @param {ChosenFile[]} files */
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

test('a model is recognised, read and looked at, and the page says that it stays here', async () => {
  const page = await site.open(link);
  await open(page, gpt2());
  assert.equal(
    await recognised(page),
    'GPT-2: 2 layers of 4 heads; width 20; 11,120 parameters, F32; a learned table of positions; causal.',
  );
  assert.ok(await page.getByText(/stays here: a link does not carry it/).isVisible());
  assert.ok(await page.getByRole('radio', { name: 'yours' }).isChecked());
  assert.ok(await page.getByRole('button', { name: 'Masks: causal' }).isVisible());
  assert.deepEqual(await accessibilityProblems(page), []);
  await page.context().close();
});

test('what the figures show of it is what PyTorch recorded', async () => {
  const bytes = readFileSync(join(kRecorded, 'gpt2/expected.safetensors'));
  const start = 8 + Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.subarray(8, start).toString());
  const read = (/** @type {string} */ name) => {
    const [begin, end] = header[name].data_offsets.map((/** @type {number} */ at) => start + at);
    return [...new Float32Array(new Uint8Array(bytes.subarray(begin, end)).buffer)];
  };
  // Words whose numbers are those of the recorded sentence.
  const ids = read('ids');
  const known = tokenizer(29);
  const { vocab } = JSON.parse(known.buffer.toString()).model;
  const text = ids.map((id) => Object.keys(vocab).find((word) => vocab[word] === id)).join('+');
  const page = await site.open(
    `#text=${encodeURIComponent(text).replaceAll('%2B', '+')}&at=self-attention.weights`,
  );
  const json = JSON.parse(known.buffer.toString());
  json.pre_tokenizer = { type: 'WhitespaceSplit' };
  await open(page, [...filesOf('gpt2'), file('tokenizer.json', JSON.stringify(json))]);
  const n = ids.length;
  for (const layer of [0, 1]) {
    await page
      .getByRole('group', { name: 'layer' })
      .getByRole('radio')
      .nth(layer)
      .check({ force: true });
    const all = read(`weights.${layer}`);
    // What the last token looks at most, in each head.
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
  await page.context().close();
});

test('a model that looks both ways has its own tokens around the sentence', async () => {
  const page = await site.open(link);
  await open(page, bert());
  assert.match(await recognised(page), /^BERT: 2 layers of 3 heads;.*looks both ways\.$/);
  await page.getByText('8 tokens, 7 of them different').waitFor();
  assert.ok((await page.locator('#sentence').innerHTML()).includes('[CLS]'));
  await becomes(() => page.getByRole('button', { name: /^Masks/ }).innerText(), 'masks\nnone');
  await page.context().close();
});

test('the sentence goes through its tokens with every key', async () => {
  const page = await site.open(link);
  await open(page, gpt2());
  await page.getByRole('textbox').first().fill('a rose is a rose');
  await page.getByText('5 tokens, 3 of them different').waitFor();
  await page.getByRole('textbox').first().fill('');
  await page.getByText('0 tokens').waitFor();
  await page.getByRole('textbox').first().fill('the cat');
  await page.getByText('2 tokens').waitFor();
  await page.context().close();
});

test('files come by dragging, also in parts, with their index', async () => {
  const page = await site.open(link);
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
  assert.match(
    await recognised(page),
    /^Llama: 3 layers of 6 heads, which share 2 .*rotary positions/,
  );
  assert.equal(await page.getByText('Drop a model here').count(), 0);
  await page.context().close();
});

test('what cannot be opened is said, and the page stays as it was', async () => {
  const page = await site.open(`${link}&weights=xavier`);
  const [weights, config] = ['model.safetensors', 'config.json'].map((name) =>
    file(name, readFileSync(join(kRecorded, 'gpt2', name))),
  );
  /** @type {[ChosenFile[], RegExp][]} */
  const cases = [
    [[file('notes.json', '{}')], /\.safetensors/],
    [[weights, config, tokenizer(30)], /tokens go up to 29, and the model's embedding has 29 rows/],
    [[weights, config], /tokenizer.json is missing: this is a gpt2 model with 11,120 parameters/],
    [[weights, file('config.json', '{"model_type":"t5"}'), tokenizer(29)], /t5/],
    [
      [file('model.safetensors', weights.buffer.subarray(0, 9000)), config, tokenizer(29)],
      /model\.safetensors|offset|bytes/,
    ],
    [
      [file('model.safetensors', 'not a model, but longer than eight bytes')],
      /header|model\.safetensors/,
    ],
    [[weights, config, file('tokenizer.json', '{')], /tokenizer.json: is not JSON/],
    [[weights, config, file('tokenizer.json', '{}')], /tokenizer.json: cannot be used/],
    [filesOf('pytorch_encoder'), /numHeads/],
  ];
  for (const [files, message] of cases) assert.match(await problemOf(page, files), message);
  assert.ok(await page.getByRole('radio', { name: 'random' }).isChecked());
  assert.equal(await page.getByRole('radio', { name: 'yours' }).count(), 0);
  // What was missing may come by itself.
  assert.match(await problemOf(page, [weights, config]), /is missing/);
  await open(page, [tokenizer(29)]);
  // And a model that is open stays, if another one fails.
  assert.match(await problemOf(page, [weights, config, tokenizer(40)]), /go up to 39/);
  assert.match(await recognised(page), /^GPT-2/);
  await page.context().close();
});

test('it can be closed, put aside and taken again, and a reload is without it', async () => {
  const page = await site.open(`${link}&weights=xavier`);
  await open(page, gpt2());
  await page.getByRole('radio', { name: 'identity' }).check({ force: true });
  await page.locator('[data-recognised]').waitFor({ state: 'detached' });
  await page.getByRole('radio', { name: 'yours' }).check({ force: true });
  await page.locator('[data-recognised]').waitFor();
  await page.getByRole('button', { name: 'Close it' }).click();
  await page.locator('[data-recognised]').waitFor({ state: 'detached' });
  assert.ok(await page.getByRole('radio', { name: 'random' }).isChecked());
  assert.equal(await page.getByRole('radio', { name: 'yours' }).count(), 0);
  await open(page, gpt2());
  await becomes(async () => new URL(page.url()).hash.includes('learned'), true);
  await page.reload();
  await page.getByRole('radio', { name: 'learned' }).and(page.locator(':checked')).waitFor();
  assert.equal(await page.locator('[data-recognised]').count(), 0);
  await page.context().close();
});

/** A Llama with weights that are all 0, in BF16, on disk. @param {string} folder @param {number} layers */
async function bigLlama(folder, layers) {
  const [width, wide, kv, vocabulary] = [576, 1536, 192, 49152];
  /** @type {Record<string, number[]>} */
  const shapes = { 'model.embed_tokens.weight': [vocabulary, width], 'model.norm.weight': [width] };
  for (let l = 0; l < layers; l++) {
    Object.assign(
      shapes,
      Object.fromEntries(
        Object.entries({
          'input_layernorm.weight': [width],
          'self_attn.q_proj.weight': [width, width],
          'self_attn.k_proj.weight': [kv, width],
          'self_attn.v_proj.weight': [kv, width],
          'self_attn.o_proj.weight': [width, width],
          'post_attention_layernorm.weight': [width],
          'mlp.gate_proj.weight': [wide, width],
          'mlp.up_proj.weight': [wide, width],
          'mlp.down_proj.weight': [width, wide],
        }).map(([name, shape]) => [`model.layers.${l}.${name}`, shape]),
      ),
    );
  }
  let at = 0;
  const header = Object.fromEntries(
    Object.entries(shapes).map(([name, shape]) => {
      const begin = at;
      at += 2 * shape.reduce((product, size) => product * size, 1);
      return [name, { dtype: 'BF16', shape, data_offsets: [begin, at] }];
    }),
  );
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  await writeFile(
    join(folder, 'model.safetensors'),
    Buffer.concat([length, text, Buffer.alloc(at)]),
  );
  const config = {
    ...{
      model_type: 'llama',
      vocab_size: vocabulary,
      hidden_size: width,
      num_hidden_layers: layers,
    },
    ...{
      intermediate_size: wide,
      num_attention_heads: 9,
      num_key_value_heads: 3,
      hidden_act: 'silu',
    },
    ...{ rms_norm_eps: 1e-5, rope_theta: 10000, tie_word_embeddings: true },
    max_position_embeddings: 2048,
  };
  await writeFile(join(folder, 'config.json'), JSON.stringify(config));
  await writeFile(join(folder, 'tokenizer.json'), tokenizer(20).buffer);
}

test('the bar moves while a model is read, and reading it can be given up', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'attn-own-'));
  try {
    await bigLlama(folder, 12);
    const page = await site.open(link);
    await openDialog(page);
    const names = ['model.safetensors', 'config.json', 'tokenizer.json'];
    const input = page.locator('dialog input[type=file]').first();
    await input.setInputFiles(names.map((name) => join(folder, name)));
    await page.locator('[data-found]').waitFor();
    assert.deepEqual(await accessibilityProblems(page), []);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.locator('progress').waitFor({ state: 'detached' });
    assert.equal(await page.locator('[data-problem]').count(), 0);
    assert.equal(await page.getByRole('radio', { name: 'yours' }).count(), 0);
    await page.context().close();
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('on a phone it is opened by a button', async () => {
  const page = await site.open(link, {
    ...{ viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
    colorScheme: 'dark',
  });
  await openDialog(page);
  assert.deepEqual(await accessibilityProblems(page), []);
  await page.locator('dialog input[type=file]').first().setInputFiles(gpt2());
  await page.locator('[data-recognised]').waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);
  await page.context().close();
});
