import assert from 'node:assert/strict';
import test from 'node:test';

import { withNames } from './blobs.js';
import { pathOf } from './dropped.js';

let hashes = 0;
/** @param {string | Uint8Array} content @param {string} [folder] */
function blob(content, folder = 'models--o--n/blobs') {
  const name = (++hashes).toString(16).padStart(40, '0');
  const file = new File([/** @type {any} */ (content)], name);
  return Object.defineProperty(file, 'webkitRelativePath', { value: `${folder}/${name}` });
}

/** @param {string} tensor */
function weights(tensor) {
  const header = { [tensor]: { dtype: 'F32', shape: [1], data_offsets: [0, 4] } };
  const text = JSON.stringify({ __metadata__: { format: 'pt' }, ...header });
  const length = new Uint8Array(8);
  new DataView(length.buffer).setBigUint64(0, BigInt(text.length), true);
  return blob(Buffer.concat([length, Buffer.from(text), new Uint8Array(4)]));
}

const config = () => blob('{"model_type":"llama"}');
const tokenizer = () => blob('{"version":"1.0","model":{"type":"BPE","vocab":{"a":0}}}');
const others = () => [blob('# Model card'), blob('{"eos_token_id":2}'), blob('')];

test('blobs of a cache get the names of a model’s files', async () => {
  const named = await withNames([...others(), weights('a'), tokenizer(), config()]);
  assert.deepEqual(named.map(pathOf).sort(), [
    ...['config.json', 'model.safetensors', 'tokenizer.json'],
  ]);
  const parts = ['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors'];
  const index = blob(JSON.stringify({ weight_map: { a: parts[0], b: parts[1] } }));
  const second = weights('b');
  const sharded = await withNames([second, weights('a'), index, config()]);
  const all = new Map(sharded.map((file) => [pathOf(file), file]));
  assert.deepEqual(
    [...all.keys()].sort(),
    ['config.json', ...parts, 'model.safetensors.index.json'].sort(),
  );
  assert.deepEqual(await all.get(parts[1])?.bytes(), await second.bytes());
});

test('blobs of several revisions are rejected', async () => {
  const several = { message: /several models or revisions.*--local-dir/ };
  await assert.rejects(withNames([weights('a'), config(), config()]), several);
  await assert.rejects(withNames([weights('a'), weights('b'), config()]), several);
});

test('files with names keep their names', async () => {
  const whole = [config(), new File([], 'model.safetensors')];
  assert.equal(await withNames(whole), whole);
  const elsewhere = [blob('{"model_type":"llama"}', 'other')];
  assert.equal(await withNames(elsewhere), elsewhere);
});
