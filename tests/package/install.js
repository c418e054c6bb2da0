// Provides the package as users get it: packed, and installed in an empty project.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { kRoot } from '../../wasm/toolchain/checkout.js';

/**
 * @typedef {object} Project
 * @property {string} folder
 * @property {Uint8Array} tarball
 * @property {string[]} files  files in the tarball
 * @property {() => void} remove
 */

const npm = (/** @type {string[]} */ args, /** @type {string} */ cwd) =>
  execFileSync('npm', [...args, '--loglevel=error'], { cwd, encoding: 'utf8' });

/**
 * Creates a project that contains only the package. Does not use a registry.
 * @param {string} [parent]  the folder in which the project is created; the project also finds
 *   packages that are installed there
 * @returns {Project}
 */
export function installPackage(parent = tmpdir()) {
  const folder = mkdtempSync(join(parent, 'attn-test-'));
  const [{ filename, files }] = JSON.parse(
    npm(['pack', '--json', '--pack-destination', folder], kRoot),
  );
  const tarball = join(folder, filename);
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  npm(['install', '--offline', '--no-audit', tarball], folder);
  return {
    folder,
    tarball: readFileSync(tarball),
    files: files.map((/** @type {{ path: string }} */ { path }) => path),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
