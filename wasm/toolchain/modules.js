// The package's JavaScript: what lies in wasm/js in many small modules, put together in few. Without a
// bundler of its own a page fetches every module by itself, one after the other down the imports.

import { join } from 'node:path';

import { kBuildFolder, kRoot } from './checkout.js';

const kSources = join(kRoot, 'wasm/js');
/** Where they are built. */
export const kModulesFolder = join(kBuildFolder, 'modules');

/** What others import, and what runs in a worker. */
const kEntries = ['index', 'worker', 'serve', 'workerScript'];

/**
 * @returns {Promise<string>} the folder that the modules are in, and nothing else
 */
export async function buildModules() {
  // Not before the npm packages are there, which whoever imports this may have to install.
  const { rolldown } = await import('rolldown');
  const bundle = await rolldown({
    cwd: kSources,
    input: Object.fromEntries(kEntries.map((name) => [name, join(kSources, `${name}.js`)])),
    // Of a variant's glue only one is loaded, when it is known which.
    external: /\/attn-[^/]+\.js$/,
    treeshake: { moduleSideEffects: false },
    platform: 'neutral',
  });
  await bundle.write({
    dir: kModulesFolder,
    cleanDir: true,
    format: 'esm',
    // Addresses are relative to the folder that all of them lie in.
    entryFileNames: '[name].js',
    chunkFileNames: '[name].part.js',
    comments: { legal: true, annotation: true, jsdoc: false },
  });
  await bundle.close();
  return kModulesFolder;
}
