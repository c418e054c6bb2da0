// The package's JavaScript: what lies in wasm/js in many small modules, put together in few, and the glue
// of the variants; minified, with source maps. Without a bundler of its own a page fetches every module by
// itself, one after the other down the imports, and as it is.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { kBuildFolder, kRoot } from './checkout.js';

const kSources = join(kRoot, 'wasm/js');
/** Where CMake leaves the variants: a .js, the glue, and a .wasm each. */
export const kVariantsFolder = join(kBuildFolder, 'wasm/wasm');
/** Where they are built. */
export const kModulesFolder = join(kBuildFolder, 'modules');

/** What others import, and what runs in a worker. */
const kEntries = ['index', 'worker', 'serve', 'workerScript'];

/** Bundlers find workers by this name. */
const kMangle = { reserved: ['Worker'] };

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
    external: /\/glue(WithThreads)?\.js$/,
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
    minify: { compress: true, mangle: kMangle, codegen: true },
    sourcemap: true,
  });
  await bundle.close();
  await writeGlue(variants, minifySync);
  return kModulesFolder;
}

/**
 * One file for all variants without threads, and one for those with them: their glue is the same.
 * @param {readonly string[]} variants
 * @param {typeof import('rolldown/utils').minifySync} minify
 */
async function writeGlue(variants, minify) {
  /** @type {Map<string, string>} name → text */
  const files = new Map();
  for (const variant of variants) {
    const glue = await readFile(join(kVariantsFolder, `attn-${variant}.js`), 'utf8');
    const name = variant.endsWith('-threads') ? 'glueWithThreads.js' : 'glue.js';
    if ((files.get(name) ?? glue) !== glue) {
      throw new Error(`${name}: the glue of ${variant} is another than that of its like`);
    }
    files.set(name, glue);
  }
  const compress = { treeshake: { propertyReadSideEffects: false } };
  for (const [name, glue] of files) {
    const { code } = minify(name, glue, { module: true, compress });
    await writeFile(join(kModulesFolder, name), code);
  }
}
