// What a page downloads: a .wasm, and the JavaScript beside it as a bundler minifies it and a server
// compresses it.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { brotliCompressSync, gzipSync } from 'node:zlib';

import { build } from 'vite';

import { kVariants } from '../../wasm/toolchain/build.js';
import { kBuildFolder } from '../../wasm/toolchain/checkout.js';

const kMaxWasmBytes = 300e3;
const kMaxWasmGzipBytes = 129e3;
/** Of the glue of a variant, and of it with the whole API: by gzip and by Brotli. */
const kMaxJavaScriptBytes = {
  single: { glue: [800, 750], all: [18.1e3, 16.4e3] },
  threads: { glue: [5.4e3, 4.9e3], all: [22.6e3, 20.5e3] },
};

let folder = '';
/** @type {Map<string, [gzip: number, brotli: number]>} by the name without its hash */
const sizes = new Map();

before(async () => {
  // In the checkout, so that the package is found by its own name.
  folder = mkdtempSync(join(kBuildFolder, 'size-test-'));
  writeFileSync(join(folder, 'main.js'), `export * from 'attn';`);
  const result = await build({
    ...{ root: folder, configFile: false, logLevel: 'error', worker: { format: 'es' } },
    build: {
      write: false,
      target: 'es2023',
      rollupOptions: { input: join(folder, 'main.js'), preserveEntrySignatures: 'strict' },
    },
  });
  const { output } = /** @type {import('vite').Rolldown.RolldownOutput} */ (
    Array.isArray(result) ? result[0] : result
  );
  for (const file of output) {
    if (file.type !== 'chunk') continue;
    const name = file.fileName.replace(/^.*\/(.+)-.{8}\.js$/, '$1');
    sizes.set(name, [gzipSync(file.code).length, brotliCompressSync(file.code).length]);
  }
});
after(() => rmSync(folder, { recursive: true }));

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
    const most = kMaxJavaScriptBytes[variant.endsWith('-threads') ? 'threads' : 'single'];
    for (const [i, format] of ['gzip', 'Brotli'].entries()) {
      const all = glue[i] + api[i];
      assert.ok(glue[i] <= most.glue[i], `the glue has ${glue[i]} bytes of ${format}`);
      assert.ok(all <= most.all[i], `with the API there are ${all} bytes of ${format}`);
    }
  });
}
