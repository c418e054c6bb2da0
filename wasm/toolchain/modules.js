// The package's JavaScript, minified: what lies in wasm/js in many small modules, put together in few with
// source maps, and the glue of the variants. Without a bundler of its own a page fetches every module by
// itself, one after the other down the imports, and as it is.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
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
const kEntries = ['index', 'worker', 'connect', 'serve', 'workerScript'];

/** @type {import('rolldown').MinifyOptions} */
const kMinify = {
  // Without commas between statements the text is longer, but smaller when it is compressed. To read a
  // property does nothing else; Emscripten's glue reads some that nobody uses.
  compress: { sequences: false, treeshake: { propertyReadSideEffects: false } },
  mangle: true,
  codegen: true,
};

/**
 * @param {readonly string[]} flavours  those that are built
 * @param {readonly string[]} variants
 * @returns {Promise<string>} the folder that the modules are in, and nothing else
 */
export async function buildModules(flavours, variants) {
  // Not before the npm packages are there, which whoever imports this may have to install.
  const { rolldown } = await import('rolldown');
  const { minifySync } = await import('rolldown/utils');
  const bundle = await rolldown({
    cwd: kSources,
    input: Object.fromEntries(kEntries.map((name) => [name, join(kSources, `${name}.js`)])),
    // Loaded when the variant is known.
    external: /\.glue\.js$/,
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
  writeGlue(flavours, variants, minifySync);
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
 * Emscripten's JavaScript: one file of a flavour for all variants without threads, and one for those with
 * them, since the glue of instruction sets is the same.
 * @param {readonly string[]} flavours
 * @param {readonly string[]} variants
 * @param {typeof import('rolldown/utils').minifySync} minify
 */
function writeGlue(flavours, variants, minify) {
  /** @type {Map<string, string>} name → text */
  const files = new Map();
  for (const flavour of flavours) {
    for (const variant of variants) {
      const name = `${flavour}${variant.endsWith('-threads') ? '-threads' : ''}.glue.js`;
      const glue = readFileSync(builtModule(flavour, variant, 'js'), 'utf8');
      if ((files.get(name) ?? glue) !== glue) {
        throw new Error(
          `The glue of ${flavour}, ${variant}, differs from that of others in ${name}`,
        );
      }
      files.set(name, glue);
    }
  }
  for (const [name, glue] of files) {
    const { code } = minify(name, glue, { module: true, ...kMinify });
    writeFileSync(join(kModulesFolder, name), code);
  }
}
