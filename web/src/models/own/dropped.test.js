import assert from 'node:assert/strict';
import test from 'node:test';

import { collected, filesOfDrop, pathOf } from './dropped.js';

/** @param {string[]} names */
const files = (...names) => names.map((name) => new File([], name));
/** @param {readonly File[]} all */
const namesOf = (all) => all.map(({ name }) => name);

test('the files of a model can be given in any order', () => {
  const [config, tokenizer, weights] = files('config.json', 'tokenizer.json', 'model.safetensors');
  for (const order of [
    [config, tokenizer, weights],
    [weights, tokenizer, config],
    [tokenizer, weights, config],
  ]) {
    const all = order.reduce((before, file) => collected(before, [file]), files());
    assert.deepEqual(new Set(all), new Set(order));
  }
});

test('files replace earlier files', () => {
  const before = files('config.json', 'other.safetensors');
  const [config] = files('config.json');
  assert.equal(collected(before, [config]).filter((each) => each === config).length, 1);
  assert.deepEqual(namesOf(collected(before, [config])), ['other.safetensors', 'config.json']);
  assert.deepEqual(namesOf(collected(before, files('model.safetensors'))), [
    'config.json',
    'model.safetensors',
  ]);
  const parts = files('model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors');
  assert.deepEqual(collected([parts[0]], [parts[1]]), parts);
  const whole = files('model.safetensors', 'config.json');
  assert.deepEqual(collected(files('tokenizer.json'), whole), whole);
});

/** @param {string} path @param {any[]} [entries] */
const entryOf = (path, entries) => ({
  ...{ isDirectory: Boolean(entries), isFile: !entries, fullPath: path },
  file: (/** @type {(file: File) => void} */ found) =>
    found(new File([], path.slice(path.lastIndexOf('/') + 1))),
  createReader: () => {
    const rest = [entries ?? [], []];
    return {
      readEntries: (/** @type {(entries: any[]) => void} */ found) => found(rest.shift() ?? []),
    };
  },
});

test('folders are searched at every depth', async () => {
  const entry = entryOf('/m', [
    entryOf('/m/config.json'),
    entryOf('/m/empty', []),
    entryOf('/m/a', [entryOf('/m/a/b', [entryOf('/m/a/b/model.safetensors')])]),
  ]);
  const items = [{ kind: 'file', webkitGetAsEntry: () => entry, getAsFile: () => null }];
  const found = await filesOfDrop(/** @type {any} */ ({ items }));
  assert.deepEqual(found.map(pathOf), ['m/config.json', 'm/a/b/model.safetensors']);
});
