// npm run accuracy: builds attn_accuracy and prints its table of the largest and mean errors of
// every operation on every instruction set of this machine. `npm run accuracy -- wasm` adds the two
// WebAssembly instruction sets.

import { join } from 'node:path';

import { kBuildFolder, kLockFile, kRoot } from '../../../wasm/toolchain/checkout.js';
import { cmakeBuild } from '../../../wasm/toolchain/cmake.js';
import { buildEnvironment, nativeEnvironment } from '../../../wasm/toolchain/env.js';
import { withLock } from '../../../wasm/toolchain/lock.js';
import { nodeFlags } from '../../../wasm/toolchain/node.js';
import { say } from '../../../wasm/toolchain/progress.js';
import {
  command,
  CommandError,
  reportSetupError,
  requireAll,
  SetupError,
} from '../../../wasm/toolchain/system.js';

/**
 * Builds a program with a preset, runs it and prints its output.
 * @param {string} preset
 * @param {string} target
 * @param {Record<string, string>} env
 * @param {(program: string) => string[]} commandLine
 */
async function printTable(preset, target, env, commandLine) {
  say(`Building ${target}.`);
  await cmakeBuild(preset, [target], env);
  const [program, ...args] = commandLine(join(kBuildFolder, preset, 'tests/native', target));
  try {
    console.log(await command(program, args, { cwd: kRoot, env }));
  } catch (error) {
    // An error exceeds its stated bound. The table marks the error with "!".
    if (!(error instanceof CommandError)) throw error;
    console.log(error.message);
    process.exitCode = 1;
  }
}

const words = process.argv.slice(2);

try {
  const unknown = words.find((word) => word !== 'wasm');
  if (unknown) throw new SetupError(`Unknown argument ${unknown}; the only argument is wasm.`);
  await withLock(kLockFile, async () => {
    await requireAll('for the table of errors', ['cmake', 'ninja', 'compiler', 'googletest']);
    await printTable('release', 'attn_accuracy', await nativeEnvironment(), (program) => [program]);
    if (!words.includes('wasm')) return;
    for (const variant of ['simd128', 'relaxed-simd']) {
      await printTable('wasm', `attn_accuracy_${variant}`, await buildEnvironment(), (program) => [
        process.execPath,
        ...nodeFlags(),
        `${program}.js`,
      ]);
    }
  });
} catch (error) {
  reportSetupError(error);
}
