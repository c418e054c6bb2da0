// Tests how much a page downloads from the package or from a bundle: a .wasm and its JavaScript,
// compressed as a server would compress them.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';

import { rolldown } from 'rolldown';

import { kFlavours, kVariants } from '../../wasm/toolchain/build.js';
import { kMaxApiBytes, kMaxElementsBytes, kMaxWasmBytes } from '../limits.js';

const kPackage = new URL('.', import.meta.resolve('attn'));

/** The bundle's files by name. @type {Map<string, { code: string, imports: string[] }>} */
const bundled = new Map();

before(async () => {
  // Bundles with Rolldown, because Vite would add a loader for modules that are imported on demand.
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
  for (const file of output) if (file.type === 'chunk') bundled.set(file.fileName, file);
});

/**
 * A file of the bundle and the files that it imports statically.
 * @param {string} name
 * @returns {string[]}
 */
function partsOf(name) {
  const { code, imports } = bundled.get(name) ?? assert.fail(`${name} is not in the bundle`);
  return [code, ...imports.flatMap(partsOf)];
}

/** @param {string} name */
const inPackage = (name) => readFileSync(new URL(name, kPackage));

/**
 * The files of the package that a page loads for one module, in order: the module and its static
 * imports.
 * @param {string} name
 * @returns {string[]}
 */
function filesOf(name) {
  const imports = [...`${inPackage(name)}`.matchAll(/(?:from|import)\s*["'`]\.\/([\w.]+)["'`]/g)];
  return [name, ...imports.flatMap(([, other]) => filesOf(other))];
}

/**
 * @param {(string | Buffer)[]} files
 * @param {(file: string | Buffer) => Buffer} compress
 */
const compressed = (files, compress) =>
  files.reduce((bytes, file) => bytes + compress(file).length, 0);

for (const flavour of kFlavours) {
  for (const variant of kVariants) {
    test(`the_wasm_of_${flavour}_in_${variant}_is_small`, () => {
      const bytes = inPackage(`${flavour}-${variant}.wasm`);
      const gzip = gzipSync(bytes, { level: 9 }).length;
      const max = kMaxWasmBytes[flavour];
      assert.ok(bytes.length <= max.raw, `it has ${bytes.length} bytes`);
      assert.ok(gzip <= max.gzip, `it has ${gzip} bytes of gzip`);
    });
  }
}

for (const [glue, max] of Object.entries(kMaxApiBytes)) {
  test(`the_javascript_with_${glue}_is_small`, (t) => {
    // Rolldown copies the glue of threaded builds as an asset, without changes.
    const ownGlue = glue === 'attn.glue.js' ? partsOf(glue) : [`${inPackage(glue)}`];
    const parts = [...partsOf('main.js'), ...ownGlue];
    const brotli = compressed(parts, brotliCompressSync);
    const gzip = compressed(parts, gzipSync);
    const files = [...filesOf('index.js'), glue];
    const unbundled = compressed(files.map(inPackage), brotliCompressSync);
    t.diagnostic(`bundled ${brotli} bytes of Brotli, ${gzip} of gzip; ${files}: ${unbundled}`);
    assert.ok(brotli <= max.bundled.brotli, `bundled: ${brotli} bytes of Brotli`);
    assert.ok(gzip <= max.bundled.gzip, `bundled: ${gzip} bytes of gzip`);
    assert.ok(unbundled <= max.unbundled.brotli, `${files}: ${unbundled} bytes of Brotli`);
  });
}

test('the_elements_are_small', (t) => {
  const brotli = brotliCompressSync(inPackage('figures.js')).length;
  t.diagnostic(`${brotli} bytes of Brotli`);
  assert.ok(brotli <= kMaxElementsBytes.brotli, `${brotli} bytes of Brotli`);
});
