// The package's JavaScript: the many small modules of wasm/js, put together in few, without JSDoc
// and with source maps, and the glue of the variants. A page without a bundler would otherwise fetch every
// module, one after the other down the imports.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { kBuildFolder, kRoot } from './checkout.js';

const kSources = join(kRoot, 'wasm/js');
/**
 * Where CMake leaves a module, or its glue.
 * @param {string} flavour
 * @param {string} variant
 * @param {'js' | 'wasm'} type
 */
export const builtModule = (flavour, variant, type) =>
  join(kBuildFolder, 'wasm/wasm', variant, `${flavour}.${type}`);
/** Where they are built. */
export const kModulesFolder = join(kBuildFolder, 'modules');

/** What others import, and what runs in a worker. */
const kEntries = [
  ...['index', 'worker', 'connect', 'serve', 'workerScript'],
  ...['static', 'staticTraining', 'staticModels'],
];

/**
 * @param {readonly string[]} flavours  those that are built
 * @param {readonly string[]} variants  those that the loader picks from
 * @param {string} [folder]  where to write
 * @returns {Promise<string>} the folder that the modules are in, and nothing else
 */
export async function buildModules(flavours, variants, folder = kModulesFolder) {
  // Not before the npm packages are there, which whoever imports this may have to install.
  const { rolldown } = await import('rolldown');
  const bundle = await rolldown({
    cwd: kSources,
    input: Object.fromEntries(kEntries.map((name) => [name, join(kSources, `${name}.js`)])),
    // Loaded when the variant is known.
    external: /\.glue\.js$/,
    treeshake: { moduleSideEffects: false },
    platform: 'neutral',
    // The loader is to lie in index.js, not in a file beside it, although serve.js uses it, too.
    preserveEntrySignatures: 'allow-extension',
    transform: { define: { ATTN_VARIANTS: JSON.stringify(variants) } },
  });
  await bundle.write({
    dir: folder,
    cleanDir: true,
    format: 'esm',
    // Addresses are relative to the folder that all of them lie in.
    entryFileNames: '[name].js',
    chunkFileNames: '[name].part.js',
    // Bundlers read annotations.
    comments: { annotation: true, jsdoc: false, legal: false },
    sourcemap: true,
  });
  await bundle.close();
  await writeGlue(flavours, variants, folder);
  return folder;
}

/**
 * Writes Emscripten's JavaScript: for each flavour one file for the variants without threads, and one for
 * those with threads. Both are SIMD128's: to generate them, the linker runs the module, and Node 20 lacks
 * relaxed SIMD. A test compares what the variants import and export.
 * @param {readonly string[]} flavours
 * @param {readonly string[]} variants
 * @param {string} folder
 */
async function writeGlue(flavours, variants, folder) {
  const { transform } = await import('esbuild');
  const kinds = new Set(variants.map((name) => (name.endsWith('-threads') ? '-threads' : '')));
  for (const flavour of flavours) {
    for (const kind of kinds) {
      const glue = readFileSync(builtModule(flavour, `simd128${kind}`, 'js'), 'utf8');
      // Emscripten writes one long line, all of which Node would print with an uncaught error.
      const { code } = await transform(glue, { legalComments: 'none' });
      // Bundlers copy the threads' glue as an asset. webpack minifies assets as sloppy scripts, where
      // functions in blocks are visible outside; in the module that results they are not.
      writeFileSync(join(folder, `${flavour}${kind}.glue.js`), `'use strict';\n${code}`);
    }
  }
}
