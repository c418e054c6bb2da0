// xsimd's headers, in a folder of their own. The system's copy cannot be used where it lies: next
// to it in /usr/include are the headers of the system's C library, which must not be seen when
// compiling for WebAssembly. `node wasm/toolchain/xsimd.js` prints the folder.

import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { cached } from './cache.js';
import { unpackDebianPackages } from './debianPackages.js';
import { atLeast, isDebian, isMain, reportSetupError, say } from './system.js';

const kMinVersion = '13.2.0';
const kDebianRelease = 'trixie';

/**
 * Finds xsimd 13.2 or newer, or fetches it on Debian.
 * @returns {string | undefined} the folder of xsimdConfig.cmake; undefined where CMake has to
 *     find or fetch xsimd itself
 */
export function provideXsimd() {
  for (const include of ['/usr/include', '/usr/local/include', '/opt/homebrew/include']) {
    const version = versionIn(include);
    if (version && atLeast(version, kMinVersion)) {
      return cached(`xsimd-${version}`, (folder) => fill(folder, include, version));
    }
  }
  if (!isDebian()) return undefined;
  return cached(`xsimd-${kMinVersion}`, (folder) => {
    say(`Fetching xsimd ${kMinVersion} from the Debian mirror.`);
    const unpacked = join(folder, 'unpacked');
    unpackDebianPackages(kDebianRelease, ['libxsimd-dev'], unpacked);
    fill(folder, join(unpacked, 'usr/include'), kMinVersion);
    rmSync(unpacked, { recursive: true });
  });
}

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

/**
 * Writes the headers and a CMake package. Debian's own CMake package also asks for xtl, which
 * only complex numbers need.
 * @param {string} folder
 * @param {string} include
 * @param {string} version
 */
function fill(folder, include, version) {
  cpSync(join(include, 'xsimd'), join(folder, 'include/xsimd'), { recursive: true });
  writeFileSync(
    join(folder, 'xsimdConfig.cmake'),
    `if(NOT TARGET xsimd)
  add_library(xsimd INTERFACE IMPORTED)
  target_include_directories(xsimd INTERFACE "\${CMAKE_CURRENT_LIST_DIR}/include")
endif()
set(xsimd_INCLUDE_DIRS "\${CMAKE_CURRENT_LIST_DIR}/include")
`,
  );
  writeFileSync(
    join(folder, 'xsimdConfigVersion.cmake'),
    `set(PACKAGE_VERSION "${version}")
if(PACKAGE_FIND_VERSION VERSION_LESS_EQUAL PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
`,
  );
}

if (isMain(import.meta)) printFolder();

function printFolder() {
  try {
    console.log(provideXsimd() ?? '');
  } catch (error) {
    reportSetupError(error);
  }
}
