// The headers of "JSON for Modern C++", which reads the headers of .safetensors files; see
// headerLibrary.js. `node wasm/toolchain/nlohmannJson.js` prints their folder.

import { printFolder, provideHeaders } from './headerLibrary.js';
import { isMain } from './system.js';

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
    versionHeader: 'nlohmann/detail/abi_macros.hpp',
    versionMacro: 'NLOHMANN_JSON_VERSION',
    minVersion: '3.11.0',
    debianPackage: 'nlohmann-json3-dev',
    debianVersion: '3.11.3',
  });

if (isMain(import.meta)) printFolder(provideNlohmannJson);
