// npm run format: formats all sources.

import { join } from 'node:path';

import { kBuildFolder, kRoot, provideNpmPackages } from './checkout.js';
import { command, isMain, reportSetupError, requireAll } from './system.js';

/**
 * @param {{ check: boolean }} options  `check` changes nothing and fails if formatting would change a file
 */
export async function formatCpp({ check }) {
  const patterns = ['*.cpp', '*.hpp', '*.h'];
  const list = ['ls-files', '--cached', '--others', '--exclude-standard', '--deduplicate'];
  const files = await command('git', [...list, '--', ...patterns], { cwd: kRoot });
  const args = check ? ['--dry-run', '--Werror'] : ['-i'];
  await command('clang-format-19', [...args, ...files.split('\n').filter(Boolean)], { cwd: kRoot });
}

/** @param {{ check: boolean }} options */
export async function formatJavaScript({ check }) {
  const prettier = 'node_modules/prettier/bin/prettier.cjs';
  const cache = ['--cache', '--cache-location', join(kBuildFolder, 'prettier-cache')];
  const args = ['--log-level=warn', ...cache, check ? '--check' : '--write', '.'];
  await command(process.execPath, [prettier, ...args], { cwd: kRoot });
}

if (isMain(import.meta)) {
  try {
    await provideNpmPackages();
    await requireAll('for formatting', ['clangFormat']);
    await formatCpp({ check: false });
    await formatJavaScript({ check: false });
  } catch (error) {
    reportSetupError(error);
  }
}
