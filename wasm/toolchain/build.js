// npm run build: builds the npm package in wasm/dist and the static site in web/dist.

import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

import { kBuildFolder, kLockFile, kRoot, provideNpmPackages } from './checkout.js';
import { cmakeBuild } from './cmake.js';
import { buildEnvironment } from './env.js';
import { withLock } from './lock.js';
import { buildModules, builtModule } from './modules.js';
import { say, step } from './progress.js';
import { command, isMain, reportSetupError, requireAll, SetupError } from './system.js';
import { buildTypes } from './types.js';

/** Each variant is a .wasm file; the loader picks the best one that the engine supports. */
export const kVariants = ['simd128', 'relaxed-simd', 'simd128-threads', 'relaxed-simd-threads'];
/** Flavours of the module. Each flavour has one .wasm per variant. */
export const kFlavours = /** @type {const} */ (['attn', 'training', 'models', 'all']);

const kPackageFolder = join(kRoot, 'wasm/dist');

/**
 * Provides everything that a build needs: npm packages, CMake, Emscripten and xsimd.
 * @returns {Promise<Record<string, string>>} the environment to build in
 */
export async function setUp() {
  await provideNpmPackages();
  await requireAll('for building', ['cmake', 'ninja']);
  return buildEnvironment();
}

/**
 * @typedef {object} PackageOptions
 * @property {string[]} [variants]  variants that the package contains; all by default
 * @property {boolean} [types]  whether the package contains type definitions; `true` by default
 */

/**
 * Options for a development build: the minimum that a browser needs to open the page.
 * @type {PackageOptions}
 */
export const kDevelopment = { variants: ['simd128'], types: false };

/**
 * Builds the TypeScript definitions of the bindings. The compiler checks wasm/js against them.
 * @param {Record<string, string>} env
 */
export const buildNativeTypes = (env) =>
  step('Building the definitions of the bindings', (update) =>
    cmakeBuild('wasm', ['attn_native_types'], env, { tests: false, update }),
  );

/**
 * Builds the npm package in wasm/dist.
 * @param {Record<string, string>} env
 * @param {PackageOptions} [options]
 */
export async function buildPackage(env, { variants = kVariants, types = true } = {}) {
  const targets = kFlavours.flatMap((flavour) => variants.map((name) => `${flavour}_wasm_${name}`));
  if (types) targets.push('attn_native_types');
  await step('Building WebAssembly', (update) =>
    cmakeBuild('wasm', targets, env, { tests: false, update }),
  );
  const modules = await buildModules(kFlavours, variants);
  const folders = [modules, await buildElements()];
  if (types) folders.push(await step('Making type definitions', buildTypes));

  /** @type {Map<string, string>} target → source */
  const files = new Map();
  for (const folder of folders) {
    // Skip hidden files, such as the folder's stamp file.
    const names = readdirSync(folder).filter((name) => !name.startsWith('.'));
    for (const name of names) files.set(join(kPackageFolder, name), join(folder, name));
  }
  for (const flavour of kFlavours) {
    for (const variant of variants) {
      const target = join(kPackageFolder, `${flavour}-${variant}.wasm`);
      files.set(target, builtModule(flavour, variant, 'wasm'));
    }
  }
  mirror(files);
}

/** Builds the entry point `attn/figures`, and returns the folder that contains it. */
const buildElements = () =>
  step('Building the elements', async () => {
    // A static import would fail before the npm packages are installed.
    const { buildFigures } = await import('../../web/src/elements/build.js');
    return buildFigures(join(kBuildFolder, 'figures'));
  });

/**
 * Makes wasm/dist contain exactly the files in `files`. Does not rewrite files with unchanged
 * content, so that a running dev server sees only real changes.
 * @param {Map<string, string>} files
 */
function mirror(files) {
  for (const [target, source] of files) {
    if (existsSync(target) && readFileSync(target).equals(readFileSync(source))) continue;
    mkdirSync(dirname(target), { recursive: true });
    copyFileSync(source, target);
  }
  for (const entry of readdirSync(kPackageFolder, { recursive: true, withFileTypes: true })) {
    const target = join(entry.parentPath, entry.name);
    if (entry.isFile() && !files.has(target)) rmSync(target);
  }
}

/**
 * Builds the static site and the JavaScript reference into web/dist. The package must already be
 * built.
 */
export async function buildSite() {
  // Run the builds as separate processes, so that they run in parallel and the output of a failed
  // build can be shown.
  const run = (/** @type {string[]} */ ...args) => command(process.execPath, args, { cwd: kRoot });
  const vite = (/** @type {string} */ folder) =>
    run('node_modules/vite/bin/vite.js', 'build', folder, '--logLevel=warn');
  const reference = join(kBuildFolder, 'javascriptReference');
  await step('Building the site and the JavaScript reference', () =>
    Promise.all([
      // The first build empties web/dist.
      vite('web').then(() => vite('web/elements')),
      run('wasm/toolchain/reference.js', reference),
    ]),
  );
  mkdirSync(join(kRoot, 'web/dist/reference'));
  renameSync(reference, join(kRoot, 'web/dist/reference/javascript'));
}

/**
 * Builds the page as a single file: web/dist/attn.html, and web/dist/figure.html without the
 * language model. The site must already be built.
 */
export const buildPageFile = () =>
  step('Building the page as a single file', () =>
    command(process.execPath, ['web/oneFile/build.js'], { cwd: kRoot }),
  );

/**
 * Builds the C++ reference from the headers and core/docs.
 * @param {string} folder
 * @throws {import('./system.js').CommandError} if Doxygen prints a warning
 */
export async function buildCppReference(folder) {
  mkdirSync(folder, { recursive: true });
  const env = { ATTN_REFERENCE_FOLDER: folder };
  await command('doxygen', ['core/docs/Doxyfile'], { cwd: kRoot, env });
}

/** Adds the C++ reference to the site if Doxygen is installed. */
async function addCppReference() {
  try {
    await requireAll('for the C++ reference', ['doxygen']);
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    say(`The site will not include the C++ reference. ${error.message}`);
    return;
  }
  await step('Building the C++ reference', () =>
    buildCppReference(join(kRoot, 'web/dist/reference/cpp')),
  );
}

/**
 * Adds the programs of the self-test to the site.
 * @param {Record<string, string>} env
 */
async function addSelfTest(env) {
  const variants = ['simd128', 'relaxed-simd'];
  await step('Building the self-test', (update) =>
    cmakeBuild(
      'wasm',
      variants.map((name) => `attn_selftest_${name}`),
      env,
      {
        tests: false,
        update,
      },
    ),
  );
  for (const name of variants.flatMap((variant) => [`${variant}.js`, `${variant}.wasm`])) {
    const built = join(kBuildFolder, 'wasm/tests/native/selftest', name);
    copyFileSync(built, join(kRoot, 'web/dist/selftest', name));
  }
}

/**
 * Builds the package with all variants, the site with all references, and the page as a file.
 * @param {Record<string, string>} env
 */
export async function buildAll(env) {
  await buildPackage(env);
  await buildSite();
  await buildPageFile();
  await addSelfTest(env);
  await addCppReference();
}

if (isMain(import.meta)) {
  try {
    await withLock(kLockFile, async () => buildAll(await setUp()));
    say(
      'The package is in wasm/dist, the site in web/dist, the page as a file in web/dist/attn.html.',
    );
  } catch (error) {
    reportSetupError(error);
  }
}
