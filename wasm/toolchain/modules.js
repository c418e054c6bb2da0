// The package's JavaScript, minified: what lies in wasm/js in many small modules, put together in few with
// source maps, and the glue of the variants. Without a bundler of its own a page fetches every module by
// itself, one after the other down the imports, and as it is.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { kBuildFolder, kRoot } from './checkout.js';

const kSources = join(kRoot, 'wasm/js');
/** Where CMake leaves the variants: a .js, the glue, and a .wasm each. */
export const kVariantsFolder = join(kBuildFolder, 'wasm/wasm');
/** Where they are built. */
export const kModulesFolder = join(kBuildFolder, 'modules');

/** What others import, and what runs in a worker. */
const kEntries = ['index', 'worker', 'serve', 'workerScript'];

/** @type {import('rolldown').MinifyOptions} */
const kMinify = {
  // Without commas between statements the text is longer, but smaller when it is compressed. To read a
  // property does nothing else; Emscripten's glue reads some that nobody uses.
  compress: { sequences: false, treeshake: { propertyReadSideEffects: false } },
  // Bundlers find workers by this name.
  mangle: { reserved: ['Worker'] },
  codegen: true,
};

/**
 * @param {readonly string[]} variants  those that are built
 * @returns {Promise<string>} the folder that the modules are in, and nothing else
 */
export async function buildModules(variants) {
  // Not before the npm packages are there, which whoever imports this may have to install.
  const { rolldown } = await import('rolldown');
  const { minifySync } = await import('rolldown/utils');
  const bundle = await rolldown({
    cwd: kSources,
    input: Object.fromEntries(kEntries.map((name) => [name, join(kSources, `${name}.js`)])),
    // Loaded when the variant is known.
    external: /\/attn-[\w-]+\.js$/,
    treeshake: { moduleSideEffects: false },
    platform: 'neutral',
    // The loader is to lie in index.js, not in a file beside it, although serve.js uses it, too.
    preserveEntrySignatures: 'allow-extension',
  });
  await bundle.write({
    dir: kModulesFolder,
    cleanDir: true,
    format: 'esm',
    // Addresses are relative to the folder that all of them lie in.
    entryFileNames: '[name].js',
    chunkFileNames: '[name].part.js',
    minify: kMinify,
    sourcemap: true,
  });
  await bundle.close();
  writeGlue(variants, minifySync);
  for (const name of readdirSync(kModulesFolder).filter((name) => name.endsWith('.js'))) {
    quoteAddresses(join(kModulesFolder, name));
  }
  return kModulesFolder;
}

/**
 * Minifiers write texts between backticks, where not every bundler finds addresses. Nothing moves, so
 * that source maps stay as they are.
 * @param {string} file
 */
function quoteAddresses(file) {
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.replace(/(new URL\(|import\()`([^`$]+)`/g, '$1"$2"'));
}

/**
 * Emscripten's JavaScript of each variant.
 * @param {readonly string[]} variants
 * @param {typeof import('rolldown/utils').minifySync} minify
 */
function writeGlue(variants, minify) {
  for (const variant of variants) {
    const name = `attn-${variant}.js`;
    const glue = readFileSync(join(kVariantsFolder, name), 'utf8');
    const { code } = minify(name, glue, { module: true, ...kMinify });
    writeFileSync(join(kModulesFolder, name), code);
  }
}
