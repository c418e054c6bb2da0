// npm run fuzz: runs libFuzzer on each target, or only on the named targets, for a limited time:
//
//   npm run fuzz -- safetensors --seconds 600
//
// Inputs that reach new code are kept in build/fuzz/corpus, and the next run starts from them.
// Inputs that reveal a bug are kept in build/fuzz/findings. Once the bug is fixed, move its input
// to tests/fuzz/corpus, which npm test replays.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { kBuildFolder, kLockFile } from '../../wasm/toolchain/checkout.js';
import { cmakeBuild } from '../../wasm/toolchain/cmake.js';
import { nativeEnvironment } from '../../wasm/toolchain/env.js';
import { withLock } from '../../wasm/toolchain/lock.js';
import { say } from '../../wasm/toolchain/progress.js';
import { reportSetupError, requireAll, SetupError } from '../../wasm/toolchain/system.js';

const kTargets = ['attention', 'models', 'positions', 'safetensors', 'training'];
/**
 * Maximum length of an input, in bytes. Inputs that describe models may be longer, because they
 * consist of several lines of text.
 */
const kMaxLength = 512;
const kMaxModelLength = 4096;
const kFolder = join(kBuildFolder, 'fuzz');

/**
 * Shows libFuzzer's output as it is printed.
 * @param {string} target
 * @param {number} seconds
 * @returns {boolean} true if no bug was found
 */
function fuzz(target, seconds) {
  const corpus = join(kFolder, 'corpus', target);
  const findings = join(kFolder, 'findings', target);
  for (const folder of [corpus, findings]) mkdirSync(folder, { recursive: true });
  const args = [`-max_total_time=${seconds}`, '-timeout=120', '-rss_limit_mb=4096'];
  args.push(`-artifact_prefix=${findings}/`, '-print_final_stats=1');
  args.push(`-max_len=${target === 'models' ? kMaxModelLength : kMaxLength}`);
  const dictionary = join(import.meta.dirname, `${target}.dict`);
  if (existsSync(dictionary)) args.push(`-dict=${dictionary}`);
  args.push(corpus, join(import.meta.dirname, 'corpus', target));
  const before = new Set(readdirSync(findings));
  say(`Fuzzing ${target} for ${seconds} seconds.`);
  const { status, error } = spawnSync(join(kFolder, 'tests/fuzz', `fuzz_${target}`), args, {
    stdio: ['ignore', 2, 2],
    // AddressSanitizer's default quarantine for freed memory is so large that every call would need
    // fresh pages.
    env: { ...process.env, ASAN_OPTIONS: 'quarantine_size_mb=16' },
  });
  if (error) throw error;
  const found = readdirSync(findings).filter((name) => !before.has(name));
  const isFine = status === 0;
  const paths = found.map((name) => `\n  ${join(findings, name)}`).join('');
  console.log(`${target}: ${isFine ? 'nothing found' : 'failed'}${paths}`);
  return isFine;
}

try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { seconds: { type: 'string', default: '60' } },
  });
  const unknown = positionals.find((name) => !kTargets.includes(name));
  const seconds = Number(values.seconds);
  if (unknown)
    throw new SetupError(`There is no fuzz target ${unknown}; the targets are ${kTargets}.`);
  if (!(seconds > 0)) throw new SetupError(`--seconds must be a number greater than 0.`);
  await withLock(kLockFile, async () => {
    await requireAll('for fuzzing', ['cmake', 'ninja', 'clang', 'googletest']);
    const targets = positionals.length > 0 ? positionals : kTargets;
    say('Building the fuzz targets.');
    await cmakeBuild(
      'fuzz',
      targets.map((name) => `fuzz_${name}`),
      await nativeEnvironment(),
    );
    for (const target of targets) if (!fuzz(target, seconds)) process.exitCode = 1;
  });
} catch (error) {
  reportSetupError(error);
}
