// Provides xsimd's headers; see headerLibrary.js. `node wasm/toolchain/xsimd.js` prints their
// folder.

import { printFolder, provideHeaders } from './headerLibrary.js';
import { isMain } from './system.js';

/**
 * Finds xsimd 13.2 or newer, or fetches it on Debian.
 * @returns {Promise<string | undefined>} the folder of xsimdConfig.cmake; undefined if CMake must
 *     find or fetch xsimd itself
 */
export const provideXsimd = () =>
  provideHeaders({
    name: 'xsimd',
    cmakePackage: 'xsimd',
    headers: 'xsimd',
    versionHeader: 'xsimd/config/xsimd_config.hpp',
    versionMacro: 'XSIMD_VERSION',
    minVersion: '13.2.0',
    debianPackage: 'libxsimd-dev',
    debianVersion: '13.2.0',
  });

if (isMain(import.meta)) await printFolder(provideXsimd);
