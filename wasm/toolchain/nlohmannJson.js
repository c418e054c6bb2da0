// The headers of "JSON for Modern C++", which reads the headers of .safetensors files; see
// headerLibrary.js. `node wasm/toolchain/nlohmannJson.js` prints their folder.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { provideHeaders } from './headerLibrary.js';
import { isMain, reportSetupError } from './system.js';

/**
 * Finds nlohmann-json 3.11 or newer, or fetches it on Debian.
 * @returns {string | undefined} the folder of nlohmann_jsonConfig.cmake; undefined where CMake has
 *     to find or fetch the library itself
 */
export const provideNlohmannJson = () =>
  provideHeaders({
    name: 'nlohmann-json',
    cmakePackage: 'nlohmann_json',
    headers: 'nlohmann',
    minVersion: '3.11.0',
    debianPackage: 'nlohmann-json3-dev',
    debianVersion: '3.11.3',
    versionIn,
  });

/**
 * @param {string} include
 * @returns {string | undefined}
 */
function versionIn(include) {
  try {
    const macros = readFileSync(join(include, 'nlohmann/detail/abi_macros.hpp'), 'utf8');
    const parts = ['MAJOR', 'MINOR', 'PATCH'].map(
      (part) => macros.match(new RegExp(`#define NLOHMANN_JSON_VERSION_${part} (\\d+)`))?.[1],
    );
    return parts.join('.');
  } catch {
    return undefined;
  }
}

if (isMain(import.meta)) printFolder();

function printFolder() {
  try {
    console.log(provideNlohmannJson() ?? '');
  } catch (error) {
    reportSetupError(error);
  }
}
