// Prints the environment for building by hand: eval "$(node wasm/toolchain/env.js)"

import { provideEmscripten } from './emscripten.js';
import { nodeFlags } from './node.js';
import { isMain, reportSetupError } from './system.js';
import { provideXsimd } from './xsimd.js';

/**
 * Environment variables for native builds with CMakePresets.json.
 * @returns {Promise<Record<string, string>>}
 */
export async function nativeEnvironment() {
  const xsimdFolder = await provideXsimd();
  return xsimdFolder ? { xsimd_DIR: xsimdFolder } : {};
}

/**
 * Environment variables for WebAssembly builds.
 * @returns {Promise<Record<string, string>>}
 */
export async function buildEnvironment() {
  return {
    ...(await nativeEnvironment()),
    ...(await provideEmscripten()),
    // A CMake list, which the WASM presets use as CMAKE_CROSSCOMPILING_EMULATOR.
    ATTN_NODE: [process.execPath, ...nodeFlags()].join(';'),
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
