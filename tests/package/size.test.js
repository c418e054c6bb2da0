// What a page downloads: a .wasm, and the JavaScript beside it as a bundler minifies it and a server
// compresses it.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';

import { rolldown } from 'rolldown';

import { kVariants } from '../../wasm/toolchain/build.js';

const kMaxWasmBytes = 300e3;
const kMaxWasmGzipBytes = 124e3;
/** Of the glue of a variant with the whole API: by gzip and by Brotli. */
const kMaxJavaScriptBytes = [17e3, 15e3];

/** @type {Map<string, [gzip: number, brotli: number]>} by name */
const sizes = new Map();

before(async () => {
  // Not Vite, which adds a loader of its own to what is imported late.
  const bundle = await rolldown({
    input: { main: fileURLToPath(import.meta.resolve('attn')) },
    platform: 'browser',
    logLevel: 'silent',
  });
  const { output } = await bundle.generate({
    ...{ format: 'esm', minify: true, comments: false },
    chunkFileNames: '[name].js',
  });
  await bundle.close();
  for (const file of output) {
    if (file.type !== 'chunk') continue;
    sizes.set(file.name, [gzipSync(file.code).length, brotliCompressSync(file.code).length]);
  }
});

/** @param {string} name */
function size(name) {
  const bytes = sizes.get(name);
  assert.ok(bytes, `${name} is not among ${[...sizes.keys()].join(', ')}`);
  return bytes;
}

for (const variant of kVariants) {
  test(`the_wasm_of_${variant}_is_small`, () => {
    const bytes = readFileSync(new URL(import.meta.resolve(`attn/attn-${variant}.wasm`)));
    const compressed = gzipSync(bytes, { level: 9 }).length;
    assert.ok(bytes.length <= kMaxWasmBytes, `it has ${bytes.length} bytes`);
    assert.ok(compressed <= kMaxWasmGzipBytes, `it has ${compressed} bytes of gzip`);
  });

  test(`the_javascript_of_${variant}_is_small`, () => {
    const glue = size(`attn-${variant}`);
    const api = size('main');
    for (const [i, format] of ['gzip', 'Brotli'].entries()) {
      const bytes = glue[i] + api[i];
      assert.ok(bytes <= kMaxJavaScriptBytes[i], `it has ${bytes} bytes of ${format}`);
    }
  });
}
