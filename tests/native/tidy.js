// npm run tidy: runs cppcheck and clang-tidy (with the checks in .clang-tidy) on the core's
// sources.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';

import { kBuildFolder, kLockFile, kRoot } from '../../wasm/toolchain/checkout.js';
import { cmakeBuild } from '../../wasm/toolchain/cmake.js';
import { nativeEnvironment } from '../../wasm/toolchain/env.js';
import { withLock } from '../../wasm/toolchain/lock.js';
import { say } from '../../wasm/toolchain/progress.js';
import {
  command,
  CommandError,
  reportSetupError,
  requireAll,
} from '../../wasm/toolchain/system.js';

const kSources = join(kRoot, 'core/src');

/**
 * @param {string} program
 * @param {string[]} args
 */
async function check(program, args) {
  try {
    await command(program, args, { cwd: kRoot });
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    console.log(error.message);
    process.exitCode = 1;
  }
}

async function tidy() {
  await requireAll('for checking', [
    'cmake',
    'ninja',
    'compiler',
    'googletest',
    'clangTidy',
    'cppcheck',
  ]);
  // Creates compile_commands.json and the header with the version.
  await cmakeBuild('debug', ['help'], await nativeEnvironment());
  const commands = join(kBuildFolder, 'debug');
  const files = readdirSync(kSources, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.cpp') && !name.includes('isa'))
    .map((name) => join(kSources, name));
  say('clang-tidy');
  // Clang cannot use GCC's precompiled header, if there is one.
  const flags = ['-p', commands, '--quiet', '--extra-arg=-Wno-ignored-gch'];
  for (const file of files) await check('clang-tidy-19', [...flags, file]);
  say('cppcheck');
  const args = ['--std=c++20', '--enable=warning,performance,portability', '--error-exitcode=1'];
  args.push('--inline-suppr', '--quiet', '-Icore/include', '-Icore/src', `-D__x86_64__=1`);
  await check('cppcheck', [...args, '-icore/src/kernels', 'core/src']);
}

try {
  await withLock(kLockFile, tidy);
} catch (error) {
  reportSetupError(error);
}
