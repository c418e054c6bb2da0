// Prints the environment for building by hand: eval "$(node wasm/toolchain/env.js)"

import { provideEmscripten } from './emscripten.js';
import { nodeFlags } from './node.js';
import { isMain, reportSetupError } from './system.js';
import { provideXsimd } from './xsimd.js';

/**
 * The environment variables that CMakePresets.json builds native programs with.
 * @returns {Record<string, string>}
 */
export function nativeEnvironment() {
  const xsimdFolder = provideXsimd();
  return xsimdFolder ? { xsimd_DIR: xsimdFolder } : {};
}

/**
 * The same for WebAssembly.
 * @returns {Record<string, string>}
 */
export function buildEnvironment() {
  return {
    ...nativeEnvironment(),
    ...provideEmscripten(),
    // A CMake list: CMAKE_CROSSCOMPILING_EMULATOR of the WASM presets.
    ATTN_NODE: [process.execPath, ...nodeFlags()].join(';'),
  };
}

if (isMain(import.meta)) {
  try {
    for (const [name, value] of Object.entries(buildEnvironment())) {
      console.log(`export ${name}='${value}'`);
    }
  } catch (error) {
    reportSetupError(error);
  }
}
