// Sets up the checkout: its folders and its npm packages.

import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { step } from './progress.js';
import { atLeast, command, SetupError } from './system.js';

export const kRoot = dirname(dirname(import.meta.dirname));
export const kBuildFolder = join(kRoot, 'build');
export const kLockFile = join(kBuildFolder, '.lock');

const kMinNode = '20.19.0';

/**
 * Installs the npm packages of a package-lock.json, unless they are already installed.
 * @param {string} [folder]  folder of the package-lock.json
 * @param {string} [what]  completes the sentence "Installing …"
 */
export async function provideNpmPackages(folder = kRoot, what = 'npm packages') {
  if (!atLeast(process.versions.node, kMinNode)) {
    throw new SetupError(
      `Node ${kMinNode} or newer is needed, and this is ${process.versions.node}; ` +
        `install a newer one from nodejs.org or your system's packages.`,
    );
  }
  const stamp = join(folder, 'node_modules/.installed-for');
  const wanted = createHash('sha256')
    .update(readFileSync(join(folder, 'package-lock.json')))
    .digest('hex');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  await step(`Installing ${what}`, () =>
    command('npm', ['ci', '--include=dev', '--ignore-scripts', '--loglevel=error'], {
      cwd: folder,
      // On Windows, npm is a script, which needs a shell.
      shell: process.platform === 'win32',
    }),
  );
  writeFileSync(stamp, wanted);
}
