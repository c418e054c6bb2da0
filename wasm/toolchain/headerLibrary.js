// Provides header-only libraries, each in its own folder. The system's copy of a library cannot be
// used in place, because it shares /usr/include with the headers of the system's C library. A build
// for WebAssembly or another processor must not see those headers.

import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { cached } from './cache.js';
import { unpackDebianPackages } from './debianPackages.js';
import { step } from './progress.js';
import { atLeast, isDebian, reportSetupError } from './system.js';

const kDebianRelease = 'trixie';
const kIncludeFolders = ['/usr/include', '/usr/local/include', '/opt/homebrew/include'];

/**
 * @typedef {object} HeaderLibrary
 * @property {string} name  name of the cache entry
 * @property {string} cmakePackage  the library's name for find_package()
 * @property {string} headers  the folder below include/ that holds the library's headers
 * @property {string} versionHeader  the header that defines the library's version
 * @property {string} versionMacro  prefix of the version macros, which end in _MAJOR, _MINOR and
 *   _PATCH
 * @property {string} minVersion
 * @property {string} debianPackage
 * @property {string} debianVersion  version of the package in Debian 13
 */

/**
 * Finds a library's headers, or fetches them on Debian.
 * @param {HeaderLibrary} library
 * @param {string[]} [includeFolders]  folders that may contain the headers
 * @returns {Promise<string | undefined>} the folder of its CMake package; undefined if CMake must
 *     find or fetch the library itself
 */
export async function provideHeaders(library, includeFolders = kIncludeFolders) {
  const { name, minVersion, debianPackage, debianVersion } = library;
  for (const include of includeFolders) {
    const version = versionIn(library, include);
    if (version && atLeast(version, minVersion)) {
      return cached(`${name}-${version}`, (folder) => fill(library, folder, include, version));
    }
  }
  if (!isDebian()) return undefined;
  return cached(`${name}-${debianVersion}`, async (folder) => {
    const unpacked = join(folder, 'unpacked');
    await step(`Fetching ${name} ${debianVersion} from the Debian mirror`, (update) =>
      unpackDebianPackages(kDebianRelease, [debianPackage], unpacked, update),
    );
    fill(library, folder, join(unpacked, 'usr/include'), debianVersion);
    rmSync(unpacked, { recursive: true });
  });
}

/**
 * The version of a library in an include folder, or undefined if the library is not there.
 * @param {HeaderLibrary} library
 * @param {string} include
 * @returns {string | undefined}
 */
function versionIn({ versionHeader, versionMacro }, include) {
  try {
    const header = readFileSync(join(include, versionHeader), 'utf8');
    const parts = ['MAJOR', 'MINOR', 'PATCH'].map(
      (part) => header.match(new RegExp(`#define ${versionMacro}_${part} (\\d+)`))?.[1],
    );
    return parts.join('.');
  } catch {
    return undefined;
  }
}

/**
 * Writes the headers and a CMake package. Debian's own CMake packages require more than the headers
 * need: xsimd's package requires xtl, which only complex numbers need.
 * @param {HeaderLibrary} library
 * @param {string} folder
 * @param {string} include
 * @param {string} version
 */
function fill({ cmakePackage, headers }, folder, include, version) {
  cpSync(join(include, headers), join(folder, 'include', headers), { recursive: true });
  writeFileSync(
    join(folder, `${cmakePackage}Config.cmake`),
    `set(${cmakePackage}_INCLUDE_DIRS "\${CMAKE_CURRENT_LIST_DIR}/include")\n`,
  );
  writeFileSync(
    join(folder, `${cmakePackage}ConfigVersion.cmake`),
    `set(PACKAGE_VERSION "${version}")
if(PACKAGE_FIND_VERSION VERSION_LESS_EQUAL PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
`,
  );
}

/**
 * Prints the folder that `provide` returns. CMake runs the script and reads the output.
 * @param {() => Promise<string | undefined>} provide
 */
export async function printFolder(provide) {
  try {
    console.log((await provide()) ?? '');
  } catch (error) {
    reportSetupError(error);
  }
}
