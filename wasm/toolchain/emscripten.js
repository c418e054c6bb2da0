// Provides Emscripten. Uses the Emscripten on PATH if the build has been tested with that version.
// Otherwise unpacks Debian 13's package into the cache, with LLVM from the system's own packages.
// The unpacked copy runs on older and newer Debian releases and with any Node. A package installed
// with apt-get finds `acorn` only if it runs with Debian's own Node.

import {
  chmodSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

import { cached } from './cache.js';
import { unpackDebianPackages } from './debianPackages.js';
import { step } from './progress.js';
import {
  atLeast,
  findProgram,
  isDebian,
  kLlvmFolder,
  outputOf,
  requireAll,
  SetupError,
} from './system.js';

/** Versions that the build has been tested with, from oldest to newest. */
const kOldestTried = '3.1.69';
const kNewestTried = '3.1.69';
/** Environment variable. If it is set, the build accepts any version of Emscripten. */
const kOverride = 'ATTN_ANY_EMSCRIPTEN';
const kDebianRelease = 'trixie';
// Increase the number after the dash whenever `unpackEmscripten` changes its output.
const kCacheName = 'emscripten-3.1.69-2';

/**
 * Finds an Emscripten that the build has been tested with, or fetches one on Debian.
 * @returns {Promise<Record<string, string>>} the environment variables that select it
 */
export async function provideEmscripten() {
  const emcc = findProgram('emcc');
  const version = emcc && outputOf(emcc, ['--version'])?.match(/\d+\.\d+\.\d+/)?.[0];
  if (emcc && version && isTried(version)) {
    const root = dirname(realpathSync(emcc));
    if (canOptimizeJavaScript(emcc, root)) return { EMSCRIPTEN_ROOT: root };
  }
  if (!isDebian()) throw new SetupError(refusal(version));
  await requireAll('for compiling to WebAssembly', ['python', 'llvm']);
  const folder = await cached(kCacheName, unpackEmscripten);
  const root = join(folder, 'usr/share/emscripten');
  return {
    EMSCRIPTEN_ROOT: root,
    EM_CONFIG: join(folder, 'emscripten.config'),
    // Makes Emscripten use the same Node as this script.
    EM_NODE_JS: process.execPath,
    PATH: `${root}:${process.env.PATH}`,
  };
}

/**
 * True if the build has been tested with `version`, or if any version is accepted.
 * @param {string} version
 * @param {Record<string, string | undefined>} [env]
 */
export const isTried = (version, env = process.env) =>
  Boolean(env[kOverride]) || (atLeast(version, kOldestTried) && atLeast(kNewestTried, version));

/**
 * Returns the error message for a machine without a suitable Emscripten.
 * @param {string | undefined} version  version of the Emscripten on PATH
 */
export function refusal(version) {
  const found = version ? `emcc on PATH is ${version}` : 'there is no emcc on PATH';
  const tried = [...new Set([kOldestTried, kNewestTried])].join(' to ');
  return (
    `Emscripten ${tried} is missing (${found}); other versions are untested. Install ${kNewestTried} ` +
    'with emsdk as described on emscripten.org, activate it in this shell and try again; ' +
    `${kOverride}=1 uses the emcc on PATH.`
  );
}

/**
 * True if Emscripten's scripts that optimise JavaScript can import their parser. With Debian's
 * package, the result depends on which build of Node is in use.
 * @param {string} emcc
 * @param {string} root
 */
function canOptimizeJavaScript(emcc, root) {
  const node = outputOf(join(dirname(emcc), 'em-config'), ['NODE_JS'])?.match(/[^['", ]+/)?.[0];
  const optimizer = join(root, 'tools/acorn-optimizer.mjs');
  return outputOf(node ?? process.execPath, [optimizer, '/dev/null']) !== undefined;
}

/**
 * @param {string} folder
 * @param {string} finalFolder
 */
async function unpackEmscripten(folder, finalFolder) {
  const packages = ['emscripten', 'binaryen', 'node-acorn', 'libc6', 'libgcc-s1', 'libstdc++6'];
  // Leave out files that are not needed at run time, and system libraries that only link-time
  // optimisation or dynamic linking needs. Together they make up most of the packages' size.
  const exclude = [
    '*/wasm32-emscripten/pic',
    '*/wasm32-emscripten/lto',
    '*/wasm32-emscripten/lto-pic',
    '*/gconv',
    '*/emscripten/test',
    '*/doc',
  ];
  await step(
    'Fetching Emscripten 3.1.69 from the Debian mirror (about 250 MB, once per user)',
    (update) => unpackDebianPackages(kDebianRelease, packages, folder, update, exclude),
  );

  const root = join(folder, 'usr/share/emscripten');
  mkdirSync(join(root, 'node_modules'), { recursive: true });
  symlinkSync('../../nodejs/acorn', join(root, 'node_modules/acorn'));

  // Binaryen's programs need a newer C library than Debian 12 has, so they use the C library that
  // is unpacked next to them.
  const [libraries] = readdirSync(join(folder, 'usr/lib')).filter((name) => name.includes('linux'));
  const [loader] = readdirSync(join(folder, 'usr/lib', libraries)).filter((name) =>
    name.startsWith('ld-linux'),
  );
  mkdirSync(join(folder, 'binaryen/bin'), { recursive: true });
  const lib = join(finalFolder, 'usr/lib', libraries);
  for (const name of readdirSync(join(folder, 'usr/bin')).filter((name) => /^wasm/.test(name))) {
    const wrapper = join(folder, 'binaryen/bin', name);
    const program = join(finalFolder, 'usr/bin', name);
    const command = `"${lib}/${loader}" --library-path "${lib}" "${program}"`;
    writeFileSync(wrapper, `#!/bin/sh\nexec ${command} "$@"\n`);
    chmodSync(wrapper, 0o755);
  }

  writeFileSync(
    join(folder, 'emscripten.config'),
    `LLVM_ROOT = '${kLlvmFolder}'
BINARYEN_ROOT = '${join(finalFolder, 'binaryen')}'
NODE_JS = 'node'
FROZEN_CACHE = True
`,
  );
}
