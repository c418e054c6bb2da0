// Files of readers' models, and ways to open them on the page.

import { readdirSync, readFileSync } from 'node:fs';
import { truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { kRoot } from '../../wasm/toolchain/checkout.js';
import { settled } from './site.js';

/** @import { Page } from 'playwright-core' */

/** @typedef {{ name: string, mimeType: string, buffer: Buffer }} ChosenFile */

export const kRecorded = join(kRoot, 'tests/native/models/recorded');

/** @param {string} name @param {Uint8Array | string} content @returns {ChosenFile} */
export const file = (name, content) => ({
  ...{ name, mimeType: 'application/octet-stream' },
  buffer: Buffer.from(content),
});

const words = 'the lady sat by fire because was tired a rose is man bites dog , . cat on mat';

/**
 * A tokenizer for tests, which splits text into whole words.
 * @param {number} size  size of the vocabulary
 * @param {string[]} special  tokens around a sentence; in the vocabulary, they come before the words
 */
export function tokenizer(size, special = []) {
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
export const filesOf = (name) =>
  readdirSync(join(kRecorded, name))
    .filter((each) => !each.startsWith('expected'))
    .map((each) => file(each, readFileSync(join(kRecorded, name, each))));

export const gpt2 = () => [...filesOf('gpt2'), tokenizer(29)];
export const bert = () => [...filesOf('bert'), tokenizer(27, ['[CLS]', '[SEP]'])];

/** @param {Page} page */
export async function openDialog(page) {
  const settings = page.getByRole('button', { name: 'Settings' });
  const button = page.getByRole('button', { name: /^(open your own model|your model)/ });
  if (!(await button.isVisible())) await settings.click();
  await button.click();
  await page.getByRole('dialog').waitFor();
}

/** @param {Page} page @param {ChosenFile[] | string[]} files */
export async function choose(page, files) {
  await openDialog(page);
  await page.locator('dialog input[type=file]').first().setInputFiles(files);
}

/** @param {Page} page @param {ChosenFile[] | string[]} files paths or contents */
export async function open(page, files) {
  await choose(page, files);
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  await page
    .getByRole('radio', { name: 'yours', includeHidden: true })
    .and(page.locator(':checked'))
    .waitFor({ state: 'attached' });
  await settled(page);
}

/**
 * Writes a Llama with BF16 weights that are all 0 to disk.
 * @param {string} folder
 * @param {number} layers
 */
export async function bigLlama(folder, layers) {
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
  // The rest of the file is not written. It reads as 0 and takes no space on disk.
  const path = join(folder, 'model.safetensors');
  await writeFile(path, Buffer.concat([length, text]));
  await truncate(path, length.length + text.length + at);
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

/**
 * Reads the tensors that PyTorch recorded for a model. Returns them with the model's files, whose
 * tokenizer maps `text` to the recorded sentence, and `textOf(ids)` to `ids`.
 * @param {string} name
 * @param {number} size  size of the tokenizer's vocabulary
 */
export function recorded(name, size) {
  const bytes = readFileSync(join(kRecorded, name, 'expected.safetensors'));
  const start = 8 + Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.subarray(8, start).toString());
  const read = (/** @type {string} */ tensor) => {
    const [begin, end] = header[tensor].data_offsets.map((/** @type {number} */ at) => start + at);
    return [...new Float32Array(new Uint8Array(bytes.subarray(begin, end)).buffer)];
  };
  const ids = read('ids');
  const json = JSON.parse(tokenizer(size).buffer.toString());
  json.pre_tokenizer = { type: 'WhitespaceSplit' };
  const { vocab } = json.model;
  const textOf = (/** @type {number[]} */ ids) => {
    const words = ids.map((id) => Object.keys(vocab).find((word) => vocab[word] === id));
    return encodeURIComponent(words.join('+')).replaceAll('%2B', '+');
  };
  return {
    ...{ ids, read, text: textOf(ids), textOf },
    files: [...filesOf(name), file('tokenizer.json', JSON.stringify(json))],
  };
}
