// Builds the package's JavaScript: the glue of the variants, and the small modules of wasm/js,
// which are bundled into a few files without JSDoc and with source maps. Without bundling, a page
// would follow the imports and fetch the modules one after another.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { kBuildFolder, kRoot } from './checkout.js';

const kSources = join(kRoot, 'wasm/js');
/**
 * Returns the path where CMake writes a module or its glue.
 * @param {string} flavour
 * @param {string} variant
 * @param {'js' | 'wasm'} type
 */
export const builtModule = (flavour, variant, type) =>
  join(kBuildFolder, 'wasm/wasm', variant, `${flavour}.${type}`);
/** Folder in which the modules are built. */
export const kModulesFolder = join(kBuildFolder, 'modules');

/** Entry points: modules that users import, and modules that run in a worker. */
const kEntries = [
  ...['index', 'worker', 'connect', 'serve', 'workerScript'],
  ...['static', 'staticTraining', 'staticModels'],
];

/**
 * @param {readonly string[]} flavours  flavours to build
 * @param {readonly string[]} variants  variants that the loader picks from
 * @param {string} [folder]  target folder
 * @returns {Promise<string>} the folder with the modules, which contains nothing else
 */
export async function buildModules(flavours, variants, folder = kModulesFolder) {
  // A static import would fail if this module is imported before the npm packages are installed.
  const { rolldown } = await import('rolldown');
  const bundle = await rolldown({
    cwd: kSources,
    input: Object.fromEntries(kEntries.map((name) => [name, join(kSources, `${name}.js`)])),
    // The loader imports the glue once it has chosen a variant.
    external: /\.glue\.js$/,
    treeshake: { moduleSideEffects: false },
    platform: 'neutral',
    // Keeps the loader in index.js instead of a separate file, although serve.js uses it, too.
    preserveEntrySignatures: 'allow-extension',
    transform: { define: { ATTN_VARIANTS: JSON.stringify(variants) } },
  });
  await bundle.write({
    dir: folder,
    cleanDir: true,
    format: 'esm',
    // Addresses are relative to the folder that contains all modules.
    entryFileNames: '[name].js',
    chunkFileNames: '[name].part.js',
    // Keep annotations such as #__PURE__, because bundlers read them.
    comments: { annotation: true, jsdoc: false, legal: false },
    sourcemap: true,
  });
  await bundle.close();
  await writeGlue(flavours, variants, folder);
  return folder;
}

/**
 * Writes Emscripten's JavaScript: for each flavour, one file for the variants without threads and one for
 * the variants with threads. Both files are generated from the SIMD128 build: the linker has to run the module to
 * generate them, and Node 20 cannot run relaxed SIMD. A test compares the imports and exports of the variants.
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
      // Emscripten writes one long line. Node prints the line in which an uncaught error occurred,
      // so it would print the whole file.
      const { code } = await transform(glue, { legalComments: 'none' });
      // Bundlers copy the glue of threaded builds as an asset. webpack minifies such assets as
      // sloppy-mode scripts, in which a function declared in a block is visible outside the block.
      // But the glue runs as a module, in which the function is visible only inside the block. The
      // directive 'use strict' makes webpack minify the glue as strict-mode code.
      writeFileSync(join(folder, `${flavour}${kind}.glue.js`), `'use strict';\n${code}`);
    }
  }
}
