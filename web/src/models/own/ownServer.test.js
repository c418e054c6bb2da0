import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

import { load } from 'attn';

import { OwnModel } from './ownServer.js';
import { notesOf } from '../../texts/own.js';

const attn = await load({ threads: 1, models: true });
const recorded = new URL('../../../../tests/native/models/recorded/', import.meta.url);

const words = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', 'the', 'cat', 'it', 'slept', '##s'];
const special = (/** @type {string} */ content) => ({
  ...{ id: words.indexOf(content), content, special: true, normalized: false },
  ...{ single_word: false, lstrip: false, rstrip: false },
});
const tokenizer = {
  added_tokens: words.slice(0, 4).map(special),
  normalizer: {
    type: 'BertNormalizer',
    clean_text: true,
    handle_chinese_chars: true,
    lowercase: true,
  },
  pre_tokenizer: { type: 'BertPreTokenizer' },
  post_processor: { type: 'BertProcessing', sep: ['[SEP]', 3], cls: ['[CLS]', 2] },
  decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
  model: {
    ...{ type: 'WordPiece', unk_token: '[UNK]', continuing_subword_prefix: '##' },
    vocab: Object.fromEntries(words.map((word, id) => [word, id])),
  },
};

/** @param {string} name @param {object} json tokenizer.json */
async function opened(name, json) {
  const files = ['model.safetensors', 'config.json'].map(
    (file) => new File([readFileSync(new URL(`${name}/${file}`, recorded))], file),
  );
  files.push(new File([JSON.stringify(json)], 'tokenizer.json'));
  const given = files.map((file) => /** @type {[string, File]} */ ([file.name, file]));
  const opening = OwnModel.open(attn, { files: given, pageTokens: null });
  for (;;) {
    const { done, value } = await opening.next();
    if (done) return { own: /** @type {OwnModel} */ (value), model: await attn.loadModel(files) };
  }
}

const masks = { window: 0, validLen: 0, blocked: [], causal: false };

test("BERT's second sentence has a separate token type", async () => {
  const { own, model } = await opened('bert', tokenizer);
  const { ids, types, tokens } = own.encode({ text: 'the cat [SEP] it slept' });
  assert.deepEqual(ids, [2, 4, 5, 3, 6, 7, 3]);
  assert.deepEqual(types, [0, 0, 0, 0, 1, 1, 1]);
  assert.deepEqual(tokens, ['[CLS]', 'the', 'cat', '[SEP]', 'it', 'slept', '[SEP]']);
  const name = 'encoder.layers.1.resid_pre';
  const { intermediates } = model.forward(ids, {
    ...{ needLogits: false, intermediates: [name], tokenTypes: types },
  });
  const given = /** @type {any} */ ({ ids, layer: 1, head: 0, ...masks });
  assert.deepEqual(own.sentence(given, {}).input.data, intermediates[name].data);
  const without = model.forward(ids, { needLogits: false, intermediates: [name] });
  assert.notDeepEqual(without.intermediates[name].data, intermediates[name].data);

  // Tokens keep their types when their order changes.
  const first = own.sentence({ ...given, layer: 0 }, {}).attend().output.data;
  const order = ids.map((_, i) => i);
  const { after } = own.ordered({ ...given, orderCausal: false }, order).with;
  after.data.forEach((value, i) => assert.ok(Math.abs(value - first[i]) < 1e-5));
});

test('a single sentence has no token types', async () => {
  const { own } = await opened('bert', tokenizer);
  assert.equal(own.encode({ text: 'the cat slept' }).types, undefined);
  assert.equal(own.encode({ text: '' }).types, undefined);
});

test('a model without token types gives no token types', async () => {
  const { own } = await opened('distilbert', tokenizer);
  const { ids, types } = own.encode({ text: 'the cat [SEP] it slept' });
  assert.equal(types, undefined);
  own.sentence(/** @type {any} */ ({ ids, layer: 1, head: 0, ...masks }), {});
});

test('an unsupported tokenizer is rejected with the name of the field', async () => {
  const json = { ...tokenizer, pre_tokenizer: { type: 'Other' } };
  await assert.rejects(opened('bert', json), {
    message: /^tokenizer\.json .*pre_tokenizer.*"Other"/,
  });
});

/** @param {string} name @param {string} file */
const recordedFile = (name, file) => readFileSync(new URL(`${name}/${file}`, recorded));
const [weights, config] = ['model.safetensors', 'config.json'].map((file) =>
  recordedFile('gpt2', file),
);
for (const [files, message] of /** @type {[Record<string, Uint8Array | string>, RegExp][]} */ ([
  [{ 'notes.json': '{}' }, /\.safetensors/],
  [
    { 'config.json': config, 'pytorch_model.bin': 'PK', 'vocab.json': '{}' },
    /a PyTorch checkpoint.*\n\nfrom transformers import .*\n.*\n.*converted"\)$/,
  ],
  [
    { 'model.safetensors': weights, 'config.json': config },
    /tokenizer.json is missing: this is a gpt2 model with 11,120 parameters.*\n\nfrom transformers .*\n.*\n.*"converted"\)$/,
  ],
  [
    {
      ...{ 'vocab.json': '{}', 'merges.txt': '', 'spiece.model': '' },
      'model.safetensors': recordedFile('t5', 'model.safetensors'),
      'config.json': recordedFile('t5', 'config.json'),
    },
    /tokenizer.json is missing: this is a t5 model .*\n\nfrom transformers/,
  ],
  [
    {
      ...{ 'source.spm': '', 'target.spm': '', 'vocab.json': '{}' },
      'model.safetensors': recordedFile('marian', 'model.safetensors'),
      'config.json': recordedFile('marian', 'config.json'),
    },
    /tokenizer.json is missing: this is a marian model .* take it from a copy of the model/,
  ],
  [
    { 'config.json': recordedFile('t5', 'config.json'), 'pytorch_model.bin': 'PK' },
    /a PyTorch checkpoint.* T5 or Marian, AutoModelForSeq2SeqLM\n\nfrom transformers/,
  ],
  [
    {
      'config.json': config,
      'pytorch_model-00001-of-00002.bin': 'PK',
      'pytorch_model-00002-of-00002.bin': 'PK',
      'pytorch_model.bin.index.json': '{}',
    },
    /a PyTorch checkpoint.*\n\nfrom transformers import .*\n.*\n.*converted"\)$/,
  ],
  [{ 'small.Q4_K_M.gguf': 'GGUF' }, /a GGUF file.*\n\nfrom transformers .*\n.*gguf_file=.*\n.*\)$/],
  [
    { 'model.safetensors': weights, 'tokenizer.json': JSON.stringify(tokenizer) },
    /config\.json is missing: these are the weights of a gpt2 model/,
  ],
  [{ 'model.safetensors': weights, 'config.json': '{"model_type":"bart"}' }, /bart/],
  [
    { 'model.safetensors': weights.subarray(0, 9000), 'config.json': config },
    /model\.safetensors|offset|bytes/,
  ],
  [
    { 'model.safetensors': 'not a model, but longer than eight bytes' },
    /header|model\.safetensors/,
  ],
  [
    { 'model.safetensors': weights, 'config.json': config, 'tokenizer.json': '{' },
    /tokenizer.json is not valid JSON/,
  ],
  [
    { 'model.safetensors': weights, 'config.json': config, 'tokenizer.json': '{}' },
    /tokenizer.json cannot be used/,
  ],
  [
    { 'model.safetensors': recordedFile('pytorch_encoder', 'model.safetensors') },
    /torch\.nn\.TransformerEncoder: 2 layers, width .* no embedding/,
  ],
])) {
  test(`files that cannot be opened are explained: ${message}`, async () => {
    const given = Object.entries(files).map(
      ([name, bytes]) =>
        /** @type {[string, File]} */ ([name, new File([/** @type {any} */ (bytes)], name)]),
    );
    const opening = OwnModel.open(attn, { files: given, pageTokens: null });
    await assert.rejects(
      async () => {
        while (!(await opening.next()).done);
      },
      { message },
    );
  });
}

test('if a tokenizer has more entries than the embedding has rows, only tokens with a row can be used', async () => {
  const { vocab } = tokenizer.model;
  const json = { ...tokenizer, model: { ...tokenizer.model, vocab: { ...vocab, dog: 5000 } } };
  const { own } = await opened('bert', json);
  assert.deepEqual(own.encode({ text: 'the cat' }).ids, [2, 4, 5, 3]);
  assert.throws(() => own.encode({ text: 'the dog' }), {
    message: /no row for the token “dog” \(5,000\)/,
  });
});

test('notes include warnings, unused tensors and unused fields', () => {
  const nothing = { warnings: [], unusedTensors: [], unusedFields: [] };
  assert.deepEqual(notesOf(nothing), []);
  assert.deepEqual(notesOf({ warnings: ['one'], unusedTensors: ['a'], unusedFields: ['b'] }), [
    'one.',
    'One tensor in the files is not used: a.',
    'One field of config.json has no effect: b.',
  ]);
  const four = ['a', 'b', 'c', 'd'];
  assert.deepEqual(notesOf({ ...nothing, unusedTensors: four, unusedFields: four }), [
    '4 tensors in the files are not used: a, b, c, ….',
    '4 fields of config.json have no effect: a, b, c, d.',
  ]);
});
