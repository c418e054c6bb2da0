// Prints the environment for building by hand: eval "$(node wasm/toolchain/env.js)"

import { provideEmscripten } from './emscripten.js';
import { nodeFlags } from './node.js';
import { isMain, reportSetupError } from './system.js';
import { provideXsimd } from './xsimd.js';

/**
 * The environment variables that CMakePresets.json builds native programs with.
 * @returns {Promise<Record<string, string>>}
 */
export async function nativeEnvironment() {
  const xsimdFolder = await provideXsimd();
  return xsimdFolder ? { xsimd_DIR: xsimdFolder } : {};
}

/**
 * The same for WebAssembly.
 * @returns {Promise<Record<string, string>>}
 */
export async function buildEnvironment() {
  return {
    ...(await nativeEnvironment()),
    ...(await provideEmscripten()),
    // A CMake list: CMAKE_CROSSCOMPILING_EMULATOR of the WASM presets. The baseline compiler of Node 20
    // loses the variables of a function that has waited, as pthread_join does in Emscripten's library.
    // The package joins no thread.
    ATTN_NODE: [
      process.execPath,
      ...nodeFlags(),
      ...(process.versions.node.startsWith('20.') ? ['--no-liftoff'] : []),
    ].join(';'),
  };
}

if (isMain(import.meta)) {
  try {
    for (const [name, value] of Object.entries(await buildEnvironment())) {
      console.log(`export ${name}='${value}'`);
    }
  } catch (error) {
    reportSetupError(error);
  }
}
