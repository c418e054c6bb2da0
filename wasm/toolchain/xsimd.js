// xsimd's headers; see headerLibrary.js. `node wasm/toolchain/xsimd.js` prints their folder.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { provideHeaders } from './headerLibrary.js';
import { isMain, reportSetupError } from './system.js';

/**
 * Finds xsimd 13.2 or newer, or fetches it on Debian.
 * @returns {string | undefined} the folder of xsimdConfig.cmake; undefined where CMake has to
 *     find or fetch xsimd itself
 */
export const provideXsimd = () =>
  provideHeaders({
    name: 'xsimd',
    cmakePackage: 'xsimd',
    headers: 'xsimd',
    minVersion: '13.2.0',
    debianPackage: 'libxsimd-dev',
    debianVersion: '13.2.0',
    versionIn,
  });

/**
 * @param {string} include
 * @returns {string | undefined}
 */
function versionIn(include) {
  try {
    const config = readFileSync(join(include, 'xsimd/config/xsimd_config.hpp'), 'utf8');
    const parts = ['MAJOR', 'MINOR', 'PATCH'].map(
      (part) => config.match(new RegExp(`#define XSIMD_VERSION_${part} (\\d+)`))?.[1],
    );
    return parts.join('.');
  } catch {
    return undefined;
  }
}

if (isMain(import.meta)) printFolder();

function printFolder() {
  try {
    console.log(provideXsimd() ?? '');
  } catch (error) {
    reportSetupError(error);
  }
}
